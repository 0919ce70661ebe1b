"""`scylla-gha prepare`."""

import tempfile
from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.prepare.scenario import prepare_scenario, prepare_workspace
from scylla_gha.prepare.tools import cache_root


@click.command()
@click.argument("scenario")
@options.as_json
def command(scenario: str, *, as_json: bool) -> None:
    """Make a workspace of SCENARIO as every trial gets it, and print where it is. It is yours to remove.

    \b
    cd "$(scylla-gha prepare 001-hello-world)"
    """  # noqa: D301
    library = options.library()
    ground = prepare_scenario(library.scenario(scenario), library, cache_root())
    made = prepare_workspace(ground, Path(tempfile.mkdtemp(prefix="scylla-gha-")))
    if as_json:
        import json

        digest = ground.start.manifest.tree
        facts = {"workspace": str(made.repo), "commit": ground.start.commit, "workspace_digest": digest}
        click.echo(json.dumps(facts))
    else:
        click.echo(str(made.repo))
