"""Facts of a fixture's GitHub that are known before it is made, and the repository that a trial starts from."""

import shutil
from pathlib import Path

import pytest

from scylla_gha.config.github_files import fixture_names, github_digest
from scylla_gha.errors import ConfigError
from scylla_gha.hub.fixture import build_fixture
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.prepare.git_directory import git
from scylla_gha.prepare.start_state import commit_of, start_state

FOLDER = Path(__file__).parents[1] / "support/hub_fixture"


def test_the_facts_that_are_known_at_load_are_those_of_the_made_fixture(tmp_path: Path) -> None:
    world = build_fixture(FOLDER, tmp_path / "hub")
    names = fixture_names(FOLDER)
    assert world.names.keys() == names.keys()
    for name, facts in names.items():
        assert facts.items() <= world.bindings[name].items(), name


def test_the_digest_covers_all_that_the_state_is_made_of(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    shutil.copyfile(FOLDER / "github.yaml", folder / "github.yaml")
    before = github_digest(folder)
    (folder / "README.md").write_text("a part of the commit\n")
    assert github_digest(folder) == before
    (folder / "github").mkdir()
    (folder / "github/long.txt").write_text("long\n")
    assert github_digest(folder) != before


def test_a_scenario_with_github_needs_the_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"github\.yaml: there is no such file; a scenario with `github` needs it"):
        fixture_names(tmp_path)


def test_a_trial_starts_from_a_clone_of_the_default_branch(tmp_path: Path) -> None:
    source = FixtureSource(fixture="one", hash=commit_of(FOLDER))
    start = start_state(source, FOLDER, tmp_path / "cache")
    world = build_fixture(FOLDER, tmp_path / "hub")
    assert start.commit == world.git.branch("main")
    own = start.clone / ".git"
    assert git(own, "remote", "get-url", "origin") == b"https://github.com/octo-org/demo.git\n"
    assert git(own, "rev-parse", "refs/remotes/origin/HEAD", "HEAD").decode().split() == [start.commit] * 2
    assert git(own, "status", "--porcelain", "--branch", work_tree=start.clone) == b"## main...origin/main\n"
    branches = git(own, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/origin").decode().split()
    assert set(branches) == {"HEAD", *world.git.branches()}
    assert not (start.clone / "github.yaml").exists()
    assert start_state(source, FOLDER, tmp_path / "cache") is start
