"""Options and set-up that several commands share."""

import contextlib
import functools
import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Plan
from scylla_gha.plan import Choice
from scylla_gha.store import RunFolder, read_record

_Option = Callable[[Callable[..., None]], Callable[..., None]]
experiment = click.argument("experiment", default="quickstart")
runs = click.option("--runs", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
                    help="The folder of all runs.")  # fmt: skip
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output.")
record = click.option("--record", type=click.Path(path_type=Path, file_okay=False),
                      help="A folder to record all model traffic into.")  # fmt: skip
replay = click.option("--replay", is_flag=True, help="Answer from the experiment's recording; no key, nothing is paid.")
keep = click.option("--keep-workspaces", "keep", type=click.Choice(["none", "failed", "all"]), default="none",
                    show_default=True, help="Copies of what agents left, beside their records.")  # fmt: skip
author = click.option("--author", metavar="LOGIN", envvar="SCYLLA_COMMENT_AUTHOR", show_envvar=True,
                      help="Who writes by this token; else GitHub is asked, or it is Actions' own bot.")  # fmt: skip
head = click.option("--head", type=click.Path(path_type=Path, file_okay=False, exists=True),
                    help="A checkout of a change: the variants that it changes, against those here.")  # fmt: skip
fresh = click.option("--fresh", is_flag=True, help="Run again what is stored; says what that is, and asks.")
MARGIN = float(Experiment.model_fields["margin"].default)  # where no plan says which


def jobs(what: str) -> _Option:
    """How many of them are worked on at once."""
    return click.option("--jobs", type=click.IntRange(1, 256), default=os.cpu_count() or 1,
                        show_default="number of cores", help=f"{what} at once.")  # fmt: skip


def yes(what: str) -> _Option:
    """Consent, given beforehand, to what would be asked about."""
    return click.option("--yes", is_flag=True, help=f"Do not ask before {what}.")


def exposed(who: str) -> _Option:
    """Consent to run strangers' code where a key could be read."""
    return click.option("--allow-exposed-keys", is_flag=True,
                        help=f"Let {who} where they could read the provider's key.")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tape:
    """Folders of recordings: one to write, or one to answer from instead of a provider."""

    record: Path | None = None
    replay: Path | None = None


def selection(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose cells of an experiment; the command gets them as one `choice`."""

    @functools.wraps(command)
    def with_choice(
        only: tuple[str, ...], repetitions: int | None, epoch: str, head: Path | None, **others: object
    ) -> None:
        command(choice=Choice(only, repetitions, epoch, head), **others)

    for option in (
        click.option("--only", multiple=True, metavar="GLOB", help="Cells whose id matches, e.g. '001-*--r01'."),
        click.option("--repetitions", type=click.IntRange(1, 9999), show_default="the experiment's",
                     help="Repetitions of each scenario by each arm."),
        head,
        click.option("--epoch", default="", help="A name that makes all trials new ones, e.g. a date."),
    ):  # fmt: skip
        with_choice = option(with_choice)
    return with_choice


def sandbox(default: str, why: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option that chooses a sandbox where no experiment does."""
    kinds = click.Choice(["auto", "docker", "bubblewrap", "host"])
    return click.option("--sandbox", type=kinds, default=default, show_default=True, help=why)


def confirmed(question: str) -> bool:
    """Whether the user says yes on the terminal."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:  # nobody is there to answer, or whoever is does not want to
        return False


@contextlib.contextmanager
def many_records() -> Iterator[None]:
    """While many records are made: none refers to itself, and to look for such ones takes a third of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def library() -> Library:
    """The library of the current folder."""
    return Library.here(Path.cwd())


def tape(experiment: str, record: Path | None, *, replay: bool) -> Tape:
    """The recording to write or to answer from: `config/recordings/<experiment>` of the library.

    Raises:
        ConfigError: there is no recording of the experiment.
    """
    if not replay:
        return Tape(record.resolve() if record else None)
    return Tape(record.resolve() if record else None, library().recording(Path(experiment).stem))


def run_folder(base: Path, name: str, *, replay: bool = False) -> RunFolder:
    """The run's folder of an experiment's id or file; a replay has one of its own, since it samples nothing."""
    return RunFolder(base.resolve() / f"{Path(name).stem}{'-replay' if replay else ''}")


def stored_plan(folder: RunFolder) -> Plan:
    """The plan that a run's folder holds.

    Raises:
        ConfigError: there is none.
    """
    found = read_record(folder.plan, Plan)
    if found is None:
        raise ConfigError(f"{folder.plan}: there is no plan; run `scylla-gha evaluate {folder.root.name}` first, or "
                          "`plan`, where it is to be run step by step")  # fmt: skip
    return found
