"""`scylla-gha reverts`."""

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from scylla_gha.cli import options

if TYPE_CHECKING:
    from scylla_gha.github.reverts import Asked, RevertRate

_DAYS: Final = 90  # of decided pull requests, where nobody says since when
_EVERY_SECONDS: Final = 2.0
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*/(?!\.{1,2}$)[A-Za-z0-9_.-]+")


def _repository(_: click.Context, __: click.Parameter, value: str) -> str:
    if not _REPOSITORY.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not of the form OWNER/REPO")
    return value


_day = click.DateTime(["%Y-%m-%d"])


@click.command()
@click.argument("repository", metavar="OWNER/REPO", callback=_repository)
@click.option("--label", "labels", multiple=True, help="Only pull requests with it; with all, where given repeatedly.")
@click.option("--author", help="Only pull requests of this login, e.g. 'dependabot[bot]'.")
@click.option("--since", type=_day, show_default=f"window + {_DAYS} days ago", help="First day of merges, in UTC.")
@click.option("--until", type=_day, show_default="today", help="Last day of merges, in UTC.")
@click.option("--window", type=click.IntRange(1, 3650), default=30, show_default=True,
              help="Days after a merge in which a revert counts.")  # fmt: skip
@options.as_json
def command(
    repository: str, labels: tuple[str, ...], author: str | None, since: datetime | None, until: datetime | None,
    window: int, *, as_json: bool,
) -> None:  # fmt: skip
    """Tell how often pull requests merged into OWNER/REPO's default branch were reverted.

    Asks GitHub with GITHUB_TOKEN or GH_TOKEN, at GITHUB_API_URL where that is set. A pull request merged less than the
    window ago is not decided yet, and counted apart; a revert that was reverted within the window is none.

    \b
    scylla-gha reverts octo-org/app --label agent --since 2026-01-01
    """  # noqa: D301
    from scylla_gha.github.access import access_from
    from scylla_gha.github.client import Client
    from scylla_gha.github.patience import Patience
    from scylla_gha.github.reverts import Asked, Period
    from scylla_gha.github.survey import survey

    now = datetime.now(UTC)
    last = (until or now).date()
    first = since.date() if since else last - timedelta(days=window + _DAYS)
    if first > last:
        raise click.BadParameter(f"{first} is after {last}, the last day", param_hint="'--since'")
    access = access_from(os.environ)
    with _progress() as progress:
        client = Client(access, repository, Patience(lambda text: click.echo(text, err=True)))
        asked = Asked(repository=client.name, base=client.base, period=Period(since=first, until=last),
                      as_of=now, window_days=window, labels=labels, author=author)  # fmt: skip
        found = survey(client, asked, progress.say)
    click.echo(found.model_dump_json() if as_json else _text(found))


class _Progress:
    """The latest word of what goes on; told every two seconds, where it is another one than before."""

    def __init__(self) -> None:
        self._text = self._told = ""
        self._over = threading.Event()

    def say(self, text: str) -> None:
        self._text = text

    def tell(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            if self._text != self._told:
                self._told = self._text
                click.echo(self._told, err=True)

    def end(self) -> None:
        self._over.set()


@contextmanager
def _progress() -> Iterator[_Progress]:
    progress = _Progress()
    progress.say("asking GitHub")
    thread = threading.Thread(target=progress.tell, daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        progress.end()
        thread.join()


def _text(found: "RevertRate") -> str:
    lines = [_heading(found)]
    if found.reverts:
        rows = [("PR", "reverted by", "after")]
        rows += [(f"#{each.pr}", each.reverted_by[:12], f"{each.days:.1f} days") for each in found.reverts]
        lines += [f"  {pr:<8}{by:<14}{after:>10}" for pr, by, after in rows]
    return "\n".join([*lines, _verdict(found)])


def _heading(asked: "Asked") -> str:
    of = [f"label {label}" for label in asked.labels] + ([f"author {asked.author}"] if asked.author else [])
    which = f" ({', '.join(of)})" if of else ""
    return f"{asked.repository}, merged into {asked.base} {asked.period.since} to {asked.period.until}{which}"


def _verdict(found: "RevertRate") -> str:
    waiting = f"; {found.censored} merged less than {found.window_days} days ago not counted" if found.censored else ""
    if found.rate is None or found.low is None or found.high is None:
        return f"no rate: no pull request of these was merged {found.window_days} days ago or earlier{waiting}"
    return (f"{found.reverted} of {found.merged} reverted within {found.window_days} days: {100 * found.rate:.1f} % "
            f"(95 %: [{100 * found.low:.1f}, {100 * found.high:.1f}]){waiting}")  # fmt: skip
