"""Commands on stored rows: `scylla-gha compare`, `history`, `power` and `aa-test`."""

import sys
from pathlib import Path
from typing import get_args

import click

from scylla_gha.cli import options
from scylla_gha.compare import comparison
from scylla_gha.compare.result_set import (
    MARGIN,
    history_of_files,
    load_result_set,
    plan_beside,
    read_rows,
    rows_file,
)
from scylla_gha.config.installed_packages import require_extra
from scylla_gha.interop.import_options import import_options
from scylla_gha.interop.importers.rows import ImportOptions
from scylla_gha.model.comparison import Metric
from scylla_gha.model.plan import Plan
from scylla_gha.plan.build import find_agents, make_plan
from scylla_gha.plan.cells import CellSelection
from scylla_gha.plan.notes import require_statistics
from scylla_gha.store.records import read_record

_share = click.FloatRange(0, 1, min_open=True, max_open=True)


def _arm_pair(text: str) -> tuple[str, str]:
    a_arm, sign, b_arm = text.partition("=")
    if not a_arm or not sign or not b_arm:
        raise click.BadParameter(f"{text!r} is not A_ARM=B_ARM", param_hint="--arms")
    return a_arm, b_arm


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--metric", type=click.Choice(get_args(Metric)), default="pass_rate", show_default=True,
              help="Metric that the verdict is about.")  # fmt: skip
@click.option("--arm", "same", multiple=True, metavar="ARM",
              help="Compare only this arm, which A and B both have; may be repeated.")  # fmt: skip
@click.option("--arms", "pairs", multiple=True, metavar="A_ARM=B_ARM",
              help="Compare an arm of A with an arm of B that has another name; may be repeated.")  # fmt: skip
@click.option("--margin", type=_share, default=0.05, show_default=True,
              help="Largest difference that counts as none: 0.05 is 5 points, or 5 % of costs and times.")  # fmt: skip
@click.option("--fail-on", "gate", type=click.Choice(get_args(comparison.FailOn)),
              help="Exit with code 10 if any arm has this verdict (default: no gate).")  # fmt: skip
@import_options
@options.runs
@options.as_json
def compare(
    a: str, b: str, *, how: ImportOptions, metric: Metric, same: tuple[str, ...], pairs: tuple[str, ...],
    margin: float, gate: comparison.FailOn | None, runs: Path, as_json: bool,
) -> None:  # fmt: skip
    """Compare two sets of results, B with A: verdict, difference, what was fixed and what broke.

    A and B are each the name of a run, a run's folder, a results.jsonl, or another tool's rows, which are read as
    `import` reads them. Arms are matched by name; if A and B have one arm each, these two are compared.

    \b
    scylla-gha compare quickstart candidate
    scylla-gha compare base.csv head.csv --map arm=model --fail-on worse
    """  # noqa: D301
    require_extra("numpy", "scipy", what="a comparison")
    arms = (*((arm, arm) for arm in same), *map(_arm_pair, pairs))
    compared = comparison.compare(load_result_set(a, runs, how), load_result_set(b, runs, how), arms, metric, margin)
    if as_json:
        click.echo(compared.model_dump_json())
    else:
        from rich.console import Console

        from scylla_gha.report.terminal import render_comparison

        render_comparison(compared, Console())
    if gate:
        comparison.require_verdicts(compared, gate)


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="RUN...")
@options.runs
@click.option("--baseline", metavar="RUN", help="Result set that the others are compared with (default: the oldest).")
@click.option("--arm", "arms", multiple=True, metavar="ARM",
              help="Follow only this arm (default: all arms); may be repeated.")  # fmt: skip
@click.option("--margin", type=_share,
              help="Largest difference that counts as none (default: that of the newest plan, or 0.05).")  # fmt: skip
@options.as_json
def history(
    results: tuple[str, ...], runs: Path, baseline: str | None, arms: tuple[str, ...], margin: float | None, *,
    as_json: bool,
) -> None:  # fmt: skip
    """Follow arms over result sets RUN... (runs, their folders, or files of rows), oldest first.

    Rows of several epochs in one file are several result sets. Each is compared with the baseline, paired by scenario;
    all together are searched for changes of level and for drift.

    \b
    scylla-gha history runs/monday runs/tuesday runs/wednesday
    scylla-gha history old.jsonl quickstart --baseline old.jsonl --arm oracle --json
    """  # noqa: D301
    require_statistics()
    from scylla_gha.report.plain_text import BLOCKS, DIGITS, history_text

    files = [rows_file(name, runs) for name in results]
    followed = history_of_files(files, rows_file(baseline, runs) if baseline else None, arms, margin)
    marks = BLOCKS if (sys.stdout.encoding or "").lower().startswith("utf") else DIGITS
    click.echo(followed.model_dump_json() if as_json else history_text(followed, marks))


