"""Tests of a Python code base, recorded in a box without network."""

from pathlib import Path

import pytest

from scylla_gha.prepare.tree_manifest import scan_tree
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.environment import detect_environment
from scylla_gha.readiness.recorded_tests import TestRequest
from scylla_gha.readiness.source_code import CodeIndex, SourceFile
from scylla_gha.readiness.test_map import record_tests, runner_of
from scylla_gha.readiness.test_runners.base import RunLimits
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxTarget
from tests.support.repository import write_tree

BOX = SandboxTarget(SANDBOXES["bubblewrap"])
LIMITS = RunLimits(run=120, test=2)
SHOP = """\
def price(net, rate):
    if rate < 0:
        raise ValueError("negative rate")
    return net + net * rate


def unused():
    return 1
"""
STABLE = """\
import os, pytest, shop

@pytest.mark.parametrize("net", [1, 2], ids=["one [1] 'x' $HOME `id`", "zwei\\nund ü"])
def test_price(net):
    assert shop.price(net, 0) == net

class TestRates:
    def test_negative(self):
        with pytest.raises(ValueError):
            shop.price(1, -1)

def test_writes_into_the_tree(tmp_path):
    open("shop.py", "a").write("broken(")
    open("left.txt", "w").write("x")
"""
OTHERS = {
    "tests/test_unittest.py": "import unittest, shop\nclass A(unittest.TestCase):\n    def test_it(self):\n"
    "        with self.subTest(1):\n            self.assertEqual(shop.price(1, 1), 2)\n",
    "tests/test_kill.py": "import os, shop\ndef test_before(): assert shop.price(2, 0) == 2\n"
    "def test_kills(): os._exit(0)\ndef test_after(): assert shop.price(3, 0) == 3\n",
    "tests/test_exit.py": "import sys\nsys.exit(0)\ndef test_never(): pass\n",
    "tests/test_import_kill.py": "import os\nos._exit(0)\n",
    "tests/test_import.py": "import no_such_package\ndef test_never(): pass\n",
    "tests/test_hang.py": "import time\ndef test_hangs():\n    while True: time.sleep(0.01)\n",
    "tests/test_network.py": "import socket\ndef test_net(): socket.create_connection(('192.0.2.1', 80), 1)\n",
    "tests/test_order.py": "seen = []\ndef test_first(): seen.append(1)\ndef test_second(): assert seen\n",
    "tests/test_skip.py": "import pytest\ndef test_skipped(): pytest.skip('no')\n",
}  # fmt: skip


def index_of(tree: Path) -> CodeIndex:
    files = {
        path.relative_to(tree).as_posix(): path.read_text(encoding="utf-8")
        for path in tree.rglob("*.py") if path.is_file()
    }  # fmt: skip
    return CodeIndex(
        {name: SourceFile(name, "python", text, name.startswith("tests/"), (), (), frozenset())
         for name, text in files.items()}, {}, (), (),
    )  # fmt: skip


def environment_of(tree: Path) -> CodeEnvironment:
    return detect_environment(tree, "python", lambda _: BOX)


