"""The runner of the tests leaves a test file out only if nothing has changed that it, or a process below it, reads.

The checkout is a small one with a real environment; the runner and the processes are real.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.runner.__main__ import FOLDERS
from tests.runner.records import Checkout, RecordStore, environment_digest
from tests.support.repository import write_tree

ROOT = Path(__file__).parents[2]
READER = "tests/integration/test_reader.py"
FAULTY = "tests/e2e/test_faulty.py"
FILES = {
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib", "-p", "no:cacheprovider"]\n',
    "uv.lock": "",
    "README.md": "A page.\n",
    ".gitignore": ".venv\n__pycache__\n",
    "scylla_gha/__init__.py": "",
    "scylla_gha/cli/__init__.py": "",
    "scylla_gha/cli/main.py": (
        "import scylla_gha.model\n\n\ndef main():\n    from scylla_gha import report\n    report.write()\n"
    ),
    "scylla_gha/model.py": "",
    "scylla_gha/report.py": "import scylla_gha.numbers\n\n\ndef write():\n    print('done')\n",
    "scylla_gha/numbers.py": "",
    "scylla_gha/process.py": (
        "from pathlib import Path\nimport scylla_gha.git\n\nif __name__ == '__main__':\n"
        "    assert (Path(__file__).parents[1] / 'data/opened.txt').read_text()\n"
    ),
    "scylla_gha/git.py": "",
    "scylla_gha/unused.py": "",
    "data/opened.txt": "opened\n",
    "globbed/one.yaml": "",
    "handed/below/file.txt": "",
    "linked/below/file.txt": "",
    "scripts/main.sh": '. "${0%/*}/part.sh"\n',
    "scripts/part.sh": "",
    "unused/file.txt": "",
    "tests/conftest.py": "",
    "tests/support/words.py": "ONE = 1\n",
    "tests/unit/test_other.py": "def test_other():\n    assert True\n",
    FAULTY: "def test_fails():\n    assert False\n",
    READER: """\
import subprocess
import sys
from pathlib import Path

from tests.support.command import scylla
from tests.support.words import ONE

ROOT = Path(__file__).parents[2]


def test_a_process_without_variables():
    subprocess.run([sys.executable, "-P", "-m", "scylla_gha.process"], env={}, check=ONE)


def test_a_command(tmp_path):
    assert scylla(cwd=tmp_path).out == "done\\n"


def test_files(tmp_path):
    assert list((ROOT / "globbed").glob("*.yaml"))
    subprocess.run(["sh", "-c", f"find '{ROOT}/handed' -type f"], check=True)
    subprocess.run(["sh", ROOT / "scripts/main.sh"], check=True)
    (tmp_path / "link").symlink_to(ROOT / "linked")
