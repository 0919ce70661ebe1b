"""Commands that read or act on GitHub: `scylla-gha slash` and `scylla-gha reverts`."""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import GitHubError, RefusedError

if TYPE_CHECKING:
    from scylla_gha.github_api.client import GitHubRepository
    from scylla_gha.github_api.responses import CommentEvent
    from scylla_gha.github_api.reverts import RevertRate

_DAYS: Final = 90  # default period of merges before the window
_MAX_CALLS: Final = 20_000
_day = click.DateTime(["%Y-%m-%d"])


@click.command()
@options.event("File in which the runner describes the event.", required=True)
@options.workflow
@click.option(
    "--bot",
    "bots",
    multiple=True,
    metavar="LOGIN",
    help="Login of a bot whose commands are accepted if it may write; may be repeated.",
)
@click.option(
    "--compare",
    "experiment",
    metavar="EXPERIMENT",
    help="Read a pull_request event, and start a comparison with this experiment.",
)
@click.option("--skills", is_flag=True, help="Read a pull_request event, and measure the pull request's skills.")
def slash(event: Path, workflow: str, bots: tuple[str, ...], experiment: str | None, *, skills: bool) -> None:
    """Start what a new comment on a pull request asks for: `/scylla evaluate`, `compare EXPERIMENT` or `skill`.

    A comment is accepted only from somebody who may write to the repository, and only for the commit that the pull
    request had at that time. The answer is a reaction (eyes), or a reply with the fault. Other comments are
    ignored. With --compare or --skills, a pull request of the repository itself starts a comparison or a measurement
    without a comment.

    \b
    scylla-gha slash
    scylla-gha slash --compare app --workflow scylla.yml
    """  # noqa: D301
    from scylla_gha.github_api import slash_command
    from scylla_gha.github_api.client import open_repository
    from scylla_gha.github_api.responses import CommentEvent, PullEvent, read_event

    if experiment or skills:
        pull_event = read_event(event, PullEvent)
        verb = slash_command.COMPARE if experiment else slash_command.SKILL
        command = slash_command.SlashCommand(verb, experiment or "")
        try:
            with open_repository() as repository:
                resolved = slash_command.resolve_pull_event(repository, pull_event, command)
                default_branch = pull_event.repository.default_branch
                run = slash_command.start_command(repository, resolved, workflow, default_branch)
        except RefusedError as refusal:
            _output_refused(f"refused: {refusal}")
        else:
            _output_started(resolved, run)
        return
    comment = read_event(event, CommentEvent)
    is_new = comment.action == "created" and comment.issue.pull_request is not None
    if not is_new or not slash_command.is_command(comment.comment.body or ""):
        click.echo("ignored: not a new /scylla comment on a pull request", err=True)
    elif slash_command.is_unknown_bot(comment, bots):
        _output_refused(
            f"{comment.comment.user.login} is a bot that --bot does not list; its command is ignored; add --bot to "
            "accept it"
        )
    else:
        with open_repository() as repository:
            _obey(repository, comment, workflow)


def _obey(repository: "GitHubRepository", comment: "CommentEvent", workflow: str) -> None:
    from scylla_gha.github_api.pulls import add_reaction
    from scylla_gha.github_api.slash_command import authorise, start_command

    try:
        resolved = authorise(repository, comment)
        add_reaction(repository, comment.comment.id, "eyes")
        run = start_command(repository, resolved, workflow, comment.repository.default_branch)
    except RefusedError as refusal:
        _reply(repository, comment, str(refusal))
        _output_refused(f"refused: {refusal}")
    except GitHubError:
        with suppress(GitHubError):
            _reply(repository, comment, "GitHub did not start the run; see the log of the workflow that reads comments")
        raise
    else:
        _output_started(resolved, run)


def _reply(repository: "GitHubRepository", comment: "CommentEvent", reason: str) -> None:
    """Reply to a comment, at most once, with the reason why nothing was started."""
    from scylla_gha.github_api.pulls import add_reaction, reply_once, token_login
    from scylla_gha.github_api.slash_command import USAGE

    add_reaction(repository, comment.comment.id, "confused")
    reply_once(
        repository,
        comment.issue.number,
        f"<!-- scylla:reply to={comment.comment.id} -->",
        f"Nothing was started: {reason}.\n\nUsage: `{USAGE}`",
        token_login(repository),
        since=f"{comment.comment.created_at:%Y-%m-%dT%H:%M:%SZ}",
    )


