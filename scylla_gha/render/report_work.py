"""Beyond pass and fail: how much of the work was done, what broke, how reliably, with which tools, and in what time."""

from collections.abc import Iterator
from typing import Final

from scylla_gha.model.analysis import ToolUse
from scylla_gha.render.columns import Column, above_zero, columns
from scylla_gha.render.grid import escape, more, table
from scylla_gha.render.page import Page
from scylla_gha.render.text import number

_WORK: Final[tuple[Column, ...]] = (
    ("requirements met", "implementation_rate"), ("steps made", "progress_rate"),
    ("changes that broke something", "change_fail_rate"),
)  # fmt: skip
_RELIABLE: Final[tuple[Column, ...]] = (
    ("two repetitions agree", "outcome_consistency"), ("scenarios passed at least once", "solved_once"),
    ("scenarios passed always", "solved_always"), ("one of k tries passes", "pass_at_k"),
    ("all of k tries pass", "pass_all_k"),
)  # fmt: skip
_TOOLS: Final[tuple[Column, ...]] = (
    ("calls per trial", "tool_calls"), ("calls that failed", "tool_failure_rate"), ("turns per trial", "turns"),
    ("requests repeated after a fault", "request_retry_rate"),
)  # fmt: skip
_TIMES: Final[tuple[Column, ...]] = (
    ("mean", "seconds"), ("median", "seconds_median"), ("90th percentile", "seconds_p90"),
    ("wait for a first byte", "first_byte_seconds"), ("model generates", "generation_seconds"),
    ("tools work", "tool_seconds"),
)  # fmt: skip
_MOST_TOOLS: Final = 8


def work(page: Page) -> Iterator[str]:
    """Requirements, progress, and checks that held before the change and no longer do."""
    lines = list(columns(page, _WORK))
    if lines:
        yield "\n## Checkpoints\n"
        yield ("Requirements count by their points; steps are those that a solution is expected to take; a change "
               "broke something where a check that held on the start state no longer does.")  # fmt: skip
        yield from lines


def reliability(page: Page) -> Iterator[str]:
    """Only where scenarios were tried more than once."""
    if not any(_measured(page, arm.arm) for arm in page.arms):
        return
    yield "\n## Does it do so again?\n"
    yield f"The same task, tried again by the same arm.{_tries(page)}"
    yield from columns(page, _RELIABLE)


def _tries(page: Page) -> str:
    """What k is; where it differs, numbers of different k are not alike."""
    found: dict[str, list[str]] = {}
    for arm in page.arms:
        made = page.measure(arm.arm, "pass_at_k")
        if made is not None and made.value is not None:
            found.setdefault(made.note.partition(";")[0], []).append(page.name(arm.arm))
    if len(found) > 1:
        each = "; ".join(f"{escape(k)} for {', '.join(map(escape, arms))}" for k, arms in found.items())
        return f" k differs, and columns with k do not compare where it does: {each}."
    return "".join(f" Here, {escape(k)}." for k in found)


def _measured(page: Page, arm: str) -> bool:
    found = page.measure(arm, "outcome_consistency")
    return found is not None and found.value is not None


def tools(page: Page) -> Iterator[str]:
    """Only where tools were called."""
    if page.analysis is None or not above_zero(page, "tool_calls"):
        return
    yield "\n## Tools\n"
    yield from columns(page, _TOOLS)
    shown = [arm.arm for arm in page.arms]
    by_arm: dict[str, list[ToolUse]] = {arm: [] for arm in shown}
    for use in page.analysis.tools:
        if use.arm in by_arm:
            by_arm[use.arm].append(use)
    rows = [(page.name(arm), _used(by_arm[arm])) for arm in shown if by_arm[arm]]
    if rows:
        yield "Calls per trial, by tool:"
        yield from table(("arm", "tools"), rows)
        yield from more(page.left_out, "more arms")


def _used(uses: list[ToolUse]) -> str:
    said = ", ".join(f"{use.tool} {number(use.per_trial)}" for use in uses[:_MOST_TOOLS])
    return said if len(uses) <= _MOST_TOOLS else f"{said}, and {len(uses) - _MOST_TOOLS} more"


def times(page: Page) -> Iterator[str]:
    """Only where it is known what time went into."""
    if not any(above_zero(page, metric) for metric in ("first_byte_seconds", "generation_seconds", "tool_seconds")):
        return
    yield "\n## Time\n"
    yield "Per trial. Parts may overlap, and do not add up to the whole: tools can run at once."
    yield from columns(page, _TIMES)
