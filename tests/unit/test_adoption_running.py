from pathlib import Path

import pytest

from scylla_gha.adoption.caller import Toolkit
from scylla_gha.adoption.running import host_and_name, toolkit_of_checkout, toolkit_of_distribution
from tests.support.adopters import commit, empty
from tests.support.git import shell

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
    assert toolkit_of_checkout(tmp_path / "none") is None


def test_a_distribution_says_where_it_was_installed_from(tmp_path: Path) -> None:
    root, sha = cloned(tmp_path / "my app")
    installed = {"url": FORK, "vcs_info": {"vcs": "git", "commit_id": SHA}}
    assert toolkit_of_distribution(installed) == Toolkit("octo-org/scylla-fork", SHA)
    assert toolkit_of_distribution({**installed, "url": root.as_uri()}) == Toolkit("octo-org/scylla-fork", SHA)
    assert toolkit_of_distribution({"url": root.as_uri(), "dir_info": {}}) == Toolkit("octo-org/scylla-fork", sha)
    assert toolkit_of_distribution({}) is None
    assert toolkit_of_distribution({"url": "https://index.example/scylla.whl", "archive_info": {}}) is None
