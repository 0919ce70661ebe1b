"""Names and formats of metrics, and tables of arms by metrics. Unknown is `?`, undefined `-`, infinite `∞`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.analysis import Contrast, Measure
from scylla_gha.report.markdown_table import more, table
from scylla_gha.report.numbers import UNDEFINED, UNKNOWN, number, percent, seconds, tokens, usd
from scylla_gha.report.view import ReportView

INFINITE: Final = "∞"
_MOST_DIGITS: Final = 5
Written = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class MetricUnit:
    """Formats of a value, of a limit of its interval, and of a difference of two values."""

    value: Written
    limit: Written
    step: Written
    step_unit: str = ""


_RATE = MetricUnit(percent, lambda x: f"{100 * x:.0f}", lambda x: f"{100 * x:+.1f}", " points")
_PLAIN = MetricUnit(number, number, lambda x: f"{x:+.2f}")
_USD = MetricUnit(usd, usd, lambda x: f"{x:+.4f}", " USD")
_TIME = MetricUnit(seconds, seconds, lambda x: f"{x:+.2f}", " s")
_COUNT = MetricUnit(lambda x: tokens(round(x)), lambda x: tokens(round(x)), lambda x: f"{x:+,.0f}")

_METRICS: Final[dict[str, tuple[str, MetricUnit]]] = {
    "pass_rate": ("pass rate", _RATE),
    "pass_rate_pooled": ("pass rate, trials pooled", _RATE),
    "implementation_rate": ("requirements met", _RATE),
    "score": ("score", _PLAIN),
    "progress_rate": ("progress", _RATE),
    "change_fail_rate": ("changes that broke something", _RATE),
    "outcome_consistency": ("two repetitions agree", _RATE),
    "score_consistency": ("scores agree", _PLAIN),
    "consistency": ("consistency, 1 - sd / mean", _PLAIN),
    "pass_at_k": ("one of k tries passes", _RATE),
    "pass_all_k": ("all of k tries pass", _RATE),
    "solved_once": ("scenarios passed at least once", _RATE),
    "solved_always": ("scenarios passed always", _RATE),
    "icc": ("ICC(1)", _PLAIN),
    "design_effect": ("design effect", _PLAIN),
    "effective_trials": ("effective trials", _PLAIN),
    "seconds": ("time", _TIME),
    "seconds_median": ("time, median", _TIME),
    "seconds_p90": ("time, 90th percentile", _TIME),
    "first_byte_seconds": ("wait for a first byte", _TIME),
    "generation_seconds": ("generation", _TIME),
    "tool_seconds": ("tools", _TIME),
    "usd": ("USD", _USD),
    "cost_of_pass": ("USD per pass", _USD),
    "frontier_cost_of_pass": ("USD per pass, cheapest arm", _USD),
    "frontier_cost_of_pass_per_scenario": ("USD per pass, cheapest arm of each scenario", _USD),
    "tokens": ("tokens", _COUNT),
    "tokens_per_pass": ("tokens per pass", _COUNT),
    "seconds_per_pass": ("time per pass", _TIME),
    "usd_per_score": ("USD per point of score", _USD),
    "cache_hit_rate": ("cache hits", _RATE),
    "turns": ("turns", _PLAIN),
    "tool_calls": ("tool calls", _PLAIN),
    "tool_failure_rate": ("failed tool calls", _RATE),
    "request_retry_rate": ("requests repeated", _RATE),
}


def title(metric: str) -> str:
    """Return a metric's name for people."""
    return _METRICS[metric][0] if metric in _METRICS else metric.replace("_", " ")


def unit(metric: str) -> MetricUnit:
    """Return the formats of a metric; an unknown metric is a share if its name ends so, else a plain number."""
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
    """Format the 95 % interval, or the only limit."""
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
    each = unit(contrast.metric)
    return f"{each.step(contrast.value)}{each.step_unit}"


def change_limits(contrast: Contrast, *, inner: bool = False) -> str:
    """Format the 95 % interval of the difference or ratio; or the inner one, which decides on equivalence."""
    low, high = (contrast.equal_low, contrast.equal_high) if inner else (contrast.low, contrast.high)
    return _between(low, high, ratio if contrast.scale == "ratio" else unit(contrast.metric).step)


def ratio(x: float) -> str:
    """Format a ratio with enough digits to show on which side of 1 it lies."""
    digits = 2
    while x != 1 and round(x, digits) == 1 and digits < _MOST_DIGITS:
        digits += 1
    return f"{x:.{digits}f}"


def _between(low: float | None, high: float | None, written: Written) -> str:
    if low is None:
        return UNDEFINED if high is None else f"≤ {written(high)}"
    return f"≥ {written(low)}" if high is None else f"[{written(low)}, {written(high)}]"


MeasureFormat = Callable[[Measure | None], str]
Column = tuple[str, str]  # its heading, and the metric


def metric_table(page: ReportView, wanted: Sequence[Column], written: MeasureFormat = estimate) -> Iterator[str]:
    """Yield a table with one row per arm; columns and rows without a value are left out.

    Args:
        page: where arms and measures are.
        wanted: the columns.
        written: how a measure is written; as it is, with its 95 % interval.
    """
    shown = [(heading, metric) for heading, metric in wanted if any(says(page, arm.arm, metric) for arm in page.arms)]
    rows = [arm.arm for arm in page.arms if any(says(page, arm.arm, metric) for _, metric in shown)]
    if not rows:
        return
    yield from table(
        ("arm", *(heading for heading, _ in shown)),
        ((page.name(arm), *(written(page.measure(arm, metric)) for _, metric in shown)) for arm in rows),
    )
    yield from more(page.left_out, "arm")


def says(page: ReportView, arm: str, metric: str) -> bool:
    """Return whether a measure is known or infinite."""
    found = page.measure(arm, metric)
    return found is not None and found.state in {"known", "infinite"}


def above_zero(page: ReportView, metric: str) -> bool:
    """Return whether any arm has a value above zero."""
    found = (page.measure(arm.arm, metric) for arm in page.arms)
    return any(_amount(one) > 0 for one in found)


def _amount(measure: Measure | None) -> float:
    return 0.0 if measure is None or measure.value is None else measure.value
