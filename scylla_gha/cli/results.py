"""Commands on the runs of the results branch: `scylla-gha results` and `site`."""

import functools
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model import visible
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
from scylla_gha.store import atomic

_COLUMNS = ("date", "run", "commit", "branch", "verdict", "passed", "cells")
_PIPE_WIDTH = 240  # characters, if standard output is not a terminal


@click.group(cls=options.CommandGroup)
def results() -> None:
    """List, show and fetch the runs on the results branch.

    \b
    scylla-gha results list quickstart --on main
    scylla-gha results fetch quickstart --on main --into base.jsonl
    scylla-gha history $(scylla-gha results fetch quickstart --last 10 --into runs/past)
    """  # noqa: D301


def _query_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument and options that select runs; the command gets them as `query`."""

    @functools.wraps(command)
    def with_query(
        experiment: str | None,
        on: str | None,
        commit: str | None,
        campaign: str | None,
        run: str | None,
        **rest: object,
    ) -> None:
        command(query=RunQuery(experiment, on, commit, campaign, run), **rest)

    for option in (
        click.argument("experiment", required=False),
        click.option("--on", metavar="BRANCH", help="Select runs of this branch (default: any)."),
        click.option("--commit", metavar="SHA", help="Select runs of this commit, such as a merge base."),
        click.option("--campaign", metavar="NAME", help="Select runs of this campaign (default: any)."),
        click.option(
            "--run", metavar="RUN", help="Select one run: its id, with or without -ATTEMPT; or EXPERIMENT/ID."
        ),
        remote_option,
        branch_option,
    ):
        with_query = option(with_query)
    return with_query


@results.command("list")
@_query_options
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="Maximum number of runs to list.")
@options.as_json
def list_(query: RunQuery, remote: str | None, branch: str, last: int, *, as_json: bool) -> None:
    """List runs, of EXPERIMENT or of all, the newest first.

    \b
    scylla-gha results list quickstart --on main
    """  # noqa: D301
    with open_clone(remote, branch) as clone:
        entries = select_runs(index_entries(clone), query)[-last:][::-1]
    if as_json:
        click.echo(json.dumps([_json(entry) for entry in entries]))
    elif entries:
        _print_table(entries)
    else:
        click.echo(f"there is no such run on {branch}", err=True)


def _json(entry: RunIndexEntry) -> dict[str, Any]:
    more = {"complete": entry.complete, "verdict": entry.verdict, "id": str(entry.name)}
    return {**entry.model_dump(mode="json"), **more}


def _print_table(entries: Sequence[RunIndexEntry]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in _COLUMNS:
        table.add_column(
            column,
            justify="right" if column in {"passed", "cells"} else "left",
            overflow="fold",
            no_wrap=column != "branch",
        )
    for entry in entries:
        origin, counts = entry.origin, entry.counts
        table.add_row(
            f"{entry.published_at:%Y-%m-%d %H:%M}",
            str(entry.name),
            visible((origin.head or "-")[:9]),
            visible(origin.branch) if origin.branch else f"#{origin.pull}" if origin.pull else "-",
            (entry.verdict or "-").replace("_", " "),
            f"{entry.passed}/{counts.judged}",
            f"{counts.judged}/{counts.planned}",
        )
    Console(markup=False, highlight=False, width=None if sys.stdout.isatty() else _PIPE_WIDTH).print(table)


@results.command()
@_query_options
@options.as_json
def show(query: RunQuery, remote: str | None, branch: str, *, as_json: bool) -> None:
    """Print the report of the last complete run that the options select.

    \b
    scylla-gha results show quickstart --commit 1f0c...9e
    """  # noqa: D301
    with open_clone(remote, branch) as clone:
        entry = _last_complete(clone, query)
        stored = StoredRun(clone, entry)
        report = stored.report()
    if as_json:
        click.echo(
            json.dumps(
                {
                    "entry": _json(entry),
                    "manifest": stored.manifest.model_dump(mode="json"),
                    "report": report.model_dump(mode="json"),
                }
            )
        )
        return
    from rich.console import Console

    from scylla_gha.report.terminal import terminal_report

    _print_table([entry])
    terminal_report(report, Console())


def _last_complete(clone: BranchClone, query: RunQuery) -> RunIndexEntry:
    entry = baseline(index_entries(clone), query)
    if entry is None:
        raise ConfigError(f"{clone.branch}: no such run; look at `scylla-gha results list`")
    return entry


@results.command()
@_query_options
@click.option(
    "--last",
    type=click.IntRange(1),
    help="Number of the last runs to fetch into the folder --into (default: one, into a file).",
)
@click.option("--not-campaign", metavar="NAME", help="With --last: leave out the runs of this campaign.")
@click.option(
    "--into", required=True, type=click.Path(path_type=Path), help="File to write the rows to; with --last a folder."
)
def fetch(
    query: RunQuery, remote: str | None, branch: str, last: int | None, not_campaign: str | None, into: Path
) -> None:
    """Fetch the rows of the last complete run, or of several, and print their files, oldest first.

    Other commands read such files: compare, history, plan --done. With --last, only the last wave of a campaign is
    fetched, since it has the rows of the waves before it.

    \b
    scylla-gha results fetch quickstart --on main --into base.jsonl
    """  # noqa: D301
    with open_clone(remote, branch) as clone:
        if last is None:
            _save(clone, _last_complete(clone, query), into)
            return
        runs = last_waves(select_runs(index_entries(clone), query))
        entries = [run for run in runs if not_campaign is None or run.origin.campaign != not_campaign][-last:]
        fetch_rows(clone, entries)
        for entry in entries:
            _save(clone, entry, into / f"{entry.published_at:%Y-%m-%dT%H%M%S}--{entry.name.file}.jsonl")


def _save(clone: BranchClone, entry: RunIndexEntry, into: Path) -> None:
    stored = StoredRun(clone, entry)
    with atomic(into) as temporary, temporary.open("wb") as file:
        file.writelines(stored.rows())
    click.echo(f"{entry.name}: {counted(sum(part.rows or 0 for part in stored.manifest.files), 'row')}", err=True)
    click.echo(str(into))


@click.command()
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("site"),
    show_default=True,
    help="Folder to write the site to; stale pages of an earlier build in it are removed.",
)
@click.option(
    "--on", metavar="BRANCH", help="Branch of the code whose runs are the history (default: the branch with most runs)."
)
@click.option(
    "--last",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    help="Number of newest runs of each experiment with a page and a point in its history.",
)
@remote_option
@branch_option
def site(into: Path, on: str | None, last: int, remote: str | None, branch: str) -> None:
    """Write the pages of all runs on the results branch: overview, experiments, arms, scenarios, tiers, judges.

    The pages need no server and send no request: open index.html, keep them as an artifact, or publish them on GitHub
    Pages. The command needs the extra `report`.

    \b
    scylla-gha site --into site
    scylla-gha site --on main --last 50
    """  # noqa: D301
    _require_packages()
    from scylla_gha.evaluate.site import SiteOptions, site_files, write_site

    options = SiteOptions(on, last, os.environ.get("GITHUB_SERVER_URL") or SiteOptions().server)
    with open_clone(remote, branch) as clone:
        written = write_site(into, site_files(clone, options))
    click.echo(f"{counted(len(written.files), 'file')} in {into}", err=True)
    click.echo(str(into / "index.html"))


def _require_packages() -> None:
    from importlib.util import find_spec

    missing = [
        name for name in ("altair", "markdown", "nh3", "numpy", "scipy", "vl_convert") if find_spec(name) is None
    ]
    if missing:
        raise ConfigError(
            f"site: {', '.join(missing)} is not installed; install the extra: pip install 'scylla-gha[report]'"
        )
