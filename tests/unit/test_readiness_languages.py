"""Functions of JavaScript, TypeScript and Go: names, lines, comments, guards, handlers and types."""

from pathlib import Path

from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.source_code import CodeIndex, Function
from tests.support.repository import write_tree

SCRIPT = """\
/**
 * Adds.
 * Twice.
 */
export function add(a: number, b: number): number {
  if (a < 0) {
    throw new RangeError("a");
  }
  return a && b ? a + b : [1].map((n) => n + 1)[0];
}

export const twice = async (a) => add(a, a), other = 1;
export default class {
  @bound
  static async go({ x, y: [z] }, ...rest: string[]) {
    try {
      for (const r of rest) { await this.#run(r); }
    } catch (error) { return Promise.reject(error) }
  }
  #run = (s: string): void => { if (!s) return; else { s.trim() } };
  get size() { return 1 }
  shape(): void;
  shape(x?: string): void { x && x.trim() }
}
const table = { first() {}, second: () => 2, "third": function* () { yield 3 }, 4: () => 4, nested: { deep() {} } };
describe("a", () => { it("b", function () { add(1, 2); }) });
exports.old = function () {};
Foo.prototype.bar = function named() {};
namespace Inner { export function f() {} }
function add(x: string) { function inner() {} inner() }
"""
GO = """\
package shop

import (
	"fmt"
	store "example.com/shop/internal/db"
	"example.com/shop/text"
)

// Till sells
// things.
type Till struct {
	*Base
	db *store.Conn
}

type Base struct{ name string }

func (b *Base) Close() {}

// Sell sells.
func (t *Till) Sell(ctx context.Context, a, b int, rows ...Row) (n int, err error) {
	if a < 0 && b < 0 {
		return 0, fmt.Errorf("a: %d", a)
	}
	row := NewRow()
	row.Check()
	if err := t.db.Put(row); err != nil {
		return 0, err
	}
	t.Close()
	go func(c *store.Conn) { c.Put(text.Clean("")) }(t.db)
	for i := range rows {
		_ = i
	}
	return n, ErrClosed
}

func NewRow() *Row { return &Row{} }

type Row struct{}

func (Row) Check() {}

func init() { NewRow() }
func init() {}
"""
GO_FILES = {
    "go.mod": "module example.com/shop\n\ngo 1.22\n",
    "till.go": GO,
    "internal/db/conn.go": "package db\n\ntype Conn struct{}\n\nfunc (c *Conn) Put(x any) error { return nil }\n",
    "text/clean.go": "package text\n\nfunc Clean(s string) string { return s }\n",
    "till_test.go": 'package shop\n\nfunc TestSell(t *testing.T) {\n\ttill := &Till{}\n\ttill.Sell(nil, 1, 2)\n}\n',
}  # fmt: skip


def index_of(root: Path, files: dict[str, str]) -> CodeIndex:
    write_tree(root, files)
    return build_index(root)


def lines(function: Function) -> tuple[int, int, int, int]:
    return function.span.first, function.span.last, function.body.first, function.body.last


def test_functions_of_typescript(tmp_path: Path) -> None:
    index = index_of(tmp_path, {"a.ts": SCRIPT})
    functions = {function.name: function for function in index.functions.values()}
    assert {name: lines(function) for name, function in functions.items()} == {
        "add": (5, 10, 6, 9),
        "twice": (12, 12, 12, 12),
        "default.go": (14, 19, 16, 18),
        "default.#run": (20, 20, 20, 20),
        "default.size": (21, 21, 21, 21),
        "default.shape": (23, 23, 23, 23),
        "table.first": (25, 25, 26, 25),
        "table.second": (25, 25, 25, 25),
        "table.third": (25, 25, 25, 25),
        "table.nested.deep": (25, 25, 26, 25),
        "old": (27, 27, 28, 27),
        "Foo.bar": (28, 28, 29, 28),
        "Inner.f": (29, 29, 30, 29),
        "add#2": (30, 30, 30, 30),
        "add.inner": (30, 30, 31, 30),
    }
    add, go = functions["add"], functions["default.go"]
    assert (add.docstring, add.documented and (add.documented.first, add.documented.last)) == ("Adds.\nTwice.", (1, 4))
    assert (add.parameters, add.annotated, add.raised, add.returns) == (("a", "b"), True, ("RangeError",), "number")
    assert (add.statements, add.branches, [guard.condition for guard in add.guards]) == (3, 3, ["a < 0"])
    assert (go.decorators, go.parameters, go.annotated, len(go.handlers)) == (("bound",), ("x", "z", "rest"), False, 1)
    assert [call.name for call in go.calls] == ["this.#run", "Promise.reject"]
    assert functions["default.#run"].annotated
    assert functions["twice"].statements == 1
    assert index.files["a.ts"].exported == {"add", "twice", "other", "default", "old", "f"}
    assert [call.name for call in index.files["a.ts"].calls] == ["describe", "it", "add"]


def test_functions_of_go(tmp_path: Path) -> None:
    index = index_of(tmp_path, GO_FILES)
    functions = {function.name: function for function in index.functions.values() if function.path == "till.go"}
    sell = functions["Till.Sell"]
    assert list(functions) == ["Base.Close", "Till.Sell", "NewRow", "Row.Check", "init", "init#2"]
    assert (lines(sell), sell.docstring) == ((21, 36, 22, 35), "Sell sells.")
    assert (sell.parameters, sell.statements, sell.branches) == (("ctx", "a", "b", "rows"), 13, 4)
    assert [(guard.span.first, guard.condition) for guard in sell.guards] == [
        (22, "a < 0 && b < 0"),
        (27, "err != nil"),
    ]
    assert [(handler.first, handler.last) for handler in sell.handlers] == [(27, 29)]
    assert sell.raised == ("fmt.Errorf", "ErrClosed")
    assert index.files["till.go"].exported == {"Till", "Base", "Row", "Base.Close", "Till.Sell", "NewRow", "Row.Check"}
    assert index.files["till_test.go"].is_test
    certain = {(edge.caller, edge.callee) for edge in index.edges if edge.certainty == "certain"}
    assert certain == {
        ("till.go::Till.Sell", "till.go::NewRow"),
        ("till.go::Till.Sell", "till.go::Row.Check"),
        ("till.go::Till.Sell", "till.go::Base.Close"),
        ("till.go::Till.Sell", "internal/db/conn.go::Conn.Put"),
        ("till.go::Till.Sell", "text/clean.go::Clean"),
        ("till.go::init", "till.go::NewRow"),
        ("till_test.go::TestSell", "till.go::Till.Sell"),
    }
