"""Look at the workflows, start them on this machine and compare what happens.

usage: verify.py [CHECK ...]
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import closed  # noqa: E402, F401
from alone import run_alone  # noqa: E402
from runner import Event, Run, Runner, load, read, rights, template  # noqa: E402
from triggers import starts, triggers  # noqa: E402

VERSION = "1.10.0"
ARCHIVE = f"parcel-rates-{VERSION}.tar.gz"
JOBS = {
    "ci": ["lint", "test", "build", "snapshot"],
    "pull-request": ["title", "branch"],
    "nightly": ["rates", "report"],
    "release": ["verify", "package", "publish"],
}
EVENTS = {
    "ci": ["push", "pull_request", "workflow_dispatch"],
    "pull-request": ["pull_request"],
    "nightly": ["schedule", "workflow_dispatch"],
    "release": ["push", "workflow_dispatch"],
}
MAY_WRITE = {("release", "publish"): {"contents"}, ("nightly", "report"): {"issues"}}
SHOWN = 8
OTHER = "2.30.4"  # a version that the repository does not have


def other_version() -> dict[str, str]:
    """The files of the package at another version, with its section in the changelog."""
    texts = {name: Path(os.environ["BASE"], name).read_text() for name in ("pyproject.toml", "CHANGELOG.md")}
    section = f"## {OTHER}\n\n- Prices for Norway and Switzerland, again.\n\n## "
    return {
        "pyproject.toml": texts["pyproject.toml"].replace(f'"{VERSION}"', f'"{OTHER}"'),
        "CHANGELOG.md": texts["CHANGELOG.md"].replace("## ", section, 1),
    }


class Report:
    """Collects differences."""

    def __init__(self) -> None:
        self.done = 0
        self.problems: list[str] = []

    def equal(self, what: str, expected: object, found: object) -> None:
        self.done += 1
        if expected != found:
            self.problems.append(f"{what}: expected {expected!r}, found {found!r}"[:300])

    def fault(self) -> str:
        """What is wrong; empty if nothing is."""
        if not self.problems:
            return ""
        return f"{len(self.problems)} of {self.done} wrong: {'; '.join(self.problems[:SHOWN])}"


def go(name: str, event: Event, changes: dict[str, str] | None = None, tests: bool = False) -> Run:
    """One run; without `tests`, the unit tests count as passed."""
    runner = Runner(name, event, changes, tests)
    try:
        return runner.start()
    finally:
        runner.close()


def pull_request(title: str = "Fix: rounding", branch: str = "fix/rounding", author: str = "kim") -> Event:
    head = {"ref": branch, "sha": "2" * 40}
    payload = {"action": "opened", "number": 7, "pull_request": {"title": title, "head": head, "body": "text"}}
    payload["pull_request"]["user"] = {"login": author}
    payload["pull_request"]["number"] = 7
    return Event("pull_request", "refs/pull/7/merge", payload=payload, head_ref=branch)


def results(**jobs: str) -> dict[str, str]:
    return jobs


def linter(report: Report) -> None:
    """actionlint, with its own settings, on what GitHub would read."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "repo")
        shutil.copytree(".github", root / ".github")
        (root / ".git").mkdir()
        for name in ("actionlint.yml", "actionlint.yaml"):
            (root / ".github" / name).unlink(missing_ok=True)
        settings = Path(folder, "settings.yaml")
        settings.write_text("")
        files = sorted(str(path) for path in (root / ".github/workflows").iterdir() if path.suffix in (".yml", ".yaml"))
        options = ["-oneline", "-no-color", "-shellcheck=", "-pyflakes=", "-config-file", str(settings)]
        options += ["-ignore", 'runtime "node[0-9]+" is deprecated', *files]
        done = subprocess.run(["actionlint", *options], cwd=root, capture_output=True, text=True, timeout=20)
    lines = [re.sub(r"^.*?(\.github/)", r"\1", line) for line in (done.stdout + done.stderr).splitlines()]
    for line in lines:
        report.equal("actionlint", "nothing", line)
    report.equal("actionlint: exit code", 0, done.returncode)
    report.equal("number of workflows", True, len(files) >= len(JOBS))


