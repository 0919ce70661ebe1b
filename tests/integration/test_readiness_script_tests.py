"""Tests of JavaScript and TypeScript code bases, recorded in a box without network."""

import json
from pathlib import Path

import pytest

from scylla_gha.prepare.start_state import scan_tree
from scylla_gha.readiness.environment import detect_environment
from scylla_gha.readiness.recorded_tests import TestRequest
from scylla_gha.readiness.source_code import CodeIndex, Language, SourceFile
from scylla_gha.readiness.test_map import record_tests, runner_of
from scylla_gha.readiness.test_runners.base import RunLimits
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxTarget
from tests.support.repository import Files, write_tree

LIMITS = RunLimits(run=150, test=30)
PRICE = """\
export function price(net, rate) {
  if (rate < 0) {
    throw new Error("negative rate");
  }
  return net + net * rate;
}
export function unused() {
  return 1;
}
"""
TYPED = PRICE.replace("net, rate", "net: number, rate: number")
TESTS = """\
describe("price of 'one' $HOME", () => {
  it("adds [the] rate", () => { expect(price(1, 1)).toBe(2); });
  it("adds [the] rate", () => { expect(price(2, 1)).toBe(4); });
  it("fails", () => { expect(price(1, 1)).toBe(3); });
});
it("refuses", () => { expect(() => price(1, -1)).toThrow(); });
it.skip("skipped", () => {});
"""
NODE_TESTS = """\
import test, { describe, it } from "node:test";
import assert from "node:assert";
import { price } from "../src/price.js";
const expect = (x) => ({ toBe: (y) => assert.equal(x, y), toThrow: () => assert.throws(x) });
"""
VITEST_IMPORTS = 'import { describe, expect, it } from "vitest";\nimport { price } from "../src/price";\n'
STABLE = {"price of 'one' $HOME > adds [the] rate", "price of 'one' $HOME > adds [the] rate #2", "refuses"}


def package(**content: object) -> str:
    return json.dumps({"name": "shop", "version": "1.0.0", **content})


def index_of(tree: Path) -> CodeIndex:
    names = [path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.suffix in {".js", ".ts", ".cjs"}]
    files = {name: SourceFile(name, "javascript", "", ".test." in name, (), (), frozenset()) for name in names}
    return CodeIndex(files, {}, (), ())


NODE: Files = {
    "package.json": package(type="module", scripts={"test": "node --test"}),
    "src/price.js": PRICE,
    "test/price.test.js": NODE_TESTS + TESTS,
    "test/other.test.js": "import test from 'node:test';\ntest('no source', () => {});\n",
    "test/exit.test.js": "process.exit(0);\n",
    "test/hang.test.js": "import test from 'node:test';\ntest('hangs', () => { while (true); });\n",
    "test/gone.test.js": "import x from 'no-such-package';\n",
    "test/net.test.js": "import test from 'node:test';\nimport net from 'node:net';\ntest('net', async () => {\n"
    "  await new Promise((go, no) => net.connect(80, '192.0.2.1', go).on('error', no)); });\n",
}  # fmt: skip
VITEST: Files = {
    "package.json": package(type="module", devDependencies={"vitest": "^3.2.4", "eslint": "9"}),
    "src/price.ts": "export interface Net {\n  net: number;\n}\n" + TYPED,
    "test/price.test.ts": VITEST_IMPORTS + TESTS,
    "test/exit.test.ts": "process.exit(0);\n",
}  # fmt: skip
JEST: Files = {
    "package.json": package(scripts={"test": "jest"}, devDependencies={"jest": "^29.7.0"}),
    "src/price.js": PRICE.replace("export function", "exports.price = function", 1).replace("export ", ""),
    "test/price.test.js": f'const {{ price }} = require("../src/price.js");\n{TESTS}',
}
MOCHA: Files = {
    "package.json": package(scripts={"test": "mocha"}, devDependencies={"mocha": "^10.8.0"}, mocha={"spec": "test/*"}),
    "src/price.js": JEST["src/price.js"],
    "test/price.test.js": NODE_TESTS.replace('import test, { describe, it } from "node:test";\n', "")
    .replace('import assert from "node:assert"', 'const assert = require("assert")')
    .replace('import { price } from "../src/price.js"', 'const { price } = require("../src/price.js")')
    + TESTS,
    "test/exit.js": "process.exit(0);\n",
}  # fmt: skip
LOADED: Files = {
    "package.json": package(type="module", scripts={"test": "node --import tsx --test"}, devDependencies={"tsx": "^4"}),
    "src/price.ts": VITEST["src/price.ts"],
    "test/price.test.ts": NODE_TESTS.replace("price.js", "price.ts")
    .replace("= (x)", "= (x: any)")
    .replace(": (y)", ": (y: any)")
    + TESTS,
}


