"""What commands say to GitHub Actions with `--github`: outputs, the step summary, annotations."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from scylla_gha.errors import ScyllaError
from scylla_gha.gha.commands import Level, annotation
from scylla_gha.gha.facts import Facts, facts_of
from scylla_gha.gha.files import set_outputs
from scylla_gha.gha.summary import add_summary
from scylla_gha.render.text import clipped, plain

option = click.option("--github", is_flag=True, help="For a step of a workflow: outputs, step summary, annotations.")
done = click.option("--done", multiple=True, metavar="PATH", type=click.Path(path_type=Path),
                    help="Rows of earlier work, a file or a folder: they stand for their cells.")  # fmt: skip
_MOST_REFUSAL: Final = 2000
_MOST: Final = 10  # annotations of a level that GitHub shows of a step


def facts() -> Facts:
    """The facts of this run.

    Raises:
        ConfigError: this is no step of a workflow.
    """
    return facts_of(os.environ)


def say(level: Level, message: str, title: str = "") -> None:
    """Show a message on the run's page."""
    click.echo(annotation(level, message, title), err=True)  # the runner reads both streams, and data goes to the other


def say_all(level: Level, messages: Sequence[str], title: str, where: str) -> None:
    """Show the first of many messages, and how many there are more; `where` all of them can be read."""
    for message in messages[:_MOST]:
        say(level, message, title)
    if len(messages) > _MOST:
        say("notice", f"{len(messages) - _MOST:,} more of {len(messages):,}: {where}", title)


def give(run: Facts, values: Mapping[str, object]) -> None:
    """Set this step's outputs; None, which is unknown, is empty."""
    set_outputs(run.outputs, {name: "" if value is None else str(value) for name, value in values.items()})


@contextmanager
def refusals(run: Facts | None) -> Iterator[None]:
    """Set an expected failure's message as the output `refusal`, for a job that may tell people; it goes on failing."""
    try:
        yield
    except ScyllaError as why:
        if run is not None:
            give(run, {"refusal": clipped(plain(str(why)), _MOST_REFUSAL)})
        raise


def summarise(run: Facts, markdown: str, whole: str) -> None:
    """Put a page on the run's page; `whole` says where all of it is, should it be cut."""
    if run.summary is not None and not add_summary(run.summary, markdown, whole):
        say("notice", f"the step summary is cut at 1 MiB, and says what it leaves out; all of it is in {whole}")