def kept(report: Report) -> None:
    """All workflows, jobs and kinds of events are still there, and jobs still have their steps."""
    for name, jobs in JOBS.items():
        workflow = load(name)
        report.equal(f"{name}: jobs that are gone", [], [job for job in jobs if job not in workflow["jobs"]])
        report.equal(f"{name}: events that are gone", [], [e for e in EVENTS[name] if e not in triggers(workflow)])
        empty = [job for job in jobs if not (workflow["jobs"].get(job) or {}).get("steps")]
        report.equal(f"{name}: jobs without steps", [], empty)


def own_tests(report: Report) -> None:
    """The unit tests of the base pass, and version.py works outside of workflows."""
    base = Path(os.environ["BASE"])
    env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8"}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(base / "tests", Path(folder, "tests"))
        command = [sys.executable, "-S", "-m", "unittest", "discover", "-s", "tests", "-t", "."]
        src = {"PYTHONPATH": str(Path("src").resolve())}
        tests = subprocess.run(command, cwd=folder, env=env | src, capture_output=True, text=True, timeout=20)
    report.equal("unit tests", True, tests.returncode == 0 and "Ran 4 tests" in tests.stderr)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(".", folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
        command = [sys.executable, "-S", "scripts/ci/version.py"]
        local = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=20)
    report.equal("version.py outside of a workflow: exit code", 0, local.returncode)
    report.equal("version.py prints the version", True, f"version {VERSION}" in local.stdout.splitlines())


def ci(report: Report) -> None:
    """CI on main: all jobs, all versions of Python, outputs and artifacts."""
    run = go("ci", Event("push"), tests=True)
    good = results(lint="success", test="success", build="success", snapshot="success")
    report.equal("push to main", good, {name: run.results.get(name) for name in good})
    report.equal("steps that failed", [], run.errors)
    used = [given.get("python-version") for action, given in run.used.get("test", []) if "setup-python" in action]
    report.equal("versions of Python in test", ["3.11", "3.12", "3.13"], sorted(map(str, used)))
    report.equal("output version of build", VERSION, run.outputs.get("build", {}).get("version"))
    digest = run.outputs.get("build", {}).get("digest", "")
    report.equal("output digest of build is a checksum", True, bool(re.fullmatch(r"[0-9a-f]{64}", digest)))
    report.equal("artifact of build", [ARCHIVE], sorted(run.artifacts.get(f"package-{VERSION}", {})))
    snapshot = run.artifacts.get("snapshot", {})
    report.equal("artifact of snapshot", ["SHA256SUMS", ARCHIVE], sorted(snapshot))
    report.equal("SHA256SUMS", f"{digest}  {ARCHIVE}\n", snapshot.get("SHA256SUMS", b"").decode())


def ci_failures(report: Report) -> None:
    """CI still notices bad style and failing tests."""
    run = go("ci", Event("push"), {"src/parcel_rates/rates.py": "if True:\n\tX = 1\n"})
    found = {name: run.results.get(name) for name in ("lint", "build", "snapshot")}
    report.equal("a tab in the sources", results(lint="failure", build="skipped", snapshot="skipped"), found)
    failing = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_no(self) -> None:\n        self.fail()\n"
    run = go("ci", Event("push"), {"tests/test_rates.py": failing}, tests=True)
    found = {name: run.results.get(name) for name in ("test", "build", "snapshot")}
    report.equal("a failing test", results(test="failure", build="skipped", snapshot="skipped"), found)


def snapshot(report: Report) -> None:
    """Snapshots are for main: pushes, and runs by hand."""
    cases = {
        "pull request": (pull_request(), "skipped"),
        "by hand on main": (Event("workflow_dispatch"), "success"),
        "by hand on a branch": (Event("workflow_dispatch", "refs/heads/fix/rounding"), "skipped"),
    }
    for what, (event, expected) in cases.items():
        run = go("ci", event, other_version())
        report.equal(f"{what}: output version of build", OTHER, run.outputs.get("build", {}).get("version"))
        archive = sorted(run.artifacts.get(f"package-{OTHER}", {}))
        report.equal(f"{what}: artifact of build", [f"parcel-rates-{OTHER}.tar.gz"], archive)
        report.equal(f"{what}: build", "success", run.results.get("build"))
        found = "success" if "snapshot" in run.artifacts else "skipped"
        report.equal(f"{what}: snapshot", expected, found)
        report.equal(f"{what}: steps that failed", [], run.errors)
        report.equal(f"{what}: an older run is cancelled", event.name == "pull_request", run.cancels)


