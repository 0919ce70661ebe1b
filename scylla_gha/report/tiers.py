"""Tables of tiers: pass rate and cost, the step from the tier before, the best sub-test, tokens, wholes and parts."""

from collections.abc import Sequence
from typing import Final

from scylla_gha.model.analysis import FAMILIES, MODE_BY_MODEL, BestSubtest, Interaction, Measure, Slice
from scylla_gha.report.comparisons import arrow, family_reading, pass_contrasts, pass_rate_steps
from scylla_gha.report.document import Columns, Table, table_of
from scylla_gha.report.metrics import change, change_limits, estimate, heading, limits, unit, value
from scylla_gha.report.numbers import UNDEFINED, p_value
from scylla_gha.report.view import ReportView

_COST: Final = "cost_of_pass"
_MOST_WHOLES: Final = 20
_NAMED: Final = 3
REQUEST_SHARES: Final = (
    ("system prompt", "system_prompt_share"),
    ("tool schemas", "tool_schemas_share"),
    ("tool input", "tool_input_share"),
    ("tool output", "tool_output_share"),
    ("conversation", "conversation_share"),
)
TREATMENT: Final = (
    ("prompt", "treatment_prompt_tokens"),
    ("skills", "treatment_skills_tokens"),
    ("sub-agents", "treatment_agents_tokens"),
    ("MCP servers", "treatment_mcp_tokens"),
    ("all tool definitions", "treatment_tools_tokens"),
)


def tiers(view: ReportView) -> Table:
    """Return pass rate and cost of a pass of each tier, and its sub-test with the cheapest pass.

    The rate is over the scenarios that all its sub-tests tried; undefined without any.
    """
    rates = {tier.name: tier.rate for tier in _tiers(view)}
    arms = {tier.tier: tier.arms for tier in view.analysis.tiers} if view.analysis else {}
    rows = []
    for name in sorted({*rates, *arms}):
        rate, members = rates.get(name), arms.get(name, ())
        sizes = (str(rate.n), str(rate.scenarios)) if rate else ("0", "0")
        rows.append(
            (
                name,
                str(len(members)) if members else UNDEFINED,
                value(rate),
                limits(rate),
                estimate(_tier_measures(view, name).get(_COST)),
                cheapest(view, members),
                *sizes,
            )
        )
    costs = (heading("USD per pass", _COST), "cheapest pass")
    return Table(("tier", "sub-tests", "pass", "95 %", *costs, "trials", "scenarios"), rows)


def _tiers(view: ReportView) -> list[Slice]:
    return [part for part in view.analysis.slices if part.by == "tier"] if view.analysis else []


def _tier_measures(view: ReportView, tier: str) -> dict[str, Measure]:
    known = view.analysis.tiers if view.analysis else ()
    return {measure.metric: measure for entry in known if entry.tier == tier for measure in entry.measures}


def cheapest(view: ReportView, arms: Sequence[str]) -> str:
    """Return the arm with the lowest cost of a pass, and that cost; undefined if no arm has one above 0."""
    measures = view.analysis.measures if view.analysis else ()
    costs = [
        (measure.value, arm.arm, measure)
        for arm in measures
        if arm.arm in arms
        for measure in arm.measures
        if measure.metric == _COST and measure.value
    ]
    if not costs:
        return UNDEFINED
    _, arm, measure = min(costs, key=lambda cost: cost[:2])
    return f"{view.name(arm)}: {value(measure)}"


def tier_steps(view: ReportView) -> Table:
    """Return the comparisons of each tier with the one before."""
    steps = [contrast for contrast in pass_contrasts(view) if contrast.family == FAMILIES["tiers"]]
    return pass_rate_steps(view, steps)


def best_subtests(view: ReportView) -> Table:
    """Return the best sub-test of each tier."""
    columns: Columns[BestSubtest] = {
        "tier": lambda best: best.tier,
        "sub-tests": lambda best: str(best.of),
        "best": lambda best: view.name(best.arm),
        "passes, in the half that chose it": lambda best: value(best.chosen),
        "passes, in the other half": lambda best: estimate(best.reported),
    }
    return table_of(view.analysis.best if view.analysis else (), columns)


