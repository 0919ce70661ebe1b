"""Twins of JavaScript and TypeScript: copies that behave the same and lack names, documentation or types."""

import itertools
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.readiness import ItemPart
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.environment import detect_environment
from scylla_gha.readiness.script_twins.comments import without_comments
from scylla_gha.readiness.script_twins.names import safe_script_names
from scylla_gha.readiness.script_twins.renaming import rename_script
from scylla_gha.readiness.script_twins.types import without_value_types
from scylla_gha.readiness.source_files import is_test_file
from scylla_gha.readiness.syntax import syntax_is_whole
from scylla_gha.readiness.test_map import runner_of
from scylla_gha.readiness.twin_items import items_in_twin
from scylla_gha.readiness.twin_renaming import chosen_names
from scylla_gha.readiness.twin_texts import chooser
from scylla_gha.readiness.twins import TwinKind, make_twin
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxTarget
from tests.support.readiness_items import item_set
from tests.support.readiness_repository import readiness_repository
from tests.support.repository import write_tree

ALL = chooser(1.0, 0, "a")
LEDGER = """\
const { EventEmitter } = require("node:events");
const path = require("node:path");

class Ledger {
  #rows = [];
  static limit = 3;
  enterSum(amount, { note = "none", ...others } = {}) {
    const entry = { amount, note, others };
    this.#rows.push(entry);
    return this.#checked(entry);
  }
  #checked(entry) { return this.#rows.length > Ledger.limit ? null : entry; }
  get size() { return this.#rows.length; }
  toJSON() { return this.#rows; }
  onClose() { return "closed"; }
  settle() { return this["settle" + "ment"] ?? "none"; }
}
class Feed extends EventEmitter { publish(entry) { return this.emit("entry", entry); } }
function total(rows) {
  let sum = 0;
  outer: for (const row of rows) { for (const sum of [row.amount]) { if (sum < 0) continue outer; } sum += row.amount; }
  return sum;
}
const handlers = { onClose: (name) => `on${name}`, total };
function dispatch(kind) { return handlers[kind] ? handlers[kind]([{ amount: 2 }]) : path.basename(kind); }
function described(amount) { return `total of ${amount}`; }
exports.describedAs = described;
module.exports = { Ledger, Feed, total, dispatch, described };
"""
MAIN = """\
const ledgers = require("./ledger");
const { Ledger, dispatch, total: sumOf } = require("./ledger");
const ledger = new Ledger();
const entered = [1, -2, 3, 4].map((amount) => ledger.enterSum(amount, { note: `n${amount}`, amount }));
console.log(JSON.stringify([entered, ledger, ledger.size, ledgers.described(2), dispatch("total"), dispatch("a/b")]));
const feed = new ledgers.Feed();
feed.on("entry", ({ amount: heard }) => console.log(heard, typeof undefined, ledger.onClose(), ledger.settle()));
feed.publish({ amount: sumOf(entered.filter(Boolean)) });
"""


def renamed(files: dict[str, str], *others: str) -> tuple[dict[str, str], set[str], frozenset[str]]:
    safe = safe_script_names(files, is_test_file, others)
    names = chosen_names(safe.names, 1.0, 0)
    texts = {path: rename_script(text, path, names, safe.members) for path, text in files.items()}
    return texts, set(safe.names), safe.members


def output_of(files: dict[str, str], root: Path) -> str:
    root.mkdir()
    write_tree(root, files)
    return subprocess.run(["node", "main.js"], cwd=root, capture_output=True, text=True, check=True).stdout


def test_code_with_other_names_does_the_same(tmp_path: Path) -> None:
    files = {"ledger.js": LEDGER, "main.js": MAIN}
    texts, names, members = renamed(files)
    assert {"Ledger", "#rows", "#checked", "entry", "rows", "row", "sum", "handlers", "kind", "described"} <= names
    assert {"enterSum", "described", "Ledger", "#rows"} <= members
    kept = {
        "total",
        "size",
        "toJSON",
        "publish",
        "onClose",
        "settle",
        "path",
        "EventEmitter",
        "console",
        "outer",
        "limit",
    }
    assert not kept & names
    assert output_of(texts, tmp_path / "twin") == output_of(files, tmp_path / "code")
    assert not re.search(r"\b(Ledger|described|entry|sum)\b", re.sub(r'"\w+"|`.*?`', "", "".join(texts.values())))