def filters(report: Report) -> None:
    """Which changed files start CI."""
    workflow = load("ci")
    wanted = ["src/parcel_rates/zones/europe.py", "src/parcel_rates/rates.py", "tests/zones/test_europe.py"]
    wanted += ["tests/test_rates.py", "scripts/ci/version.py", "scripts/new.py", "pyproject.toml"]
    wanted += [".github/workflows/ci.yml", "src/a/b/c/d.py"]
    for event in ("push", "pull_request"):
        for path in wanted:
            report.equal(f"{event} with {path} starts CI", True, starts(workflow, event, "refs/heads/main", [path]))
        for path in ("README.md", "docs/releasing.md", "CHANGELOG.md"):
            report.equal(f"{event} with {path} starts CI", False, starts(workflow, event, "refs/heads/main", [path]))
    for ref in ("refs/heads/fix/rounding", f"refs/tags/v{VERSION}"):
        report.equal(f"push to {ref} starts CI", False, starts(workflow, "push", ref, wanted))


def tags(report: Report) -> None:
    """Which tags start a release."""
    workflow = load("release")
    for tag in ("v1.10.0", "v1.2.3", "v12.0.31", "v0.10.100"):
        report.equal(f"tag {tag} starts a release", True, starts(workflow, "push", f"refs/tags/{tag}", []))
    for tag in ("v2.0.0-rc.1", "v1.10", "nightly-7", "1.2.3", "v1.2.3.4", "v1.x.0", "v1.2.", "version"):
        report.equal(f"tag {tag} starts a release", False, starts(workflow, "push", f"refs/tags/{tag}", []))
    report.equal("push to main starts a release", False, starts(workflow, "push", "refs/heads/main", ["src/a.py"]))


def release(report: Report) -> None:
    """Releases, by tag and by hand."""
    by_hand = Event("workflow_dispatch", inputs={"tag": f"v{VERSION}", "dry-run": False})
    by_tag = Event("push", f"refs/tags/v{OTHER}")
    cases = {"by tag": (by_tag, OTHER, other_version()), "by hand": (by_hand, VERSION, {})}
    for what, (event, version, changes) in cases.items():
        run = go("release", event, changes)
        good = dict.fromkeys(JOBS["release"], "success")
        report.equal(f"release {what}", good, {name: run.results.get(name) for name in good})
        report.equal(f"release {what}: steps that failed", [], run.errors)
        calls = [call for call in run.github if call["words"][:2] == ["release", "create"]]
        report.equal(f"release {what}: releases", 1, len(calls))
        if len(calls) == 1:
            words = calls[0]["words"]
            found = [words[2], f"dist/parcel-rates-{version}.tar.gz" in words]
            report.equal(f"release {what}: tag and archive", [f"v{version}", True], found)
            report.equal(f"release {what}: title", True, f"parcel-rates {version}" in " ".join(words))
            report.equal(f"release {what}: notes", True, "Norway and Switzerland" in "".join(calls[0]["notes"]))
            report.equal(f"release {what}: refused", False, calls[0]["refused"])


def release_gates(report: Report) -> None:
    """What must not become a release."""
    project = Path(os.environ["BASE"], "pyproject.toml").read_text()
    newer = {"pyproject.toml": project.replace(VERSION, "1.11.0")}
    dry = Event("workflow_dispatch", inputs={"tag": f"v{VERSION}", "dry-run": True})
    cases: dict[str, tuple[Event, dict[str, str], str, str]] = {
        "dry run": (dry, {}, "success", "success"),
        "tag of another version": (Event("push", "refs/tags/v1.9.2"), {}, "failure", "skipped"),
        "no section in the changelog": (Event("push", "refs/tags/v1.11.0"), newer, "failure", "skipped"),
    }
    for what, (event, changes, verify, package) in cases.items():
        run = go("release", event, changes)
        found = (run.results.get("verify"), run.results.get("package"), len(run.github))
        report.equal(f"{what}: verify, package, releases", (verify, package, 0), found)


