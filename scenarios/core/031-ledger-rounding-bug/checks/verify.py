"""Checks of the results of tally: `python3 -I verify.py NAME`, in the changed tree.

The code under test only ever runs in child processes; what they must answer stays in this process.
"""

import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import closed  # noqa: E402, F401

Call = tuple[str, list]  # function, arguments
TREE = Path.cwd()
BASE = Path(os.environ["BASE"])
PUBLIC_TESTS = ("test_amounts.py", "test_money.py", "test_statement.py")
OWN_TESTS = 41

# A program as a user of the library would write it: it reads calls from a file and writes what they return.
PROGRAM = """\
import json
import sys

from tally.cash import cash_amount
from tally.fx import convert
from tally.money import Money
from tally.rates import Rate
from tally.split import split
from tally.tax import vat_on, vat_within


def converted(amount, currency, rates):
    table = {tuple(pair.split()): Rate.parse(rate) for pair, rate in rates.items()}
    return str(convert(Money.parse(amount), currency, table))


FUNCTIONS = {
    "vat_on": lambda net, rate: str(vat_on(Money.parse(net), Rate.parse(rate))),
    "vat_within": lambda gross, rate: str(vat_within(Money.parse(gross), Rate.parse(rate))),
    "convert": converted,
    "split": lambda amount, weights: [str(part) for part in split(Money.parse(amount), weights)],
    "cash_amount": lambda amount: str(cash_amount(Money.parse(amount))),
}


def answer(name, arguments):
    try:
        return FUNCTIONS[name](*arguments)
    except Exception as error:
        return repr(error)


with open(sys.argv[1], encoding="utf-8") as file:
    calls = json.load(file)
answers = [answer(name, arguments) for name, arguments in calls]
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(answers, file)
"""


def clip(value: object) -> str:
    """One printable line, so that nothing in it can be taken for a result."""
    text = "".join(c if c.isprintable() else "?" for c in (value if isinstance(value, str) else repr(value)))
    return text if len(text) <= 200 else text[:197] + "..."


