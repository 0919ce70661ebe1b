import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from scylla_gha.errors import FixtureError
from scylla_gha.mining import repository as user_repository
from scylla_gha.onboarding.init import skills_workflows, workflow_files
from scylla_gha.onboarding.toolkit import (
    Toolkit,
    host_and_name,
    repository_of_checkout,
    toolkit_here,
    toolkit_named,
    toolkit_of_checkout,
    toolkit_of_distribution,
    toolkits_called,
)
from tests.support.adopters import commit, empty
from tests.support.git import shell
from tests.support.library import write


def test_an_empty_repository_has_no_head_and_no_commits(tmp_path: Path) -> None:
    checkout = user_repository.checkout_of(empty(tmp_path / "a"))
    assert checkout.head is None
    assert user_repository.commits(checkout, 10) == []
    assert user_repository.origin_of(checkout) is None


def test_commits_are_told_newest_first_without_merges_and_without_the_first(tmp_path: Path) -> None:
    root = empty(tmp_path / "a")
    first = commit(root, "One", {"a.txt": "a\n"})
    second = commit(root, "Two\n\nMore", {"b.txt": "b\n"})
    shell(root, "git checkout -q -b side HEAD~; git commit -q --allow-empty -m Side; git checkout -q -")
    shell(root, "git merge -q --no-ff -m Merge side")
    found = user_repository.commits(user_repository.checkout_of(root), 10)
    assert {(each.parent, each.message) for each in found} == {(first, "Two\n\nMore"), (first, "Side")}
    assert second in {each.sha for each in found}


def test_what_a_commit_did_and_what_it_holds(tmp_path: Path) -> None:
    root = empty(tmp_path / "a")
    (root / "link").symlink_to("kept")
    commit(root, "One", {"kept": "k\n", "gone": "g\n", "with space.bin": b"\0\n\xff"})
    (root / "gone").unlink()
    commit(root, "Two", {"kept": "changed\n", "ü.txt": "new\n"})
    checkout = user_repository.checkout_of(root)
    (latest,) = user_repository.commits(checkout, 1)
    assert user_repository.changed(checkout, latest) == {"kept": "M", "gone": "D", "ü.txt": "A"}
    tree = user_repository.tree_of(checkout, latest.sha)
    assert (tree.left_out, tree.blobs["link"].mode) == ({}, user_repository.LINK)
    names = ["link", "with space.bin", "ü.txt"]
    assert user_repository.contents(checkout, [tree.blobs[name] for name in names]) == [b"kept", b"\0\n\xff", b"new\n"]
    patch = user_repository.patch_of(checkout, latest, ["kept", "ü.txt"])
    assert b"+changed" in patch
    assert b"gone" not in patch


def test_a_submodule_is_left_out_of_a_tree(tmp_path: Path) -> None:
    root = empty(tmp_path / "a")
    commit(root, "One", {"a": "a\n"})
    head = shell(root, "git rev-parse HEAD")
    shell(root, f"git update-index --add --cacheinfo 160000,{head},module && git commit -q -m Two")
    checkout = user_repository.checkout_of(root)
    tree = user_repository.tree_of(checkout, checkout.head or "")
    assert (tree.left_out, list(tree.blobs)) == ({"module": user_repository.SUBMODULE}, ["a"])


def test_only_the_top_of_a_repository_is_one(tmp_path: Path) -> None:
    with pytest.raises(FixtureError, match="is not a git repository"):
        user_repository.checkout_of(tmp_path)
    root = empty(tmp_path / "a")
    (root / "b").mkdir()
    with pytest.raises(FixtureError, match="lies inside the repository"):
        user_repository.checkout_of(root / "b")


def test_what_is_ignored_is_known_before_it_is_written(tmp_path: Path) -> None:
    root = empty(tmp_path / "a")
    (root / ".gitignore").write_text("*.log\n")
    assert user_repository.ignored(user_repository.checkout_of(root), ["a.log", "a.txt"]) == ["a.log"]


SHA = "0123456789" * 4
FORK = "https://github.com/octo-org/scylla-fork.git"


@pytest.mark.parametrize("address", [FORK, FORK.removesuffix(".git"), "git@github.com:octo-org/scylla-fork.git",
                                     "ssh://git@github.com/octo-org/scylla-fork", f"git+{FORK}"])  # fmt: skip
def test_an_address_names_host_and_repository(address: str) -> None:
    assert host_and_name(address) == ("github.com", "octo-org/scylla-fork")


@pytest.mark.parametrize("address", ["", "/srv/git/app.git", "file:///srv/app", "https://github.com/app"])
def test_another_address_names_none(address: str) -> None:
    assert host_and_name(address) is None


def cloned(root: Path) -> tuple[Path, str]:
    """A checkout whose origin has its first commit."""
    made = empty(root)
    sha = commit(made, "one", {"a": "1"})
    shell(made, f"git remote add origin {FORK} && git update-ref refs/remotes/origin/main HEAD")
    return made, sha


def test_a_checkout_is_at_the_newest_commit_that_its_origin_has(tmp_path: Path) -> None:
    root, sha = cloned(tmp_path / "app")
    assert toolkit_of_checkout(root) == Toolkit("octo-org/scylla-fork", sha)
    commit(root, "two", {"a": "2"})
    commit(root, "three", {"a": "3"})
    assert toolkit_of_checkout(root) == Toolkit("octo-org/scylla-fork", sha)