@click.command()
@options.experiment
@options.runs
@click.option("--effect", type=click.FloatRange(0, 1, min_open=True), default=0.1, show_default=True,
              help="Difference of pass rates that is to be detected: 0.1 is 10 points.")  # fmt: skip
@click.option("--pilot", metavar="RUN",
              help="Result set for variances and costs (default: the experiment's own rows).")  # fmt: skip
@options.as_json
def power(experiment: str, runs: Path, effect: float, pilot: str | None, *, as_json: bool) -> None:
    """Compute the smallest effect that EXPERIMENT can detect, and its cost, by scenarios and repetitions.

    Variances and costs are those of a pilot's rows; without rows, the usual variances are assumed, and no costs.

    \b
    scylla-gha power quickstart
    scylla-gha power hello-claude --effect 0.05 --pilot runs/hello-claude
    """  # noqa: D301
    require_statistics()
    from scylla_gha.analysis import design
    from scylla_gha.analysis.frame import build_frame
    from scylla_gha.report.plain_text import design_table

    folder = options.run_folder(runs, experiment)
    plan = read_record(folder.plan, Plan)
    if plan is None:
        library = options.library()
        agents = find_agents(library.experiment(experiment), install=False)
        plan = make_plan(experiment, library, agents, CellSelection(), folder, build_images=False)
    arms = list(dict.fromkeys(cell.arm for cell in plan.cells))
    question = design.PowerQuestion(
        experiment=plan.experiment.id, arms=len(arms), scenarios=len({cell.scenario for cell in plan.cells}),
        repetitions=max(cell.repetition for cell in plan.cells), effect=effect,
    )  # fmt: skip
    file = rows_file(pilot, runs) if pilot else folder.results
    if pilot or file.is_file():
        frame = build_frame(read_rows(file), ())
        variances = design.pair_variances(frame, plan.experiment.baseline)
        basis = f"the pilot's rows, {file}" if variances else f"{design.USUAL_BASIS} in {file}"
        answer = design.power(question, variances, design.repetition_cost(frame, arms), basis)
    else:
        answer = design.power(question, (), design.RepetitionCost(), design.USUAL_BASIS)
    click.echo(answer.model_dump_json() if as_json else design_table(answer))


@click.command("aa-test")
@options.experiment
@options.runs
@click.option("--resamples", type=click.IntRange(2, 100_000), default=500, show_default=True,
              help="Number of random splits of the repetitions into halves.")  # fmt: skip
@options.as_json
def aa_test(experiment: str, runs: Path, resamples: int, *, as_json: bool) -> None:
    """Compare each arm of EXPERIMENT (a run, its folder, or its rows) with itself.

    Its repetitions are split into halves, in the order of the run and at random, and each pair of halves gets a
    verdict. Every difference that is claimed is false: at most 5 % of the verdicts should claim one.

    \b
    scylla-gha aa-test quickstart
    scylla-gha aa-test runs/hello-claude --resamples 2000 --json
    """  # noqa: D301
    require_statistics()
    from scylla_gha.analysis.aa_test import AATestOptions
    from scylla_gha.analysis.aa_test import aa_test as split_and_compare
    from scylla_gha.analysis.frame import build_frame
    from scylla_gha.report.plain_text import equal_arms_text

    file = rows_file(experiment, runs)
    plan, rows = plan_beside(file), read_rows(file)
    frame = build_frame(rows, dict.fromkeys(cell.arm for cell in plan.cells) if plan else ())
    test = AATestOptions(family=max(1, len(frame.arms) - 1), resamples=resamples,
                         margin=plan.experiment.margin if plan else MARGIN,
                         seed=plan.experiment.seed if plan else 0)  # fmt: skip
    answer = split_and_compare(frame, rows[0].experiment, test)
    click.echo(answer.model_dump_json() if as_json else equal_arms_text(answer))
