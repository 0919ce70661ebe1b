"""Commands on one cell or run: `scylla-gha show`, `shell` and `view`."""

import io
import json
import os
import sys
from pathlib import Path
from typing import Final

import click

from scylla_gha.cli import options
from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.stored_cell import find_cell, stored_cell
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import CellRecord
from scylla_gha.report.trial import TrialViewOptions, trial_text
from scylla_gha.store import read_record
from scylla_gha.store.run_folder import RunFolder

_INTERRUPTED, _UNREAD = 130, 141  # exit codes of a shell after SIGINT and SIGPIPE
_OUTPUT_LIMIT: Final = "ended, since its output is larger than the limit for one file (limits.file_mb)"
_experiment = click.option("--experiment", help="Experiment of the cell (default: the only one with such a cell).")


@click.command()
@click.argument("cell")
@_experiment
@options.runs
@click.option("--attempt", type=click.IntRange(1), show_default="the last", help="Number of the attempt to show.")
@click.option("--diff", is_flag=True, help="Show the agent's patch too.")
@click.option("--full", is_flag=True, help="Show whole texts instead of their beginning and end.")
@options.as_json
def show(
    cell: str, experiment: str | None, runs: Path, attempt: int | None, *, diff: bool, full: bool, as_json: bool
) -> None:
    """Show what happened in CELL: verdict, trajectory, diff, checks, rubric, judges, traffic.

    CELL is a cell's id, the beginning of one, or a glob.

    \b
    scylla-gha show 001-hello-world--oracle--r01
    scylla-gha show '004-*--oracle--r01' --diff
    """  # noqa: D301
    cell_ref = find_cell(runs, cell, experiment)
    record = stored_cell(cell_ref, read_record(cell_ref.run.plan, Plan))
    numbers = [work.number for work in record.works]
    if attempt is not None and attempt not in numbers:
        existing = ", ".join(map(str, numbers)) or "none"
        raise ConfigError(f"{cell_ref.id}: there is no attempt {attempt}; the attempts are: {existing}")
    # This JSON is ASCII, without control characters except DEL
    text = json.dumps(record.model_dump(mode="json")).replace("\x7f", "\\u007f") + "\n" if as_json else ""
    _write(text or _as_text(record, TrialViewOptions(full, diff, attempt)))
    click.echo(f"records: {cell_ref.folder.root}", err=True)


def _as_text(record: CellRecord, view: TrialViewOptions) -> str:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for part in trial_text(record, view):
            console.print(part, soft_wrap=not console.is_terminal)
    return captured.get()


def _write(text: str) -> None:
    """Write to standard output in any encoding; stop silently if the reader has closed it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # otherwise the interpreter reports the error again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.command()
@click.argument("cell")
@click.argument("argv", metavar="[-- COMMAND ...]", nargs=-1, type=click.UNPROCESSED)
@_experiment
@options.runs
@click.option("--after", is_flag=True, help="Open the workspace at the end of the cell's trial, instead of the start.")
def shell(cell: str, argv: tuple[str, ...], experiment: str | None, runs: Path, *, after: bool) -> None:
    """Open a sandbox like that of CELL's agent: image, user, environment, HOME, limits, a fresh workspace.

    CELL is a cell's id, the beginning of one, or a glob. At a terminal it opens a shell; otherwise sh runs what comes
    on standard input, and its exit code is this command's. A COMMAND is run instead of either; without a terminal it
    has no input. The sandbox has no model, no key and no time limit; changes are discarded. A scenario's
    GitHub, if it has one, is in its start state.

    \b
    scylla-gha shell 001-hello-world--oracle--r01
    scylla-gha shell '004-*--oracle--r01' --after -- git status
    """  # noqa: D301
    from scylla_gha.evaluate.shell import run_in_cell
    from scylla_gha.prepare.workspace import scratch
    from scylla_gha.sandboxes.attach import exit_on_signals
    from scylla_gha.system.process import LimitHit

    cell_ref = find_cell(runs, cell, experiment)
    try:
        with exit_on_signals(), scratch() as root:
            finished = run_in_cell(cell_ref, argv, root, options.library(), options.report, after=after)
    except KeyboardInterrupt:  # main would say that finished work is stored
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        sys.exit(_UNREAD)
    for message in (_OUTPUT_LIMIT if LimitHit.OUTPUT in finished.hits else "", finished.note):
        if message:
            click.echo(f"shell: {message}", err=True)
    sys.exit(finished.code if finished.code >= 0 else 128 - finished.code)


@click.command()
@click.argument("run", required=False)
@options.runs
@click.option("--serve", is_flag=True, help="Serve all runs of the folder on this machine, with live progress.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8700,
    show_default=True,
    help="Port of --serve on 127.0.0.1; 0: any free port.",
)
def view(run: str | None, runs: Path, port: int, *, serve: bool) -> None:
    """Open report.html of RUN (default: the newest report) in a browser, and print its path.

    The page of a measurement of `readiness` begins with the score.

    With --serve, a local server shows all runs and the progress of running ones, until Ctrl-C. Only this machine
    can reach the server.

    \b
    scylla-gha view quickstart
    scylla-gha view --serve
    """  # noqa: D301
    if serve:
        from scylla_gha.evaluate.serve_runs import serve_runs

        try:
            serve_runs(runs, port, lambda address: click.echo(f"{address}{f'{run}/' if run else ''}"))
        except KeyboardInterrupt:  # main would say that finished work is stored
            sys.exit(_INTERRUPTED)
    path = _page(options.run_folder(runs, run) if run else _newest(runs))
    click.echo(str(path))
    if not _open(path.as_uri()):
        click.echo("no browser was found; open the file in a browser", err=True)


def _newest(runs: Path) -> RunFolder:
    stored = (path for name in ("report", "readiness") for path in runs.resolve().glob(f"*/{name}.json"))
    reports = sorted(stored, key=lambda path: path.stat().st_mtime)
    if not reports:
        raise ConfigError(f"{runs}: there is no report; run `scylla-gha evaluate` first, or name the folder by --runs")
    return RunFolder(reports[-1].parent)


def _page(folder: RunFolder) -> Path:
    """Return the path of a run's page; write a page that an older version of the toolkit did not write."""
    path = folder.report("html")
    if not path.is_file():
        from scylla_gha.evaluate.report_run import render_report
        from scylla_gha.model.report import Report

        stored = read_record(folder.report("json"), Report)
        if stored is None:
            raise ConfigError(
                f"{folder.root}: there is no report; run `scylla-gha evaluate {folder.root.name}` first, "
                "or `scylla-gha view --serve` to follow a running run"
            )
        render_report(stored, folder)
    return path


def _open(address: str) -> bool:
    """Open an address in a graphical browser or the browser in BROWSER; return whether there is one."""
    import webbrowser

    if not any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")):
        return False
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
