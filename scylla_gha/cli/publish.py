"""`scylla-gha publish`."""

import re
from pathlib import Path

import click

from scylla_gha.cli import options, remotes
from scylla_gha.errors import ConfigError


def _sha(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch("[0-9a-f]{40}", value):
        raise click.BadParameter(f"{value!r} is no commit in full: 40 of the digits 0-9 and a-f")
    return value


_file = click.Path(path_type=Path, dir_okay=False)


@click.command()
@options.experiment
@options.runs
@click.option("--branch", metavar="NAME", help=f"Put rows and report on this results branch, e.g. {remotes.BRANCH}.")
@remotes.remote
@click.option("--pull", type=click.IntRange(1), metavar="N", help="Pull request to comment on, else none.")
@click.option("--check", callback=_sha, metavar="SHA", help="Say the verdict as a check on this commit.")
@click.option("--head", callback=_sha, envvar="GITHUB_SHA", show_envvar=True, metavar="SHA",
              help="The commit that was evaluated.")  # fmt: skip
@click.option("--base", callback=_sha, metavar="SHA", help="The commit that it is held against.")
@click.option("--base-name", default="", metavar="NAME", help="What that is called, e.g. main.")
@click.option("--of", metavar="BRANCH", help="The branch that was evaluated; else that of the workflow run.")
@click.option("--suite", metavar="KEY", help="One comment and one check each; else the experiment's id.")
@click.option("--campaign", metavar="NAME", help="All waves together; else as planned.")
@click.option("--run", envvar="GITHUB_RUN_ID", show_envvar=True, metavar="ID", help="The workflow run.")
@click.option("--attempt", type=click.IntRange(1), default=1, envvar="GITHUB_RUN_ATTEMPT", show_envvar=True,
              help="Attempt of the workflow run, else none.")  # fmt: skip
@click.option("--pending", type=_file, help="Post nothing; leave a file for a job that may.")
@click.option("--from-pending", type=click.Path(path_type=Path), metavar="PATH",
              help="Post what jobs without write access left: a file, or a folder of artifacts.")  # fmt: skip
@click.option("--refused", metavar="TEXT", help="Comment that nothing was measured, and why; there need be no results.")
@click.option("--event", type=_file, envvar="GITHUB_EVENT_PATH", show_envvar=True,
              help="The runner's file of the event; for --from-pending, one of workflow_run.")  # fmt: skip
@options.author
def command(
    experiment: str, runs: Path, *, branch: str | None, remote: str | None, pull: int | None, check: str | None,
    head: str | None, base: str | None, base_name: str, of: str | None, suite: str | None, campaign: str | None,
    run: str | None, attempt: int, pending: Path | None, from_pending: Path | None, refused: str | None,
    event: Path | None, author: str | None,
) -> None:  # fmt: skip
    """Put what EXPERIMENT found where others look: on the results branch, in a comment on a pull request, as a check.

    A job of a fork's pull request may not post: there --pending leaves a file, and a workflow of `workflow_run` posts
    it with --from-pending, once GitHub's own view of the run agrees with it.

    \b
    scylla-gha publish quickstart --branch scylla-results
    scylla-gha publish quickstart --pull 7 --head 1f0c...9e --check 1f0c...9e
    """  # noqa: D301
    from scylla_gha.cli.announcing import Places, announce, facts, leave, refuse, second_phase
    from scylla_gha.cli.depositing import Deposit, deposit
    from scylla_gha.model.published import Origin
    from scylla_gha.posting.facts import About
    from scylla_gha.publish import found

    if from_pending is not None:
        if event is None:
            raise ConfigError("--from-pending: give --event, the runner's file of the workflow_run event")
        second_phase(from_pending, event, author)
        return
    if branch is None and pull is None and check is None:
        raise ConfigError(f"publish {experiment}: say where to, e.g. --branch {remotes.BRANCH}, --pull or --check")
    if refused is not None:
        refuse(experiment, refused, Places(pull, author=author))
        return
    folder = options.run_folder(runs, experiment)
    plan, report = found(folder)
    if branch is not None:
        origin = Origin(head=head, base=base, branch=of, pull=pull, campaign=campaign)
        click.echo(deposit(folder, Deposit(branch, remote, run, attempt), origin).folder)
    if pull is None and check is None:
        return
    told = facts(plan, report, About(suite or plan.experiment.id, pull, head, base, base_name, branch=branch or ""))
    if pending is not None:
        leave(pending, report, told)
    else:
        announce(report, told, Places(pull, check, author))
