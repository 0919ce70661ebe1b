"""Name and format metrics, and build tables of arms by metrics. Unknown is `?`, undefined `-`, infinite `∞`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from scylla_gha.counting import dollars
from scylla_gha.model.analysis import Contrast, Measure
from scylla_gha.model.report import ArmSummary
from scylla_gha.report.document import UNDEFINED, UNKNOWN, Markdown, Table, names, number, percent, seconds, tokens
from scylla_gha.report.view import ReportView

INFINITE: Final = "∞"
_MOST_DIGITS: Final = 5
_MOST_NAMED: Final = 8  # names in a line
NumberFormat = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class MetricUnit:
    """Formats of a value, a limit of its interval, and a difference (`step`, with its unit)."""

    value: NumberFormat
    limit: NumberFormat
    step: NumberFormat
    step_unit: str = ""


_RATE = MetricUnit(percent, lambda x: f"{100 * x:.0f}", lambda x: f"{100 * x:+.1f}", " points")
_PLAIN = MetricUnit(number, number, lambda x: f"{x:+.2f}")
_USD = MetricUnit(dollars, dollars, lambda x: dollars(x, "+"))
_TIME = MetricUnit(seconds, seconds, lambda x: f"{x:+.2f}", " s")
_COUNT = MetricUnit(lambda x: tokens(round(x)), lambda x: tokens(round(x)), lambda x: f"{x:+,.0f}")

Side = Literal[-1, 0, 1]  # which values of a metric are better
_LOWER: Final[Side] = -1
_NEITHER: Final[Side] = 0
_HIGHER: Final[Side] = 1
_METRICS: Final[dict[str, tuple[str, MetricUnit, Side]]] = {
    "pass_rate": ("pass rate", _RATE, _HIGHER),
    "pass_rate_pooled": ("pass rate, trials pooled", _RATE, _HIGHER),
    "implementation_rate": ("requirements met", _RATE, _HIGHER),
    "score": ("score", _PLAIN, _HIGHER),
    "progress_rate": ("progress", _RATE, _HIGHER),
    "change_fail_rate": ("changes that broke something", _RATE, _LOWER),
    "outcome_consistency": ("two repetitions agree", _RATE, _HIGHER),
    "score_consistency": ("scores agree", _PLAIN, _HIGHER),
    "consistency": ("consistency, 1 - sd / mean", _PLAIN, _HIGHER),
    "pass_at_k": ("one of k tries passes", _RATE, _HIGHER),
    "pass_all_k": ("all of k tries pass", _RATE, _HIGHER),
    "solved_once": ("scenarios passed at least once", _RATE, _HIGHER),
    "solved_always": ("scenarios passed always", _RATE, _HIGHER),
    "icc": ("ICC(1)", _PLAIN, _NEITHER),
    "design_effect": ("design effect", _PLAIN, _NEITHER),
    "effective_trials": ("effective trials", _PLAIN, _NEITHER),
    "seconds": ("time", _TIME, _LOWER),
    "seconds_median": ("time, median", _TIME, _LOWER),
    "seconds_p90": ("time, 90th percentile", _TIME, _LOWER),
    "first_byte_seconds": ("wait for a first byte", _TIME, _LOWER),
    "generation_seconds": ("generation", _TIME, _LOWER),
    "tool_seconds": ("tools", _TIME, _LOWER),
    "usd": ("USD", _USD, _LOWER),
    "cost_of_pass": ("USD per pass", _USD, _LOWER),
    "frontier_cost_of_pass": ("USD per pass, cheapest arm", _USD, _LOWER),
    "frontier_cost_of_pass_per_scenario": ("USD per pass, cheapest arm of each scenario", _USD, _LOWER),
    "tokens": ("tokens", _COUNT, _LOWER),
    "tokens_per_pass": ("tokens per pass", _COUNT, _LOWER),
    "seconds_per_pass": ("time per pass", _TIME, _LOWER),
    "usd_per_score": ("USD per point of score", _USD, _LOWER),
    "cache_hit_rate": ("cache hits", _RATE, _HIGHER),
    "turns": ("turns", _PLAIN, _NEITHER),
    "tool_calls": ("tool calls", _PLAIN, _NEITHER),
    "treatment_prompt_tokens": ("tokens of the treatment's prompt", _COUNT, _LOWER),
    "treatment_skills_tokens": ("tokens of its skills", _COUNT, _LOWER),
    "treatment_agents_tokens": ("tokens of its sub-agents", _COUNT, _LOWER),
    "treatment_mcp_tokens": ("tokens of its MCP servers", _COUNT, _LOWER),
    "treatment_tools_tokens": ("tokens of all tool definitions", _COUNT, _LOWER),
    "uptake": ("trials that used the treatment", _RATE, _NEITHER),
    "first_use": ("turn of the first use", _PLAIN, _NEITHER),
    "interaction": ("pass rate beyond the sum of the parts", _RATE, _HIGHER),
    "tool_failure_rate": ("failed tool calls", _RATE, _LOWER),
    "request_retry_rate": ("requests repeated", _RATE, _LOWER),
}
LOWER_MARK: Final = "↓"


def better_side(metric: str) -> Side:
    """Return 1 if higher values of a metric are better, -1 if lower ones are, 0 if neither or if it is unknown."""
    return _METRICS[metric][2] if metric in _METRICS else _NEITHER


def heading(text: str, metric: str) -> str:
    """Return a heading of a metric, marked if lower values are better."""
    return f"{text} {LOWER_MARK}" if better_side(metric) < 0 else text


def title(metric: str) -> str:
    """Return a metric's name for people."""
    return _METRICS[metric][0] if metric in _METRICS else metric.replace("_", " ")


