"""Wrong arguments are refused before anything is read, and help can be read without the code."""

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from scylla_gha.cli.main import cli
from scylla_gha.config.library import Library, project_root, toolkit_root

REVERTS = ("reverts", "o/r")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["init", "--toolkit", "octo-org/scylla-gha"], "'octo-org/scylla-gha' is not of the form OWNER/REPO@REF"),
        (["init", "--name", "Mine"], "'Mine' is not a valid name; use small letters"),
        (["init", "--name", ""], "'' is not a valid name"),
        (["init", "nowhere"], "Directory 'nowhere' does not exist"),
        *((["doctor", "--repository", name], "is not of the form OWNER/REPO")
          for name in ("app", "o/r/s", "o/..", "-o/r", "o/r?x")),
        *((["reverts", name], "is not of the form OWNER/REPO") for name in ("app", "o/r/s", "o/..", "o/r?x")),
        (["reverts", "-o/r"], "No such option"),
        ([*REVERTS, "--since", "2026-02-01", "--until", "2026-01-01"], "2026-02-01 is after 2026-01-01, the last day"),
        ([*REVERTS, "--since", "yesterday"], "'yesterday' does not match the format '%Y-%m-%d'"),
        ([*REVERTS, "--window", "0"], "0 is not in the range"),
    ],
)  # fmt: skip
def test_wrong_use_is_refused_before_anything_is_read(args: list[str], message: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        cli.main(args, standalone_mode=False)
    assert message in caught.value.format_message()


def commands(group: click.Group, name: str = "scylla-gha") -> dict[str, click.Command]:
    """Return all commands of a group, and those of groups in it, by the words that call them."""
    found: dict[str, click.Command] = {}
    for part in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), part)
        assert command is not None
        found[f"{name} {part}"] = command
        if isinstance(command, click.Group):
            found |= commands(command, f"{name} {part}")
    return found


COMMANDS = commands(cli)


def test_the_help_of_every_command_has_an_example() -> None:
    assert [name for name, command in COMMANDS.items() if name not in (command.help or "")] == []


def test_examples_name_sub_tests_and_scenarios_that_exist() -> None:
    library = Library((toolkit_root(),))
    known = {*library.tiers.names, *library.scenarios}
    text = "\n".join(command.help or "" for command in COMMANDS.values())
    names = {*re.findall(r"\bT[0-6]/\d\d-[a-z0-9-]+", text), *re.findall(r"\b\d{3}(?:-[a-z]+)+\b(?!-)", text)}
    assert names >= {"T3/07-code-reviewer", "001-hello-world"}
    assert names - known == set()


def test_the_help_of_every_option_is_a_sentence() -> None:
    found = [
        (f"{name} {option.opts[0]}", option.help or "")
        for name, command in COMMANDS.items()
        for option in command.params
        if isinstance(option, click.Option)
    ]
    assert len(found) > 100
    wrong = [(name, text) for name, text in found if not (text[:1].isupper() and text.endswith(".") and " " in text)]
    assert wrong == []


@pytest.mark.parametrize(("name", "command"), COMMANDS.items(), ids=COMMANDS.keys())
def test_a_shared_option_says_what_it_is_in_each_command(name: str, command: click.Command) -> None:
    """No help names an option that the command has not; a number says what is taken where it is not given."""
    options = [param for param in command.params if isinstance(param, click.Option)]
    known = {word for option in options for word in option.opts}
    for option in options:
        said = option.help or ""
        assert said, option.name
        others = set(re.findall(r"--[a-z][a-z-]+", said)) - set(option.opts)
        assert others <= known, f"{name} --{option.name}: {said}"
        if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType) and not option.required:
            is_told = option.show_default or re.search(
                r"\b(else|instead|empty|all|default|none)\b", said, re.IGNORECASE
            )
            assert is_told, f"{name} --{option.name}: what holds where it is not given? {said}"


def test_configuration_is_found_from_a_subdirectory_of_its_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "config" / "experiments").mkdir(parents=True)
    below = tmp_path / "src" / "app"
    below.mkdir(parents=True)
    assert project_root(below) == project_root(tmp_path) == tmp_path
    (tmp_path / "src" / "scenarios" / "core" / "001-x").mkdir(parents=True)
    (tmp_path / "src" / "scenarios" / "core" / "001-x" / "scenario.yaml").touch()
    assert project_root(below) == tmp_path / "src", "the nearest one"


def test_configuration_above_a_repository_or_outside_of_one_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "config" / "experiments").mkdir(parents=True)
    below = tmp_path / "repository" / "src"
    below.mkdir(parents=True)
    assert project_root(below) == below, "there is no repository, so no parent folder is trusted"
    (tmp_path / "repository" / ".git").touch()  # as in a worktree
    assert project_root(below) == below
    (tmp_path / "repository" / "config").mkdir()
    assert project_root(below) == below, "a config/ of something else"


@pytest.mark.parametrize("group", ["image", "publish", "results"])
def test_the_help_of_a_group_shows_whole_sentences(group: str) -> None:
    text = CliRunner().invoke(cli, [group, "--help"]).output
    assert "..." not in text.partition("Commands:")[2]
