"""Build tables of tiers and interactions, and answer the five questions of the Scylla paper (section 2).

Each answer names its numbers or the missing data. "Yes" and "no" need a verdict or an interval that excludes "no
difference"; the sign of a difference is not enough.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.analysis import FAMILIES, MODE_BY_MODEL, BestSubtest, Contrast, Interaction, Measure, Slice
from scylla_gha.model.report import Comparison
from scylla_gha.report.comparisons import arrow, family_reading, pass_contrasts, pass_rate_steps, reading
from scylla_gha.report.document import UNDEFINED, Columns, Table, p_value, table_of
from scylla_gha.report.metrics import change, change_limits, estimate, heading, limits, unit, value
from scylla_gha.report.view import ReportView

_COST: Final = "cost_of_pass"
_MOST_INTERACTIONS: Final = 20
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
_NAMED: Final = 3  # arms or pairs that an answer names
_TWO: Final = 2
_PROMPT: Final = ("blocks",)
_CLAIMS: Final = frozenset({"better", "worse", "more", "less"})
_MISSING: Final = "Data are missing"
_UNKNOWN: Final = "Not enough data"


def tiers(view: ReportView) -> Table:
    """Return the table of tiers: pass rate, cost of a pass, and the sub-test with the cheapest pass.

    The rate covers the scenarios that all sub-tests of the tier tried; it is undefined if there are none.
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
    """Return the arm with the lowest cost of a pass, and that cost; `-` if no arm has a cost above 0."""
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
    """Return the comparisons of each tier with the previous tier."""
    steps = [contrast for contrast in pass_contrasts(view) if contrast.family == FAMILIES["tiers"]]
    return pass_rate_steps(view, steps)


def best_subtests(view: ReportView) -> Table:
    """Return the best sub-test of each tier, chosen on one half of the data and measured on the other."""
    columns: Columns[BestSubtest] = {
        "tier": lambda best: best.tier,
        "sub-tests": lambda best: str(best.of),
        "best": lambda best: view.name(best.arm),
        "passes, in the half that chose it": lambda best: value(best.chosen),
        "passes, in the other half": lambda best: estimate(best.reported),
    }
    return table_of(view.analysis.best if view.analysis else (), columns)


def tier_tokens(view: ReportView) -> Table:
    """Return the parts of each tier's requests, as shares of their characters."""
    return _by_tier(view, (("tokens per trial", "tokens"), *REQUEST_SHARES))


def tier_treatments(view: ReportView) -> Table:
    """Return the tokens of each tier's treatments by part, and the share of trials that used the treatment."""
    return _by_tier(view, (*TREATMENT, ("trials that used it", "uptake")))


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


def combinations(view: ReportView) -> Table:
    """Return each combination's effect beside the sum of its parts' effects; those with the most parts first."""
    return _interactions_table(
        view, ranked_combinations(view), ("together", "parts", "sum of the parts' effects"), "configuration"
    )


def modes_by_models(view: ReportView) -> Table:
    """Return the effect of each mode with a model beside the sum of the mode's and the model's effects alone."""
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
        "difference": lambda whole: f"{arrow(whole.contrast, interaction_reading(whole))}{change(whole.contrast)}",
        "95 %": lambda whole: change_limits(whole.contrast),
        "reading": interaction_reading,
        "p adjusted": lambda whole: p_value(whole.contrast.p_adjusted),
    }
    return table_of(interactions, columns, _MOST_INTERACTIONS, noun)


def mode_by_model_line(view: ReportView) -> str:
    """Return in one line whether effects of modes depend on the model; empty if modes and models were not crossed."""
    known = [whole for whole in _crossed(view) if whole.contrast.value is not None]
    parts = [
        f"{view.name(arm.whole)} {change(arm.contrast)} {change_limits(arm.contrast)}, {interaction_reading(arm)}"
        for arm in known[:_NAMED]
    ]
    more = f"; and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"Mode x model, beyond the sum of both effects alone: {'; '.join(parts)}{more}" if parts else ""


def _crossed(view: ReportView) -> list[Interaction]:
    return [whole for whole in _interactions(view) if whole.contrast.family == MODE_BY_MODEL]


def ranked_combinations(view: ReportView) -> list[Interaction]:
    """Return the combinations of several parts of a treatment, those with the most parts first."""
    combined = [arm for arm in _interactions(view) if arm.contrast.family != MODE_BY_MODEL]
    return sorted(combined, key=lambda arm: -len(arm.parts))


