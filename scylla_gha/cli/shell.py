"""`scylla-gha shell`."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import click

from scylla_gha.agents.base import Access
from scylla_gha.cli import options
from scylla_gha.cli.attending import Run, aside, at_terminal, ending_in_order
from scylla_gha.cli.cells import Found, find_cell
from scylla_gha.cli.journey import Journey
from scylla_gha.cli.planning import find_agents
from scylla_gha.cli.sources import Sources
from scylla_gha.cli.travel import runner_of
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Cell
from scylla_gha.model.trial import Trial
from scylla_gha.plan import agent_name, key_of
from scylla_gha.prepare import prepare
from scylla_gha.proc import Cancel, Finished, Hit, Limits
from scylla_gha.run import Runner, box_of, equip
from scylla_gha.sandboxes.base import Box
from scylla_gha.sandboxes.container import GATEWAY_URL
from scylla_gha.seeding.workspace import apply, scratch
from scylla_gha.store import read_record

_MEGA: Final = 1_000_000
_INTERRUPTED, _UNREAD = 130, 141  # as a shell tells of INT and PIPE
_FULL: Final = "ended, since it wrote more to its output than one file may hold (limits.file_mb)"
_WEEK: Final = 7 * 24 * 3600.0
_NOWHERE: Final = "http://127.0.0.1:9"  # the discard port
_NO_KEY: Final = "sk-ant-api03-none"
_SHELL: Final = ("/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash; fi; exec sh")


@click.command()
@click.argument("cell")
@click.argument("argv", metavar="[-- COMMAND ...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--experiment", help="The experiment, where several have such a cell.")
@options.runs
@click.option("--after", is_flag=True, help="With what the cell's agent left in the workspace, instead of the start.")
def command(cell: str, argv: tuple[str, ...], experiment: str | None, runs: Path, *, after: bool) -> None:
    """Open the box of CELL as its agent had it: sandbox, image, user, environment, HOME, limits, a fresh workspace.

    CELL is a cell's id, the beginning of one, or a glob. At a terminal there is a shell; else what comes on standard
    input is run by sh, and its exit code is this command's. A COMMAND is run instead of either; without a terminal it
    has no input. There is no model, no key and no time limit, and nothing in the box is kept.

    \b
    scylla-gha shell 001-hello-world--oracle--r01
    scylla-gha shell '004-*--oracle--r01' --after -- git status
    """  # noqa: D301
    found = find_cell(runs, cell, experiment)
    try:
        with ending_in_order(), scratch() as root:
            finished = _opened(found, argv, root, after=after)
    except KeyboardInterrupt:  # of a run, it would be said that what was done is kept
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:  # nobody reads on
        sys.exit(_UNREAD)
    for words in (_FULL if Hit.OUTPUT in finished.hits else "", finished.note):
        if words:
            click.echo(f"shell: {words}", err=True)
    sys.exit(finished.code if finished.code >= 0 else 128 - finished.code)


def _opened(found: Found, argv: tuple[str, ...], root: Path, *, after: bool) -> Finished:
    """Make the box, and be in it to its end."""
    journey, cell = _journey(found)
    journey.boxes.check()
    opened = furnish(journey, cell, root, _left(found) if after else b"")
    at = sys.stdin.isatty() and sys.stdout.isatty()
    click.echo(_told(journey, cell, opened.runner, after=after, at=at), err=True)
    if at:
        return at_terminal(opened.on_terminal().running(argv or _SHELL), root, journey.cancel)
    return aside(opened.running(argv or ("/bin/sh",)), root, journey.cancel, script=not argv)


@dataclass(frozen=True, slots=True)
class Opened:
    """An agent's box, furnished as for it."""

    runner: Runner
    box: Box

    def running(self, argv: tuple[str, ...]) -> Run:
        """How a program is run in it, to its end."""
        limits = Limits(_WEEK, self.runner.limits.file_mb * _MEGA)
        return lambda streams: self.runner.place.sandbox.run(argv, self.box, streams, limits, self.runner.cancel)

    def on_terminal(self) -> "Opened":
        """The same, told which kind of terminal there is."""
        extra = {**self.box.extra, "TERM": os.environ.get("TERM") or "dumb"}
        return replace(self, box=replace(self.box, extra=extra))


