"""Checks of the `bookings check` command: `python3 -I verify.py NAME`, in the changed tree.

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
from collections.abc import Callable
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import closed  # noqa: E402, F401
from cases import CHECKS, ROOMS, Case, room  # noqa: E402
from command import Answer, Command  # noqa: E402

TREE = Path.cwd()
BASE = Path(os.environ["BASE"])
OWN_TESTS = 59


def write(path: Path, name: str, records: list) -> None:
    path.write_text(json.dumps({name: records}, ensure_ascii=False), encoding="utf-8")


def clip(value: object) -> str:
    """One printable line, so that nothing in it can be taken for a result."""
    text = "".join(c if c.isprintable() else "?" for c in (value if isinstance(value, str) else repr(value)))
    return text if len(text) <= 150 else text[:147] + "..."


def severity(code: str) -> str:
    return "warning" if code in ("RD-104", "RD-309") else "error"


def run_case(case: Case, home: Path, call: Command) -> list[str]:
    """What is wrong with the answer to one case."""
    write(home / "rooms.json", "rooms", ROOMS)
    write(home / "bookings.json", "bookings", case.bookings)
    status, out, err = call("bookings", "check", "rooms.json", "bookings.json", "--format", "json", *case.options)
    expected_status = case.status
    if expected_status is None:
        expected_status = int(any(severity(code) == "error" for _, code, _, _ in case.problems))
    expected = [
        f"{record}: {severity(code)} {code} {field}: {message}" for record, code, field, message in case.problems
    ]
    try:
        data = json.loads(out)
        frame = (data["source"], data["records"])
        found = ["{record}: {severity} {code} {field}: {message}".format(**problem) for problem in data["problems"]]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        last = (err.strip().splitlines() or [out.strip()])[-1]
        return [f"no report in JSON (exit status {status}): {clip(last)}"]
    wrong = [f"expected but not found: {clip(line)}" for line in expected if line not in found]
    wrong += [f"found but not expected: {clip(line)}" for line in found if line not in expected]
    if not wrong and found != expected:
        wrong.append("the order of the problems is wrong, or one is there twice")
    if frame != ("bookings.json", len(case.bookings)):
        wrong.append(f"source and number of records: found {clip(frame)}")
    if status != expected_status:
        wrong.append(f"exit status: expected {expected_status}, found {status}")
    return wrong


def literal(home: Path) -> Callable[..., Answer]:
    """`python3 -m roomdesk` as people start it, each time anew."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "PYTHONPATH": str(TREE)}

    def call(*args: str) -> Answer:
        command = ["python3", "-m", "roomdesk", *args]
        env["PYTHONDONTWRITEBYTECODE"] = "1"
        try:
            done = subprocess.run(command, cwd=home, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
        except subprocess.TimeoutExpired:
            return "no end after 5 seconds", "", ""
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    return call


def run_text(home: Path, call: Command) -> list[str]:
    """The report as text is the one that `rooms check` writes."""
    record = {"id": "a", "room": "r-1", "start": "2025-06-01T09:00", "end": "2025-06-01T10:00", "attendees": 11}
    write(home / "rooms.json", "rooms", ROOMS)
    write(home / "list.json", "bookings", [record, record | {"id": "b", "room": "attic"}])
    return compare(
        call("bookings", "check", "rooms.json", "list.json"),
        1,
        "list.json:1: warning RD-309 attendees: 11 people in a room for 10\n"
        "list.json:2: error RD-301 room: no room matches 'attic'\n"
        "list.json: 2 records, 1 errors, 1 warnings\n",
    )


def compare(answer: Answer, status: int, out: str | None) -> list[str]:
    wrong = []
    if answer[0] != status:
        wrong.append(f"exit status: expected {status}, found {answer[0]}")
    if out is not None and answer[1] != out:
        wrong.append(f"output: expected {clip(repr(out))}, found {clip(repr(answer[1]))}")
    return wrong


def run_files(home: Path, call: Command) -> list[str]:
    """Rooms with errors or warnings, files that cannot be read, wrong command lines."""
    booking = {"id": "a", "room": "barn", "start": "2025-06-01T09:00Z", "end": "2025-06-01T10:00Z", "attendees": 3}
    write(home / "good.json", "rooms", ROOMS)
    write(home / "warned.json", "rooms", [room("barn", "Barn", capacity=121)])
    write(home / "bad.json", "rooms", [room("barn", "Barn", capacity=0), room("b", "B", capacity=400)])
    write(home / "bookings.json", "bookings", [booking])
    write(home / "crowd.json", "bookings", [booking | {"attendees": 122, "end": "2025-06-01T09:05Z"}])
    (home / "broken.json").write_text("{", encoding="utf-8")
    clean = "bookings.json: 1 records, 0 errors, 0 warnings\n"
    bad = (
        "bad.json:1: error RD-105 capacity: must be at least 1, not 0\n"
        "bad.json:2: warning RD-204 capacity: 400 people is more than the house may hold (120)\n"
        "bad.json: 2 records, 1 errors, 1 warnings\n"
    )
    crowd = (
        "crowd.json:1: error RD-306 end: lasts 5 minutes, allowed are 15 to 600\n"
        "crowd.json:1: warning RD-309 attendees: 122 people in a room for 121\n"
        "crowd.json: 1 records, 1 errors, 1 warnings\n"
    )

    def check(*args: str) -> Answer:
        return call("bookings", "check", *args)

    results = {
        "warnings about rooms are not shown": compare(check("warned.json", "bookings.json", "--strict"), 0, clean),
        "a room with a warning can be booked": compare(check("warned.json", "crowd.json"), 1, crowd),
        "errors in rooms end the check": compare(check("bad.json", "crowd.json"), 1, bad),
        "no bookings file": compare(check("bad.json", "none.json"), 3, None),
        "broken bookings file": compare(check("good.json", "broken.json"), 3, None),
        "wrong list in the file": compare(check("good.json", "good.json"), 3, None),
        "no rooms file": compare(check("none.json", "bookings.json"), 3, None),
    }
    return [f"{title}: {line}" for title, wrong in results.items() for line in wrong]


def documented_codes() -> list[str]:
    """The rows of the page of codes that docs/bookings.md asks for."""
    text = (BASE / "docs" / "bookings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (RD-3\d\d) \| (\w+) \| .*? \| `(.*)` \|$", text, re.MULTILINE)
    return [f"| {code} | {severity} | `{message}` |" for code, severity, message in rows]


def run_codes(home: Path, call: Command) -> list[str]:
    status, out, _ = call("codes")
    lines = out.splitlines() if status == 0 else []
    return [f"`codes` does not print {row}" for row in documented_codes() if row not in lines]


def read(name: str) -> str:
    path = TREE / name
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def run_page(home: Path, call: Command) -> list[str]:
    """docs/errors.md is what the `codes` command prints."""
    status, out, _ = call("codes")
    page = read("docs/errors.md")
    old = set((BASE / "docs" / "errors.md").read_text(encoding="utf-8").splitlines())
    if status != 0 or not old <= set(out.splitlines()):
        return [f"`codes` does not print the page any more (exit status {status})"]
    gone = [line for line in out.splitlines() if line not in page.splitlines()]
    return [] if page == out else [f"docs/errors.md is not the output of `codes`; it lacks {len(gone)} of its lines"]


def run_commands(home: Path, call: Command) -> list[str]:
    """`rooms check` and `rooms open` answer as before."""
    write(home / "rooms.json", "rooms", [*ROOMS, room("R 1", "New", capacity=0)])
    wrong = compare(
        call("rooms", "check", "rooms.json"),
        1,
        "rooms.json:6: error RD-103 id: 'R 1' is already used by record 1\n"
        "rooms.json:6: error RD-105 capacity: must be at least 1, not 0\n"
        "rooms.json: 6 records, 2 errors, 0 warnings\n",
    )
    times = {"2025-03-30T02:30": "open", "2025-10-26T02:30": "open", "2025-06-01T05:59Z": "open"}
    for time, answer in times.items():
        wrong += compare(call("rooms", "open", "rooms.json", "garden room", time), 0, f"{answer}\n")
    wrong += compare(call("rooms", "open", "rooms.json", "office", "2025-06-01T06:29Z"), 0, "closed\n")
    return wrong


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
    settings.write_text(f"[pytest]\npythonpath = {tree}\n", encoding="utf-8")
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


def run_own_tests(home: Path, call: Command) -> list[str]:
    ran, passed = pytest_results(TREE, BASE / "tests", home)
    if (ran, passed) == (OWN_TESTS, OWN_TESTS):
        return []
    return [f"tests of the repository: expected {OWN_TESTS} passed, found {passed} of {ran}"]


def run_new_tests(home: Path, call: Command) -> list[str]:
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


def run_lint(home: Path, call: Command) -> list[str]:
    first_party = "lint.isort.known-first-party = ['roomdesk']"
    options = ["--ignore-noqa", "--select", "E,F,W,I,B,UP", "--output-format", "concise", "--config", first_party]
    return run_ruff("check", *options)


def run_format(home: Path, call: Command) -> list[str]:
    return run_ruff("format", "--check")


def run_docs(home: Path, call: Command) -> list[str]:
    """What CONTRIBUTING.md and the request ask for in the documents."""
    readme, changelog, rules = (read(name) for name in ("README.md", "CHANGELOG.md", "docs/bookings.md"))
    news = re.search(r"^## Unreleased\n(.*?)(?=^## )", changelog, re.MULTILINE | re.DOTALL)
    wrong = []
    if not re.search(r"^\|.*bookings check", readme, re.MULTILINE):
        wrong.append("README.md: no row in the table of commands")
    if not news or "booking" not in news[1].lower():
        wrong.append("CHANGELOG.md: nothing about bookings under Unreleased")
    if "RD-310" not in rules or re.search(r"No\s+command\s+checks", rules):
        wrong.append("docs/bookings.md: still says that no command checks the rules")
    return wrong


GROUPS = {
    "rules": list(CHECKS),
    "command": ["docs", "text", "files", "codes", "page", "commands"],
    "work": ["lint", "format", "own-tests", "new-tests"],
}

CODE_CHECKS = {
    "text": run_text,
    "files": run_files,
    "codes": run_codes,
    "page": run_page,
    "commands": run_commands,
    "own-tests": run_own_tests,
    "new-tests": run_new_tests,
    "lint": run_lint,
    "format": run_format,
    "docs": run_docs,
}


def run(name: str, home: Path, call: Command) -> list[str]:
    if name not in CHECKS:
        return CODE_CHECKS[name](home, call)
    wrong = [f"{case.name}: {line}" for case in CHECKS[name] for line in run_case(case, home, call)]
    hardest = max(CHECKS[name], key=lambda case: len(case.problems))
    return wrong + [f"{hardest.name}, as a command: {line}" for line in run_case(hardest, home, literal(home))]


def main(group: str) -> int:
    """Print a line `ok NAME` or `FAIL NAME: why` for each check of a group."""
    with tempfile.TemporaryDirectory() as folder:
        call = Command(TREE, Path(folder))
        for name in GROUPS[group]:
            wrong = run(name, Path(folder), call)
            more = f", and {len(wrong) - 1} more, such as: {clip(wrong[-1])}" if len(wrong) > 1 else ""
            print(f"FAIL {name}: {clip(wrong[0])}{more}" if wrong else f"ok {name}")
        call.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
