"""`scylla-gha slash`."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from scylla_gha.github.client import GitHubRepository
    from scylla_gha.github.events import CommentEvent
    from scylla_gha.github.slash_command import ResolvedCommand


@click.command()
@click.option("--event", type=click.Path(path_type=Path, dir_okay=False), envvar="GITHUB_EVENT_PATH", show_envvar=True,
              required=True, help="The runner's file of the event.")  # fmt: skip
@click.option("--workflow", default="dispatch.yml", show_default=True, help="The workflow to dispatch.")
@click.option("--bot", "bots", multiple=True, metavar="LOGIN", help="A bot whose orders are taken, if it may write.")
@click.option("--compare", "experiment", metavar="EXPERIMENT",
              help="Read an event of pull_request, and dispatch a comparison by this experiment.")  # fmt: skip
def command(event: Path, workflow: str, bots: tuple[str, ...], experiment: str | None) -> None:
    """Take an order from a new comment on a pull request: `/scylla evaluate` or `compare EXPERIMENT`.

    Only from who may write to the repository, and only for the commit that stood there when it was given. Reacts with
    eyes and dispatches the evaluation, or says what is wrong. A comment that is not to us is passed over.
    With --compare, a pull request of the repository itself is the order, without any comment.

    \b
    scylla-gha slash
    scylla-gha slash --compare app --workflow scylla.yml
    """  # noqa: D301
    if experiment:
        _compare(event, workflow, experiment)
        return
    from scylla_gha.github.client import open_repository
    from scylla_gha.github.events import CommentEvent, read_event
    from scylla_gha.github.slash_command import is_command

    told = read_event(event, CommentEvent)
    if told.action != "created" or told.issue.pull_request is None or not is_command(told.comment.body or ""):
        click.echo("not addressed to scylla", err=True)
        return
    with open_repository() as channel:
        _answer(channel, told, workflow, bots)


def _answer(channel: "GitHubRepository", told: "CommentEvent", workflow: str, bots: tuple[str, ...]) -> None:
    from scylla_gha.errors import GitHubError, RefusedError
    from scylla_gha.github.actions import write_outputs
    from scylla_gha.github.issues import add_reaction
    from scylla_gha.github.slash_command import authorise, is_unknown_bot, start_command

    if is_unknown_bot(told, bots):
        click.echo(f"{told.comment.user.login} is a bot that --bot does not name; its order is passed over", err=True)
        write_outputs(os.environ, {"accepted": "false"})
        return
    try:
        settled = authorise(channel, told)
        add_reaction(channel, told.comment.id, "eyes")
        run = start_command(channel, settled, workflow, told.repository.default_branch)
    except RefusedError as why:
        _refuse(channel, told, str(why))
        write_outputs(os.environ, {"accepted": "false"})
        return
    except GitHubError:
        with suppress(GitHubError):
            _refuse(channel, told, "GitHub did not take it; the log of the workflow that reads comments says why")
        raise
    _tell(settled, run)


def _compare(event: Path, workflow: str, experiment: str) -> None:
    from scylla_gha.errors import RefusedError
    from scylla_gha.github.actions import write_outputs
    from scylla_gha.github.client import open_repository
    from scylla_gha.github.events import PullEvent, read_event
    from scylla_gha.github.slash_command import resolve_pull_event, start_command

    told = read_event(event, PullEvent)
    try:
        with open_repository() as channel:
            settled = resolve_pull_event(channel, told, experiment)
            run = start_command(channel, settled, workflow, told.repository.default_branch)
    except RefusedError as why:
        click.echo(f"refused: {why}", err=True)
        write_outputs(os.environ, {"accepted": "false"})
    else:
        _tell(settled, run)


def _tell(settled: "ResolvedCommand", run: str) -> None:
    from scylla_gha.github.actions import write_outputs

    write_outputs(os.environ, {"accepted": "true", "run": run, **settled.inputs})
    click.echo(f"dispatched {settled.inputs['experiment']} at {settled.inputs['head'][:7]}: {run}", err=True)


def _refuse(channel: "GitHubRepository", told: "CommentEvent", why: str) -> None:
    """Say once what is wrong."""
    from scylla_gha.github.issues import add_reaction, own_login, reply_once
    from scylla_gha.github.slash_command import USAGE

    click.echo(f"refused: {why}", err=True)
    add_reaction(channel, told.comment.id, "confused")
    reply_once(channel, told.issue.number, f"<!-- scylla:reply to={told.comment.id} -->",
           f"Nothing was started: {why}.\n\nUsage: `{USAGE}`", own_login(channel),
           since=f"{told.comment.created_at:%Y-%m-%dT%H:%M:%SZ}")  # fmt: skip
