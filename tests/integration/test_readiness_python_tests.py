"""Tests of a Python code base, recorded in a box without network."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from scylla_gha.prepare.start_state import scan_tree
from scylla_gha.prepare.workspace import scratch
from scylla_gha.readiness.code_environment import CodeEnvironment
from scylla_gha.readiness.environment import detect_environment
from scylla_gha.readiness.recorded_tests import TestRequest
from scylla_gha.readiness.source_code import CodeIndex, SourceFile
from scylla_gha.readiness.test_map import record_tests, runner_of
from scylla_gha.readiness.test_runners.base import RunLimits
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import Sandbox, SandboxMounts, SandboxTarget
from scylla_gha.sandboxes.bubblewrap import BubblewrapSandbox
from scylla_gha.system.process import Cancel, FinishedProcess, ProcessLimits, ProcessStreams
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


CLOCK = """\
import os
from pathlib import Path

PROCESS = os.getpid()


def started(seconds):
    return seconds * 2


START = started(1)


def shown(seconds):
    return seconds + START


def generated(count):
    for number in range(count):
        yield number
"""
CLOCK_TESTS = """\
import os, subprocess, sys, tempfile
from pathlib import Path
import clock

def test_is_imported_before(): assert os.getpid() != clock.PROCESS
def test_shown(): assert clock.shown(1) == 3
def test_generated(): assert list(clock.generated(2)) == [0, 1]
def test_of_a_child():
    assert subprocess.check_output([sys.executable, "-c", "import clock; print(clock.shown(1))"]) == b"3\\n"
def test_place():
    assert Path(clock.__file__).parent == Path.cwd() == Path(__file__).parents[1]
    places = [Path.home(), Path(tempfile.gettempdir()), Path.cwd()]
    assert not any((place / "left").exists() for place in places)
    for place in places: (place / "left").touch()
def test_kills(): os._exit(3)
def test_ends_the_box(): os.system("kill -KILL -1")
def test_breaks_the_copy(): (Path.cwd() / "clock.py").unlink(); (Path.cwd() / "clock.py").mkdir()
"""
CLOCK_FILE = "tests/test_clock.py"
FORKED, SHOWN, GENERATED, OF_CHILD, PLACE, KILLS, BOX_ENDS, COPY_BREAKS = (
    f"{CLOCK_FILE}::test_{name}"
    for name in ("is_imported_before", "shown", "generated", "of_a_child", "place", "kills", "ends_the_box",
                 "breaks_the_copy")
)  # fmt: skip


class CopyingSandbox(BubblewrapSandbox):
    """Sandbox that copies folders in before a run and out after it, as that of Docker does."""

    shares_folders: ClassVar[bool] = False

    def run(
        self, argv: tuple[str, ...], mounts: SandboxMounts, streams: ProcessStreams, limits: ProcessLimits,
        cancel: Cancel | None = None,
    ) -> FinishedProcess:  # fmt: skip
        with scratch() as folder:
            inside = folder / mounts.home.name
            shutil.copytree(mounts.home, inside)
            extra = {name: text.replace(str(mounts.home), str(inside)) for name, text in mounts.extra.items()}
            finished = super().run(argv, replace(mounts, home=inside, extra=extra), streams, limits, cancel)
            shutil.copytree(inside, mounts.home, dirs_exist_ok=True)
        return finished


@pytest.mark.parametrize("sandbox", [SANDBOXES["bubblewrap"], CopyingSandbox()], ids=["shared", "copied"])
def test_a_kept_box_gives_the_same_outcomes_as_a_new_process_for_each_change(tmp_path: Path, sandbox: Sandbox) -> None:
    tree = tmp_path / "tree"
    write_tree(tree, {"clock.py": CLOCK, CLOCK_FILE: CLOCK_TESTS})
    runner = runner_of(replace(environment_of(tree), target=SandboxTarget(sandbox)), limits=LIMITS)
    assert runner is not None
    wanted = {FORKED, SHOWN, GENERATED, OF_CHILD, PLACE}
    changed = {  # text, tests that pass: the first one in a process that has imported the file before
        "none": (CLOCK, wanted),
        "function": (CLOCK.replace("seconds + START", "seconds - START"), {FORKED, GENERATED, PLACE}),
        "lines": (CLOCK.replace("    return seconds +", "    seconds += 1\n    return seconds +"),
                  {FORKED, GENERATED, PLACE}),
        "ran at import": (CLOCK.replace("seconds * 2", "seconds * 3"), {GENERATED, PLACE}),
        "outside": (CLOCK.replace("started(1)", "started(4)"), {GENERATED, PLACE}),
        "no generator": (CLOCK.replace("yield number", "return [0, 1]"), {SHOWN, OF_CHILD, GENERATED, PLACE}),
        "no syntax": (CLOCK.replace("yield", "yield ("), set()),
    }  # fmt: skip
    requests = [TestRequest(tree, frozenset(wanted), {"clock.py": text}) for text, _ in changed.values()]
    extra = [
        TestRequest(tree, frozenset({FORKED, KILLS})),
        TestRequest(tree, frozenset({FORKED, COPY_BREAKS})),
        TestRequest(tree, frozenset({FORKED, "tests/test_new.py::test_a"}), {"tests/test_new.py": "def test_a(): 0\n"}),
    ]
    with runner.kept(tree, [CLOCK_FILE]) as kept:
        outcomes = kept.run_many([*requests, *extra])
        passed = [{test for test, outcome in found.items() if outcome.passed} for found in outcomes]
        assert dict(zip(changed, passed, strict=False)) == {name: tests for name, (_, tests) in changed.items()}
        assert outcomes[1][SHOWN].output.startswith("tests/test_clock.py:")
        assert "assert -1 == 3" in outcomes[1][SHOWN].output
        assert passed[len(changed) :] == [set(), {FORKED, COPY_BREAKS}, {"tests/test_new.py::test_a"}]
        (lost,) = kept.run_many([TestRequest(tree, frozenset({BOX_ENDS, SHOWN}))])
        assert lost[SHOWN].passed
        assert not lost[BOX_ENDS].passed
        assert kept.run_many(requests[:1])[0][FORKED].passed
    for name, request in zip(changed, requests, strict=True):
        (alone,) = runner.run_many([request])
        assert {test for test, outcome in alone.items() if outcome.passed} == changed[name][1] - {FORKED}, name


@pytest.mark.parametrize(
    "at_import",
    [
        "import tempfile\nPLACE = tempfile.mkdtemp()\n",
        "import threading\nthreading.Thread(target=print).start()\n",
        "import sys\nsys.setprofile(None)\n",
    ],
)
def test_what_tests_do_when_they_are_imported_is_done_for_each_run(tmp_path: Path, at_import: str) -> None:
    tree = tmp_path / "tree"
    needs = "def test_needs(): assert os.path.isdir(globals().get('PLACE', '.'))\n"
    write_tree(tree, {"clock.py": CLOCK, CLOCK_FILE: f"{at_import}{CLOCK_TESTS}{needs}"})
    runner = runner_of(environment_of(tree), limits=LIMITS)
    assert runner is not None
    wanted = {FORKED, SHOWN, f"{CLOCK_FILE}::test_needs"}
    with runner.kept(tree, [CLOCK_FILE]) as kept:
        outcomes = kept.run_many([TestRequest(tree, frozenset(wanted))] * 4)
    assert [{test for test in run if run[test].passed} for run in outcomes] == [wanted - {FORKED}] * 4


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
