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
from tests.support.hub import NAME, OWNER, make_hub
from tests.support.hub_server import ServedHub, serving_hub
from tests.support.pages import links
from tests.support.workflows import WORKFLOWS

FORK = "octo-org/scylla-fork"
COMMIT = "ab" * 20


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


def script(job: str, name: str) -> list[str]:
    """Return the command that runs a step of the release workflow."""
    (text,) = (step["run"] for step in WORKFLOWS["release"]["jobs"][job]["steps"] if step.get("name") == name)
    return ["bash", "-e", "-c", text]


def build(root: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(Path(find_uv_bin()).parent), os.environ["PATH"]))
    env = {**os.environ, "PATH": path, "GITHUB_REPOSITORY": FORK, "GITHUB_OUTPUT": str(root.parent / "outputs"),
           "GITHUB_SHA": COMMIT, **variables}  # fmt: skip
    argv = script("build", "Build wheel and notes")
    return subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True, check=False)


def test_a_release_is_built_under_the_name_of_its_repository(fork: Path) -> None:
    done = build(fork)
    assert done.returncode == 0, done.stdout + done.stderr
    outputs = read_outputs(fork.parent / "outputs")
    version = outputs["version"]
    names = {str(path.relative_to(fork / "release")) for path in (fork / "release").rglob("*.*")}
    assert names == {f"dist/scylla_gha-{version}-py3-none-any.whl", f"dist/scylla_gha-{version}.tar.gz", "notes.md"}
    assert outputs["prerelease"] == "false"
    notes = (fork / "release" / "notes.md").read_text()
    assert f"uvx --from git+https://github.com/{FORK}@v{version} scylla-gha evaluate" in notes
    pages = [fork / "README.md", *(fork / "docs").glob("*.md")]
    assert [page.name for page in pages if "OWNER/scylla-gha" in page.read_text()] == []
    assert f"uvx --from git+https://github.com/{FORK} scylla-gha evaluate" in (fork / "README.md").read_text()
    assert [link for link in links(fork / "README.md") if not link.startswith("https://")] == []


def test_what_is_installed_from_a_release_makes_workflows_that_call_its_commit(fork: Path, tmp_path: Path) -> None:
    (fork / "CHANGELOG.md").write_text("## 1.2.0rc1\n\nNew.\n")
    shell(fork, f"{find_uv_bin()} version --quiet --frozen 1.2.0rc1")
    done = build(fork, PYPI="true")
    assert done.returncode == 0, done.stdout + done.stderr
    assert read_outputs(fork.parent / "outputs")["prerelease"] == "true"
    assert "uvx scylla-gha@1.2.0rc1 evaluate" in (fork / "release/notes.md").read_text()
    (wheel,) = (fork / "release/dist").glob("*.whl")
    index, app = tmp_path / "index", empty(tmp_path / "app")
    index.mkdir()
    wheel.rename(index / wheel.name)
    argv = [
        find_uv_bin(),
        "tool",
        "run",
        "--quiet",
        "--find-links",
        str(index),
        "scylla-gha@1.2.0rc1",
        "init",
        "--example",
    ]
    env = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "SCYLLA_TOOLKIT"}}
    made = subprocess.run(argv, cwd=app, env=env, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert f"uses: {FORK}/.github/workflows/evaluate.yml@{COMMIT}" in (app / ".github/workflows/scylla.yml").read_text()


def test_a_release_tags_its_commit_and_only_a_final_one_moves_the_major_tag(tmp_path: Path) -> None:
    """On a GitHub in this process, by the real gh; which versions move the tag is a condition of the job."""
    jobs = WORKFLOWS["release"]["jobs"]
    assert jobs["major"]["if"] == "needs.build.outputs.prerelease == 'false'"
    (tmp_path / "release/dist").mkdir(parents=True)
    (tmp_path / "release/notes.md").write_text("New")
    (tmp_path / "release/dist/a.whl").write_text("wheel")
    with serving_hub(make_hub(tmp_path / "hub"), tmp_path / "served") as served:
        before = {"GH_REPO": f"{OWNER}/{NAME}", "GITHUB_SHA": head(served, "main")}
        after = {**before, "GITHUB_SHA": head(served, "topic")}

        def run(job: str, step: str, **env: str) -> None:
            argv = script(job, step)
            whole = {**served.environment(), **env}
            ran = subprocess.run(argv, cwd=tmp_path, env=whole, capture_output=True, text=True, timeout=60, check=False)
            assert ran.returncode == 0, ran.stdout + ran.stderr

        run("release", "Tag and release", **before, VERSION="1.2.0", PRERELEASE="false")
        run("major", "Move the tag", **before, VERSION="1.2.0")
        assert head(served, "v1") == head(served, "v1.2.0") == before["GITHUB_SHA"]
        run("release", "Tag and release", **after, VERSION="1.3.0rc1", PRERELEASE="true")
        assert "v1.2.0" in served.run("gh", "release", "view", "-R", before["GH_REPO"], "--json", "tagName,assets")
        run("major", "Move the tag", **after, VERSION="1.3.0")
        assert head(served, "v1") == head(served, "v1.3.0rc1") == after["GITHUB_SHA"]


def head(served: ServedHub, ref: str) -> str:
    return served.run("git", "ls-remote", f"https://github.com/{OWNER}/{NAME}.git", ref).split()[0]


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
