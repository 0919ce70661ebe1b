"""Two panels on the same trials: what each made of them, and where they part."""

from collections.abc import Mapping, Sequence

from scylla_gha.model.judgment import Judgment, Score
from scylla_gha.model.probe import PanelSummary

Judgments = Mapping[str, Judgment | None]  # by cell; None: not judged


def summarise(panel: str, judges: Sequence[str], made: Judgments, own: Judgments | None = None) -> PanelSummary:
    """What a panel made of the trials, compared with what the experiment's `own` made of them, where it is another."""
    results, others = _results(made), _results(own or {})
    scores, theirs = _scores(results), _scores(others)
    gaps = [abs(score - theirs[cell]) for cell, score in scores.items() if cell in theirs]
    costs = [each.usage.usd for each in made.values() if each]
    known = [cost for cost in costs if cost is not None]
    return PanelSummary(
        panel=panel,
        judges=tuple(judges),
        trials=len(made),
        judged=len(results),
        passed=sum(result.passed for result in results.values()),
        mean_score=_mean(list(scores.values())),
        compared=len(gaps),
        difference=_mean(gaps),
        flips=tuple(cell for cell in results if cell in others and results[cell].passed != others[cell].passed),
        usd=sum(known) if len(known) == len(costs) else None,
    )


def _results(made: Judgments) -> dict[str, Score]:
    return {cell: each.result for cell, each in made.items() if each and each.result}


def _scores(results: Mapping[str, Score]) -> dict[str, float]:
    return {cell: result.score for cell, result in results.items() if result.score is not None}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
