"""The issue of a regression, and what is said in it when something changes; names and reasons are escaped and cut."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.model.posting import RunPage, Standing
from scylla_gha.render.answers import MARKS
from scylla_gha.render.grid import code, escape, raw_table
from scylla_gha.render.text import clipped

_MOST_ROWS: Final = 30
_MOST_NAME: Final = 80
_MOST_WHY: Final = 250


def alarm_marker(suite: str) -> str:
    """The first line of the issue."""
    return f"<!-- scylla:alert suite={suite} -->"


def alarm_title(experiment: str) -> str:
    """The issue's title."""
    return f"{experiment}: an agent does worse than it did"


def alarm(first: Sequence[Standing], confirmed: Sequence[Standing], experiment: str, page: RunPage) -> str:
    """The issue's text, below its first two lines.

    Args:
        first: what the first measurement says of all arms.
        confirmed: what the confirming one says of those that do worse in both.
        experiment: its id.
        page: of the run that confirmed it.
    """
    return "\n".join(_alarm({one.arm: one for one in first}, confirmed, experiment, page)) + "\n"


def _alarm(first: dict[str, Standing], confirmed: Sequence[Standing], experiment: str, page: RunPage) -> Iterator[str]:
    count = f"{len(confirmed):,} {'arm does' if len(confirmed) == 1 else 'arms do'}"
    yield f"**{count} worse** in `{experiment}`, measured twice: a second run of all their cells says so too."
    rows = ((_name(one.arm), _name(one.against), _why(first[one.arm]), _why(one)) for one in confirmed[:_MOST_ROWS])
    yield from raw_table(("arm", "against", "first measurement", "confirming one"), rows)
    if len(confirmed) > _MOST_ROWS:
        yield f"and {len(confirmed) - _MOST_ROWS:,} more\n"
    yield (f"Run: {page.url}. To see it yourself: `scylla-gha evaluate {experiment} --epoch again`; why a trial "
           "failed: `scylla-gha show CELL`.\n")  # fmt: skip
    yield ("This issue is kept up to date by the scheduled run, and closed by it when every arm named here is shown to "
           "be no worse than its baseline by more than the margin. Not enough data closes nothing.")  # fmt: skip


def recovery(standings: Iterable[Standing], page: RunPage) -> str:
    """Why the issue is closed."""
    said = [f"- {_name(one.arm)}: {_why(one)}" for one in standings][:_MOST_ROWS]
    return "\n".join((f"Recovered: none of the arms does worse any more ({page.url}).\n", *said)) + "\n"


def spread(arms: Sequence[str], page: RunPage) -> str:
    """What is said when other arms do worse than before."""
    named = ", ".join(_name(arm) for arm in arms[:_MOST_ROWS])
    return f"Measured again, and confirmed ({page.url}): now of {named}.\n"


def _name(arm: str) -> str:
    return code(clipped(arm, _MOST_NAME))


def _why(one: Standing) -> str:
    mark = next((mark for verdict, mark in MARKS.items() if verdict == one.verdict), "")
    return f"{mark} {escape(clipped(one.why, _MOST_WHY))}".strip()
