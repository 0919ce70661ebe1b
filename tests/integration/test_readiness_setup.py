"""The user's own command that installs what tests need."""

import shutil
from pathlib import Path

import pytest

from scylla_gha.prepare.start_state import scan_tree
from scylla_gha.readiness.environment import detect_environment
from scylla_gha.readiness.source_code import CodeIndex
from scylla_gha.readiness.test_map import record_tests
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import SandboxTarget
from tests.support.repository import write_tree

NO_INDEX = CodeIndex({}, {}, (), ())
PYTHON = {
    "shop.py": "import made\nfrom local_only import RATE\n\ndef price(): return made.NET * RATE\n",
    "test_shop.py": "import shop\ndef test_price(): assert shop.price() == 6\n",
}
UV = "UV_LINK_MODE=copy uv venv -q .venv"
SITE = "$(.venv/bin/python -c 'import site; print(site.getsitepackages()[0])')"


@pytest.mark.parametrize("box", ["bubblewrap", "host"])
def test_what_the_command_leaves_is_used(tmp_path: Path, box: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCYLLA_CACHE", str(tmp_path / "cache"))
    tree = tmp_path / "tree"
    tree.mkdir()
    write_tree(tree, PYTHON)
    before = scan_tree(tree).tree
    command = f"{UV} && echo 'RATE = 2' > {SITE}/local_only.py && echo 'NET = 3' > made.py"
    environment = detect_environment(tree, "python", lambda _: SandboxTarget(SANDBOXES[box]), command)
    assert environment.reason is None
    assert environment.files == {"made.py": b"NET = 3\n"}
    assert list(record_tests(tree, environment, NO_INDEX).tests) == ["test_shop.py::test_price"]
    assert scan_tree(tree).tree == before


def test_npm_packages_of_the_command_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCYLLA_CACHE", str(tmp_path / "cache"))
    tree = tmp_path / "tree"
    tree.mkdir()
    test = "import test from 'node:test';\nimport assert from 'node:assert';\nimport two from 'two';\n"
    write_tree(tree, {"package.json": "{\"type\": \"module\", \"dependencies\": {\"two\": \"file:../two\"}}",
                      "a.test.js": test + "test('two', () => assert.equal(two, 2));\n"})  # fmt: skip
    command = "mkdir -p node_modules/two && echo 'export default 2' > node_modules/two/index.mjs && "
    command += 'echo \'{"name": "two", "exports": "./index.mjs"}\' > node_modules/two/package.json'
    target = SandboxTarget(SANDBOXES["bubblewrap"])
    environment = detect_environment(tree, "javascript", lambda _: target, command)
    assert list(record_tests(tree, environment, NO_INDEX).tests) == ["a.test.js::two"]
    assert sorted(path.name for path in tree.iterdir()) == ["a.test.js", "package.json"]


def test_a_command_that_fails_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCYLLA_CACHE", str(tmp_path / "cache"))
    target = SandboxTarget(SANDBOXES["host"])
    tree = tmp_path / "tree"
    tree.mkdir()
    environment = detect_environment(tree, "python", lambda _: target, "echo no index >&2; exit 3")
    assert environment.reason == "the setup command failed (exit code 3): no index"
    assert record_tests(tree, environment, NO_INDEX).reason == environment.reason
    assert shutil.which("uv", path=environment.path) is None