def test_stable_tests_are_known_with_their_lines_whatever_else_a_suite_does(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    write_tree(tree, {"shop.py": SHOP, "tests/test_shop.py": STABLE, **OTHERS})
    before = scan_tree(tree).tree
    environment = environment_of(tree)
    recorded = record_tests(tree, environment, index_of(tree), limits=LIMITS)
    assert scan_tree(tree).tree == before
    assert set(recorded.tests) == {
        "tests/test_shop.py::test_price[one [1] 'x' $HOME `id`]",
        "tests/test_shop.py::test_price[zwei\\nund \\xfc]",
        "tests/test_shop.py::TestRates::test_negative",
        "tests/test_shop.py::test_writes_into_the_tree",
        "tests/test_unittest.py::A::test_it",
        "tests/test_kill.py::test_before",
        "tests/test_kill.py::test_after",
        "tests/test_order.py::test_first",
    }
    unstable = {"kill.py::test_kills", "hang.py::test_hangs", "network.py::test_net", "order.py::test_second",
                "skip.py::test_skipped"}  # fmt: skip
    assert set(recorded.unstable) == {f"tests/test_{test}" for test in unstable}
    lines = {test.id.rpartition("::")[2]: test.lines.get("shop.py") for test in recorded.tests.values()}
    assert lines["test_negative"] == {2, 3}
    assert lines["test_it"] == {2, 4}
    assert lines["test_first"] is None
    chosen = record_tests(tree, environment, index_of(tree), limits=LIMITS, tests=["tests/test_order.py"])
    assert set(chosen.tests) == {"tests/test_order.py::test_first"}
    assert recorded.tests["tests/test_kill.py::test_after"].file == "tests/test_kill.py"
    assert recorded.per_test
    assert recorded.seconds > 0
    mutants_are_judged_by_single_tests(tree, environment)


def mutants_are_judged_by_single_tests(tree: Path, environment: CodeEnvironment) -> None:
    runner = runner_of(environment, limits=LIMITS)
    assert runner is not None
    price = "tests/test_shop.py::test_price[one [1] 'x' $HOME `id`]"
    negative, kills = "tests/test_shop.py::TestRates::test_negative", "tests/test_kill.py::test_kills"
    mutant = tree.with_name("mutant")
    mutant.mkdir()
    write_tree(mutant, {"shop.py": SHOP.replace("net + net", "net - 1 + net"), "tests/test_shop.py": STABLE})
    same, changed, unknown = runner.run_many(
        [
            TestRequest(tree, frozenset({price, kills})),
            TestRequest(mutant, frozenset({price, negative})),
            TestRequest(tree, frozenset({"tests/test_shop.py::test_no_such", "tests/gone.py::test_b"})),
        ]
    )
    assert {test: outcome.passed for test, outcome in same.items()} == {price: True, kills: False}
    assert {test: outcome.passed for test, outcome in changed.items()} == {price: False, negative: True}
    assert "assert 0 == 1" in changed[price].output
    assert [outcome.passed for outcome in unknown.values()] == [False, False]
    writes, hangs = "tests/test_shop.py::test_writes_into_the_tree", "tests/test_hang.py::test_hangs"
    fault = {"shop.py": SHOP.replace("net + net", "net - 1 + net"), "new.py": "", "tests/test_kill.py": None}
    requests = [TestRequest(tree, frozenset({writes}))] * 2
    requests += [TestRequest(tree, frozenset({price, negative}), fault, has_outputs=False)] * 2
    requests += [TestRequest(tree, frozenset({price, kills}))] * 2
    requests += [TestRequest(tree, frozenset({hangs, price}), is_probe=True)]
    outcomes = runner.run_many(requests)
    passed = [{test: outcome.passed for test, outcome in run.items()} for run in outcomes]
    assert passed == [
        *[{writes: True}] * 2, *[{price: False, negative: True}] * 2, *[{price: True, kills: False}] * 2,
        {hangs: False, price: False},
    ]  # fmt: skip
    assert "assert 0 == 1" in outcomes[2][price].output
    assert "test_shop.py" not in outcomes[2][price].output
    assert outcomes[-1][price].output == "did not run to its end"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"shop.py": SHOP}, "no tests"),
        ({"test_a.py": "import no_such_package\n"}, "1 test file cannot be imported; test_a.py: E   ModuleNotFound"),
        ({"test_a.py": "def test_a(): assert 0\n"}, "the only test fails; test_a.py::test_a: "),
        (
            {"test_a.py": "def test_a(): assert 0\n", "test_b.py": "def test_b(:\n"},
            "; 1 test file cannot be imported; test_b.py: E   SyntaxError",
        ),
    ],
)
def test_a_code_base_without_working_tests_is_told_why(tmp_path: Path, files: dict[str, str], reason: str) -> None:
    write_tree(tmp_path, files)
    recorded = record_tests(tmp_path, environment_of(tmp_path), index_of(tmp_path), limits=LIMITS)
    assert recorded.tests == {}
    assert reason in (recorded.reason or "")
