"""Sections of metrics: checkpoints, reliability, tools, time, and costs."""

from collections.abc import Iterator
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.analysis import CostFrontier, ToolUse
from scylla_gha.report.markdown_table import escape, more, table
from scylla_gha.report.metrics import Column, above_zero, estimate, metric_table, value
from scylla_gha.report.numbers import number, percent, usd
from scylla_gha.report.view import ReportView

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


def work(page: ReportView) -> Iterator[str]:
    """Yield requirements, progress, and changes that broke a check."""
    lines = list(metric_table(page, _WORK))
    if lines:
        yield "\n## Checkpoints\n"
        yield ("Requirements count by their points; steps are those that a solution is expected to take; a change "
               "broke something where a check that held on the start state no longer does.")  # fmt: skip
        yield from lines


def reliability(page: ReportView) -> Iterator[str]:
    """Yield reliability, if scenarios were repeated."""
    if not any(_measured(page, arm.arm) for arm in page.arms):
        return
    yield "\n## Reliability\n"
    yield f"The same task, tried again by the same arm.{_tries(page)}"
    yield from metric_table(page, _RELIABLE)


def _tries(page: ReportView) -> str:
    """Describe k; numbers of different k cannot be compared."""
    found: dict[str, list[str]] = {}
    for arm in page.arms:
        made = page.measure(arm.arm, "pass_at_k")
        if made is not None and made.value is not None:
            found.setdefault(made.note.partition(";")[0], []).append(page.name(arm.arm))
    if len(found) > 1:
        each = "; ".join(f"{escape(k)} for {', '.join(map(escape, arms))}" for k, arms in found.items())
        return f" k differs, and columns with k do not compare where it does: {each}."
    return "".join(f" Here, {escape(k)}." for k in found)


def _measured(page: ReportView, arm: str) -> bool:
    found = page.measure(arm, "outcome_consistency")
    return found is not None and found.value is not None


def tools(page: ReportView) -> Iterator[str]:
    """Yield the use of tools, if tools were called."""
    if page.analysis is None or not above_zero(page, "tool_calls"):
        return
    yield "\n## Tools\n"
    yield from metric_table(page, _TOOLS)
    shown = [arm.arm for arm in page.arms]
    by_arm: dict[str, list[ToolUse]] = {arm: [] for arm in shown}
    for use in page.analysis.tools:
        if use.arm in by_arm:
            by_arm[use.arm].append(use)
    rows = [(page.name(arm), _used(by_arm[arm])) for arm in shown if by_arm[arm]]
    if rows:
        yield "Calls per trial, by tool:"
        yield from table(("arm", "tools"), rows)
        yield from more(page.left_out, "arm")


def _used(uses: list[ToolUse]) -> str:
    said = ", ".join(f"{use.tool} {number(use.per_trial)}" for use in uses[:_MOST_TOOLS])
    return said if len(uses) <= _MOST_TOOLS else f"{said}, and {len(uses) - _MOST_TOOLS} more"


def times(page: ReportView) -> Iterator[str]:
    """Yield the parts of the time, if they are known."""
    if not any(above_zero(page, metric) for metric in ("first_byte_seconds", "generation_seconds", "tool_seconds")):
        return
    yield "\n## Time\n"
    yield "Per trial. Parts may overlap, and do not add up to the whole: tools can run at once."
    yield from metric_table(page, _TIMES)


_MOST_NAMED: Final = 8
_PER_PASS: Final[tuple[Column, ...]] = (
    ("USD", "cost_of_pass"), ("tokens", "tokens_per_pass"), ("time", "seconds_per_pass"),
    ("USD per point of score", "usd_per_score"),
)  # fmt: skip
_TOKENS: Final[tuple[Column, ...]] = (
    ("input", "input_tokens_share"), ("output", "output_tokens_share"), ("read from cache", "cache_read_tokens_share"),
    ("written to cache", "cache_write_tokens_share"), ("cache hits", "cache_hit_rate"),
)  # fmt: skip
_REQUESTS: Final[tuple[Column, ...]] = (
    ("system prompt", "system_prompt_share"), ("tool schemas", "tool_schemas_share"),
    ("tool input", "tool_input_share"), ("tool output", "tool_output_share"), ("conversation", "conversation_share"),
)  # fmt: skip


def money(page: ReportView) -> Iterator[str]:
    """Yield costs, if something was paid or tokens were used."""
    if not above_zero(page, "usd") and not above_zero(page, "tokens"):
        return
    yield "\n## Cost of a pass\n"
    yield "Failed trials are paid for as well: each number is the mean per trial over the pass rate."
    yield from metric_table(page, _PER_PASS)
    yield from _side(page)
    yield from _frontier(page)
    yield "Where tokens go, as shares of all tokens; a cache hit is input that was read from the cache:"
    yield from metric_table(page, _TOKENS, value)
    requests = list(metric_table(page, _REQUESTS, value))
    if requests:
        yield "What requests consist of, as shares of their characters:"
        yield from requests


def _side(page: ReportView) -> Iterator[str]:
    """Yield costs of other models than an arm's own: of sub-agents, and of the CLI's own requests."""
    for arm in page.arms:
        if arm.side_requests:
            yield (f"- **{escape(page.name(arm.arm))}**: {counted(arm.side_requests, 'request')}, "
                   f"{usd(arm.side_usd)} of its {usd(arm.usd)}, went to other models than its own.")  # fmt: skip


def _frontier(page: ReportView) -> Iterator[str]:
    found = page.analysis.frontier if page.analysis else None
    if found is None:
        return
    scenarios = counted(found.pooled.scenarios, "scenario")
    note = f"; {found.pooled.note}" if found.pooled.note else ""
    yield (f"- **The cheapest arm's pass** costs {escape(estimate(found.pooled))}: {_named(page, found.best)}. Over "
           f"the {scenarios} that all arms tried{note}. The least of several looks cheaper than it is: measure it anew "
           "before you rely on it.")  # fmt: skip
    yield (f"- **Each scenario by its own cheapest arm**: {value(found.per_scenario)}, the mean over scenarios"
           f"{_human(found)}. A mean of ratios is not the ratio of means above, and can be the larger.")  # fmt: skip
    if found.pareto:
        yield f"- **No other arm is both cheaper and better** than: {_named(page, found.pareto)}."
    shares = sorted(((arm, part) for arm, part in found.shares.items() if part > 0), key=lambda each: -each[1])
    if len(shares) > 1:
        yield "\nHow often each arm would be the cheapest, were other scenarios drawn:"
        yield from table(
            ("arm", "cheapest in"), ((page.name(arm), percent(part)) for arm, part in shares[:_MOST_NAMED])
        )


def _human(found: CostFrontier) -> str:
    unsolved = f"; of {found.unsolved}, no arm passed any, nor is a person's price known" if found.unsolved else ""
    who = f"a person's price is known of {found.human}" if found.human else "no person's price is known"
    return f" ({who}{unsolved})"


def _named(page: ReportView, arms: tuple[str, ...]) -> str:
    said = ", ".join(escape(page.name(arm)) for arm in arms[:_MOST_NAMED])
    return (said or "none") + (f" and {len(arms) - _MOST_NAMED:,} more" if len(arms) > _MOST_NAMED else "")