""",
}


@dataclass(frozen=True)
class SmallCheckout:
    root: Path
    cache: Path

    def run(self, *options: str) -> "subprocess.CompletedProcess[str]":
        argv = [str(self.root / ".venv/bin/python"), "-m", "tests.runner", *options]
        env = {"SCYLLA_CACHE": str(self.cache), "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.cache)}
        return subprocess.run(argv, cwd=self.root, env=env, capture_output=True, text=True, check=False, timeout=300)

    def covers(self, test_file: str) -> bool:
        """Return True if the test file would be left out now."""
        store = RecordStore(self.cache / "tests")
        (environment,) = {record.environment for record in store.all(READER)}
        return store.current(test_file, Checkout(self.root), environment) is not None


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> SmallCheckout:
    """A checkout whose tests ran once."""
    root, cache = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("cache")
    write_tree(root, FILES)
    for name in ("__init__.py", "runner", "support/__init__.py", "support/command.py", "support/cli_fork_server.py"):
        copy = shutil.copytree if (ROOT / "tests" / name).is_dir() else shutil.copyfile
        copy(ROOT / "tests" / name, root / "tests" / name)
    venv.create(root / ".venv", symlinks=True)
    packages = next((root / ".venv/lib").glob("*/site-packages"))
    (packages / "paths.pth").write_text(f"{root}\n{sysconfig.get_path('purelib')}\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "add", "-A"], check=True)
    made = SmallCheckout(root, cache)
    done = made.run()
    *_, last, passed, failed = done.stdout.splitlines()
    assert (passed, failed) == ("4 tests passed in 2 files", f"FAILED {FAULTY}")
    assert re.match(r"  1 failed(, \d+ passed)? in ", last), done.stdout
    assert f"\n{FAULTY} ended with:\n" in done.stdout
    assert done.returncode == 1
    return made


def test_what_passed_is_left_out_and_counted_and_what_failed_runs(checkout: SmallCheckout) -> None:
    assert checkout.covers(READER)
    assert not checkout.covers(FAULTY)
    done = checkout.run()
    first, *_, tests, covered, until, failed = done.stdout.splitlines()
    assert first == "1 test file runs, 2 are covered by records"
    assert tests == "0 tests passed in 0 files"
    assert re.match(r"4 tests in 2 files did not run: they passed from 20\S+Z$", covered)
    assert re.match(r"to 20\S+Z with the same files, programs and versions; ", until)
    assert (failed, done.returncode) == (f"FAILED {FAULTY}", 1)
    assert "skipped" not in done.stdout


@pytest.mark.parametrize(
    "changed",
    [
        "scylla_gha/process.py",  # run by a process that has no variables
        "scylla_gha/git.py",  # imported by it
        "scylla_gha/__init__.py",
        "scylla_gha/cli/main.py",  # run by a command
        "scylla_gha/model.py",  # imported by its module
        "scylla_gha/report.py",  # imported when the command needs it
        "scylla_gha/numbers.py",  # imported by that
        "data/opened.txt",
        "globbed/two.yaml",  # beside those that were listed
        "handed/below/file.txt",  # named in a script for a shell
        "handed/below/new.txt",
        "scripts/part.sh",  # beside a script that a program was told of
        "linked/below/file.txt",  # below a folder that a link leads to
        "tests/conftest.py",
        "tests/integration/conftest.py",  # where there was none
        "tests/support/words.py",
        "tests/support/command.py",
        "tests/support/cli_fork_server.py",
        "tests/runner/recorder.py",
        "scylla_gha/git/__init__.py",  # hides a module
        "uv.lock",
        READER,
    ],
)
def test_a_change_of_what_was_read_lets_the_tests_run_again(checkout: SmallCheckout, changed: str) -> None:
    with edited(checkout.root / changed):
        assert not checkout.covers(READER)
    assert checkout.covers(READER)


@pytest.mark.parametrize(
    "changed",
    ["scylla_gha/unused.py", "scylla_gha/new.py", "unused/file.txt", "README.md", "tests/unit/test_other.py",
     "tests/integration/test_new.py"],
)  # fmt: skip
def test_a_change_of_something_else_does_not(checkout: SmallCheckout, changed: str) -> None:
    with edited(checkout.root / changed):
        assert checkout.covers(READER)


class edited:  # noqa: N801 it is used as a function
    """The file with one more line, or a new one, until the block ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before = path.read_bytes() if path.exists() else None

    def __enter__(self) -> None:
        self._path.parent.mkdir(exist_ok=True)
        self._path.write_bytes((self._before or b"") + b"# changed\n")

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            self._path.write_bytes(self._before)
        else:
            self._path.unlink()


def test_another_version_of_a_program_lets_all_tests_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = environment_digest()
    (git := tmp_path / "git").write_text("#!/bin/sh\necho git version 99\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert environment_digest() != before


def test_all_runs_what_is_covered_and_a_record_of_what_fails_now_is_dropped(checkout: SmallCheckout) -> None:
    assert checkout.run("--all").stdout.startswith("3 test files run, 0 are covered by records\n")
    with edited(checkout.root / "data/opened.txt"):
        (checkout.root / "data/opened.txt").unlink()
        assert f"FAILED {READER}" in checkout.run().stdout
    assert not RecordStore(checkout.cache / "tests").all(READER)


def test_unknown_options_are_named() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.runner", "--most"], cwd=ROOT, capture_output=True, text=True)  # noqa: PLW1510
    assert (done.returncode, "unrecognized arguments: --most" in done.stderr) == (2, True)


def test_the_runner_knows_all_folders_with_tests() -> None:
    own = {path.parent for path in (ROOT / "tests").rglob("test_*.py")}
    apart = (ROOT / "tests/benchmarks", ROOT / "tests/support")  # run by hand; code that tests look at
    assert {
        folder for folder in own if not folder.is_relative_to(apart[0]) and not folder.is_relative_to(apart[1])
    } == {ROOT / folder for folder in FOLDERS}
