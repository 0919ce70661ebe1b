"""Commands that prompts begin with, and descriptions of skills that the CLI's own limit leaves out."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents.base import called_command
from scylla_gha.config.library import ConfigSources, Library, toolkit_root
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Arm
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.model.variant import Treatment, Variant
from scylla_gha.plan.skills import check_prompts, listing_notes, name_only_skills
from tests.support.library import write, write_scenario
from tests.support.records import make_cell, make_plan, make_scenario

HAIKU, SONNET = "claude-haiku-4-5-20251001", "claude-sonnet-5"


def skill(name: str, front: str = "", description: str = "Sums") -> str:
    return f"---\nname: {name}\ndescription: {description}\n{front}---\nDo.\n"


def arm(version: str = "2.1.197", model: str = HAIKU, **treatment: Any) -> Arm:
    variant = Variant(id="T1/01-with", treatment=Treatment.model_validate(treatment))
    return Arm(id="t1-01-with.claude-code", agent="claude-code", version=version, model=model, variant=variant)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """A repository with skills, and a start state with a skill and commands of its own."""
    write(tmp_path / "config/skills/tally/SKILL.md", skill("tally"))
    write(tmp_path / "config/skills/quiet/SKILL.md", skill("quiet", "user-invocable: false\n"))
    write(tmp_path / "config/skills/later/SKILL.md", skill("later", "paths: ['*.zig']\n"))
    write(tmp_path / "fixtures/shop/.claude/commands/deep/cmd.md", "Do it.\n")
    write(tmp_path / "fixtures/shop/.claude/skills/own/SKILL.md", skill("own"))
    write(tmp_path / "CLAUDE.md", "Be good.\n")
    return Library((tmp_path, toolkit_root()))


def check(library: Library, prompt: str, one: Arm, source: FixtureSource | None = None) -> None:
    start = source or FixtureSource(fixture="shop", hash="0" * 40)
    write_scenario(library.roots[0], make_scenario(source=start), files={"prompt.md": prompt})
    check_prompts([Library(library.roots).scenario("001-one")], [one], ConfigSources(library))


@pytest.mark.parametrize(
    "prompt",
    [
        "/tally a.csv",
        "/own",
        "/deep:cmd now",
        "/init",
        "/verify it",
        "Use /nosuch",
        " /nosuch",
        "/tmp/a.csv is broken",
        "/tmp is full",
        "//note",
        "/no.such x",
        "/ tally",
    ],
)
def test_prompts_that_begin_with_a_known_command_or_with_none_are_planned(library: Library, prompt: str) -> None:
    check(library, prompt, arm(skills=("tally",)))


@pytest.mark.parametrize(
    ("prompt", "treatment"),
    [
        ("/nosuch do it", {"skills": ("tally",)}),
        ("/tally a.csv", {}),
        ("/Tally a.csv", {"skills": ("tally",)}),
        ("/quiet now", {"skills": ("quiet",)}),
        ("/later now", {"skills": ("later",)}),
        ("/books:tally now", {"skills": ("tally",)}),
        ("/clear", {"skills": ("tally",)}),
        ("/cmd now", {}),
        ("/own", {"setting_sources": ("user",)}),
        ("/own", {"agent_files": ("CLAUDE.md",)}),
    ],
)
def test_an_unknown_command_is_an_error_of_planning(library: Library, prompt: str, treatment: dict[str, Any]) -> None:
    name = prompt.split(maxsplit=1)[0]
    with pytest.raises(
        ConfigError, match=rf"^scenario 001-one: its prompt begins with {name}, .* there are: "
    ) as error:
        check(library, prompt, arm(**treatment))
    assert "of t1-01-with.claude-code" in str(error.value)
    assert ("there are: tally, " in str(error.value)) is ("tally" in treatment.get("skills", ()))


def test_a_skill_of_a_plugin_has_two_names(library: Library, tmp_path: Path) -> None:
    write(tmp_path / ".claude-plugin/plugin.json", '{"name": "books"}')
    for prompt in ("/tally a.csv", "/books:tally a.csv"):
        check(library, prompt, arm(skills=("tally",)))


@pytest.mark.parametrize(
    ("one", "source"),
    [
        (arm(version="9.9.9"), None),
        (arm(), FixtureSource(repo="https://example.com/x.git", hash="0" * 40)),
        (Arm(id="nop", agent="nop", version="1"), None),
    ],
    ids=["no inventory", "a start state elsewhere", "an agent without commands"],
)
def test_what_cannot_be_known_is_not_refused(library: Library, one: Arm, source: FixtureSource | None) -> None:
    check(library, "/nosuch do it", one, source)


def test_a_name_is_read_as_the_cli_reads_it() -> None:
    prompts = ("/a:b_c-1 x", "/tally\nnext", "/x/y", "/x.y", "/über", "/nosuch: x", "/etc fix", "text")
    assert [*map(called_command, prompts)] == ["a:b_c-1", "tally", "", "", "", "nosuch:", "", ""]


def test_skills_beyond_the_limit_are_named_by_arm(library: Library, tmp_path: Path) -> None:
    names = [f"k{number}" for number in range(9)]
    for name in names:
        write(tmp_path / f"config/skills/{name}/SKILL.md", skill(name, description="word " * 100))
    write(tmp_path / "config/skills/k9/SKILL.md", skill("k9", "disable-model-invocation: true\n", "word " * 100))

    def cut(one: Arm) -> tuple[str, ...]:
        plan = make_plan(make_cell(one.id), arms=(one,))
        plan = plan.model_copy(update={"name_only_skills": name_only_skills(plan, ConfigSources(library))})
        notes = list(listing_notes(plan))
        assert len(notes) == bool(plan.name_only_skills)
        assert all(f"claude-code {one.version} with {one.model}: by its own limit" in note for note in notes)
        return plan.name_only_skills.get(one.id, ())

    skills = (*names, "k9")
    assert cut(arm(skills=skills, model=HAIKU)) == ("k7", "k8"), "7 x 507 and two names are 3,561 of 3,753 columns"
    assert cut(arm(skills=skills, model=SONNET)) == tuple(names[3:])
    assert cut(arm("2.1.332", skills=skills, model=SONNET)) == ()
    assert cut(arm("2.1.332", skills=skills, model=HAIKU)) == tuple(names[3:])
    assert cut(arm(skills=skills, model=HAIKU, settings={"skillListingBudgetFraction": 0.02})) == ()
    assert cut(arm(skills=("tally",))) == ()
    plan = make_plan(arms=(arm("2.1.999", skills=skills),))
    plan = plan.model_copy(update={"name_only_skills": name_only_skills(plan, ConfigSources(library))})
    assert "by its own limit, as measured for 2.1.332, the model sees only the names" in next(listing_notes(plan))