def nightly(report: Report) -> None:
    """An issue when the check fails on main, and only then."""
    rates = Path(os.environ["BASE"], "src/parcel_rates/rates.py").read_text()
    broken = {"src/parcel_rates/rates.py": rates.replace("(690, 890,", "(890, 690,")}
    cases = {
        "tables in order": (Event("schedule"), {}, "success", 0),
        "wrong table on main": (Event("schedule"), broken, "failure", 1),
        "wrong table on a branch": (Event("workflow_dispatch", "refs/heads/fix/table"), broken, "failure", 0),
    }
    for what, (event, changes, check, issues) in cases.items():
        run = go("nightly", event, changes)
        calls = [call for call in run.github if call["words"][:2] == ["issue", "create"]]
        report.equal(f"{what}: rates, issues", (check, issues), (run.results.get("rates"), len(calls)))
        if issues and calls:
            report.equal(f"{what}: refused", False, calls[0]["refused"])
            report.equal(f"{what}: text", True, "check_rates.py" in "".join(calls[0]["notes"]))
            report.equal(f"{what}: report", "success", run.results.get("report"))


def permissions(report: Report) -> None:
    """Each job has what it needs and no more."""
    for path in sorted(Path(".github/workflows").glob("*.y*ml")):
        name = path.stem
        workflow = load(name)
        for job, entry in workflow["jobs"].items():
            granted = rights(workflow, entry)
            write = {scope for scope, level in granted.items() if level == "write"}
            report.equal(f"{name}, {job}: may write", MAY_WRITE.get((name, job), set()), write)
            checkout = any("actions/checkout" in str(step.get("uses")) for step in entry.get("steps") or [])
            if checkout:
                readable = granted.get("contents") in ("read", "write")
                report.equal(f"{name}, {job}: may read the repository", True, readable)


def names(report: Report) -> None:
    """The rules for titles and branches still hold."""
    cases: dict[str, tuple[Event, str, str]] = {
        "good names": (pull_request(), "success", "success"),
        "bad names": (pull_request("rounding", "rounding"), "failure", "failure"),
        "update bot": (pull_request(branch="dependabot/x", author="dependabot[bot]"), "success", "skipped"),
    }
    for what, (event, title, branch) in cases.items():
        run = go("pull-request", event)
        report.equal(f"{what}: title, branch", (title, branch), (run.results.get("title"), run.results.get("branch")))


def untrusted(report: Report) -> None:
    """Titles and names of branches are data, whatever is in them."""
    cases = {
        'Fix: $(pwn) `pwn` "; pwn; echo "done': 'fix/$(pwn)`pwn`";pwn;echo"',
        "Remove: '; pwn; echo 'done $HOME \\ * #1": "docs/';pwn;echo'&d|e",
    }
    for title, branch in cases.items():
        run = go("pull-request", pull_request(title, branch))
        found = (run.results.get("title"), run.results.get("branch"), run.owned)
        report.equal(f"{title} / {branch}: title, branch, ran", ("success", "success", False), found)
    risky = re.compile(r"\$\{\{[^}]*(?:github\.head_ref|event\.pull_request\.(?:title|body|head\.ref|head\.label))")
    for path in sorted(Path(".github").rglob("*.y*ml")):
        for script in scripts(path):
            report.equal(f"{path}: text of outsiders in a script", False, bool(risky.search(script)))


def scripts(path: Path) -> list[str]:
    """All scripts in a YAML file."""

    def walk(value: Any) -> list[str]:
        if isinstance(value, list):
            return [text for item in value for text in walk(item)]
        if isinstance(value, dict):
            own = [str(value[key]) for key in ("run", "script") if isinstance(value.get(key), str)]
            return own + [text for item in value.values() for text in walk(item)]
        return []

    return walk(read(path))


CHECKS: dict[str, Callable[[Report], None]] = {
    "linter": linter,
    "kept": kept,
    "own-tests": own_tests,
    "ci": ci,
    "ci-failures": ci_failures,
    "snapshot": snapshot,
    "filters": filters,
    "tags": tags,
    "release": release,
    "release-gates": release_gates,
    "nightly": nightly,
    "permissions": permissions,
    "names": names,
    "untrusted": untrusted,
}


def fault_of(check: Callable[[Report], None]) -> str:
    """What a check finds wrong."""
    report = Report()
    check(report)
    return report.fault()


def main() -> int:
    names = sys.argv[1:] or list(CHECKS)
    source = template()
    try:
        checks = {name: functools.partial(fault_of, CHECKS[name]) for name in names}
        return run_alone(checks, [Path.cwd(), Path(os.environ["BASE"]), source])
    finally:
        shutil.rmtree(source.parent, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
