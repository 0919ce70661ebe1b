"""`scylla-gha reverts`."""

import os
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted

if TYPE_CHECKING:
    from scylla_gha.github.reverts import RevertRate

_DAYS: Final = 90  # of pull requests whose window is over, if --since is not given
_PROGRESS_SECONDS: Final = 2.0
_MAX_CALLS: Final = 20_000
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*/(?!\.{1,2}$)[A-Za-z0-9_.-]+")


def _repository(_: click.Context, __: click.Parameter, value: str) -> str:
    if not _REPOSITORY.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not of the form OWNER/REPO")
    return value


_day = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.argument("repository", metavar="OWNER/REPO", callback=_repository)
@click.option("--label", "labels", multiple=True, help="Count only pull requests with this label; with all of several.")
@click.option("--author", help="Count only pull requests of this login, such as 'dependabot[bot]'.")
@click.option("--since", type=_day, show_default=f"window + {_DAYS} days ago", help="First day of merges, in UTC.")
@click.option("--until", type=_day, show_default="today", help="Last day of merges, in UTC.")
@click.option("--window", type=click.IntRange(1, 3650), default=30, show_default=True,
              help="Days after a merge in which a revert counts.")  # fmt: skip
@options.as_json
def command(
    repository: str, labels: tuple[str, ...], author: str | None, since: datetime | None, until: datetime | None,
    window: int, *, as_json: bool,
) -> None:  # fmt: skip
    """Show how often pull requests merged into OWNER/REPO's default branch were reverted.

    Reads GitHub with GITHUB_TOKEN or GH_TOKEN, at GITHUB_API_URL if it is set. Pull requests merged less than the
    window ago are counted apart. A revert that was itself reverted within the window does not count.

    \b
    scylla-gha reverts octo-org/app --label agent --since 2026-01-01
    """  # noqa: D301
    from scylla_gha.github.access import access_from
    from scylla_gha.github.api_errors import ApiOperation
    from scylla_gha.github.client import ApiRequest, GitHubRepository, RequestLimits, RetryPolicy
    from scylla_gha.github.reverts import Period, RepositoryName, RevertQuery, read_revert_rate

    now = datetime.now(UTC)
    last = (until or now).date()
    first = since.date() if since else last - timedelta(days=window + _DAYS)
    if first > last:
        raise click.BadParameter(f"{first} is after {last}, the last day", param_hint="'--since'")
    client = GitHubRepository(access_from(os.environ), repository, RetryPolicy(lambda text: click.echo(text, err=True)),
                              RequestLimits(max_calls=_MAX_CALLS))  # fmt: skip
    about = client.read(ApiRequest("GET", "", ApiOperation("read the repository", "contents: read")), RepositoryName)
    query = RevertQuery(repository=about.full_name, base=about.default_branch, period=Period(since=first, until=last),
                        as_of=now, window_days=window, labels=labels, author=author)  # fmt: skip
    rate = read_revert_rate(client, query, _progress())
    click.echo(rate.model_dump_json() if as_json else "\n".join(_lines(rate)))


def _progress() -> Callable[[str], None]:
    """Return a function that shows a text on standard error, at most once in two seconds."""
    last = time.monotonic()

    def report(text: str) -> None:
        nonlocal last
        if time.monotonic() - last > _PROGRESS_SECONDS:
            last = time.monotonic()
            click.echo(text, err=True)

    return report


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
    return (f"{rate.reverted} of {rate.merged} reverted within {days}: {100 * rate.rate:.1f} % "
            f"(95 %: [{100 * rate.low:.1f}, {100 * rate.high:.1f}]){censored}")  # fmt: skip
