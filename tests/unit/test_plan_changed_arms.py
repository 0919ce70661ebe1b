from pathlib import Path

import pytest

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.model.variant import Treatment
from scylla_gha.plan.changed_arms import change_diff, change_note, skill_notes
from scylla_gha.plan.selection import CellSelection
from tests.support.library import write, write_tier
from tests.unit.test_plan_cells import BARE, WITH_MODEL, library, planned


def with_toolkit(user: Library) -> Library:
    """The library as commands see it: the checkout of a change has the toolkit behind it too."""
    return Library((*user.roots, toolkit_root()))


def changed(root: Path, **treatments: Treatment) -> Path:
    write_tier(root, **treatments)
    return root


def test_a_change_is_held_against_what_it_changes(tmp_path: Path) -> None:
    where = with_toolkit(library(tmp_path / "here"))
    head = changed(tmp_path / "head", bare=BARE, vanilla=Treatment(tools=("Bash",)), tools=Treatment(tools=()))
    made = planned(where, CellSelection(head=head), **WITH_MODEL)
    arms = {arm.id: (arm.side, arm.against) for arm in made.arms}
    base = "t0-01-vanilla.cli.m"
    assert arms == {base: (None, None), f"{base}.head": ("head", base)}
    assert made.pairs == {f"{base}.head": base}
    assert made.experiment.baseline == base
    before = {cell.arm: cell.key for cell in planned(where, **WITH_MODEL).cells}
    now = {cell.arm: cell.key for cell in made.cells}
    assert now[base] == before[base] != now[f"{base}.head"]


def test_what_a_change_adds_is_held_against_the_baseline(tmp_path: Path) -> None:
    where = with_toolkit(library(tmp_path / "here"))
    head = changed(tmp_path / "head", bare=BARE, vanilla=Treatment(), tools=Treatment(tools=()),
                   more=Treatment(tools=("Bash",)))  # fmt: skip
    made = planned(where, CellSelection(head=head), **WITH_MODEL)
    assert made.pairs == {"t0-03-more.cli.m.head": "t0-00-bare.cli.m"}


def test_a_merged_change_has_the_keys_of_its_trial(tmp_path: Path) -> None:
    where, after = library(tmp_path / "here"), library(tmp_path / "after")
    head = changed(tmp_path / "after", bare=BARE, vanilla=Treatment(tools=("Bash",)), tools=Treatment(tools=()))
    tried = {cell.arm: cell.key for cell in planned(where, CellSelection(head=head), **WITH_MODEL).cells}
    merged = {cell.arm: cell.key for cell in planned(after, **WITH_MODEL).cells}
    assert tried["t0-01-vanilla.cli.m.head"] == merged["t0-01-vanilla.cli.m"]


SKILL = "---\nname: style\ndescription: House style.\n---\nBe brief.\n"


@pytest.mark.parametrize("side", ["here", "head"])
def test_a_change_may_add_the_first_file_for_agents_or_remove_the_last(tmp_path: Path, side: str) -> None:
    where = with_toolkit(library(tmp_path / "here"))
    head = changed(tmp_path / "head", bare=BARE, vanilla=Treatment(), tools=Treatment(tools=()))
    write(tmp_path / side / ".claude/skills/style/SKILL.md", SKILL)
    made = planned(where, CellSelection(head=head), **WITH_MODEL)
    name = "agent_files/.claude/skills/style/SKILL.md"
    has_skill = {arm.side: name in arm.variant.materials for arm in made.arms if arm.variant}
    assert has_skill == {None: side == "here", "head": side == "head"}


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (SKILL, 0),
        (SKILL.replace("House style.", ">-\n  House\n  style."), 0),
        ("Be brief.\n", 1),
        (SKILL.replace("description: House style.\n", ""), 1),
    ],
)
def test_a_skill_that_agents_cannot_choose_is_noted_before_anything_is_paid(
    tmp_path: Path, text: str, notes: int
) -> None:
    where = with_toolkit(library(tmp_path / "here"))
    head = changed(tmp_path / "head", bare=BARE, vanilla=Treatment(), tools=Treatment(tools=()))
    write(tmp_path / "head/.claude/skills/style/SKILL.md", text)
    made = planned(where, CellSelection(head=head), **WITH_MODEL)
    found = list(skill_notes(made, {"": tmp_path / "here", "head": head}))
    assert len(found) == notes
    assert all(note.startswith(".claude/skills/style/SKILL.md of the change has no front matter") for note in found)


def test_a_fault_of_the_change_does_not_name_our_folder(tmp_path: Path) -> None:
    where = with_toolkit(library(tmp_path / "here"))
    named = Treatment(agent_files=(".claude/skills/style",))
    write(tmp_path / "here/.claude/skills/style/SKILL.md", SKILL)
    head = changed(tmp_path / "head", bare=BARE, vanilla=named, tools=Treatment(tools=()))
    with pytest.raises(ConfigError, match=r"^--head: .*matches no file for agents in the change; it has none"):
        planned(where, CellSelection(head=head), **WITH_MODEL)


def test_a_plan_shows_what_the_change_alters(tmp_path: Path) -> None:
    here, head = library(tmp_path / "here"), library(tmp_path / "head")
    write(tmp_path / "here/.claude/skills/style/SKILL.md", SKILL)
    write(tmp_path / "head/.claude/skills/style/SKILL.md", SKILL.replace("Be brief.", "Be long."))
    write(tmp_path / "head/CLAUDE.md", b"New.")
    assert change_diff(here, head).splitlines() == [
        "--- a/.claude/skills/style/SKILL.md",
        "+++ b/.claude/skills/style/SKILL.md",
        "@@ -2,4 +2,4 @@",
        " name: style",
        " description: House style.",
        " ---",
        "-Be brief.",
        "+Be long.",
        "--- /dev/null",
        "+++ b/CLAUDE.md",
        "@@ -0,0 +1 @@",
        "+New.",
    ]
    assert change_note(here, head) == (
        "the change differs from this checkout in files for agents: added CLAUDE.md; "
        "changed .claude/skills/style/SKILL.md"
    )
    write(tmp_path / "head/CLAUDE.md", "long\n" * 10_000)
    assert change_diff(here, head).endswith("... cut after 20,000 characters\n")
    assert change_diff(here, here) == ""
    write(tmp_path / "head/CLAUDE.md", "long\n" * 100_000)
    assert "\nCLAUDE.md differs, but is too large to be shown\n" in change_diff(here, head)


def test_links_of_a_change_that_lead_out_of_it_are_not_shown(tmp_path: Path) -> None:
    here, head = library(tmp_path / "here"), library(tmp_path / "head")
    write(tmp_path / "secret/SKILL.md", "sesame-open-4711\n")
    (tmp_path / "head/config/skills").symlink_to(tmp_path / "secret")
    (tmp_path / "head/config/agents").mkdir(parents=True)
    (tmp_path / "head/config/agents/a.md").symlink_to(tmp_path / "secret/SKILL.md")
    assert "sesame" not in change_diff(here, head)


def test_a_change_of_nothing_is_refused(tmp_path: Path) -> None:
    where = with_toolkit(library(tmp_path / "here"))
    with pytest.raises(RefusedError, match="nothing to compare"):
        planned(where, CellSelection(head=tmp_path / "here"), **WITH_MODEL)
