"""`scylla-gha slash`."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from scylla_gha.github.channel import Channel
    from scylla_gha.github.events import CommentEvent


@click.command()
@click.option("--event", type=click.Path(path_type=Path, dir_okay=False), envvar="GITHUB_EVENT_PATH", show_envvar=True,
              required=True, help="The runner's file of the event.")  # fmt: skip
@click.option("--workflow", default="dispatch.yml", show_default=True, help="The workflow to dispatch.")
@click.option("--bot", "bots", multiple=True, metavar="LOGIN", help="A bot whose orders are taken, if it may write.")
def command(event: Path, workflow: str, bots: tuple[str, ...]) -> None:
    """Take an order from a new comment on a pull request: `/scylla evaluate` or `compare EXPERIMENT`.

    Only from who may write to the repository, and only for the commit that stood there when it was given. Reacts with
    eyes and dispatches the evaluation, or says what is wrong. A comment that is not to us is passed over.

    \b
    scylla-gha slash
    """  # noqa: D301
    from scylla_gha.cli.channels import open_channel
    from scylla_gha.github.events import CommentEvent, read_event
    from scylla_gha.github.slash import addressed

    told = read_event(event, CommentEvent)
    if told.action != "created" or told.issue.pull_request is None or not addressed(told.comment.body or ""):
        click.echo("not addressed to scylla", err=True)
        return
    with open_channel() as channel:
        _answer(channel, told, workflow, bots)


def _answer(channel: "Channel", told: "CommentEvent", workflow: str, bots: tuple[str, ...]) -> None:
    from scylla_gha.cli.ordering import decide, is_stranger_bot, start
    from scylla_gha.errors import GitHubError, RefusedError
    from scylla_gha.gha.files import write_outputs
    from scylla_gha.github.comments import react

    if is_stranger_bot(told, bots):
        click.echo(f"{told.comment.user.login} is a bot that --bot does not name; its order is passed over", err=True)
        write_outputs(os.environ, {"accepted": "false"})
        return
    try:
        settled = decide(channel, told)
        react(channel, told.comment.id, "eyes")
        run = start(channel, told, settled, workflow)
    except RefusedError as why:
        _refuse(channel, told, str(why))
        write_outputs(os.environ, {"accepted": "false"})
        return
    except GitHubError:
        with suppress(GitHubError):
            _refuse(channel, told, "GitHub did not take it; the log of the workflow that reads comments says why")
        raise
    write_outputs(os.environ, {"accepted": "true", "run": run, **settled.inputs})
    click.echo(f"dispatched {settled.inputs['experiment']} at {settled.inputs['head'][:7]}: {run}", err=True)


def _refuse(channel: "Channel", told: "CommentEvent", why: str) -> None:
    """Say once what is wrong."""
    from scylla_gha.github.comments import answer, own_login, react
    from scylla_gha.github.slash import USAGE

    click.echo(f"refused: {why}", err=True)
    react(channel, told.comment.id, "confused")
    answer(channel, told.issue.number, f"<!-- scylla:reply to={told.comment.id} -->",
           f"Nothing was started: {why}.\n\nUsage: `{USAGE}`", own_login(channel),
           since=f"{told.comment.created_at:%Y-%m-%dT%H:%M:%SZ}")  # fmt: skip
