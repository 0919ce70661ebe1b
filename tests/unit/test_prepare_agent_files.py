"""Files for agents in a workspace: those of a variant take the place of the start state's own."""

from pathlib import Path

import pytest

from scylla_gha.errors import FixtureError
from scylla_gha.prepare.start_state import StartState
from scylla_gha.prepare.workspace import Workspace, open_workspace, own_agent_files, snapshot, with_agent_files
from tests.support.git import shell
from tests.support.repository import FILES, make_start, write_tree

OWN = {"CLAUDE.md": "Of the start.\n", ".claude/skills/old/SKILL.md": "Old.\n"}
MOST = 1_000_000


@pytest.fixture
def start(tmp_path: Path) -> StartState:
    return make_start(tmp_path / "fixture", {**FILES, **OWN})


@pytest.fixture
def ours(tmp_path: Path) -> dict[str, Path]:
    root = write_tree(tmp_path / "ours", {"CLAUDE.md": "Ours.\n", ".claude/skills/new/SKILL.md": "New.\n"})
    return {path: root / path for path in ("CLAUDE.md", ".claude/skills/new/SKILL.md")}


def opened(start: StartState, root: Path, files: dict[str, Path] | None) -> tuple[StartState, Workspace]:
    workspace = open_workspace(start, root)
    return with_agent_files(start, workspace.repo, files), workspace


def test_they_replace_those_of_the_start_state_unseen_by_git_and_by_the_diff(
    start: StartState, ours: dict[str, Path], tmp_path: Path
) -> None:
    against, workspace = opened(start, tmp_path / "box", ours)
    assert own_agent_files(start) == tuple(sorted(OWN))
    assert own_agent_files(against) == tuple(sorted(ours))
    assert (workspace.repo / "CLAUDE.md").read_text() == "Ours.\n"
    assert not (workspace.repo / ".claude/skills/old").exists()
    assert shell(workspace.repo, "git status --porcelain") == ""
    (workspace.repo / "greet.sh").write_text("#!/bin/sh\necho hello\n")
    assert shell(workspace.repo, "git add -A && git diff --cached --name-only") == "greet.sh"
    diff, patch = snapshot(against, workspace, MOST)
    assert (diff.files, b"Ours" in patch, b"Of the start" in patch) == (("greet.sh",), False, False)


def test_none_removes_them_and_no_choice_leaves_them(start: StartState, tmp_path: Path) -> None:
    against, workspace = opened(start, tmp_path / "none", {})
    assert (own_agent_files(against), (workspace.repo / ".claude").exists()) == ((), False)
    assert snapshot(against, workspace, MOST)[0].files == ()
    same, workspace = opened(start, tmp_path / "same", None)
    assert same is start
    assert (workspace.repo / "CLAUDE.md").read_text() == OWN["CLAUDE.md"]


def test_what_the_agent_changes_in_them_is_its_own_work(
    start: StartState, ours: dict[str, Path], tmp_path: Path
) -> None:
    against, workspace = opened(start, tmp_path / "box", ours)
    (workspace.repo / "CLAUDE.md").write_text("The agent's.\n")
    (workspace.repo / ".claude/skills/new/SKILL.md").unlink()
    diff, patch = snapshot(against, workspace, MOST)
    assert diff.files == (".claude/skills/new/SKILL.md", "CLAUDE.md")
    assert b"+The agent's." in patch


def test_a_link_of_the_start_state_leads_no_file_out_of_the_workspace(tmp_path: Path) -> None:
    fixture = write_tree(tmp_path / "fixture", FILES)
    (tmp_path / "outside").mkdir()
    (fixture / "pkg").symlink_to(tmp_path / "outside")
    start = make_start(fixture)
    source = write_tree(tmp_path, {"source.md": "Ours."}) / "source.md"
    with pytest.raises(FixtureError, match="leads out of the workspace"):
        opened(start, tmp_path / "box", {"pkg/AGENTS.md": source})
    assert list((tmp_path / "outside").iterdir()) == []