def test_names_that_others_might_know_are_kept() -> None:
    files = {
        "src/a.ts": "export function load(x: number) { return x }\nexport const store = 1, page = 2;\n"
        "interface Shape { corner: number }\nexport class Box { constructor(private width: number) {} grow() {} }\n"
        "declare const injected: string;\nexport function lookup(injected: Shape) { return injected.corner }\n",
        "src/b.tsx": "import { page } from './a';\nimport { render } from 'ink';\n"
        "const div = page;\nexport const View = ({ title }: { title: string }) => <div>{title}</div>;\n"
        "export const again = div; const mine = render(<View title='x' />);\n",
        "src/a.test.ts": "import { test, vi } from 'vitest';\nvi.mock('./a', () => ({ lookup: () => 1 }));\n"
        "function helper(mockRow: number) {}\ntest('load', () => { helper(1) });\n",
        "bad.js": "const broken = ;",
    }
    texts, names, members = renamed(files, '{"entry": "store"}')
    assert names >= {"x", "page", "Shape", "Box", "View", "title", "again", "mine"}
    assert not names & {
        "load",
        "store",
        "width",
        "injected",
        "lookup",
        "helper",
        "mockRow",
        "broken",
        "render",
        "corner",
    }
    assert members == frozenset()
    assert re.search(r"=> \(\{ title: \w+ \}: \{ title: string \}\) => <div>".replace("=> ", "", 1), texts["src/b.tsx"])


def test_exports_that_are_read_by_names_made_at_run_time_are_kept() -> None:
    files = {
        "a.ts": "export const one_x = 1;\nexport function two() {}\n",
        "b.ts": "import * as all from './a';\nall.two();\n",
    }
    assert renamed(files)[1] == {"one_x", "two", "all"}
    files["b.ts"] = "import * as all from './a';\nconst read = (n: string) => all[`${n}_x`];\n"
    assert renamed(files)[1] == {"read", "n", "all"}


def test_comments_go_and_what_tools_read_stays() -> None:
    code = (
        "#!/usr/bin/env node\n// @ts-check\n/*! licence */\n// gone\n/** Gone. */\nexport function a(x) { // gone\n"
        "  /* gone */ const k /* gone */ = x; // eslint-disable-line no-x\n"
        "  return /* gone */ k + '// kept'; /* gone\n gone */\n}\nconst v = <div>{/* gone */}// text</div>;\n"
    )
    bare = without_comments(code, "a.jsx", ALL)
    assert "gone" not in bare.lower()
    assert all(kept in bare for kept in ("#!/usr", "@ts-check", "licence", "eslint-disable", "'// kept'", "// text"))
    assert syntax_is_whole(bare, "javascript", "a.jsx")
    assert without_comments(code, "a.jsx", chooser(0, 0, "a")) == code


def test_types_of_values_go_and_what_exists_at_run_time_stays() -> None:
    code = """\
export function a(x: number, y?: string, ...rest: string[]): asserts x is 3 {
  const k: string = x as unknown as string; let u: number; let z!: string;
  return k!.trim()!.map((e: any): e is string => (<any>e)!);
}
class A { f: string = "a" as string; constructor(private p: number, q: string) {} self(): this { return this }
  over(a: string): void; over(a: any): void { a } bound(this: A, { b }: { b: string } = {} as any): void { b } }
@Entity() class B { at(@Column() a: number): string { return a as any } }
const first = a as Kind
;[1].map((n: number) => n);
const later = a as Kind
[1].map(String);
"""
    bare = without_value_types(code, "a.ts", ALL)
    assert "export function a(x, y?, ...rest) {" in bare
    assert "const k = x; let u; let z!: string;" in bare
    assert "return k.trim().map((e) => (e));" in bare
    assert "bound(this: A, { b } = {}) { b }" in bare
    assert 'f: string = "a"; constructor(private p: number, q) {} self(): this' in bare
    assert "over(a: string): void; over(a: any): void { a }" in bare
    assert "@Entity() class B { at(@Column() a: number): string { return a as any } }" in bare
    assert "const first = a\n;[1].map((n) => n);" in bare
    assert "const later = a as Kind\n[1]" in bare  # `a[1]` would be something else