def test_a_folder_without_a_published_commit_names_none(tmp_path: Path) -> None:
    root = empty(tmp_path / "app")
    assert toolkit_of_checkout(root) is None
    commit(root, "one", {"a": "1"})
    shell(root, f"git remote add origin {FORK}")
    assert toolkit_of_checkout(root) is None
    assert repository_of_checkout(root) == "octo-org/scylla-fork", "what `init` proposes"
    assert toolkit_of_checkout(tmp_path / "none") is None


def test_a_distribution_says_where_it_was_installed_from(tmp_path: Path) -> None:
    root, sha = cloned(tmp_path / "my app")
    installed = {"url": FORK, "vcs_info": {"vcs": "git", "commit_id": SHA}}
    assert toolkit_of_distribution(installed) == Toolkit("octo-org/scylla-fork", SHA)
    assert toolkit_of_distribution({**installed, "url": root.as_uri()}) == Toolkit("octo-org/scylla-fork", SHA)
    assert toolkit_of_distribution({"url": root.as_uri(), "dir_info": {}}) == Toolkit("octo-org/scylla-fork", sha)
    assert toolkit_of_distribution({}) is None
    assert toolkit_of_distribution({"url": "https://index.example/scylla.whl", "archive_info": {}}) is None


OURS = Toolkit("octo-org/scylla-gha", "v1")


@pytest.mark.parametrize("text", ["octo-org/scylla-gha@v1", f"o/r@{SHA}", "o/r.x@feature/a"])
def test_a_toolkit_is_read_as_it_is_written(text: str) -> None:
    assert str(toolkit_named(text)) == text


@pytest.mark.parametrize("text", ["o/r", "o@v1", "o/r@", "o/r@v1 # x", "o/r@${{ x }}", "https://x/o/r@v1"])
def test_all_else_is_none(text: str) -> None:
    assert toolkit_named(text) is None


def test_only_a_whole_sha_pins() -> None:
    assert Toolkit("o/r", SHA).is_pinned
    assert not Toolkit("o/r", SHA[:12]).is_pinned
    assert not OURS.is_pinned


def test_calls_are_found_where_they_are_not_commented_out() -> None:
    text = f"""
      # uses: a/a/.github/workflows/evaluate.yml@v0
      uses: o/scylla-gha/.github/workflows/evaluate.yml@{SHA}  # v1
      - uses: "o/scylla-gha/.github/actions/setup@v2"
      - uses: actions/checkout@{SHA}
    """
    assert [str(each) for each in toolkits_called(text)] == [f"o/scylla-gha@{SHA}", "o/scylla-gha@v2"]


def test_the_written_workflow_tells_which_toolkit_it_calls(tmp_path: Path) -> None:
    toolkit = Toolkit("octo-org/scylla-gha", SHA)
    assert toolkit_here(tmp_path) is None
    for file in workflow_files("app", toolkit):
        write(tmp_path / file.path, file.content)
    assert toolkit_here(tmp_path) == toolkit


WRITTEN = [*workflow_files("app", OURS), *skills_workflows(OURS, ["skills/pdf", ".claude/skills/tally"])]


@pytest.mark.parametrize("path", [file.path for file in WRITTEN])
def test_a_written_workflow_permits_nothing_but_by_a_job(path: str) -> None:
    (text,) = (file.content for file in WRITTEN if file.path == path)
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    assert all(job["permissions"] for job in workflow["jobs"].values())
    scripts = [step["run"] for job in workflow["jobs"].values() for step in job.get("steps", ()) if "run" in step]
    assert all("${{" not in script for script in scripts)


def test_every_input_that_is_offered_is_handed_on() -> None:
    (text,) = (file.content for file in workflow_files("app", OURS) if file.path.endswith("/scylla.yml"))
    workflow = yaml.safe_load(text)
    given = workflow["jobs"]["evaluate"]["with"]
    offered = workflow[True]["workflow_dispatch"]["inputs"]
    assert offered.keys() == given.keys() - {"results-branch", "environment"}
    assert all(f"inputs.{name}" in str(given[name]) for name in offered)
    assert offered["experiment"]["default"] == "app"


@pytest.mark.parametrize(
    ("folders", "paths"),
    [
        (["skills/pdf", "skills/docx"], ["**/SKILL.md", "**/evals/**", "skills/**"]),
        (["."], ["**"]),
        (["a'b/pdf"], ["**/SKILL.md", "**/evals/**"]),
    ],
)
def test_checks_of_skills_start_by_the_folders_of_skills(folders: list[str], paths: list[str]) -> None:
    workflow = yaml.safe_load(skills_workflows(OURS, folders)[0].content)
    assert workflow[True]["pull_request"]["paths"] == paths


def test_what_a_pull_request_starts_holds_no_secret_and_what_holds_one_is_dispatched() -> None:
    text = skills_workflows(OURS, ["skills/pdf"])[0].content.decode()
    jobs = yaml.safe_load(text)["jobs"]
    assert jobs["check"]["permissions"] == {"contents": "read"}
    assert all("secrets." not in json.dumps(job) for name, job in jobs.items() if name != "measure")
    assert all("checkout" not in json.dumps(job) for name, job in jobs.items() if name != "check")


def test_linters_find_nothing_in_written_workflows(tmp_path: Path) -> None:
    pinned = Toolkit("octo-org/scylla-gha", SHA)
    for file in [*workflow_files("app", pinned), *skills_workflows(pinned, ["skills/pdf"])]:
        write(tmp_path / file.path, file.content)
    folder = tmp_path / ".github/workflows"
    files = list(map(str, sorted(folder.iterdir())))
    for name, *argv in (["actionlint", *files], ["zizmor", "--offline", "--quiet", "--no-progress", str(folder)]):
        program = str(Path(sys.executable).with_name(name))
        done = subprocess.run([program, *argv], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