def unit(metric: str) -> MetricUnit:
    """Return the formats of a metric; an unknown metric is a rate if its name ends with `_share`, else a number."""
    if metric in _METRICS:
        return _METRICS[metric][1]
    return _RATE if metric.endswith("_share") else _PLAIN


def value(measure: Measure | None) -> str:
    """Format the estimate."""
    if measure is None or measure.state == "undefined":
        return UNDEFINED
    if measure.state == "infinite":
        return INFINITE
    return UNKNOWN if measure.value is None else unit(measure.metric).value(measure.value)


def limits(measure: Measure | None) -> str:
    """Format the 95 % interval; one limit if only one is known."""
    if measure is None:
        return UNDEFINED
    return _between(measure.low, measure.high, unit(measure.metric).limit)


def estimate(measure: Measure | None) -> str:
    """Format the estimate and its interval, if it has one."""
    between = limits(measure)
    return value(measure) if between == UNDEFINED else f"{value(measure)} {between}"


def change(contrast: Contrast) -> str:
    """Format the difference with its unit, or the ratio."""
    if contrast.value is None:
        return UNDEFINED
    if contrast.scale == "ratio":
        return f"x{contrast.value:.2f}"
    metric = unit(contrast.metric)
    return f"{metric.step(contrast.value)}{metric.step_unit}"


def change_limits(contrast: Contrast, *, inner: bool = False) -> str:
    """Format the 95 % interval of the difference or ratio; `inner`: the limits that decide on equivalence."""
    low, high = (contrast.equal_low, contrast.equal_high) if inner else (contrast.low, contrast.high)
    return _between(low, high, ratio if contrast.scale == "ratio" else unit(contrast.metric).step)


def ratio(x: float) -> str:
    """Format a ratio with enough digits to show on which side of 1 it lies."""
    digits = 2
    while x != 1 and round(x, digits) == 1 and digits < _MOST_DIGITS:
        digits += 1
    return f"{x:.{digits}f}"


def _between(low: float | None, high: float | None, written: NumberFormat) -> str:
    if low is None:
        return UNDEFINED if high is None else f"≤ {written(high)}"
    return f"≥ {written(low)}" if high is None else f"[{written(low)}, {written(high)}]"


def metric_table(
    view: ReportView, columns: Sequence[tuple[str, str]], written: Callable[[Measure | None], str] = estimate
) -> Table:
    """Return a table with one row per arm; columns and rows without a known or infinite value are left out.

    Args:
        view: the arms and their measures.
        columns: heading and metric of each column.
        written: format of a measure; by default with its 95 % interval.
    """
    shown = [(text, metric) for text, metric in columns if any(_has_value(view, arm, metric) for arm in view.arms)]
    rows = [
        (view.name(arm.arm), *(written(view.measure(arm.arm, metric)) for _, metric in shown))
        for arm in view.arms
        if any(_has_value(view, arm, metric) for _, metric in shown)
    ]
    return Table(("arm", *(heading(text, metric) for text, metric in shown)), rows, view.left_out if rows else 0, "arm")


def _has_value(view: ReportView, arm: ArmSummary, metric: str) -> bool:
    measure = view.measure(arm.arm, metric)
    return measure is not None and measure.state in {"known", "infinite"}


def above_zero(view: ReportView, metric: str) -> bool:
    """Return whether any arm has a value above zero."""
    measures = (view.measure(arm.arm, metric) for arm in view.arms)
    return any(measure is not None and (measure.value or 0.0) > 0 for measure in measures)


def tries(view: ReportView) -> dict[str, list[str]]:
    """Return the names of arms by their k of pass@k, such as `k = 3`; rates with different k cannot be compared."""
    arms: dict[str, list[str]] = {}
    for arm in view.arms:
        measure = view.measure(arm.arm, "pass_at_k")
        if measure is not None and measure.value is not None:
            arms.setdefault(measure.note.partition(";")[0], []).append(view.name(arm.arm))
    return arms


def tool_calls(view: ReportView) -> Table:
    """Return the calls per trial of each tool, by arm."""
    uses: dict[str, list[str]] = {}
    for use in view.analysis.tools if view.analysis else ():
        uses.setdefault(use.arm, []).append(f"{use.tool} {number(use.per_trial)}")
    rows = []
    for arm in view.arms:
        if calls := uses.get(arm.arm):
            others = f", and {len(calls) - _MOST_NAMED} more" if len(calls) > _MOST_NAMED else ""
            rows.append((view.name(arm.arm), ", ".join(calls[:_MOST_NAMED]) + others))
    return Table(("arm", "tools"), rows, view.left_out if rows else 0, "arm")


def cheapest_shares(view: ReportView) -> Table:
    """Return how often each arm is the cheapest in resamples; no rows if it is always the same arm."""
    frontier = view.analysis.frontier if view.analysis else None
    shares = sorted(frontier.shares.items(), key=lambda share: -share[1]) if frontier else []
    rows = [(view.name(arm), percent(share)) for arm, share in shares if share > 0]
    return Table(("arm", "cheapest in"), rows[:_MOST_NAMED] if len(rows) > 1 else ())


def first_names(view: ReportView, arms: Sequence[str]) -> Markdown:
    """Return the names of the first arms, and the number of others, in one line."""
    others = f" and {len(arms) - _MOST_NAMED:,} more" if len(arms) > _MOST_NAMED else ""
    return Markdown((names(map(view.name, arms[:_MOST_NAMED])) or "none") + others)
