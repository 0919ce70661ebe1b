"""Readiness score: shares of points, corrected for guessing, over parts, items, anchors, dimensions and the whole.

A part's score is (s - c) / (1 - c), with c the level that is reached without reading the code; it is not clamped, so
guessing has the mean 0. A trial that ends without an answer of the agent (time limit, refusal, error) scores 0 as a
whole, which is the level of guessing: no answer is worth as much as a guess. A part whose form is guessed nearly always
is left out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.readiness import (
    DIMENSIONS,
    AnchorScore,
    Dimension,
    DimensionScore,
    GuessLevel,
    ItemSet,
    ObservedTrial,
    ReadinessItem,
    ReadinessScore,
)
from scylla_gha.model.trial import Outcome
from scylla_gha.readiness.intervals import ScoreInterval, Scores, interval, interval_of_mean
from scylla_gha.stats.resampling import Resampling

FEWEST_ANCHORS: Final = 8  # of a dimension with a score
UNJUDGED: Final = "unjudged"  # a trial that ended, and that no checkpoint could grade
GUESSABLE: Final = "guessable"  # a trial of which all parts are of forms that are guessed nearly always
_PERCENT: Final = 100.0
_HIGHEST_LEVEL: Final = 0.9  # a form that is guessed better than this tells nothing of who reads the code


def score(
    items: ItemSet, trials: Iterable[ObservedTrial], levels: Sequence[GuessLevel], how: Resampling | None = None
) -> ReadinessScore:
    """Compute the score of a code base from the judged trials.

    Args:
        items: the suite; each of its items is an anchor.
        trials: of these items; those of other items are ignored.
        levels: guessing levels by form; a form without one cannot be guessed.
        how: draws and seed of the bootstrap; None: those of the toolkit, with the suite's seed.
    """
    how = how or Resampling(seed=items.seed)
    by_item: dict[str, list[ObservedTrial]] = defaultdict(list)
    for trial in trials:
        by_item[trial.item].append(trial)
    level = {guess.form: guess.level for guess in levels}
    scorings = [_score_item(item, by_item[item.id], level) for item in items.items]
    anchors = tuple(scoring.anchor for scoring in scorings)
    dimensions = tuple(_dimension(name, items, scorings, how) for name in DIMENSIONS)
    applying: dict[str, Scores] = {
        row.dimension: _rows(row.dimension, anchors) for row in dimensions if row.score is not None
    }
    whole = interval_of_mean(applying, how) if applying else ScoreInterval(0.0, None, None)
    return ReadinessScore(
        tree=items.tree, seed=items.seed, language=items.language,
        score=_PERCENT * whole.mean if applying else None, low=_percent(whole.low), high=_percent(whole.high),
        applied=len(applying), files=len({file for rows in applying.values() for file, _ in rows}),
        dimensions=dimensions, levels=tuple(levels), anchors=anchors,
    )  # fmt: skip


def corrected(share: float, level: float) -> float:
    """Return a share of points so that the level of guessing, which is below 1, is 0 and all points are 1."""
    return (share - level) / (1 - level)


@dataclass(frozen=True, slots=True)
class _Scoring:
    """Score of an item's trials, and those that are not in it or ended without an answer."""

    anchor: AnchorScore
    excluded: Mapping[str, int]
    failed: Mapping[str, int]


def _score_item(item: ReadinessItem, trials: Sequence[ObservedTrial], level: Mapping[str, float]) -> _Scoring:
    counting = [trial for trial in trials if _counts(trial)]
    parts = [_corrected_parts(item, trial, level) for trial in counting]
    scores = [_score_of(item, trial, shares) for trial, shares in zip(counting, parts, strict=True)]
    anchor = AnchorScore(
        item=item.id, dimension=item.dimension, anchor=item.anchor, anchor_digest=item.anchor_digest,
        file=item.anchor.partition("::")[0], score=_mean(scores),
        points=_mean([_weighted(item, _graded_parts(trial)) for trial in counting]),
        parts={part.id: sum(own) / len(own) for part in item.parts
               if (own := [shares[part.id] for shares in parts if part.id in shares])},
        trials=len(counting), outcomes=dict(Counter(trial.outcome.value for trial in trials)),
        tokens=_mean([trial.tokens for trial in counting]), usd=_mean([trial.usd for trial in counting]),
        calls=_mean([trial.calls for trial in counting]),
    )  # fmt: skip
    return _Scoring(
        anchor,
        excluded=Counter(UNJUDGED if trial.outcome is Outcome.COMPLETED else trial.outcome.value
                         for trial in trials if not _counts(trial)) + Counter({GUESSABLE: scores.count(None)}),
        failed=Counter(trial.outcome.value for trial in counting if trial.outcome is not Outcome.COMPLETED),
    )  # fmt: skip