@pytest.mark.parametrize(
    ("files", "language", "box", "source", "first"),
    [
        pytest.param(NODE, "javascript", "bubblewrap", "src/price.js", 1, id="node"),
        pytest.param(VITEST, "typescript", "bubblewrap", "src/price.ts", 4, id="vitest"),
        pytest.param(JEST, "javascript", "host", "src/price.js", 1, id="jest"),
        pytest.param(MOCHA, "javascript", "bubblewrap", "src/price.js", 1, id="mocha"),
        pytest.param(LOADED, "typescript", "bubblewrap", "src/price.ts", 4, id="tsx"),
    ],
)
def test_stable_tests_are_known_with_the_lines_of_their_file(
    tmp_path: Path, files: Files, language: Language, box: str, source: str, first: int
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    write_tree(tree, files)
    before = scan_tree(tree).tree
    environment = detect_environment(tree, language, lambda _: SandboxTarget(SANDBOXES[box]))
    assert environment.reason is None
    limits = RunLimits(run=150, test=6) if environment.framework == "node" else LIMITS
    recorded = record_tests(tree, environment, index_of(tree), limits=limits)
    assert scan_tree(tree).tree == before
    by_name = {test.id.partition("::")[2]: test for test in recorded.tests.values() if "price.test" in test.id}
    assert set(by_name) == STABLE
    assert not recorded.per_test
    lines = by_name["refuses"].lines[source]
    assert {first + 1, first + 2, first + 4} <= lines
    assert first + 7 not in lines
    unstable = {test.partition("::")[2] for test in recorded.unstable}
    assert {"price of 'one' $HOME > fails", "skipped"} <= unstable
    assert not unstable & STABLE

    runner = runner_of(environment, limits=limits)
    assert runner is not None
    mutant = tree.with_name("mutant")
    mutant.mkdir()
    write_tree(mutant, {**files, source: str(files[source]).replace("net + net", "1 + net + net")})
    wanted = frozenset({by_name["refuses"].id, by_name["price of 'one' $HOME > adds [the] rate #2"].id})
    (killed,) = runner.run_many([TestRequest(mutant, wanted)])
    assert {test.partition("::")[2]: outcome.passed for test, outcome in killed.items()} == {
        "refuses": True, "price of 'one' $HOME > adds [the] rate #2": False,
    }  # fmt: skip


@pytest.mark.parametrize("is_probe", [True, False])
def test_a_file_that_does_not_end_is_told_and_ends_a_probe(tmp_path: Path, is_probe: bool) -> None:
    write_tree(tmp_path, NODE)
    environment = detect_environment(tmp_path, "javascript", lambda _: SandboxTarget(SANDBOXES["bubblewrap"]))
    runner = runner_of(environment, limits=RunLimits(run=60, test=3))
    assert runner is not None
    late, ok = "test/hang.test.js::hangs", "test/other.test.js::no source"
    (outcomes,) = runner.run_many([TestRequest(tmp_path, frozenset({late, ok}), is_probe=is_probe)])
    assert (outcomes[late].passed, outcomes[late].output) == (False, "no end within 3 s")
    is_left_out = not outcomes[ok].passed and outcomes[ok].output.startswith("did not run: ")
    assert outcomes[ok].passed or (is_probe and is_left_out)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            package(devDependencies={"ava": "^6"}),
            "tests of ava cannot be run; those of node, vitest, jest and mocha can",
        ),
        (package(), "package.json names none of the test runners that are known"),
        ("{", "package.json names none of the test runners that are known"),
    ],
)
def test_a_code_base_whose_tests_cannot_be_run_is_told_why(tmp_path: Path, content: str, reason: str) -> None:
    write_tree(tmp_path, {"package.json": content})
    environment = detect_environment(tmp_path, "javascript", lambda _: SandboxTarget(SANDBOXES["host"]))
    assert reason in (environment.reason or "")
    assert runner_of(environment) is None