def _interactions(view: ReportView) -> Sequence[Interaction]:
    return view.analysis.interactions if view.analysis else ()


def interaction_reading(combination: Interaction) -> str:
    """Return `more` or `less` if the combination does so than the sum of its parts; else, for example, `unclear`."""
    words = family_reading(combination.contrast)
    return {"better": "more", "worse": "less"}.get(words, words)


def part_names(view: ReportView, whole: Interaction) -> str:
    """Return the names of a combination's first parts, and the number of others."""
    names = ", ".join(view.name(part) for part in whole.parts[:_NAMED])
    others = len(whole.parts) - _NAMED
    return f"{names} and {others} more" if others > 0 else names


def points(effect: float | None) -> str:
    """Format a difference of pass rates."""
    rate = unit("pass_rate")
    return UNDEFINED if effect is None else f"{rate.step(effect)}{rate.step_unit}"


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, its answer in a few words, and the numbers or the missing data behind it."""

    question: str
    reading: str
    basis: str


def five_answers(view: ReportView) -> tuple[Answer, ...]:
    """Return the five answers; empty if a report has neither two tiers, nor combinations of parts, nor two models."""
    if view.analysis is None:
        return ()
    tiers = [part for part in view.analysis.slices if part.by == "tier"]
    if len(tiers) < _TWO and not ranked_combinations(view) and not _models(view):
        return ()
    return (_efficiency(view), _sum_of_parts(view), _generic(view), _secondary_effects(view), _model(view))


def _efficiency(view: ReportView) -> Answer:
    question = "Can it be told whether a task is solved more efficiently by one methodology than by others?"
    known = [
        contrast
        for contrast in (view.analysis.contrasts if view.analysis else ())
        if contrast.metric == "cost_of_pass" and contrast.value is not None
    ]
    if not known:
        return Answer(question, _MISSING, "This needs two arms that passed and whose costs are known.")
    clear = [contrast for contrast in known if reading(contrast) in _CLAIMS]
    shown = "; ".join(_against(view, contrast) for contrast in (clear or known)[:_NAMED])
    frontier = view.analysis.frontier if view.analysis else None
    best = f" The cheapest arm's pass costs {estimate(frontier.pooled)}." if frontier else ""
    basis = (
        f"Clear differences of the cost of a pass from the baseline: {len(clear)} of {counted(len(known), 'arm')} "
        f"(95 % intervals, not adjusted): {shown}.{best}"
    )
    return Answer(question, "Yes" if clear else _UNKNOWN, basis)


def _sum_of_parts(view: ReportView) -> Answer:
    question = "Is the sum of a prompt more than its parts?"
    known = _known(ranked_combinations(view))
    combined = [combination for combination in known if combination.kinds == _PROMPT] or known
    if not combined:
        needs = (
            "This needs an arm with several parts, each part alone as an arm, and an arm without any of them; the "
            "experiment prompt-blocks has them."
        )
        return Answer(question, _MISSING, needs)
    first = next((arm for arm in combined if interaction_reading(arm) in _CLAIMS), combined[0])
    words = {"more": "Yes", "less": "No, it is less"}.get(interaction_reading(first), _UNKNOWN)
    return Answer(question, words, f"{_interaction_text(view, first)}.{_reading_counts(combined)}")


def _generic(view: ReportView) -> Answer:
    question = "Are there improvements purely through extensions that help on all workloads?"
    better = [comparison for comparison in view.report.comparisons if comparison.verdict == "better"]
    size = counted(len(view.report.comparisons), "arm")
    if not view.report.comparisons:
        return Answer(question, _MISSING, "This needs an arm to compare with the baseline.")
    if not better:
        return Answer(question, _UNKNOWN, f"None of {size} has the verdict better against its baseline.")
    categories = list(_categories(view, view.report.comparisons[0].baseline))
    if len(categories) < _TWO:
        return Answer(
            question,
            _MISSING,
            (
                f"{len(better)} of {size} did better, but all scenarios are in one category; this needs several "
                "categories."
            ),
        )
    texts = {comparison.arm: _losses(view, comparison) for comparison in better}
    generic = [arm for arm, lost in texts.items() if not lost]
    shown = "; ".join(
        f"{view.name(arm)}: {_wins(view, arm)}, {lost or 'no category with a lower rate'}"
        for arm, lost in list(texts.items())[:_NAMED]
    )
    word = "Nothing speaks against it" if generic else "Not for all"
    basis = (
        f"{len(better)} of {size} did better than the baseline over all scenarios, {len(generic)} without a lower rate "
        f"in any of {counted(len(categories), 'category', 'categories')}: {shown}."
    )
    return Answer(question, word, basis)


def _secondary_effects(view: ReportView) -> Answer:
    question = "Do techniques have secondary effects on other techniques?"
    pairs = [pair for pair in _known(ranked_combinations(view)) if len(pair.parts) == _TWO]
    if not pairs:
        needs = (
            "This needs two parts alone, both together, and neither, as four arms; the experiment prompt-blocks "
            "has them."
        )
        return Answer(question, _MISSING, needs)
    clear = [pair for pair in pairs if interaction_reading(pair) in _CLAIMS]
    shown = "; ".join(_interaction_text(view, pair) for pair in (clear or pairs)[:_NAMED])
    basis = f"Clear differences from the sum: {len(clear)} of {counted(len(pairs), 'pair')} of parts: {shown}."
    return Answer(question, "Yes" if clear else _UNKNOWN, basis)


def _model(view: ReportView) -> Answer:
    question = "With tool and prompt the same, how much does the model contribute?"
    pairs = _models(view)
    if not pairs:
        return Answer(
            question, _MISSING, "This needs two models with the same variants; the experiment models has them."
        )
    clear = [pair for pair in pairs if family_reading(pair) in _CLAIMS]
    ranked = sorted(clear or pairs, key=lambda pair: -abs(pair.value or 0.0))
    shown = "; ".join(_against(view, pair) for pair in ranked[:_NAMED])
    basis = f"Clear differences of pass rates: {len(clear)} of {counted(len(pairs), 'pair')} of models: {shown}."
    return Answer(question, f"Up to {points(abs(ranked[0].value or 0.0))}" if clear else _UNKNOWN, basis)


def _models(view: ReportView) -> list[Contrast]:
    return [
        contrast
        for contrast in pass_contrasts(view)
        if contrast.family == FAMILIES["models"] and contrast.value is not None
    ]


def _against(view: ReportView, contrast: Contrast) -> str:
    return (
        f"{view.name(contrast.arm)} against {view.name(contrast.baseline)} {change(contrast)} {change_limits(contrast)}"
    )


def _interaction_text(view: ReportView, arm: Interaction) -> str:
    return (
        f"{view.name(arm.whole)} differs from {view.name(arm.without)} by {points(arm.effect)}, and its "
        f"{counted(len(arm.parts), 'part')} ({part_names(view, arm)}) add up to {points(arm.sum_of_parts)}: "
        f"{change(arm.contrast)} {change_limits(arm.contrast)}"
    )


def _known(interactions: Sequence[Interaction]) -> list[Interaction]:
    """Return the interactions with a scenario that all of their arms tried."""
    return [interaction for interaction in interactions if interaction.contrast.value is not None]


def _reading_counts(combined: Sequence[Interaction]) -> str:
    counts = {word: sum(interaction_reading(arm) == word for arm in combined) for word in ("more", "less")}
    return (
        f" Of {counted(len(combined), 'configuration')}, {counts['more']} did more and {counts['less']} less than the "
        "sum of their parts."
    )


def _categories(view: ReportView, arm: str) -> Iterator[Slice]:
    yield from (
        part for part in (view.analysis.slices if view.analysis else ()) if part.by == "category" and part.arm == arm
    )


def _losses(view: ReportView, comparison: Comparison) -> str:
    """Name the categories in which an arm has a lower pass rate than its baseline."""
    rates = {part.name: part.rate.value for part in _categories(view, comparison.baseline)}
    lost = [part.name for part in _categories(view, comparison.arm) if _is_lower(part.rate.value, rates.get(part.name))]
    return f"a lower rate in {', '.join(lost)}" if lost else ""


def _is_lower(rate: float | None, other: float | None) -> bool:
    return rate is not None and other is not None and rate < other


def _wins(view: ReportView, arm: str) -> str:
    wins = view.changes[arm].wins if arm in view.changes else (0, 0, 0)
    return f"scenarios won, tied, lost {'/'.join(map(str, wins))}"
