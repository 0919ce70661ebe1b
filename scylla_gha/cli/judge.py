"""`scylla-gha judge`: stored trials are judged, or judged again otherwise; no agent is started."""

import fnmatch
from collections.abc import Sequence
from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.cli.access import reach, require_access
from scylla_gha.cli.consent import ask_to_spend
from scylla_gha.cli.docket import make_docket
from scylla_gha.cli.evaluate import work
from scylla_gha.cli.exposure import guard_checks
from scylla_gha.cli.journey import Journey, stored_trial
from scylla_gha.cli.occupancy import occupy
from scylla_gha.cli.options import Tape
from scylla_gha.cli.planning import refuse_changed_fixtures
from scylla_gha.cli.probing import Subject, Tried, control, due, stored, subjects
from scylla_gha.cli.sources import Sources
from scylla_gha.errors import ConfigError, IncompleteError
from scylla_gha.judges.compare import summarise
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.probe import Judged
from scylla_gha.model.trial import Trial
from scylla_gha.proc import Cancel
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store import RunFolder, find_judgment

_Trials = Sequence[tuple[Cell, Trial]]


@click.command()
@options.experiment
@click.option("--only", multiple=True, metavar="GLOB", help="Cells whose id matches, e.g. '001-*--r01'.")
@click.option("--judge", "judges", multiple=True, metavar="MODEL",
              help="Instead of the experiment's judges; once for each.")  # fmt: skip
@click.option("--prompt", type=click.Path(path_type=Path, exists=True, file_okay=False),
              help="A folder with another system_prompt.md and user_template.md.")  # fmt: skip
@click.option("--rubric", type=click.Path(path_type=Path, exists=True),
              help="Another rubric of the one scenario, or a folder with a <scenario>.yaml for each.")  # fmt: skip
@click.option("--repeat", type=click.IntRange(2, 100), show_default="once",
              help="Times to ask each judge about the same trial.")  # fmt: skip
@click.option("--controls/--no-controls", default=True, show_default=True,
              help="Judge a right and a wrong answer of each scenario as well.")  # fmt: skip
@options.runs
@options.jobs("Judgments")
@options.yes("paid requests")
@options.as_json
@options.record
@options.replay
@options.exposed("checks run")
def command(
    experiment: str,
    only: tuple[str, ...],
    runs: Path,
    jobs: int,
    *,
    judges: tuple[str, ...],
    prompt: Path | None,
    rubric: Path | None,
    repeat: int | None,
    controls: bool,
    record: Path | None,
    yes: bool,
    as_json: bool,
    replay: bool,
    allow_exposed_keys: bool,
) -> None:
    """Judge the stored trials of EXPERIMENT; no agent is started. What is stored under the same key is kept.

    By other judges, in other words or by another rubric, a judgment is stored beside the one that the report stands
    on, and compared with it.

    \b
    scylla-gha judge hello-claude
    scylla-gha judge hello-claude --judge claude-opus-5 --judge claude-sonnet-5 --repeat 3 --only '*--r01'
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    plan, library = options.stored_plan(folder), options.library()
    tried = _tried(plan, folder, only)
    refuse_changed_fixtures({cell.scenario for cell, _ in tried}, library)
    docket = make_docket(library, (cell.scenario for cell, _ in tried), judges, prompt, rubric)
    part = plan.model_copy(update={"cells": tuple(cell for cell, _ in tried)})
    journey = Journey(part, folder, Sources(library), {}, Cancel(), docket=docket)
    if repeat and not journey.judges:
        raise ConfigError(f"{experiment} has no judges to be asked again; name some with --judge")
    tape = options.tape(experiment, record, replay=replay)
    known = due(journey, subjects(journey, _judged(journey, tried), repeat, known=controls), None)
    if known or any(made is None or made.error for _, _, made in _judged(journey, tried)):
        _consent(journey, tape, known, yes=yes, exposed=allow_exposed_keys)
    occupy(folder.root)
    with reach(journey, tape):
        work(journey, jobs)
        found = subjects(journey, _judged(journey, tried), repeat, known=controls)
        control(journey, due(journey, found, tape.replay), jobs)
    _tell_left_out(due(journey, found, None) if replay else [])
    made = _summary(journey, tried, found)
    _show(made, as_json=as_json)
    _complain(_judged(journey, tried))


def _consent(journey: Journey, tape: Tape, known: Sequence[Subject], *, yes: bool, exposed: bool) -> None:
    """See that judges can be reached, that keys are not where checks run, and that what it costs is wanted."""
    require_access({}, journey.judges, tape)
    guard_checks(journey.plan, tape, SANDBOXES[journey.plan.sandbox], allowed=exposed)
    ask_to_spend(journey, tape, yes=yes, controls=sum(len(subject.probes) for subject in known))


def _tried(plan: Plan, folder: RunFolder, only: tuple[str, ...]) -> _Trials:
    chosen = [cell for cell in plan.cells if not only or any(fnmatch.fnmatchcase(cell.id, glob) for glob in only)]
    if not chosen:
        raise ConfigError(
            f"--only {' '.join(only)!r} matches none of {len(plan.cells)} cells; one is {plan.cells[0].id}"
        )
    stored = ((cell, stored_trial(cell, folder.cell(cell.id), plan.not_before)) for cell in chosen)
    return [(cell, trial) for cell, trial in stored if trial]


def _judged(journey: Journey, tried: _Trials) -> list[Tried]:
    """The trials with the judgments that this journey's judges made."""
    return [
        (cell, trial, find_judgment(journey.folder.cell(cell.id), journey.key(cell, trial))) for cell, trial in tried
    ]


def _tell_left_out(left: Sequence[Subject]) -> None:
    names = [f"{probe.judge} on {probe.subject}" for subject in left for probe in subject.probes]
    if names:
        click.echo(f"{len(names)} controls are not in the recording, and are left out: {names[0]}, ...", err=True)


def _summary(journey: Journey, tried: _Trials, found: Sequence[Subject]) -> Judged:
    places = [(cell, trial, journey.folder.cell(cell.id)) for cell, trial in tried]
    own = {cell.id: find_judgment(place, journey.own_key(cell, trial)) for cell, trial, place in places}
    panels = [summarise("experiment", journey.plan.experiment.judges, own)]
    if journey.docket:
        made = {cell.id: judgment for cell, _, judgment in _judged(journey, tried)}
        panels.append(summarise(journey.docket.name, journey.judges, made, own))
    return Judged(experiment=journey.plan.experiment.id, panels=tuple(panels), probes=stored(journey, found))


def _show(made: Judged, *, as_json: bool) -> None:
    if as_json:
        click.echo(made.model_dump_json())
        return
    from rich.console import Console

    from scylla_gha.render.judged import show

    show(made, Console())


def _complain(judged: Sequence[Tried]) -> None:
    lost = [f"{cell.id}: {made.error if made else 'not reached'}" for cell, _, made in judged if not made or made.error]
    if lost:
        raise IncompleteError(f"{len(lost)} of {len(judged)} trials could not be judged: {lost[0]}; run the same "
                              "command again to fill them")  # fmt: skip
