"""The published cases, by the name of their function: agreement, tries, order, history, scores."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from scylla_gha.judges.score import grade, total
from scylla_gha.model.judgment import CategoryScore
from scylla_gha.stats.alpha import Level, alpha
from scylla_gha.stats.change import divide
from scylla_gha.stats.concordance import kendall_w
from scylla_gha.stats.consistency import cv_consistency, outcome_consistency
from scylla_gha.stats.cusum import cusum, first_signal
from scylla_gha.stats.kappa import cohen_kappa, fleiss_kappa, weighted_kappa
from scylla_gha.stats.order import quantile
from scylla_gha.stats.pass_k import average, pass_all_k, pass_at_k
from scylla_gha.stats.raters import icc

Numbers = Sequence[float]


def _krippendorff(ratings: Sequence[Sequence[float | None]], level: Level) -> float | None:
    """The source has raters in rows, and null for what is missing."""
    return alpha(np.array(ratings, dtype=np.float64).T, level)


def _icc(ratings: Sequence[Numbers]) -> dict[str, float | None]:
    found = icc(ratings)
    assert found is not None
    return {
        "ICC1": found.icc1,
        "ICC2": found.icc2,
        "ICC3": found.icc3,
        "ICC1k": found.icc1k,
        "ICC2k": found.icc2k,
        "ICC3k": found.icc3k,
    }


def _kendall_w(ratings: Sequence[Numbers], correct_ties: bool) -> float | None:
    assert correct_ties  # nothing else is offered
    return kendall_w(ratings)


def _weighted_kappa(table: Sequence[Numbers], disagreement_weights: Sequence[Numbers]) -> float | None:
    return weighted_kappa(table, disagreement_weights)


def _upper(x: Numbers, target: float, k: float, index: int) -> float:
    """The source counts from 1."""
    return float(cusum(np.array(x) - target, k).upper[index - 1])


def _first_signal(x: Numbers, target: float, sigma: float, k: float, h: float) -> int | None:
    """The source counts from 1."""
    found = first_signal(cusum((np.array(x) - target) / sigma, k), h)
    return None if found is None else found.at + 1


def _weighted_score(weights: Numbers, achieved: Numbers, **maxima: Numbers) -> float | None:
    parts = enumerate(zip(weights, achieved, maxima["max"], strict=True))
    return total(
        CategoryScore(id=f"c{number}", weight=weight, achieved=float(points), maximum=float(most))
        for number, (weight, points, most) in parts
    )


def _pass_hat_mean(n: int, c_per_task: Sequence[int], k: int) -> Any:
    return average(pass_all_k(n, c_per_task, k)).value


CASES: Final[dict[str, Callable[..., object]]] = {
    "pass_at_k": lambda n, c, k: float(pass_at_k(n, c, k)),
    "pass_hat_k_mean": _pass_hat_mean,
    "krippendorff_alpha": _krippendorff,
    "icc_all": _icc,
    "kendall_w": _kendall_w,
    "cohen_kappa": cohen_kappa,
    "weighted_kappa": _weighted_kappa,
    "fleiss_kappa": fleiss_kappa,
    "cusum_upper": _upper,
    "cusum_first_signal": _first_signal,
    "change_points": lambda x, n_bkps: list(divide(x, n_bkps)),
    "weighted_score": _weighted_score,
    "grade": lambda scores: [grade(score, excess_cited=True) for score in scores],
    "consistency_cv": cv_consistency,
    "outcome_consistency": lambda n, c: float(outcome_consistency(n, c)),
    "quantile": lambda x, q: quantile(x, q).tolist(),
}
