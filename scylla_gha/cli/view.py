"""`scylla-gha view`: the page of a run in a browser, or a local server of a folder of runs."""

import os
import sys
from pathlib import Path
from typing import Final

import click

from scylla_gha.cli import options
from scylla_gha.errors import ConfigError
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import RunFolder

_INTERRUPTED: Final = 130  # exit code after SIGINT


@click.command()
@click.argument("run", required=False)
@options.runs
@click.option("--serve", is_flag=True, help="Serve all runs of the folder on this machine, with live progress.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8700, show_default=True,
              help="Port of --serve on 127.0.0.1; 0 is a free one.")  # fmt: skip
def view(run: str | None, runs: Path, port: int, *, serve: bool) -> None:
    """Open report.html of RUN (default: the newest report) in a browser, and print its path.

    The page of a measurement of `readiness` begins with the score.

    With --serve, a local server shows all runs and the progress of those that go on, until Ctrl-C. Only this machine
    can reach it.

    \b
    scylla-gha view quickstart
    scylla-gha view --serve
    """  # noqa: D301
    if serve:
        from scylla_gha.pipeline.serve_runs import serve_runs

        try:
            serve_runs(runs, port, lambda address: click.echo(f"{address}{f'{run}/' if run else ''}"))
        except KeyboardInterrupt:  # main would say that finished work is stored
            sys.exit(_INTERRUPTED)
    path = _page(options.run_folder(runs, run) if run else _newest(runs))
    click.echo(str(path))
    if not _open(path.as_uri()):
        click.echo("no browser was found; open the file in one", err=True)


def _newest(runs: Path) -> RunFolder:
    stored = (path for name in ("report", "readiness") for path in runs.resolve().glob(f"*/{name}.json"))
    reports = sorted(stored, key=lambda path: path.stat().st_mtime)
    if not reports:
        raise ConfigError(f"{runs}: there is no report; run `scylla-gha evaluate` first, or name the folder by --runs")
    return RunFolder(reports[-1].parent)


def _page(folder: RunFolder) -> Path:
    """Return the path of a run's page, which is written if an older version of the toolkit left none."""
    path = folder.report("html")
    if not path.is_file():
        from scylla_gha.model.report import Report
        from scylla_gha.pipeline.report_run import render_report

        stored = read_record(folder.report("json"), Report)
        if stored is None:
            raise ConfigError(f"{folder.root}: there is no report; run `scylla-gha evaluate {folder.root.name}` first, "
                              "or `scylla-gha view --serve` to follow a running run")  # fmt: skip
        render_report(stored, folder)
    return path


def _open(address: str) -> bool:
    """Open an address in a graphical browser, or in the one that BROWSER names; return whether there is one."""
    import webbrowser

    if not any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")):
        return False
    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
