"""The main table: one row per arm, the same columns on a page and in a terminal."""

from scylla_gha.model.report import ArmSummary
from scylla_gha.render.metrics import INFINITE, limits, value
from scylla_gha.render.page import PASS, Page
from scylla_gha.render.text import (
    UNDEFINED,
    bounds,
    cost_of_pass,
    counts,
    grades,
    interval,
    number,
    percent,
    seconds,
    tokens,
    usd,
)

HEADINGS = ("arm", "n", "pass", "95 %", "score", "grades", "USD", "USD/pass", "time", "tokens")
COUNTS_NOTE = "n: planned/ran/judged/scored, or one number where the four are equal"


def arm_row(page: Page, arm: ArmSummary, *, wide: bool = False) -> tuple[str, ...]:
    """One arm under `HEADINGS`; the headline is the mean over scenarios where it was computed, else of all trials.

    Args:
        page: where measures are looked up.
        arm: the arm.
        wide: whether there is room for the interval of the cost of a pass.
    """
    rate, score = page.measure(arm.arm, PASS), page.measure(arm.arm, "score")
    time = page.measure(arm.arm, "seconds")
    return (
        page.name(arm.arm),
        counts(arm.counts),
        (percent(arm.pass_rate) if rate is None else value(rate)) + bounds(arm),
        interval(arm) if rate is None else limits(rate),
        number(arm.mean_score) if score is None else value(score),
        grades(arm),
        usd(arm.usd),
        _cost(page, arm, wide=wide),
        seconds(arm.mean_seconds) if time is None else value(time),
        tokens(arm.tokens),
    )


def _cost(page: Page, arm: ArmSummary, *, wide: bool) -> str:
    made = page.measure(arm.arm, "cost_of_pass")
    if made is None:
        return cost_of_pass(arm)
    said = value(made)
    if said == INFINITE and not arm.usd:
        return UNDEFINED  # nothing was spent, and nothing came of it
    between = limits(made)
    return said if not wide or between == UNDEFINED else f"{said} {between}"
