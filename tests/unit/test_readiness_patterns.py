"""Rules mined from siblings, facts of functions in several languages, and tests cut out of their files."""

from pathlib import Path

import pytest

from scylla_gha.model.readiness import ChangedText
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.graders.pattern_rules import facts_in, holds
from scylla_gha.readiness.hidden_tests import control_of, spans_naming, spans_of_tests, without_tests
from scylla_gha.readiness.patterns import OF_SIGNATURE, mined_rules
from scylla_gha.readiness.source_code import CodeIndex
from tests.support.repository import Files, write_tree

METHOD = '''
    @traced
    def read_{n}(self, file_name: str) -> str:
        """Read {n}."""
        if not file_name:
            raise StoreError("no name")
        log.info("reading")
        last_line = file_name
        return last_line
'''
STORE = f"class Store:\n{''.join(METHOD.format(n=n) for n in range(6))}"
ODD = "    def odd(self, x):\n        import os\n        camelCase = os.sep\n        raise KeyError(camelCase)\n"


def index_of(folder: Path, files: Files) -> CodeIndex:
    return build_index(write_tree(folder, files), paths=sorted(files))


def test_rules_are_those_that_nearly_all_siblings_and_the_function_keep(tmp_path: Path) -> None:
    index = index_of(tmp_path, {"shop/store.py": STORE + ODD})
    rules = mined_rules(index, index.functions["shop/store.py::Store.read_0"])
    assert {rule["kind"] for rule in rules} == {"raises", "logger"}, "five of six siblings are too few for the others"
    assert {"kind": "raises", "names": ["KeyError", "StoreError"]} in rules
    assert mined_rules(index, index.functions["shop/store.py::Store.odd"]) == [], "it keeps none of the rules"


def test_each_rule_is_broken_by_another_style(tmp_path: Path) -> None:
    index = index_of(tmp_path, {"shop/store.py": STORE})
    function = index.functions["shop/store.py::Store.read_0"]
    rules = mined_rules(index, function)
    assert {rule["kind"] for rule in rules} == {
        "raises", "logger", "decorator", "naming", "annotations", "docstring", "imports"
    }  # fmt: skip
    assert {rule["kind"] for rule in mined_rules(index, function, OF_SIGNATURE)} == {
        "raises", "logger", "naming", "imports"
    }  # fmt: skip
    other = facts_in(f"class Store:\n{ODD}".replace("odd", "read_0"), "python", function.name)
    assert other is not None
    assert [rule for rule in rules if holds(rule, other)] == []


def test_few_siblings_give_no_rule(tmp_path: Path) -> None:
    index = index_of(tmp_path, {"shop/store.py": STORE.partition("    @traced\n    def read_5")[0]})
    assert mined_rules(index, index.functions["shop/store.py::Store.read_0"]) == []


TYPESCRIPT = """\
import { log } from "./log";
/* function seat() { */
export function seat(name: string, at = { row: "}" }): number {
  if (!name) {
    throw new SeatError(`no ${name}`);
  }
  log.info("throw new Wrong()");
  const rowNumber = 1;
  return rowNumber;
}
export const free = async (name: string): Promise<void> => {
  const fs = require("fs");
  return fs.rm(name);
};
class Plan {
  private async seatOf(name: string): Promise<number> {
    let at_row = 1;
    return at_row;
  }
}
"""


def test_facts_of_typescript_are_read_without_a_parser() -> None:
    seat = facts_in(TYPESCRIPT, "typescript", "seat")
    assert seat is not None
    assert (seat.raised, seat.loggers, seat.names) == ({"SeatError"}, {"log"}, {"rowNumber"})
    assert seat.annotated
    assert not seat.imports
    free = facts_in(TYPESCRIPT, "typescript", "free")
    assert free is not None
    assert free.imports
    method = facts_in(TYPESCRIPT, "typescript", "Plan.seatOf")
    assert method is not None
    assert method.names == {"at_row"}
    assert not holds({"kind": "naming", "case": "camel"}, method)
    go = facts_in(
        'func (s *Store) Get(k string) error {\n\tlast := 1\n\treturn fmt.Errorf("x")\n}\n', "go", "Store.Get"
    )
    assert go is not None
    assert (go.raised, go.names) == ({"fmt.Errorf"}, {"last"})


@pytest.mark.parametrize(("text", "language"), [("def f(:\n", "python"), ("function f() {\n", "javascript")])
def test_code_that_does_not_parse_has_no_facts(text: str, language: str) -> None:
    assert facts_in(text, language, "f") is None


PYTEST = {
    "tests/test_a.py": "import shop\n\n\nclass TestA:\n    @mark\n    def test_price(self):\n        shop.price(1)\n"
    "\n\ndef test_other():\n    assert True\n",
    "tests/test_b.py": "from shop import price\n\n\ndef test_price():\n    assert price(1)\n",
    "tests/test_c.py": "import shop\nCASES = [1]\n\n\ndef test_price():\n    assert shop.price(1)\n",
    "tests/test_d.py": "from tests.test_c import CASES\n\n\ndef test_prices():\n    assert CASES\n",
}


def test_tests_are_cut_out_of_their_files(tmp_path: Path) -> None:
    index = index_of(tmp_path, PYTEST)
    start = without_tests(index, spans_naming(index, "price"))
    assert [change.path for change in start] == ["tests/test_a.py", "tests/test_b.py", "tests/test_c.py"]
    texts = [change.text for change in start]
    assert texts[0] == "import shop\n\n\nclass TestA:\n    pass\n\n\ndef test_other():\n    assert True\n"
    assert texts[1] is None, "nothing else is in it"
    assert texts[2] == "import shop\nCASES = [1]\n\n\n", "another file imports it"
    spans = spans_of_tests(index, ["tests/test_a.py::TestA::test_price[1-a b]", "tests/test_d.py::test_no_such"])
    assert without_tests(index, spans) == (ChangedText(path="tests/test_a.py", text=texts[0]),)


def test_tests_of_scripts_are_cut_by_their_titles(tmp_path: Path) -> None:
    head = 'import { test } from "vitest";\ndescribe("a", () => {\n'
    text = head + '  test("adds", () => {\n    f(1);\n  });\n  it("ends", g);\n});\n'
    index = index_of(tmp_path, {"test/a.test.ts": text})
    (cut,) = without_tests(index, spans_of_tests(index, ["test/a.test.ts::a > adds"]))
    assert cut.text == head + '  it("ends", g);\n});\n'
    control = control_of(index.files["test/a.test.ts"])
    assert control is not None
    assert (control["path"], control["id"]) == ("test/CONTROL.test.ts", "test/CONTROL.test.ts::CONTROL")
    assert control["text"].startswith('import { test } from "vitest";\n\nit("CONTROL"')


def test_a_control_stands_beside_files_that_are_named_as_tests(tmp_path: Path) -> None:
    index = index_of(tmp_path, {"tests/test_a.py": "def test_a(): pass\n", "tests/checks.py": "def test_a(): pass\n"})
    control = control_of(index.files["tests/test_a.py"])
    assert control is not None
    assert (control["path"], control["id"]) == ("tests/test_CONTROL.py", "tests/test_CONTROL.py::test_CONTROL")
    assert control_of(index.files["tests/checks.py"]) is None
