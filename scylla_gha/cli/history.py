"""`scylla-gha history`."""

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.compare.result_set import plan_beside, read_rows, rows_file
from scylla_gha.config.load import did_you_mean
from scylla_gha.errors import ConfigError
from scylla_gha.model.result import Result
from scylla_gha.plan.notes import require_statistics

if TYPE_CHECKING:
    from scylla_gha.analysis.history import ResultSet


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="RUN...")
@options.runs
@click.option("--baseline", metavar="RUN", help="The result set that others are held against; else the oldest.")
@click.option("--arm", "arms", multiple=True, metavar="ARM", help="Only this arm.")
@click.option("--margin", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="A difference that counts as none; else the newest plan's, or 0.05.")  # fmt: skip
@options.as_json
def command(
    results: tuple[str, ...], runs: Path, baseline: str | None, arms: tuple[str, ...], margin: float | None, *,
    as_json: bool,
) -> None:  # fmt: skip
    """Follow arms over result sets RUN... (runs, their folders, or files of rows), oldest first.

    Rows of several epochs in one file are several result sets. Each is held against the baseline, paired by scenario;
    all together are searched for changes of level and for drift.

    \b
    scylla-gha history runs/monday runs/tuesday runs/wednesday
    scylla-gha history old.jsonl quickstart --baseline old.jsonl --arm oracle --json
    """  # noqa: D301
    require_statistics()
    from scylla_gha.analysis.history import Pin, history
    from scylla_gha.report.plain_text import BLOCKS, DIGITS, history_text

    places = [rows_file(named, runs) for named in results]
    pinned = rows_file(baseline, runs) if baseline else places[0]
    if pinned not in places:
        places = [pinned, *places]
    sets = _sets(places)
    pin = Pin(next(one.name for one in sets if one.run == _label(pinned, places)), margin or _margin(places))
    made = history(sets, _arms(sets, arms), pin)
    marks = BLOCKS if (sys.stdout.encoding or "").lower().startswith("utf") else DIGITS
    click.echo(made.model_dump_json() if as_json else history_text(made, marks))


def _label(path: Path, others: Sequence[Path]) -> str:
    """The folder of results.jsonl, or the file's own name; the whole path where two are alike."""

    def short(one: Path) -> str:
        return one.resolve().parent.name if one.name == "results.jsonl" else one.stem

    alike = [one for one in others if short(one) == short(path)]
    return short(path) if len(set(alike)) <= 1 else str(path)


def _sets(places: Sequence[Path]) -> "list[ResultSet]":
    """The result sets of the files, in their order; epochs of one file by when they began."""
    from scylla_gha.analysis.history import ResultSet

    found = []
    for place in dict.fromkeys(places):
        label, epochs = _label(place, places), _epochs(read_rows(place))
        for epoch, rows in epochs.items():
            name = f"{label}@{epoch}" if epoch else label
            found.append(ResultSet(name, label, epoch, tuple(rows)))
    return found


def _epochs(rows: Sequence[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = defaultdict(list)
    for row in rows:
        found[row.epoch].append(row)
    began = {epoch: min((row.started_at for row in mine if row.started_at), default=None)
             for epoch, mine in found.items()}  # fmt: skip
    if None in began.values():
        return dict(found)
    return {epoch: found[epoch] for epoch in sorted(found, key=lambda one: str(began[one]))}


def _margin(places: Sequence[Path]) -> float:
    plans = [plan for place in places if (plan := plan_beside(place))]
    return plans[-1].experiment.margin if plans else options.MARGIN


def _arms(sets: "Sequence[ResultSet]", wanted: Sequence[str]) -> list[str]:
    known = list(dict.fromkeys(row.arm for one in sets for row in one.rows))
    for arm in wanted:
        if arm not in known:
            raise ConfigError(f"--arm {arm}: no row is of it{did_you_mean(arm, known)}; there are: "
                              f"{', '.join(known[:20])}")  # fmt: skip
    return list(dict.fromkeys(wanted)) or known
