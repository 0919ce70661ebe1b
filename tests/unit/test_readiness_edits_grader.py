"""The grader of edits: what a repair and a written body are worth, and what cheating is worth."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.readiness.graders import edits, pattern_rules
from scylla_gha.readiness.graders.edits import Trees, grade
from scylla_gha.readiness.test_runners import run_pytest
from tests.support.repository import write_tree

RIGHT = '''\
"""Prices."""


def price(net, rate):
    if rate < 0:
        raise ValueError("negative rate")
    return net + net * rate
'''
WRONG = RIGHT.replace('    if rate < 0:\n        raise ValueError("negative rate")\n', "")
VISIBLE = """\
from shop.prices import price


def refused(rate):
    try:
        price(1, rate)
    except ValueError:
        return True
    return False


def test_price():
    assert price(1, 1) == 2
"""
SHOWN = "\n\ndef test_negative():\n    assert refused(-1)\n"
HIDDEN = "\n\ndef test_very_negative():\n    assert refused(-9)\n"
# A runner that starts faster than pytest
QUICK = """\
import json, os, sys
sys.path.insert(0, os.getcwd())
for test in sys.argv[1:]:
    path, _, name = test.partition("::")
    names = {}
    try:
        exec(open(path).read(), names)
        names[name]()
        passed = True
    except Exception:
        passed = False
    with open(os.environ["OUTCOMES"], "a") as file:
        file.write(json.dumps({"id": test, "passed": passed}) + chr(10))
"""
BASE = {
    "shop/__init__.py": "",
    "shop/prices.py": WRONG,
    "shop/rates.py": "RATES = (1, 2)\n",
    "tests/test_prices.py": VISIBLE + SHOWN,
    "tests/conftest.py": "",
}
FAILING = ["tests/test_prices.py::test_negative", "tests/test_prices.py::test_very_negative"]
OTHERS = ["tests/test_prices.py::test_price"]
CONTROL = "tests/test_CONTROL.py::test_CONTROL"
TESTS = " ".join([*FAILING, *OTHERS, CONTROL])
RUN: dict[str, Any] = {
    "command": f'python3 -P "$CHECKS/quick.py" {TESTS}',
    "control": {"path": "tests/test_CONTROL.py", "id": CONTROL, "text": "def test_CONTROL():\n    assert False\n"},
    "suffixes": [".py"],
    "test_files": ["tests/conftest.py", "tests/test_prices.py"],
    "path": "shop/prices.py",
}
RULES = [{"kind": "raises", "names": ["ValueError"]}, {"kind": "imports"}]
NAMES = {"language": "python", "name": "price", "rules": RULES}
REPAIR = {**RUN, "failing": FAILING, "others": OTHERS}
WRITE = {**RUN, "main": OTHERS, "rare": FAILING}
REPAIRED = {"correctness": REPAIR, "scope": {**REPAIR, "reference_lines": 2}, "patterns": {**REPAIR, **NAMES}}
WRITTEN = {"functional": WRITE, "edge": WRITE, "patterns": {**WRITE, **NAMES}}
Change = Callable[[Path], object]


@pytest.fixture(autouse=True)
def _python_with_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def trees(folder: Path, change: Change) -> Trees:
    for name in ("base", "work"):
        write_tree(folder / name, BASE)
    change(folder / "work")
    checks = {
        **{Path(module.__file__ or "").name: Path(module.__file__ or "").read_text(encoding="utf-8")
           for module in (edits, pattern_rules, run_pytest)},
        "quick.py": QUICK,
        "hidden/tests/test_prices.py": VISIBLE + SHOWN + HIDDEN,
    }  # fmt: skip
    write_tree(folder / "checks", checks)
    return Trees(folder / "work", folder / "base", folder / "checks")


def worths(key: Mapping[str, Any], where: Trees) -> list[Fraction]:
    return [grade(part, key, where).worth for part in key]


def write(path: str, text: str) -> Change:
    return lambda work: write_tree(work, {path: text})


def both(*changes: Change) -> Change:
    return lambda work: [change(work) for change in changes]


SOLUTION = write("shop/prices.py", RIGHT)
GOOD_REPORTS = """\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    made = yield
    made.get_result().outcome = "passed"
"""
INVENTED = """\
import json, os, sys
names = open("/proc/self/environ").read().split(chr(0)) + [f"OUTCOMES={os.environ.get('OUTCOMES')}"]
paths = [name.partition("=")[2] for name in names if name.startswith("OUTCOMES=")]
for path in paths:
    with open(path, "a") as file:
        for test in sys.argv[1:] + open("/proc/self/cmdline").read().split(chr(0)):
            file.write(json.dumps({"id": test, "passed": True}) + chr(10))
