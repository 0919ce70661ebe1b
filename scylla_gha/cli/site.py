"""`scylla-gha site`: the site of all runs on the results branch."""

import os
from pathlib import Path

import click

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.results_branch.clone import branch_option, open_clone, remote_option


@click.command()
@click.option("--into", type=click.Path(path_type=Path, file_okay=False), default=Path("site"), show_default=True,
              help="Folder to write the site to; stale pages of an earlier build in it are removed.")  # fmt: skip
@click.option("--on", metavar="BRANCH",
              help="Branch of the code whose runs are the history (default: the one with most runs).")  # fmt: skip
@click.option("--last", type=click.IntRange(1), default=20, show_default=True,
              help="Number of newest runs of each experiment with a page and a point in its history.")  # fmt: skip
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
    from scylla_gha.pipeline.site import SiteOptions, site_files, write_site

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
        raise ConfigError(f"site: {', '.join(missing)} is not installed; install the extra: pip install "
                          "'scylla-gha[report]'")  # fmt: skip