def furnish(journey: Journey, cell: Cell, root: Path, patch: bytes = b"") -> Opened:
    """Lay a cell's box in `root`: workspace, perhaps with a patch, and HOME with what the variant gives the agent.

    Raises:
        FixtureError: the start state is not the pinned one, or the patch does not apply to it.
        ToolError: a tool or the image cannot be had.
    """
    runner, ground = runner_of(journey, cell), journey.ground(cell.scenario)
    workspace = prepare(ground, root / "box")
    box = replace(box_of(runner, ground, workspace), keep=False)
    address = _NOWHERE if runner.place.sandbox.name == "host" else GATEWAY_URL
    access = None if runner.agent.package is None else Access(address, _NO_KEY)
    gear = equip(runner, ground, box, access)
    apply(ground.start, patch, workspace.repo)
    return Opened(runner, replace(gear.box, program=gear.command.argv[0]))


def _journey(found: Found) -> tuple[Journey, Cell]:
    plan = options.stored_plan(found.run)
    planned = {cell.id: cell for cell in plan.cells}
    if found.id not in planned:
        raise ConfigError(f"{found.id}: is not in {found.run.plan}, so nothing tells its box; plan it again")
    # In an image there is the command line of the planned version, whatever this machine has.
    agents = find_agents(plan.experiment, install=plan.sandbox != "docker")
    return Journey(plan, found.run, Sources(options.library()), agents, Cancel()), planned[found.id]


def _left(found: Found) -> bytes:
    """What the last attempt's agent changed, as a patch."""
    trial = read_record(found.folder.trial, Trial)
    if trial is None:
        raise ConfigError(f"{found.id}: has no trial yet, so nothing is left of it; leave out --after")
    if trial.last.diff is None:
        raise ConfigError(f"{found.id}: no diff of it is stored ({trial.last.reason}); leave out --after")
    patch = found.folder.attempt(trial.last.number).file("diff.patch")
    return patch.read_bytes() if trial.last.diff.files else b""


def _told(journey: Journey, cell: Cell, runner: Runner, *, after: bool, at: bool) -> str:
    """In one line: which box it is, and what of it is not as the agent had it."""
    place = runner.place
    image = f", image {place.digest}" if place.digest else ""
    differs = ["no model and no key" if runner.agent.package else "", "no time limit",
               "TERM is yours" if at else "", "the workspace is as it was left" if after else "",
               *_changes(journey, cell)]  # fmt: skip
    return (f"shell: {cell.id}: {place.sandbox.name}{image}, user {place.sandbox.user}; otherwise than the agent had "
            f"it: {'; '.join(filter(None, differs))}; nothing in it is kept")  # fmt: skip


def _changes(journey: Journey, cell: Cell) -> list[str]:
    """What is of today, since it was changed after the cell was planned."""
    arm = journey.plan.arm(cell.arm)
    changed = []
    if key_of(journey.plan, cell, journey.scenario(cell.scenario), journey.boxes.boxing) != cell.key:
        changed.append("its scenario, image or toolkit was changed since it was planned")
    now = journey.library.variants().get(arm.variant.id) if arm.variant else None
    if arm.variant and (now is None or now.digest != arm.variant.digest):
        changed.append(f"the variant {arm.variant.id} was changed since it was planned")
    named = next(each for each in journey.agents if agent_name(each)[0] == arm.agent)
    here = journey.agents[named].version
    if here not in {None, arm.version}:
        changed.append(f"{arm.agent} is version {here}, and was {arm.version}")
    return changed
