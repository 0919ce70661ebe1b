"""Wrong arguments are refused before anything is read, and help can be read without the code."""

import click
import pytest

from scylla_gha.cli.main import cli

REVERTS = ("reverts", "o/r")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["init", "--toolkit", "octo-org/scylla-gha"], "'octo-org/scylla-gha' is not of the form OWNER/REPO@REF"),
        (["init", "--name", "Mine"], "'Mine' is not a name in small letters"),
        (["init", "--name", ""], "'' is not a name"),
        (["init", "nowhere"], "Directory 'nowhere' does not exist"),
        *((["doctor", "--repository", name], "is not of the form OWNER/NAME")
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


def commands(group: click.Group, context: click.Context, name: str = "scylla-gha") -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    for part in group.list_commands(context):
        command = group.get_command(context, part)
        assert command is not None
        found.append((f"{name} {part}", command))
        if isinstance(command, click.Group):
            found += commands(command, context, f"{name} {part}")
    return found


def test_the_help_of_every_command_has_an_example() -> None:
    found = commands(cli, click.Context(cli))
    without = [name for name, command in found if f"{name}" not in (command.help or "")]
    assert without == []


def test_the_help_of_every_option_is_a_sentence() -> None:
    found = [
        (f"{name} {option.opts[0]}", option.help or "")
        for name, command in commands(cli, click.Context(cli))
        for option in command.params
        if isinstance(option, click.Option)
    ]
    assert len(found) > 100
    wrong = [(name, text) for name, text in found if not (text[:1].isupper() and text.endswith(".") and " " in text)]
    assert wrong == []