@pytest.mark.parametrize("kind", ["names", "docs", "types"])
def test_a_larger_dose_has_the_changes_of_a_smaller_one(kind: TwinKind, tmp_path: Path) -> None:
    root = readiness_repository(tmp_path / "code", "typescript", history=False)
    twins = [make_twin(root, kind, dose, 3, tmp_path / f"{dose}", "typescript") for dose in (0, 0.25, 0.5, 1)]
    assert twins[0].changed_files == ()
    assert [set(a.changed_files) <= set(b.changed_files) for a, b in itertools.pairwise(twins)] == [True] * 3
    assert twins[1].names.items() <= twins[2].names.items() <= twins[3].names.items()
    again = make_twin(root, kind, 0.5, 3, tmp_path / "again", "typescript")
    for path in sorted(file.relative_to(root).as_posix() for file in root.rglob("*.ts")):
        texts = [(twin.root / path).read_bytes() for twin in (*twins, again)]
        assert texts[2] == texts[4]
        assert kind == "names" or [*map(len, texts[:4])] == sorted(map(len, texts[:4]), reverse=True)
        assert syntax_is_whole(texts[3].decode(), "typescript", path)
    index, whole = build_index(root), build_index(twins[3].root)
    assert {twins[3].id_of(function) for function in index.functions} == set(whole.functions)
    assert not make_twin(root, "merging", 1.0, 3, tmp_path / "merged", "typescript").changed_files


def test_the_tests_pass_without_names_documentation_and_types(tmp_path: Path) -> None:
    tree = readiness_repository(tmp_path / "code", "typescript", history=False)
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    kinds: tuple[TwinKind, ...] = ("names", "docs", "types")
    twin = tree
    for kind in kinds:
        twin = make_twin(twin, kind, 1.0, 3, tmp_path / kind, "typescript").root
    environment = detect_environment(tree, "typescript", lambda _: SandboxTarget(SANDBOXES["bubblewrap"]))
    runner = runner_of(environment)
    assert runner is not None
    outcomes = runner.run(twin)
    assert len(outcomes) == 47
    assert [test for test, outcome in outcomes.items() if not outcome.passed] == []
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_items_keep_paths_and_tests_and_get_the_new_names(tmp_path: Path) -> None:
    root = readiness_repository(tmp_path / "code", "typescript", history=False)
    twin = make_twin(root, "names", 1.0, 3, tmp_path / "twin", "typescript")
    test, anchor = "test/seats.test.ts::other texts are no seats", "src/seats.ts::parseSeat"
    rules = [{"kind": "raises", "names": ["BookingError"]}, {"kind": "docstring"}, {"kind": "decorator", "name": "x"}]
    key: dict[str, Any] = {
        "path": "src/seats.ts",
        "name": "parseSeat",
        "language": "typescript",
        "rules": rules,
        "failing": [test],
    }
    items = item_set(1)
    item = items.items[0].model_copy(update={
        "anchor": anchor,
        "prompt": f"`parseSeat` of `src/seats.ts`, `seats`\n\n```\nFAILED {test}\nseats in src/seats.ts\n```",
        "parts": (ItemPart(id="patterns", form="patterns", weight=20, key=key),),
    })  # fmt: skip
    (asked,) = items_in_twin(items.model_copy(update={"items": (item,)}), twin, build_index(twin.root), "b" * 40).items
    new, error, seats = twin.names["parseSeat"], twin.names["BookingError"], twin.names["seats"]
    assert asked.anchor == f"src/seats.ts::{new}"
    assert asked.prompt == f"`{new}` of `src/seats.ts`, `{seats}`\n\n```\nFAILED {test}\n{seats} in src/seats.ts\n```"
    asked_key: dict[str, Any] = asked.parts[0].key
    assert asked_key["name"] == new
    assert asked_key["failing"] == [test]
    assert {"kind": "raises", "names": [error]} in asked_key["rules"]
    assert {"kind": "decorator", "name": "x"} not in asked_key["rules"]
