"""Lookup of the repository's own files for agents, and the arms that a change of them makes."""

import json
from pathlib import Path

import pytest

from scylla_gha.config.agent_files import agent_files, chosen_agent_files, project_servers
from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.variant import Treatment
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.changed_arms import unread_notes
from scylla_gha.plan.selection import CellSelection
from tests.support.git import shell
from tests.support.library import write_tier
from tests.support.records import make_experiment
from tests.support.repository import write_tree
from tests.unit.test_plan_cells import BARE, CLI, WITH_MODEL, library, planned

FILES = {
    "CLAUDE.md": "Base.",
    ".claude/skills/style/SKILL.md": "---\nname: style\ndescription: Ours.\n---\n",
    ".claude/settings.local.json": "{}",
    ".github/copilot-instructions.md": "Short.",
    ".github/workflows/ci.yml": "on: push",
    "pkg/AGENTS.md": "Of the package.",
    "src/code.py": "",
}


def test_files_are_found_where_agents_look_and_personal_ones_are_left_out(tmp_path: Path) -> None:
    write_tree(tmp_path, {**FILES, ".gitignore": "scratch/\n", "scratch/CLAUDE.md": "Ignored.",
                          "fixtures/app/CLAUDE.md": "Of a start state."})  # fmt: skip
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
    (tmp_path / ".agents").symlink_to(".claude")
    shell(tmp_path, "git init -q && git add -A")
    files = agent_files(tmp_path)
    assert list(files) == [".agents/skills/style/SKILL.md", ".claude/skills/style/SKILL.md",
                           ".github/copilot-instructions.md", "AGENTS.md", "CLAUDE.md", "pkg/AGENTS.md"]  # fmt: skip
    assert files["AGENTS.md"] == files["CLAUDE.md"] == (tmp_path / "CLAUDE.md").resolve()


def test_patterns_choose_files(tmp_path: Path) -> None:
    write_tree(tmp_path, FILES)
    assert list(chosen_agent_files([".claude/skills/style", "/CLAUDE.md"], tmp_path)) == [
        ".claude/skills/style/SKILL.md", "CLAUDE.md"]  # fmt: skip
    assert ".claude/skills/style/SKILL.md" not in chosen_agent_files(["*", "!.claude/skills/style"], tmp_path)
    assert chosen_agent_files([], tmp_path) == {}


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (
            ".claude/skills/stile",
            r"'.claude/skills/stile' matches no file .*there are: .*skills/style/SKILL.md.*CLAUDE.md",
        ),
        ("../CLAUDE.md", "leads out of the repository"),
        ("src/code.py", "matches no file for agents"),
        ("!.claude/agents/y.md", "matches no file for agents"),
    ],
)
def test_a_path_that_is_not_there_or_not_for_agents_is_refused(tmp_path: Path, pattern: str, message: str) -> None:
    root = tmp_path / "here"
    write_tree(root, FILES)
    write_tier(root, bare=BARE, vanilla=Treatment(), ours=Treatment(agent_files=(pattern,)))
    with pytest.raises(ConfigError, match=message) as refusal:
        Library((root,)).tiers.variant("T0/02-ours")
    assert "T0/02-ours: agent_files: " in str(refusal.value)


@pytest.mark.parametrize("target", ["/etc/hostname", "../outside", "nowhere"])
def test_a_link_out_of_the_repository_is_refused(tmp_path: Path, target: str) -> None:
    write_tree(tmp_path, {"outside": "secret", "here/src/code.py": ""})
    (tmp_path / "here/CLAUDE.md").symlink_to(target)
    with pytest.raises(ConfigError, match=r"CLAUDE.md: is a (symbolic |broken )?link"):
        agent_files(tmp_path / "here")


def servers(folder: Path, **server: object) -> Path:
    path = folder / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": {"docs": server}}))
    return path


def test_servers_are_started_as_declared_with_defaults_for_variables(tmp_path: Path) -> None:
    path = servers(tmp_path, command="node", args=["${DIR:-tools}/docs.js"], env={"LEVEL": "info"})
    assert project_servers(path)["docs"].args == ("tools/docs.js",)


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ({"type": "http", "url": "https://mcp.example.com"}, "docs: is a remote server"),
        ({"command": "node", "env": {"TOKEN": "${API_TOKEN}"}}, "docs: needs the variable API_TOKEN"),
        ({"command": 5}, "is not a file of MCP servers"),
    ],
)
def test_servers_that_a_trial_cannot_start_are_refused(tmp_path: Path, server: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        project_servers(servers(tmp_path, **server))


def sides(tmp_path: Path, head: dict[str, str]) -> tuple[Library, Path]:
    where = Library((*library(tmp_path / "here").roots, toolkit_root()))
    write_tree(tmp_path / "here", FILES)
    write_tree(tmp_path / "head", {**FILES, **head})
    write_tier(tmp_path / "head", bare=BARE, vanilla=Treatment(), tools=Treatment(tools=()))
    return where, tmp_path / "head"


def test_a_change_of_files_that_no_variant_names_is_compared_on_the_first_variant_that_reads_them(
    tmp_path: Path,
) -> None:
    where, head = sides(tmp_path, {"CLAUDE.md": "Head."})
    plan = planned(where, CellSelection(head=head), **WITH_MODEL)
    base, changed = plan.arms
    assert (changed.id.removesuffix(".head"), changed.against, plan.experiment.baseline) == (
        base.id.removesuffix(".base"), base.id, base.id)  # fmt: skip
    versions = [arm.variant.materials["agent_files/CLAUDE.md"] for arm in plan.arms if arm.variant]
    assert len(set(versions)) == len(plan.arms)


def test_remote_servers_that_a_change_does_not_touch_are_left_out(tmp_path: Path) -> None:
    remote = json.dumps({"mcpServers": {"docs": {"type": "http", "url": "https://mcp.example.com"}}})
    where, head = sides(tmp_path, {"CLAUDE.md": "Head.", ".mcp.json": remote})
    with pytest.raises(ConfigError, match="remote server"):
        planned(where, CellSelection(head=head), **WITH_MODEL)
    write_tree(tmp_path / "here", {".mcp.json": remote})
    plan = planned(where, CellSelection(head=head), **WITH_MODEL)
    assert [arm.variant.treatment.agent_files for arm in plan.arms if arm.variant] == [("*", "!.mcp.json")] * 2


def test_a_file_that_the_agent_does_not_look_for_is_noted(tmp_path: Path) -> None:
    where, head = sides(tmp_path, {"pkg/AGENTS.md": "Head.", "CLAUDE.md": "Head.", "AGENTS.md": "Head."})
    fields = {**WITH_MODEL, "agents": ("claude-code",), "baseline": "t0-00-bare.claude-code.m"}
    plan = plan_cells(make_experiment(**fields), where, {"claude-code": CLI}, CellSelection(head=head))
    (note,) = unread_notes(plan)
    assert note.startswith("claude-code does not read AGENTS.md by itself; ")


def test_a_change_of_files_that_no_arm_can_read_says_which_they_are(tmp_path: Path) -> None:
    where, head = sides(tmp_path, {"CLAUDE.md": "Head."})
    with pytest.raises(RefusedError, match=r"nothing to compare: .*\(changed: CLAUDE.md\).*T0/01-vanilla"):
        planned(where, CellSelection(head=head, agents=("oracle",)))
