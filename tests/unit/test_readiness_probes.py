"""Which tests run on a fault, and how their failures are shown."""

from dataclasses import replace
from pathlib import Path

import pytest

from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.edit_items import CoveredFunction, log_of
from scylla_gha.readiness.probes import CoveringTests, of_first_files
from scylla_gha.readiness.recorded_tests import StableTest, TestMap
from scylla_gha.readiness.source_code import Function, SourceFile
from tests.support.repository import write_tree

CODE = "def price(net):\n    return net\n"
TESTS = [f"test/{name}.test.js::{number}" for name in "abcdef" for number in (1, 2)]


@pytest.fixture
def function(tmp_path: Path) -> Function:
    return build_index(write_tree(tmp_path, {"shop.py": CODE})).functions["shop.py::price"]


def covered(function: Function, *, per_test: bool) -> CoveredFunction:
    stable = {name: StableTest(name, name.partition("::")[0], {function.path: frozenset({2})}) for name in TESTS}
    covering = CoveringTests.of(TestMap(stable, per_test=per_test))
    file = SourceFile(function.path, "python", CODE, False, (function,), (), frozenset())
    return CoveredFunction(function, file, covering.of_function(function), covering.most_files)


def test_where_each_file_is_a_process_the_tests_of_a_few_files_run_on_a_fault(function: Function) -> None:
    assert covered(function, per_test=True).most_specific(2) == frozenset(TESTS)
    assert covered(function, per_test=False).most_specific(2) == frozenset(TESTS[:8])
    assert of_first_files(reversed(TESTS), 1) == TESTS[:-3:-1]
    assert replace(covered(function, per_test=False), most_files=1).most_specific(1) == frozenset(TESTS[:2])


def test_a_failure_is_shown_without_the_lines_of_node_that_differ_from_run_to_run() -> None:
    output = """\
AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:
    at assert.<computed> [as strictEqual] (node:internal/test_runner/test:242:18)
    at Socket.<anonymous> (/home/workspace/test/helper.js:13:7)
    at Socket.emit (node:events:524:28)
    at async node:internal/main/test:5:1
    at node of a list:3:4
"""
    assert log_of("test/a.test.js::adds", output).splitlines() == [
        "```",
        "FAILED test/a.test.js::adds",
        "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
        "    at Socket.<anonymous> (/home/workspace/test/helper.js:13:7)",
        "    at node of a list:3:4",
        "```",
    ]
