"""`scylla-gha compare`."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal, cast, get_args

import click

from scylla_gha.analysis.confounders import confounders
from scylla_gha.cli import options
from scylla_gha.compare.pair_arms import PairingOptions, pair_arms, unpaired
from scylla_gha.compare.result_set import LoadedResults, load_result_set
from scylla_gha.config.installed_packages import require_extra
from scylla_gha.counting import counted
from scylla_gha.errors import GateError
from scylla_gha.interop.import_options import import_options
from scylla_gha.interop.importers.rows import ImportOptions
from scylla_gha.model.analysis import Verdict
from scylla_gha.model.comparison import Metric, ResultComparison

FailOn = Literal["worse", "not_better", "not_equivalent"]
_FAILS: Final[dict[FailOn, Callable[[Verdict], bool]]] = {
    "worse": lambda verdict: verdict == "worse",
    "not_better": lambda verdict: verdict != "better",
    "not_equivalent": lambda verdict: verdict != "equivalent",
}


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--metric", type=click.Choice(get_args(Metric)), default="pass_rate", show_default=True,
              help="By which the verdict is told.")  # fmt: skip
@click.option("--arm", "same", multiple=True, metavar="ARM", help="Only this arm, which both have.")
@click.option("--arms", "pairs", multiple=True, metavar="A_ARM=B_ARM", help="Arms that go by other names in A and B.")
@click.option("--margin", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True,
              help="A difference that counts as none: 0.05 is 5 points, or 5 % of what is spent.")  # fmt: skip
@click.option("--fail-on", "gate", type=click.Choice(get_args(FailOn)),
              help="Exit with code 10 where any arm's verdict is that.")  # fmt: skip
@import_options
@options.runs
@options.as_json
def command(
    a: str,
    b: str,
    *,
    how: ImportOptions,
    metric: str,
    same: tuple[str, ...],
    pairs: tuple[str, ...],
    margin: float,
    gate: str | None,
    runs: Path,
    as_json: bool,
) -> None:
    """Compare two sets of results, B against A: verdict, difference, what was fixed and what broke.

    A and B are each a run of the runs folder, a run's folder, a results.jsonl, or another tool's rows (as of import).
    Arms are matched by name; where each has one arm, these two.

    \b
    scylla-gha compare quickstart candidate
    scylla-gha compare base.csv head.csv --map arm=model --fail-on worse
    """  # noqa: D301
    require_extra("numpy", "scipy", what="a comparison")
    wanted = PairingOptions(same, tuple(_pair(each) for each in pairs))
    sides = load_result_set(a, runs, how), load_result_set(b, runs, how)
    made = compare(*sides, wanted, cast("Metric", metric), margin)
    if as_json:
        click.echo(made.model_dump_json())
    else:
        from rich.console import Console

        from scylla_gha.report.terminal import render_comparison

        render_comparison(made, Console())
    if gate:
        _fail_on(made, cast("FailOn", gate))


def compare(
    a: LoadedResults, b: LoadedResults, wanted: PairingOptions, metric: Metric, margin: float
) -> ResultComparison:
    """The comparison of two sets.

    Raises:
        ConfigError: nothing says which arms belong together.
    """
    from scylla_gha.analysis.side_by_side import side_by_side

    arms = pair_arms(a, b, wanted)
    return ResultComparison(
        a=a.name, b=b.name, metric=metric, margin=margin, pairs=side_by_side(a.rows, b.rows, arms, metric, margin),
        warnings=(*_notes(a, b), *unpaired(a, b, arms, wanted), *confounders(a.rows, b.rows, arms)),
    )  # fmt: skip


def _notes(a: LoadedResults, b: LoadedResults) -> Iterator[str]:
    for letter, side in (("A", a), ("B", b)):
        yield from (f"{letter} ({side.name}): {note}" for note in side.notes)
    if a.toolkit and b.toolkit and a.toolkit != b.toolkit:
        yield (f"A and B were reported on by different versions of the toolkit: {a.toolkit} and {b.toolkit}. "
               "What a row means may differ.")  # fmt: skip


def _fail_on(made: ResultComparison, gate: FailOn) -> None:
    """Raise where the gate fires; where nothing was compared, nothing was shown.

    Raises:
        GateError: it does.
    """
    if not made.pairs:
        raise GateError(f"--fail-on {gate}: nothing was compared, so nothing is shown to hold")
    found = [pair.b_arm for pair in made.pairs if _FAILS[gate](pair.ruling.verdict)]
    if found:
        raise GateError(f"--fail-on {gate}: {len(found)} of {counted(len(made.pairs), 'arm')}: {', '.join(found[:10])}")


def _pair(text: str) -> tuple[str, str]:
    one, sign, other = text.partition("=")
    if not one or not sign or not other:
        raise click.BadParameter(f"{text!r} is not A_ARM=B_ARM", param_hint="--arms")
    return one, other
