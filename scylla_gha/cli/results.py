"""`scylla-gha results`: the history of runs on the results branch."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model.publication import RunIndexEntry
from scylla_gha.results_branch.clone import BranchClone, branch_option, open_clone, remote_option
from scylla_gha.results_branch.stored_runs import (
    RunQuery,
    StoredRun,
    baseline,
    fetch_rows,
    index_entries,
    last_waves,
    select_runs,
)
from scylla_gha.store.records import atomic

_WIDE = 240  # of what no terminal shows


@click.group()
def command() -> None:
    """Runs on the results branch: list and show them, fetch their rows.

    \b
    scylla-gha results list quickstart --on main
    scylla-gha results fetch quickstart --on main --into base.jsonl
    scylla-gha history $(scylla-gha results fetch quickstart --last 10 --into runs/past)
    """  # noqa: D301


def _choosing(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose runs."""
    for option in (
        click.argument("experiment", required=False),
        click.option("--on", metavar="BRANCH", help="Runs of this branch."),
        click.option("--commit", metavar="SHA", help="Runs of this commit, e.g. of a merge base."),
        click.option("--campaign", metavar="NAME", help="Runs of this campaign."),
        click.option("--run", metavar="RUN", help="This run: its id, with or without -ATTEMPT; or EXPERIMENT/ID."),
        remote_option,
        branch_option,
    ):
        command = option(command)
    return command


def _wanted(experiment: str | None, given: dict[str, Any]) -> RunQuery:
    return RunQuery(experiment, given["on"], given["commit"], given["campaign"], given["run"])


@command.command("list")
@_choosing
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="At most so many, the last ones.")
@options.as_json
def list_(experiment: str | None, remote: str | None, branch: str, last: int, *, as_json: bool, **given: Any) -> None:  # noqa: ANN401 options of choosing
    """List runs, of EXPERIMENT or of all, the newest first."""
    with open_clone(remote, branch) as copy:
        found = select_runs(index_entries(copy), _wanted(experiment, given))[-last:][::-1]
    if as_json:
        click.echo(json.dumps([_plain(entry) for entry in found]))
    elif found:
        _table(found)
    else:
        click.echo(f"no such run on {branch}", err=True)


def _plain(entry: RunIndexEntry) -> dict[str, Any]:
    more = {"complete": entry.complete, "verdict": entry.verdict, "id": str(entry.name)}
    return {**entry.model_dump(mode="json"), **more}


def _table(found: Sequence[RunIndexEntry]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("date", "run", "commit", "branch", "verdict", "passed", "cells"):
        table.add_column(column, justify="right" if column in {"passed", "cells"} else "left", overflow="fold",
                         no_wrap=column != "branch")  # fmt: skip
    for entry in found:
        table.add_row(*_columns(entry))
    Console(markup=False, highlight=False, width=None if sys.stdout.isatty() else _WIDE).print(table)


def _columns(entry: RunIndexEntry) -> tuple[str, ...]:
    origin, counts = entry.origin, entry.counts
    return (
        f"{entry.published_at:%Y-%m-%d %H:%M}", str(entry.name), _shown((origin.head or "-")[:9]),
        _shown(origin.branch) if origin.branch else f"#{origin.pull}" if origin.pull else "-",
        (entry.verdict or "-").replace("_", " "), f"{entry.passed}/{counts.judged}",
        f"{counts.judged}/{counts.planned}",
    )  # fmt: skip


def _shown(text: str) -> str:
    """Text of the branch's, with nothing in it that a terminal would obey."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


@command.command()
@_choosing
@options.as_json
def show(experiment: str | None, remote: str | None, branch: str, *, as_json: bool, **given: Any) -> None:  # noqa: ANN401
    """Show the report of one run: the last complete one of those that are meant."""
    with open_clone(remote, branch) as copy:
        entry = _one(copy, _wanted(experiment, given))
        stored = StoredRun(copy, entry)
        report = stored.report()
    if as_json:
        click.echo(json.dumps({"entry": _plain(entry), "manifest": stored.manifest.model_dump(mode="json"),
                               "report": report.model_dump(mode="json")}))  # fmt: skip
        return
    from rich.console import Console

    from scylla_gha.report.terminal import terminal_report as table

    _table([entry])
    table(report, Console())


def _one(copy: BranchClone, wanted: RunQuery) -> RunIndexEntry:
    entry = baseline(index_entries(copy), wanted)
    if entry is None:
        raise ConfigError(f"{copy.branch}: no such run; look at `scylla-gha results list`")
    return entry


@command.command()
@_choosing
@click.option("--last", type=click.IntRange(1), help="So many runs, the last ones, else one; --into is a folder then.")
@click.option("--not-campaign", metavar="NAME", help="Leave out the runs of this campaign. [--last]")
@click.option("--into", required=True, type=click.Path(path_type=Path), help="The file of rows; a folder with --last.")
def fetch(
    experiment: str | None, remote: str | None, branch: str, last: int | None, not_campaign: str | None, into: Path,
    **given: Any,  # noqa: ANN401
) -> None:  # fmt: skip
    """Fetch the rows of the last complete run that is meant, or of several, and print their files, oldest first.

    Other commands take such files: compare, history, plan --done. With --last, only the last wave of a campaign is
    fetched, since it holds the rows of those before it.
    """
    wanted = _wanted(experiment, given)
    with open_clone(remote, branch) as copy:
        if last is None:
            _save(copy, _one(copy, wanted), into)
            return
        runs = last_waves(select_runs(index_entries(copy), wanted))
        meant = [run for run in runs if not_campaign is None or run.origin.campaign != not_campaign][-last:]
        fetch_rows(copy, meant)
        for entry in meant:
            _save(copy, entry, into / f"{entry.published_at:%Y-%m-%dT%H%M%S}--{entry.name.file}.jsonl")


def _save(copy: BranchClone, entry: RunIndexEntry, into: Path) -> None:
    stored = StoredRun(copy, entry)
    with atomic(into) as temporary, temporary.open("wb") as file:
        file.writelines(stored.rows())
    click.echo(f"{entry.name}: {counted(sum(part.rows or 0 for part in stored.manifest.files), 'row')}", err=True)
    click.echo(str(into))
