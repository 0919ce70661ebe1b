"""Texts of a regression issue and of its comments; names and reasons are escaped and cut."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.model.publication import ArmVerdict, RunPage
from scylla_gha.report.markdown_table import code, escape, raw_table
from scylla_gha.report.numbers import clipped
from scylla_gha.report.summary import MARKS

_MOST_ROWS: Final = 30
_MOST_NAME: Final = 80
_MOST_WHY: Final = 250


def alarm_marker(suite: str) -> str:
    """Return the first line of the issue."""
    return f"<!-- scylla:alert suite={suite} -->"


def alarm_title(experiment: str) -> str:
    """Return the issue's title."""
    return f"{experiment}: an agent does worse than it did"


def alarm(first: Sequence[ArmVerdict], confirmed: Sequence[ArmVerdict], experiment: str, page: RunPage) -> str:
    """Return the issue's text below its first two lines.

    Args:
        first: verdicts of the first measurement on all arms.
        confirmed: verdicts of the confirming one on the arms that are worse in both.
        experiment: its id.
        page: the confirming run.
    """
    return "\n".join(_alarm({verdict.arm: verdict for verdict in first}, confirmed, experiment, page)) + "\n"


def _alarm(
    first: dict[str, ArmVerdict], confirmed: Sequence[ArmVerdict], experiment: str, page: RunPage
) -> Iterator[str]:
    count = f"{len(confirmed):,} {'arm does' if len(confirmed) == 1 else 'arms do'}"
    yield f"**{count} worse** in `{experiment}`, measured twice: a second run of all their cells says so too."
    rows = (
        (_name(verdict.arm), _name(verdict.against), _why(first[verdict.arm]), _why(verdict))
        for verdict in confirmed[:_MOST_ROWS]
    )
    yield from raw_table(("arm", "against", "first measurement", "confirming one"), rows)
    if len(confirmed) > _MOST_ROWS:
        yield f"and {len(confirmed) - _MOST_ROWS:,} more\n"
    yield (f"Run: {page.url}. To see it yourself: `scylla-gha evaluate {experiment} --epoch again`; why a trial "
           "failed: `scylla-gha show CELL`.\n")  # fmt: skip
    yield ("This issue is kept up to date by the scheduled run, and closed by it when every arm named here is shown to "
           "be no worse than its baseline by more than the margin. Not enough data closes nothing.")  # fmt: skip


def recovery(standings: Iterable[ArmVerdict], page: RunPage) -> str:
    """Return the comment with which the issue is closed."""
    said = [f"- {_name(verdict.arm)}: {_why(verdict)}" for verdict in standings][:_MOST_ROWS]
    return "\n".join((f"Recovered: none of the arms does worse any more ({page.url}).\n", *said)) + "\n"


def spread(arms: Sequence[str], page: RunPage) -> str:
    """Return the comment for the case that other arms are worse than before."""
    named = ", ".join(_name(arm) for arm in arms[:_MOST_ROWS])
    return f"Measured again, and confirmed ({page.url}): now of {named}.\n"


def _name(arm: str) -> str:
    return code(clipped(arm, _MOST_NAME))


def _why(one: ArmVerdict) -> str:
    mark = next((mark for verdict, mark in MARKS.items() if verdict == one.verdict), "")
    return f"{mark} {escape(clipped(one.why, _MOST_WHY))}".strip()
