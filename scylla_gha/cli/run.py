"""`scylla-gha run`."""

from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.cli.access import reach
from scylla_gha.cli.consent import ask_to_spend
from scylla_gha.cli.evaluate import end_for_budget, kept, open_journey, settle, work
from scylla_gha.cli.exposure import guard_keys
from scylla_gha.cli.foresight import refuse_futile_gate
from scylla_gha.cli.kept import Keep
from scylla_gha.cli.planning import tell
from scylla_gha.errors import IncompleteError
from scylla_gha.plan import Choice, refuse_above_budget
from scylla_gha.sandboxes import SANDBOXES


@click.command()
@options.experiment
@options.selection
@options.runs
@options.jobs("Trials")
@options.fresh
@options.yes("paid requests, nor before --fresh runs trials again")
@options.record
@options.replay
@options.keep
@options.exposed("agents work")
def command(
    experiment: str,
    choice: Choice,
    runs: Path,
    jobs: int,
    *,
    fresh: bool,
    yes: bool,
    record: Path | None,
    replay: bool,
    keep: Keep,
    allow_exposed_keys: bool,
) -> None:
    """Let the agents of EXPERIMENT work on its cells; nothing is judged.

    \b
    scylla-gha run quickstart --only '001-*'
    """  # noqa: D301
    folder = options.run_folder(runs, experiment, replay=replay)
    tape = options.tape(experiment, record, replay=replay)
    journey = open_journey(experiment, choice, folder, tape, fresh=fresh, yes=yes)
    tell(journey.plan, jobs)
    refuse_above_budget(journey.plan)
    refuse_futile_gate(journey.plan, folder, choice)
    journey.judging, journey.keep = False, keep
    guard_keys(journey, tape, SANDBOXES[journey.plan.sandbox], allowed=allow_exposed_keys)
    ask_to_spend(journey, tape, yes=yes)
    settle(journey, experiment, choice)
    with reach(journey, tape):
        work(journey, jobs)
    left = len(journey.unstarted)
    end_for_budget(journey, f"{left} of {len(journey.plan.cells)} cells were not started" if left else "a cell was cut")
    if why := journey.full or journey.halted:
        raise IncompleteError(f"{left} of {len(journey.plan.cells)} cells were not started: {why}; {kept(journey)}")
