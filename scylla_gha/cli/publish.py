"""`scylla-gha publish`."""

from pathlib import Path

import click

from scylla_gha.cli import options, remotes
from scylla_gha.cli.depositing import Deposit, deposit
from scylla_gha.errors import ConfigError
from scylla_gha.model.published import Origin


@click.command()
@options.experiment
@options.runs
@click.option("--branch", metavar="NAME", help=f"Put rows and report on this results branch, e.g. {remotes.BRANCH}.")
@remotes.remote
@click.option("--head", envvar="GITHUB_SHA", show_envvar=True, metavar="SHA", help="The commit that was evaluated.")
@click.option("--base", metavar="SHA", help="The commit that it is held against.")
@click.option("--of", metavar="BRANCH", help="The branch that was evaluated; else that of the workflow run.")
@click.option("--pull", type=click.IntRange(1), metavar="N", help="The pull request that was evaluated.")
@click.option("--campaign", metavar="NAME", help="All waves together; else as planned.")
@click.option("--run", envvar="GITHUB_RUN_ID", show_envvar=True, metavar="ID", help="The workflow run.")
@click.option("--attempt", type=click.IntRange(1), default=1, envvar="GITHUB_RUN_ATTEMPT", show_envvar=True,
              help="Of the workflow run.")  # fmt: skip
@options.as_json
def command(
    experiment: str, runs: Path, *, branch: str | None, remote: str | None, head: str | None, base: str | None,
    of: str | None, pull: int | None, campaign: str | None, run: str | None, attempt: int, as_json: bool,
) -> None:  # fmt: skip
    """Put the results of EXPERIMENT where others look for them; what is there already is left as it is.

    \b
    scylla-gha publish quickstart --branch scylla-results
    scylla-gha publish quickstart --branch scylla-results --remote ../results.git
    """  # noqa: D301
    folder = options.run_folder(runs, experiment)
    if branch is None:
        raise ConfigError(f"publish {experiment}: say where to, e.g. --branch {remotes.BRANCH}")
    origin = Origin(head=head, base=base, branch=of, pull=pull, campaign=campaign)
    entry = deposit(folder, Deposit(branch, remote, run, attempt), origin)
    click.echo(entry.model_dump_json() if as_json else entry.folder)