def tier_tokens(view: ReportView) -> Table:
    """Return what the requests of each tier consist of, in shares of their characters."""
    return _by_tier(view, (("tokens per trial", "tokens"), *REQUEST_SHARES))


def tier_treatments(view: ReportView) -> Table:
    """Return the tokens of each tier's treatments, by part."""
    return _by_tier(view, TREATMENT)


def _by_tier(view: ReportView, columns: Sequence[tuple[str, str]]) -> Table:
    names = [tier.tier for tier in view.analysis.tiers] if view.analysis else []
    by_tier = {name: _tier_measures(view, name) for name in names}
    known = [
        (text, metric)
        for text, metric in columns
        if any(metric in tier and tier[metric].value is not None for tier in by_tier.values())
    ]
    rows = [(tier, *(value(measures.get(metric)) for _, metric in known)) for tier, measures in by_tier.items()]
    return Table(("tier", *(heading(text, metric) for text, metric in known)), rows if known else ())


def wholes(view: ReportView) -> Table:
    """Return configurations beside what their parts add up to, those with the most parts first."""
    return _interactions_table(
        view, ranked_wholes(view), ("together", "parts", "sum of the parts' effects"), "configuration"
    )


def modes_by_models(view: ReportView) -> Table:
    """Return modes with models beside what the mode alone and the model alone add up to."""
    return _interactions_table(view, _crossed(view), ("mode and model", "each alone", "sum of both alone"), "arm")


def _interactions_table(
    view: ReportView, interactions: Sequence[Interaction], headings: tuple[str, str, str], noun: str
) -> Table:
    whole_heading, parts_heading, sum_heading = headings
    columns: Columns[Interaction] = {
        whole_heading: lambda whole: view.name(whole.whole),
        parts_heading: lambda whole: part_names(view, whole),
        "effect": lambda whole: points(whole.effect),
        sum_heading: lambda whole: points(whole.sum_of_parts),
        "difference": lambda whole: f"{arrow(whole.contrast, whole_reading(whole))}{change(whole.contrast)}",
        "95 %": lambda whole: change_limits(whole.contrast),
        "reading": whole_reading,
        "p adjusted": lambda whole: p_value(whole.contrast.p_adjusted),
    }
    return table_of(interactions, columns, _MOST_WHOLES, noun)


def mode_by_model_line(view: ReportView) -> str:
    """Return in one line whether effects of modes depend on the model; empty if modes and models were not crossed."""
    known = [whole for whole in _crossed(view) if whole.contrast.value is not None]
    parts = [
        f"{view.name(whole.whole)} {change(whole.contrast)} {change_limits(whole.contrast)}, {whole_reading(whole)}"
        for whole in known[:_NAMED]
    ]
    more = f"; and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"Mode x model, beyond what each alone changes: {'; '.join(parts)}{more}" if parts else ""


def _crossed(view: ReportView) -> list[Interaction]:
    return [whole for whole in _interactions(view) if whole.contrast.family == MODE_BY_MODEL]


def ranked_wholes(view: ReportView) -> list[Interaction]:
    """Return the wholes of several parts of a treatment, those with the most parts first."""
    wholes = [whole for whole in _interactions(view) if whole.contrast.family != MODE_BY_MODEL]
    return sorted(wholes, key=lambda whole: -len(whole.parts))


def _interactions(view: ReportView) -> Sequence[Interaction]:
    return view.analysis.interactions if view.analysis else ()


def whole_reading(whole: Interaction) -> str:
    """Return whether the whole does more or less than the sum of its parts, or that it cannot be told."""
    words = family_reading(whole.contrast)
    return {"better": "more", "worse": "less"}.get(words, words)


def part_names(view: ReportView, whole: Interaction) -> str:
    """Return the names of a whole's parts, the first of many."""
    names = ", ".join(view.name(part) for part in whole.parts[:_NAMED])
    others = len(whole.parts) - _NAMED
    return f"{names} and {others} more" if others > 0 else names


def points(effect: float | None) -> str:
    """Format a difference of pass rates."""
    rate = unit("pass_rate")
    return UNDEFINED if effect is None else f"{rate.step(effect)}{rate.step_unit}"