def _counts(trial: ObservedTrial) -> bool:
    """Return True if the trial measures the agent; one that ended counts only if a part of it was graded."""
    return bool(trial.parts) if trial.outcome is Outcome.COMPLETED else trial.outcome.measures_agent


def _graded_parts(trial: ObservedTrial) -> Mapping[str, float]:
    return trial.parts if trial.outcome is Outcome.COMPLETED else {}


def _corrected_parts(item: ReadinessItem, trial: ObservedTrial, level: Mapping[str, float]) -> dict[str, float]:
    """Return the corrected score of each graded part that cannot be guessed; none if the trial has no answer."""
    shares = _graded_parts(trial)
    graded = ((part.id, level.get(part.form, 0.0)) for part in item.parts if part.id in shares)
    return {name: corrected(shares[name], guessed) for name, guessed in graded if guessed <= _HIGHEST_LEVEL}


def _score_of(item: ReadinessItem, trial: ObservedTrial, shares: Mapping[str, float]) -> float | None:
    """Return the weighted score of a trial's parts; None if it has an answer, and all of its parts can be guessed."""
    return None if _graded_parts(trial) and not shares else _weighted(item, shares)


def _weighted(item: ReadinessItem, shares: Mapping[str, float]) -> float:
    """Return the weighted mean of the graded parts; 0 without any."""
    weights = {part.id: part.weight for part in item.parts if part.id in shares}
    total = sum(weights.values())
    return sum(weight * shares[name] for name, weight in weights.items()) / total if total else 0.0


def _mean(numbers: Sequence[float | None]) -> float | None:
    """Return the mean; None without numbers, or if one is unknown."""
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known and len(known) == len(numbers) else None


def _rows(dimension: Dimension, anchors: Iterable[AnchorScore]) -> list[tuple[str, float]]:
    """Return file and score of the dimension's anchors that have a score."""
    return [(anchor.file, anchor.score) for anchor in anchors
            if anchor.dimension == dimension and anchor.score is not None]  # fmt: skip


def _dimension(name: Dimension, items: ItemSet, scorings: Sequence[_Scoring], how: Resampling) -> DimensionScore:
    own = [scoring for scoring in scorings if scoring.anchor.dimension == name]
    anchors = [scoring.anchor for scoring in own]
    rows = _rows(name, anchors)
    excluded = sum((Counter(scoring.excluded) for scoring in own), Counter[str]())
    missing = _missing_reason(name, items, len(own), len(rows), excluded)
    result = ScoreInterval(0.0, None, None) if missing else interval(rows, how)
    solved = [anchor for anchor in anchors if anchor.is_solved]
    return DimensionScore(
        dimension=name, score=None if missing else _PERCENT * result.mean,
        low=_percent(result.low), high=_percent(result.high),
        anchors=len(rows), planned=len(own), excluded=dict(excluded),
        failed=dict(sum((Counter(scoring.failed) for scoring in own), Counter[str]())), solved=len(solved),
        tokens_per_solved=_median([anchor.tokens for anchor in solved]),
        usd_per_solved=_median([anchor.usd for anchor in solved]),
        calls_per_solved=_median([anchor.calls for anchor in solved]), missing=missing,
    )  # fmt: skip


def _missing_reason(
    name: Dimension, items: ItemSet, planned: int, scored: int, excluded: Mapping[str, int]
) -> str | None:
    """Return why a dimension has no score; None if it has one."""
    known = next((missing.reason for missing in items.missing if missing.dimension == name), None)
    if known is not None:
        return known
    if planned < FEWEST_ANCHORS:
        return f"{counted(planned, 'anchor')} could be made, {FEWEST_ANCHORS} are needed"
    if scored >= FEWEST_ANCHORS:
        return None
    faults = [f"{number} {outcome}" for outcome, number in sorted(excluded.items())]
    if (pending := planned - scored - sum(excluded.values())) > 0:
        faults.append(f"{pending} did not run")
    return f"{scored} of {counted(planned, 'anchor')} have a score, {FEWEST_ANCHORS} are needed: {', '.join(faults)}"


def _median(numbers: Sequence[float | None]) -> float | None:
    """Return the median; None without numbers, or if one is unknown."""
    known = [number for number in numbers if number is not None]
    return float(median(known)) if known and len(known) == len(numbers) else None


def _percent(share: float | None) -> float | None:
    return None if share is None else _PERCENT * share