def environment(home: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC", **more}


def ask(calls: list[Call], home: Path) -> list[object]:
    """The answers of the functions, from a program of its own; an empty list when it gives none."""
    program, questions, answers = home / "month.py", home / "calls.json", home / "answers.json"
    program.write_text(PROGRAM, encoding="utf-8")
    questions.write_text(json.dumps(calls), encoding="utf-8")
    command = [sys.executable, "-B", str(program), str(questions), str(answers)]
    env = environment(home, PYTHONPATH=str(TREE / "src"))
    try:
        subprocess.run(command, cwd=home, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
        found = json.loads(answers.read_text(encoding="utf-8"))
    except (subprocess.TimeoutExpired, OSError, ValueError):
        return []
    return found if isinstance(found, list) and len(found) == len(calls) else []


def run_command(call: Call, home: Path) -> object:
    """Exit status and output of `PYTHONPATH=src python3 -m tally ...` in the repository, as the README has it."""
    _, (books, args) = call
    path = home / "books.json"
    if isinstance(books, dict):
        path.write_text(json.dumps(books), encoding="utf-8")
    args = [str(path) if arg == "BOOKS" else arg for arg in args]
    env = environment(home, PYTHONPATH="src", PYTHONDONTWRITEBYTECODE="1")
    command = ["python3", "-m", "tally", *args]
    try:
        done = subprocess.run(command, cwd=TREE, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
    except (subprocess.TimeoutExpired, OSError) as error:
        return type(error).__name__
    return [done.returncode, done.stdout.decode("utf-8", "replace")]


def show(call: Call) -> str:
    """A call as it would be written, without the books."""
    name, args = call
    if name == "main":
        return "tally " + " ".join(args[1])
    return f"{name}({', '.join(str(arg) for arg in args[:2])})"


def run_amounts(home: Path) -> dict[str, list[str]]:
    """The results of all calls, by check."""
    from cases import CHECKS  # takes longer than the other checks need to start

    shutil.copytree(BASE / "examples", TREE / "examples", dirs_exist_ok=True)  # the books that are correct
    calls = [call for cases in CHECKS.values() for call, _ in cases if call[0] != "main"]
    found = iter(ask(calls, home) or ["the program ended without an answer"] * len(calls))
    results: dict[str, list[str]] = {}
    for name, cases in CHECKS.items():
        results[name] = []
        for call, expected in cases:
            answer = run_command(call, home) if call[0] == "main" else next(found)
            if type(answer) is not type(expected) or answer != expected:
                results[name].append(f"{show(call)}: {difference(expected, answer)}")
    return results


def difference(expected: object, found: object) -> str:
    """What was expected and found; of several lines only the first that differs."""
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found) == 2:
        (status, text), (status_found, text_found) = expected, found
        if status == status_found == 0 and isinstance(text_found, str):
            for line, line_found in zip(text.splitlines(), text_found.splitlines(), strict=False):
                if line != line_found:
                    expected, found = line, line_found
                    break
    return f"expected {expected!r}, found {found!r}"


def pytest_results(code: Path, tests: Path, home: Path, *modules: str) -> tuple[int, int]:
    """Run the tests in ``tests`` (or some modules of it) on a copy of ``code``; return how many ran and passed."""
    tree = home / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    skip = shutil.ignore_patterns(".git", "__pycache__", "conftest.py", "tests")
    shutil.copytree(code, tree, symlinks=True, ignore=skip)
    tree.chmod(0o755)
    shutil.copytree(tests, tree / "tests", symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for folder, _, _ in os.walk(tree):
        os.chmod(folder, 0o755)
    settings, results = home / "own.ini", home / "results.xml"
    settings.write_text(f"[pytest]\npythonpath = {tree}/src\n", encoding="utf-8")
    results.unlink(missing_ok=True)
    command = [sys.executable, "-I", "-B", "-m", "pytest", "-q", "-c", str(settings), f"--rootdir={tree}"]
    command += [f"--confcutdir={tree}/tests", "-p", "no:cacheprovider", f"--basetemp={home / 'temp'}"]
    command += [f"--junitxml={results}", *(str(tree / "tests" / module) for module in modules or [""])]
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        subprocess.run(command, cwd=tree, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
        cases = list(ElementTree.parse(results).iter("testcase"))
    except (subprocess.TimeoutExpired, OSError, ElementTree.ParseError):
        return 0, 0
    return len(cases), sum(len(case.findall("*[@message]")) == 0 for case in cases)


def run_own_tests(home: Path) -> list[str]:
    """The tests of the public functions as they were, and all tests as they are now: helpers may have other names."""
    ran, passed = pytest_results(TREE, BASE / "tests", home, *PUBLIC_TESTS)
    if (ran, passed) != (OWN_TESTS, OWN_TESTS):
        return [f"tests of the public functions: expected {OWN_TESTS} passed, found {passed} of {ran}"]
    ran, passed = pytest_results(TREE, TREE / "tests", home)
    if ran == 0 or passed != ran:
        return [f"tests of the repository as they are now: expected that all pass, found {passed} of {ran}"]
    return []


def run_new_tests(home: Path) -> list[str]:
    """There are new tests; they pass with the change and not without it."""
    modules = [file.removeprefix("tests/") for file in changed_modules() if re.match(r"tests/(.*/)?test_", file)]
    if not modules:
        return ["no test module was added or changed"]
    ran, passed = pytest_results(TREE, TREE / "tests", home, *modules)
    if ran == 0 or passed != ran:
        return [f"expected that all tests in {clip(', '.join(modules))} pass, found {passed} of {ran}"]
    ran, passed = pytest_results(BASE, TREE / "tests", home, *modules)
    return [] if passed < ran or ran == 0 else ["the tests also pass without the change"]


def changed_modules() -> list[str]:
    files = [path.relative_to(TREE) for path in sorted(TREE.rglob("*.py"))]
    return [
        str(file)
        for file in files
        if not (BASE / file).is_file() or not filecmp.cmp(TREE / file, BASE / file, shallow=False)
    ]


def run_ruff(*args: str) -> list[str]:
    files = changed_modules()
    if not files:
        return ["no module was changed"]
    common = ["--isolated", "--no-cache", "--line-length", "120", "--target-version", "py311"]
    done = subprocess.run(["ruff", *args, *common, "--", *files], cwd=TREE, capture_output=True, text=True)
    return [] if done.returncode == 0 else [clip(line) for line in (done.stdout + done.stderr).splitlines() if line]


def run_style(home: Path) -> dict[str, list[str]]:
    first_party = "lint.isort.known-first-party = ['tally']"
    options = ["--ignore-noqa", "--select", "E,F,W,I,B,UP", "--output-format", "concise", "--config", first_party]
    return {"lint": run_ruff("check", *options), "format": run_ruff("format", "--check")}


def run_changelog(home: Path) -> list[str]:
    path = TREE / "CHANGELOG.md"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    news = re.search(r"^## Unreleased\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    return [] if news and re.search(r"^\s*[-*] \S", news[1], re.MULTILINE) else ["nothing under Unreleased"]


def run_work(home: Path) -> dict[str, list[str]]:
    """Style and changelog, then the tests, which execute what was written."""
    still = run_style(home) | {"changelog": run_changelog(home)}
    return still | {"own-tests": run_own_tests(home), "new-tests": run_new_tests(home)}


GROUPS = {"amounts": run_amounts, "work": run_work}


def main(group: str) -> int:
    """Print a line `ok NAME` or `FAIL NAME: why` for each check of a group."""
    with tempfile.TemporaryDirectory() as folder:
        results = GROUPS[group](Path(folder))
    for name, wrong in results.items():
        more = f", and {len(wrong) - 1} more, such as: {clip(wrong[-1])}" if len(wrong) > 1 else ""
        print(f"FAIL {name}: {clip(wrong[0])}{more}" if wrong else f"ok {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
