"""The five questions of the Scylla paper (section 2), answered as far as a report's data allow.

Each answer names the numbers that it rests on, or what data are missing. "Yes" and "no" rest on verdicts or on
intervals that exclude no difference; the sign of a difference alone answers nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.analysis import FAMILIES, Contrast, Interaction, Slice
from scylla_gha.model.report import Comparison
from scylla_gha.report.comparisons import family_reading, pass_contrasts, reading
from scylla_gha.report.metrics import change, change_limits, estimate
from scylla_gha.report.tiers import part_names, points, ranked_wholes, whole_reading
from scylla_gha.report.view import ReportView

_NAMED: Final = 3  # arms or pairs that an answer names
_TWO: Final = 2
_PROMPT: Final = ("blocks",)
_CLAIMS: Final = frozenset({"better", "worse", "more", "less"})
_MISSING: Final = "Data are missing"
_UNKNOWN: Final = "Not enough data"


@dataclass(frozen=True, slots=True)
class Answer:
    """One question, its answer in a few words, and the numbers or the missing data behind it."""

    question: str
    reading: str
    basis: str


def five_answers(view: ReportView) -> tuple[Answer, ...]:
    """Return the five answers; none if a report has neither two tiers, nor wholes with parts, nor two models."""
    if view.analysis is None:
        return ()
    tiers = [part for part in view.analysis.slices if part.by == "tier"]
    if len(tiers) < _TWO and not ranked_wholes(view) and not _models(view):
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
        f"By the cost of a pass, {len(clear)} of {counted(len(known), 'arm')} can be told from the baseline "
        f"(95 % intervals, each by itself): {shown}.{best}"
    )
    return Answer(question, "Yes" if clear else _UNKNOWN, basis)


def _sum_of_parts(view: ReportView) -> Answer:
    question = "Is the sum of a prompt more than its parts?"
    every_whole = _known(ranked_wholes(view))
    wholes = [whole for whole in every_whole if whole.kinds == _PROMPT] or every_whole
    if not wholes:
        needs = (
            "This needs an arm with several parts, each part alone as an arm, and an arm without any of them; the "
            "experiment prompt-blocks has them."
        )
        return Answer(question, _MISSING, needs)
    whole = next((whole for whole in wholes if whole_reading(whole) in _CLAIMS), wholes[0])
    words = {"more": "Yes", "less": "No, it is less"}.get(whole_reading(whole), _UNKNOWN)
    return Answer(question, words, f"{_whole(view, whole)}.{_others(wholes)}")


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
            f"{len(better)} of {size} better, on scenarios of one category: it takes scenarios of several.",
        )
    texts = {comparison.arm: _losses(view, comparison) for comparison in better}
    generic = [arm for arm, lost in texts.items() if not lost]
    shown = "; ".join(
        f"{view.name(arm)}: {_wins(view, arm)}, {lost or 'no category with a lower rate'}"
        for arm, lost in list(texts.items())[:_NAMED]
    )
    word = "Nothing speaks against it" if generic else "Not for all"
    basis = (
        f"Of {size}, {len(better)} better than the baseline over all, {len(generic)} of them with no lower rate "
        f"in any of {counted(len(categories), 'category', 'categories')}: {shown}."
    )
    return Answer(question, word, basis)


def _secondary_effects(view: ReportView) -> Answer:
    question = "Do techniques have secondary effects on other techniques?"
    pairs = [whole for whole in _known(ranked_wholes(view)) if len(whole.parts) == _TWO]
    if not pairs:
        needs = (
            "This needs two parts alone, both together, and neither, as four arms; the experiment prompt-blocks "
            "has them."
        )
        return Answer(question, _MISSING, needs)
    clear = [pair for pair in pairs if whole_reading(pair) in _CLAIMS]
    shown = "; ".join(_whole(view, pair) for pair in (clear or pairs)[:_NAMED])
    basis = f"{len(clear)} of {counted(len(pairs), 'pair')} of parts can be told from a plain sum: {shown}."
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
    basis = f"{len(clear)} of {counted(len(pairs), 'pair')} of models can be told apart by the pass rate: {shown}."
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


def _whole(view: ReportView, whole: Interaction) -> str:
    return (
        f"{view.name(whole.whole)} is {points(whole.effect)} from {view.name(whole.without)}, and its "
        f"{counted(len(whole.parts), 'part')} ({part_names(view, whole)}) add up to {points(whole.sum_of_parts)}: "
        f"{change(whole.contrast)} {change_limits(whole.contrast)}"
    )


def _known(wholes: Sequence[Interaction]) -> list[Interaction]:
    """Return the wholes with a scenario that all of their arms tried."""
    return [whole for whole in wholes if whole.contrast.value is not None]


def _others(wholes: Sequence[Interaction]) -> str:
    counts = {word: sum(whole_reading(whole) == word for whole in wholes) for word in ("more", "less")}
    return (
        f" Of {counted(len(wholes), 'configuration')} with their parts, {counts['more']} more and {counts['less']} "
        "less than the sum."
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
