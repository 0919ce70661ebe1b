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

from cases import CHECKS, Call  # noqa: E402

TREE = Path.cwd()
BASE = Path(os.environ["BASE"])
OWN_TESTS = 62

CHILD = """
import contextlib, importlib, io, json, sys, traceback

source, questions, answers = sys.argv[1:]
sys.path.insert(0, source)


def load(name):
    return importlib.import_module("tally." + name)


def money(text):
    return load("money").Money.parse(text)


def rate(text):
    return load("rates").Rate.parse(text)


def vat_on(net, percent):
    return str(load("tax").vat_on(money(net), rate(percent)))


def vat_within(gross, percent):
    return str(load("tax").vat_within(money(gross), rate(percent)))


def convert(amount, currency, rates):
    table = {tuple(pair.split()): rate(text) for pair, text in rates.items()}
    return str(load("fx").convert(money(amount), currency, table))


def split(amount, weights):
    return [str(part) for part in load("split").split(money(amount), weights)]


def cash_amount(amount):
    return str(load("cash").cash_amount(money(amount)))


def main(books, args):
    with open("books.json", "w", encoding="utf-8") as file:
        json.dump(books, file)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = load("cli").main(["books.json" if arg == "BOOKS" else arg for arg in args])
    return [status, out.getvalue()]


results = []
for name, args in json.load(open(questions, encoding="utf-8")):
    try:
        results.append(globals()[name](*args))
    except (Exception, SystemExit) as error:
        results.append(repr(error))
with open(answers, "w", encoding="utf-8") as file:
    json.dump(results, file)
"""


def clip(value: object) -> str:
    """One printable line, so that nothing in it can be taken for a result."""
    text = "".join(c if c.isprintable() else "?" for c in (value if isinstance(value, str) else repr(value)))
    return text if len(text) <= 200 else text[:197] + "..."


def ask(calls: list[Call], home: Path) -> list[object]:
    """The answers of the code under test, or an empty list when it gives none."""
    questions, answers = home / "questions.json", home / "answers.json"
    questions.write_text(json.dumps(calls), encoding="utf-8")
    command = [sys.executable, "-I", "-B", "-c", CHILD, str(TREE / "src"), str(questions), str(answers)]
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TZ": "UTC"}
    try:
        subprocess.run(command, cwd=home, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
        found = json.loads(answers.read_text(encoding="utf-8"))
    except (subprocess.TimeoutExpired, OSError, ValueError):
        return []
    return found if isinstance(found, list) and len(found) == len(calls) else []


def show(call: Call) -> str:
    """A call as it would be written, without the books."""
    name, args = call
    if name == "main":
        return "tally " + " ".join(args[1])
    return f"{name}({', '.join(str(arg) for arg in args[:2])})"


def run_amounts(home: Path) -> dict[str, list[str]]:
    """The results of all calls, by check."""
    found = ask([call for cases in CHECKS.values() for call, _ in cases], home)
    results: dict[str, list[str]] = {}
    answers = iter(found)
    for name, cases in CHECKS.items():
        results[name] = [] if found else ["the program ended without an answer"]
        for (call, expected), answer in zip(cases, answers, strict=False):
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
    ran, passed = pytest_results(TREE, BASE / "tests", home)
    if (ran, passed) == (OWN_TESTS, OWN_TESTS):
        return []
    return [f"tests of the repository: expected {OWN_TESTS} passed, found {passed} of {ran}"]


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


GROUPS = {
    "amounts": run_amounts,
    "own-tests": lambda home: {"own-tests": run_own_tests(home)},
    "new-tests": lambda home: {"new-tests": run_new_tests(home)},
    "style": lambda home: run_style(home) | {"changelog": run_changelog(home)},
}


def main(group: str) -> int:
    """Print a line `ok NAME` or `FAIL NAME: why` for each check of a group."""
    with tempfile.TemporaryDirectory() as folder:
        results = GROUPS[group](Path(folder))
    for name, wrong in results.items():
        print(f"ok {name}" if not wrong else f"FAIL {name}: {clip(wrong[0])}")
        if len(wrong) > 1:
            print(f"     and {len(wrong) - 1} more, such as: {clip(wrong[-1])}")
    return int(any(results.values()) and len(results) == 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
