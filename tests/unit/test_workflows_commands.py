"""Commands and options that workflows use are those that the command line has."""

import re
from collections.abc import Iterator

import click
import pytest

from scylla_gha.cli.main import cli
from tests.support.workflows import steps

CALL = re.compile(
    r"scylla-gha ([a-z-]+)"
    r"(?: (build|measure|pack|unpack|lacking|fetch|branch|comment|check|refusal|lease|free|[a-z]+-pending|post))?\b(.*)"
)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def gathered(script: str, name: str) -> Iterator[str]:
    """The options that a script puts into an array."""
    for line in re.findall(rf"\b{name}\+?=\(([^)]*)\)", script):
        yield from OPTION.findall(line)


def calls() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield places, commands, and the options that they may get there."""
    for step in steps():
        for command, part, rest in CALL.findall(step.script):
            more = [option for name in ("options", "measured", "base", "origin", "link") if f"${{{name}[@]}}" in rest
                    for option in gathered(step.script, name)]  # fmt: skip
            yield step.at, f"{command} {part}".strip(), (*OPTION.findall(rest), *more)


@pytest.mark.parametrize(
    ("at", "name", "options"), [pytest.param(*each, id=f"{each[0]}: {each[1]}") for each in calls()]
)
def test_the_command_has_the_options(at: str, name: str, options: tuple[str, ...]) -> None:  # noqa: ARG001 the test's name
    command: click.Command | None = cli
    for word in name.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    known = {option for param in command.params for option in param.opts}
    assert set(options) <= known


def test_the_whole_journey_is_called() -> None:
    assert {name for _, name, _ in calls()} >= {
        "plan",
        "cell",
        "collect",
        "aggregate",
        "report",
        "publish branch",
        "publish comment",
        "publish check",
        "publish refusal",
        "publish save-pending",
        "publish post-pending",
        "next-wave",
        "regression-alert",
        "slash",
    }
