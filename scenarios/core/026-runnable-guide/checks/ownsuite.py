"""Run the repository's own tests, as they were at the start, against the sources as they are now.

Each outcome is reported by a plugin that is loaded before any of the repository's code, through a
file descriptor, with a word that only the plugin was told; the names of the expected tests are in
tests.txt.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUN = """
import json, os, sys
import pytest
from _pytest.reports import TestReport
sys.dont_write_bytecode = True
write, close, dump = os.write, os.close, json.dumps

def plugin(descriptor, word):
    outcomes = {}

    class Plugin:
        def pytest_runtest_logreport(self, report):
            name = report.nodeid
            good = type(report) is TestReport and report.outcome == 'passed'
            outcomes[name] = outcomes.get(name, True) and good
            if report.when == 'teardown':
                write(descriptor, (dump([word, name, outcomes[name]]) + chr(10)).encode())

    return Plugin()

options = ['-q', '-p', 'no:cacheprovider', '-c', 'pyproject.toml', '--rootdir', '.', 'tests']
pytest.main(options, plugins=[plugin(int(sys.argv[1]), sys.stdin.readline().strip())])
"""


def _session(tree: Path, home: str) -> tuple[dict[str, bool], str]:
    receiver, sender = os.pipe()
    word = secrets.token_hex()
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": home, "LANG": "C.UTF-8", "TZ": "UTC"}
    with os.fdopen(receiver, encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", RUN, str(sender)],
            cwd=tree,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=[sender],
        )
        os.close(sender)
        try:
            output = process.communicate(word.encode(), timeout=25)[0].decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            output = "the tests did not end"
        finally:
            process.kill()
            process.wait()
        outcomes: dict[str, bool] = {}
        for line in stream.read().splitlines():
            try:
                said, name, passed = json.loads(line)
            except (ValueError, TypeError):
                continue
            if said == word:
                outcomes[str(name)] = outcomes.get(str(name), True) and passed is True
    return outcomes, output


def run(base: Path, workspace: Path) -> int:
    """Print the result; 0 when every test of the start still passes."""
    expected = (HERE / "tests.txt").read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory() as directory:
        tree = Path(directory) / "tree"
        shutil.copytree(base, tree, ignore=shutil.ignore_patterns("__pycache__", ".git", "*.pyc", "src"))
        tree.chmod(0o755)
        shutil.copytree(workspace / "src", tree / "src", ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        found, output = _session(tree, directory)
        for path in tree.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
    missing = [name for name in expected if not found.get(name)]
    print(f"expected {len(expected)} tests to pass, found {len(expected) - len(missing)}")
    if missing:
        print("\n".join(missing[:5]))
        print("\n".join(output.splitlines()[-6:]))
    return 1 if missing else 0