def _output_refused(message: str) -> None:
    from scylla_gha.github_api.actions import write_outputs

    click.echo(message, err=True)
    write_outputs(os.environ, {"accepted": "false"})


def _output_started(inputs: Mapping[str, str], run: str) -> None:
    from scylla_gha.github_api.actions import write_outputs

    write_outputs(os.environ, {"accepted": "true", "run": run, **inputs})
    click.echo(
        f"dispatched {inputs.get('experiment') or inputs.get('skill') or 'skills'} at {inputs['head'][:7]}: {run}",
        err=True,
    )


@click.command()
@click.argument("repository", metavar="OWNER/REPO", callback=options.owner_and_name)
@click.option(
    "--label", "labels", multiple=True, help="Count only pull requests with this label; if repeated, with all of them."
)
@click.option("--author", help="Count only pull requests of this login, such as 'dependabot[bot]'.")
@click.option("--since", type=_day, show_default=f"window + {_DAYS} days ago", help="First day of merges, in UTC.")
@click.option("--until", type=_day, show_default="today", help="Last day of merges, in UTC.")
@click.option(
    "--window",
    type=click.IntRange(1, 3650),
    default=30,
    show_default=True,
    help="Number of days after a merge in which a revert counts.",
)
@options.as_json
def reverts(
    repository: str,
    labels: tuple[str, ...],
    author: str | None,
    since: datetime | None,
    until: datetime | None,
    window: int,
    *,
    as_json: bool,
) -> None:
    """Compute the share of reverted pull requests among those merged into OWNER/REPO's default branch.

    Reads GitHub with GITHUB_TOKEN or GH_TOKEN, at GITHUB_API_URL if it is set. Pull requests merged less than the
    window ago are counted separately. A revert that was itself reverted within the window does not count.

    \b
    scylla-gha reverts octo-org/app --label agent --since 2026-01-01
    """  # noqa: D301
    from scylla_gha.github_api.access import access_from
    from scylla_gha.github_api.client import ApiRequest, GitHubRepository, RequestLimits, RetryPolicy
    from scylla_gha.github_api.responses import NamedRepository
    from scylla_gha.github_api.reverts import Period, RevertQuery, read_revert_rate

    now = datetime.now(UTC)
    last = (until or now).date()
    first = since.date() if since else last - timedelta(days=window + _DAYS)
    if first > last:
        raise click.BadParameter(f"{first} is after {last}, the last day", param_hint="'--since'")
    client = GitHubRepository(
        access_from(os.environ), repository, RetryPolicy(options.report), RequestLimits(max_calls=_MAX_CALLS)
    )
    about = client.read(ApiRequest("GET", "", "read the repository", "contents: read"), NamedRepository)
    query = RevertQuery(
        repository=about.full_name,
        base=about.default_branch,
        period=Period(since=first, until=last),
        as_of=now,
        window_days=window,
        labels=labels,
        author=author,
    )
    rate = read_revert_rate(client, query, options.report)
    click.echo(rate.model_dump_json() if as_json else "\n".join(_lines(rate)))


def _lines(rate: "RevertRate") -> list[str]:
    filters = [f"label {label}" for label in rate.labels] + ([f"author {rate.author}"] if rate.author else [])
    suffix = f" ({', '.join(filters)})" if filters else ""
    lines = [f"{rate.repository}, merged into {rate.base} {rate.period.since} to {rate.period.until}{suffix}"]
    if rate.reverts:
        rows = [("PR", "reverted by", "after")]
        rows += [(f"#{revert.pr}", revert.reverted_by[:12], f"{revert.days:.1f} days") for revert in rate.reverts]
        lines += [f"  {pull:<8}{by:<14}{after:>10}" for pull, by, after in rows]
    return [*lines, _summary(rate)]


def _summary(rate: "RevertRate") -> str:
    days = counted(rate.window_days, "day")
    censored = f"; {rate.censored} merged less than {days} ago not counted" if rate.censored else ""
    if rate.rate is None or rate.low is None or rate.high is None:
        return f"no rate: none of these pull requests was merged {days} ago or earlier{censored}"
    return (
        f"{rate.reverted} of {rate.merged} reverted within {days}: {100 * rate.rate:.1f} % "
        f"(95 %: [{100 * rate.low:.1f}, {100 * rate.high:.1f}]){censored}"
    )
