"""Files of a release, by the workflow's own script, and what is installed from a Git address without a clone."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.support.act import PARTS, ROOT
from tests.support.actions import read_outputs
from tests.support.adopters import empty
from tests.support.git import shell
from tests.support.workflows import WORKFLOWS

FORK = "octo-org/scylla-fork"


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """A checkout of the toolkit, under another owner and name."""
    root = tmp_path / "fork"
    for part in (*PARTS, "docs", "CHANGELOG.md", ".gitignore"):
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, root / part)
    who = "-c user.name=octocat -c user.email=octocat@example.com"
    shell(root, f"git init -q -b main && git add -A && git {who} commit -q -m Fork")
    shell(root, f"git remote add origin https://github.com/{FORK}.git && git update-ref refs/remotes/origin/main HEAD")
    return root


def build(root: Path) -> subprocess.CompletedProcess[str]:
    (script,) = (step["run"] for step in WORKFLOWS["release"]["jobs"]["build"]["steps"] if step.get("id") == "build")
    path = os.pathsep.join((str(Path(find_uv_bin()).parent), os.environ["PATH"]))
    env = {**os.environ, "PATH": path, "GITHUB_REPOSITORY": FORK, "GITHUB_OUTPUT": str(root.parent / "outputs")}
    return subprocess.run(["bash", "-e", "-c", script], cwd=root, env=env, capture_output=True, text=True, check=False)


def test_a_release_is_built_under_the_name_of_its_repository(fork: Path) -> None:
    done = build(fork)
    assert done.returncode == 0, done.stdout + done.stderr
    version = read_outputs(fork.parent / "outputs")["version"]
    names = {path.name for path in (fork / "release").iterdir()}
    assert names == {f"scylla_gha-{version}-py3-none-any.whl", f"scylla_gha-{version}.tar.gz", "notes.md"}
    notes = (fork / "release" / "notes.md").read_text()
    assert f"uvx --from git+https://github.com/{FORK}@v{version} scylla-gha evaluate" in notes
    assert "OWNER/scylla-gha" not in (fork / "README.md").read_text()


def test_a_version_without_a_section_in_the_changelog_is_not_released(fork: Path) -> None:
    (fork / "CHANGELOG.md").write_text("# Changelog\n\n## 0.0.1\n\nOld.\n")
    done = build(fork)
    assert (done.returncode, "CHANGELOG.md has no section" in done.stdout) == (1, True)


def test_it_is_installed_from_a_git_address_and_knows_which(fork: Path, tmp_path: Path) -> None:
    commit = shell(fork, "git rev-parse HEAD").strip()
    app = empty(tmp_path / "app")
    argv = [find_uv_bin(), "tool", "run", "--quiet", "--from", f"git+file://{fork}", "scylla-gha"]
    env = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "SCYLLA_TOOLKIT"}}
    done = subprocess.run([*argv, "init", "--example"], cwd=app, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"uses: {FORK}/.github/workflows/evaluate.yml@{commit}" in (app / ".github/workflows/scylla.yml").read_text()
