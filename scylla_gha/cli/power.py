"""`scylla-gha power`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.compare.result_set import read_rows, rows_file
from scylla_gha.model.plan import Plan
from scylla_gha.plan.build import find_agents, make_plan
from scylla_gha.plan.cells import CellSelection
from scylla_gha.plan.notes import require_statistics
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import RunFolder

if TYPE_CHECKING:
    from scylla_gha.analysis.frame import Frame
    from scylla_gha.model.comparison import Power


@click.command()
@options.experiment
@options.runs
@click.option("--effect", type=click.FloatRange(0, 1, min_open=True), default=0.1, show_default=True,
              help="The difference of pass rates that is to be seen.")  # fmt: skip
@click.option("--pilot", metavar="RUN", help="Rows to take variances and costs from, instead of the experiment's own.")
@options.as_json
def command(experiment: str, runs: Path, effect: float, pilot: str | None, *, as_json: bool) -> None:
    """What EXPERIMENT can see: the smallest effect, and USD, by scenarios and repetitions.

    Variances and costs are those of a pilot's rows; without any, the usual variances, and no costs.

    \b
    scylla-gha power quickstart
    scylla-gha power hello-claude --effect 0.05 --pilot runs/hello-claude
    """  # noqa: D301
    require_statistics()
    from scylla_gha.report.plain_text import design_table

    folder = options.run_folder(runs, experiment)
    made = _power(_plan(experiment, folder), _rows(folder, runs, pilot), effect)
    click.echo(made.model_dump_json() if as_json else design_table(made))


def _plan(experiment: str, folder: RunFolder) -> Plan:
    """The run's own plan, or else one that is made without starting anything."""
    stored = read_record(folder.plan, Plan)
    if stored is not None:
        return stored
    library = options.library()
    agents = find_agents(library.experiment(experiment), install=False)
    return make_plan(experiment, library, agents, CellSelection(), folder, build_images=False)


def _rows(folder: RunFolder, runs: Path, pilot: str | None) -> Path | None:
    if pilot is not None:
        return rows_file(pilot, runs)
    return folder.results if folder.results.is_file() else None


def _power(plan: Plan, pilot: Path | None, effect: float) -> "Power":
    from scylla_gha.analysis.design import (
        USUAL_BASIS,
        PowerQuestion,
        RepetitionCost,
        pair_variances,
        power,
        repetition_cost,
    )
    from scylla_gha.analysis.frame import build_frame

    arms = list(dict.fromkeys(cell.arm for cell in plan.cells))
    wanted = PowerQuestion(
        experiment=plan.experiment.id, arms=len(arms), scenarios=len({cell.scenario for cell in plan.cells}),
        repetitions=max(cell.repetition for cell in plan.cells), effect=effect,
    )  # fmt: skip
    if pilot is None:
        return power(wanted, (), RepetitionCost(), USUAL_BASIS)
    frame: Frame = build_frame(read_rows(pilot), ())
    variances = pair_variances(frame, plan.experiment.baseline)
    basis = f"the pilot's rows, {pilot}" if variances else f"{USUAL_BASIS} in {pilot}"
    return power(wanted, variances, repetition_cost(frame, arms), basis)
