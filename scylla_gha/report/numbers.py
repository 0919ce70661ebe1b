"""Formatting of numbers and plain tables. Unknown is `?`, undefined is `-`; neither is ever 0."""

from collections.abc import Sequence
from typing import Final

from scylla_gha.counting import dollars
from scylla_gha.model.report import ArmSummary, Counts, Report
from scylla_gha.stats import format_p

UNKNOWN = "?"
UNDEFINED = "-"


def clipped(text: str, most: int) -> str:
    """Return at most `most` characters of `text`, with an ellipsis if it was cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def percent(value: float | None) -> str:
    """Format a fraction as a whole percentage."""
    return UNDEFINED if value is None else f"{100 * value:.0f} %"


def interval(arm: "ArmSummary") -> str:
    """Format the 95 % interval of the pass rate, in percent."""
    if arm.pass_low is None or arm.pass_high is None:
        return UNDEFINED
    return f"[{100 * arm.pass_low:.0f}, {100 * arm.pass_high:.0f}]"


def bounds(arm: "ArmSummary") -> str:
    """Format the range, in percent, of the pass rate if all trials had been judged; empty if they were."""
    if arm.pass_bounds is None:
        return ""
    low, high = arm.pass_bounds
    return f" ({100 * low:.0f} to {100 * high:.0f})"


def number(value: float | None, digits: int = 2) -> str:
    """Format a number."""
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def cost_of_pass(arm: "ArmSummary") -> str:
    """Format the cost of a pass; infinite if money was spent and nothing passed."""
    if arm.cost_of_pass is None and arm.usd is not None and arm.counts.judged:
        return "∞" if arm.usd > 0 else UNDEFINED
    return dollars(arm.cost_of_pass) if arm.counts.judged else UNDEFINED


def seconds(value: float | None) -> str:
    """Format a duration."""
    if value is None:
        return UNDEFINED
    return f"{value:.2f} s" if value < 100 else f"{value / 60:.1f} min"  # noqa: PLR2004


def tokens(value: int | None) -> str:
    """Format a number of tokens."""
    return UNKNOWN if value is None else f"{value:,}"


def grades(arm: "ArmSummary") -> str:
    """Format grades with their counts, best first."""
    return " ".join(f"{count}{grade}" for grade, count in arm.grades.items()) or UNDEFINED


def counts(trials: "Counts") -> str:
    """Format the four denominators, or one number if they are equal."""
    four = (trials.planned, trials.ran, trials.judged, trials.scored)
    return str(four[0]) if len(set(four)) == 1 else "/".join(map(str, four))


REPLAYED: Final = "REPLAY of recorded answers: nothing was measured; costs stand as recorded and were not spent"


def totals(report: "Report") -> str:
    """Format the report's denominators, the trials with proved delivery, and the cost of judges."""
    trials = report.counts
    proved = f"; delivery proved in {report.delivery[0]} of {report.delivery[1]}" if report.delivery else ""
    counted_trials = f"{trials.planned} planned, {trials.ran} ran, {trials.judged} judged, {trials.scored} scored"
    return f"{counted_trials}{proved}; judges {dollars(report.judge_usd)}"


def short_names(arms: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return arm ids without the parts that all arms share, and those shared parts."""
    split = [arm.split(".") for arm in arms]
    if len(arms) < 2 or len({len(parts) for parts in split}) > 1:  # noqa: PLR2004 one arm has nothing to share with
        return {arm: arm for arm in arms}, ""
    shared = [len(set(column)) == 1 for column in zip(*split, strict=True)]
    names = {
        arm: ".".join(part for part, same in zip(parts, shared, strict=True) if not same)
        for arm, parts in zip(arms, split, strict=True)
    }
    return names, ".".join(part for part, same in zip(split[0], shared, strict=True) if same)


def p_value(p: float | None) -> str:
    """Format a p value; it is never 0."""
    return UNDEFINED if p is None else format_p(p)


def share(part: float | None) -> str:
    """Format a fraction in percent, with one digit."""
    return UNDEFINED if part is None else f"{100 * part:.1f} %"