os._exit(0)
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(SOLUTION, [1, 1, 1], id="the reference"),
        pytest.param(both(SOLUTION, write("tests/test_more.py", VISIBLE)), [1, 1, 1], id="with a new test"),
        pytest.param(both(SOLUTION, write("shop/rates.py", "RATES = ()\n")), [1, 0.5, 1], id="with another file"),
        pytest.param(write("shop/prices.py", RIGHT + "\n# why" * 20), [1, 0.5, 1], id="with many lines"),
        pytest.param(write("shop/prices.py", RIGHT.replace("Value", "Unicode")), [1, 1, 0.5], id="other error"),
        pytest.param(lambda _: None, [0, 0, 0], id="nothing"),
        pytest.param(write("shop/prices.py", RIGHT.replace("< 0", "< -5")), [0, 0, 0], id="half of it"),
        pytest.param(write("shop/prices.py", RIGHT.replace("rate\n", "rate + 1\n")), [0, 0, 0], id="another is broken"),
        pytest.param(write("shop/prices.py", RIGHT + "def ("), [0, 0, 0], id="does not parse"),
        pytest.param(lambda work: (work / "shop/prices.py").unlink(), [0, 0, 0], id="removed"),
    ],
)  # fmt: skip
def test_a_repair_is_worth_what_its_tests_say(tmp_path: Path, change: Change, expected: list[float]) -> None:
    assert worths(REPAIRED, trees(tmp_path, change)) == expected


def test_a_test_that_fails_by_chance_is_run_again(tmp_path: Path) -> None:
    marker = tmp_path / "busy"
    chance = f"""

def test_soon():
    path = {str(marker)!r}
    if not os.path.exists(path):
        open(path, "w").close()
        raise TimeoutError
"""
    where = trees(tmp_path, SOLUTION)
    write_tree(where.checks, {"hidden/tests/test_prices.py": f"import os\n{VISIBLE}{SHOWN}{HIDDEN}{chance}"})
    soon = "tests/test_prices.py::test_soon"
    key = {**REPAIR, "command": f"{REPAIR['command']} {soon}", "others": [*OTHERS, soon]}
    assert worths({"correctness": key}, where) == [1]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda work: (work / "tests/test_prices.py").unlink(), id="tests deleted"),
        pytest.param(write("tests/test_prices.py", "def test_negative(): pass\n"), id="tests rewritten"),
        pytest.param(
            both(
                write("shop/prices.py", WRONG + "\n"),
                write("tests/conftest.py", GOOD_REPORTS),
            ),
            id="conftest",
        ),
        pytest.param(write("shop/prices.py", f"print('1 passed')\nprint('1/1')\n{WRONG}"), id="passed is printed"),
        pytest.param(write("shop/prices.py", f"import sys\nsys.exit(0)\n{WRONG}"), id="exit at import"),
        pytest.param(write("shop/prices.py", f"import os\nos._exit(0)\n{WRONG}"), id="hard exit at import"),
        pytest.param(write("shop/prices.py", f"{INVENTED}{WRONG}"), id="outcomes are invented"),
        pytest.param(both(write("shop/prices.py", WRONG + "\n"), write("pytest.py", INVENTED)), id="another pytest"),
        pytest.param(both(write("shop/prices.py", WRONG + "\n"), write("json.py", INVENTED)), id="another json"),
        pytest.param(
            write("shop/prices.py", f"import _pytest.reports as r\nr.TestReport.failed = False\n"
                  f"r.TestReport.outcome = property(lambda s: 'passed', lambda s, v: None)\n{WRONG}"),
            id="all reports are good",
        ),
    ],
)  # fmt: skip
def test_cheating_is_worth_nothing(tmp_path: Path, change: Change) -> None:
    command = f'PYTHONPATH=$PWD python3 -P "$CHECKS/run_pytest.py" {TESTS}'
    where = trees(tmp_path, change)
    assert grade("correctness", {"correctness": {**REPAIR, "command": command}}, where).worth == 0


def test_the_reference_passes_under_pytest(tmp_path: Path) -> None:
    command = f'PYTHONPATH=$PWD python3 -P "$CHECKS/run_pytest.py" {TESTS}'
    where = trees(tmp_path, SOLUTION)
    assert grade("correctness", {"correctness": {**REPAIR, "command": command}}, where).worth == 1


def test_a_written_body_is_worth_the_share_of_tests_that_pass(tmp_path: Path) -> None:
    assert worths(WRITTEN, trees(tmp_path / "right", SOLUTION)) == [1, 1, 1]
    assert worths(WRITTEN, trees(tmp_path / "nothing", lambda _: None)) == [0, 0, 0]
    half = trees(tmp_path / "half", write("shop/prices.py", RIGHT.replace("< 0", "< -5")))
    assert worths(WRITTEN, half) == [1, Fraction(1, 2), 1]
    swapped = {**WRITTEN, "functional": {**WRITE, "main": FAILING}}
    assert grade("functional", swapped, half).worth == Fraction(1, 4), "half of the share of main tests that pass"


def test_a_target_that_is_configuration_counts(tmp_path: Path) -> None:
    key = {**REPAIR, "path": "setup.py"}
    where = trees(tmp_path, write("setup.py", "CHANGED = 1\n"))
    (where.base / "shop/prices.py").write_text(RIGHT)
    (where.work / "shop/prices.py").write_text(RIGHT)
    assert grade("correctness", {"correctness": key}, where).worth == 1
    assert grade("correctness", {"correctness": REPAIR}, where).worth == 0, "no source is changed"


def test_the_program_prints_a_reason_and_the_worth(tmp_path: Path) -> None:
    where = trees(tmp_path, SOLUTION)
    (where.checks / "key.json").write_text(json.dumps(REPAIRED))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "BASE": str(where.base)}
    argv = ["python3", str(where.checks / "edits.py"), "scope"]
    done = subprocess.run(argv, cwd=where.work, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "1/1"
    assert "shop/prices.py" in done.stdout.splitlines()[0]
