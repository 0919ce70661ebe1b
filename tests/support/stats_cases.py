"""Published reference cases of statistics and scores: the name of a case's function -> our call of its inputs."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from scylla_gha.judge.score import grade, total_score
from scylla_gha.model.judgment import CategoryScore
from scylla_gha.stats import wilson
from scylla_gha.stats.agreement import icc
from scylla_gha.stats.change_points import change_points, cusum, first_signal
from scylla_gha.stats.differences import (
    Split,
    benjamini_hochberg,
    cliffs_delta,
    cohens_d,
    cohens_dz,
    hedges_correction,
    holm,
    kendall_w,
    mde_paired,
)
from scylla_gha.stats.means import design_effect, outcome_consistency, pass_all_k, pass_at_k
from scylla_gha.stats.ratios import pooled_frontier, strata_frontier, success_cost_interval
from scylla_gha.stats.resampling import sign_flip_p

Numbers = Sequence[float]
Models = dict[str, dict[str, dict[str, list[float]]]]


def _wilson(k: int, n: int, conf: float) -> Any:
    assert conf == 0.95
    return wilson(k, n)


def _hedges_g(x: Numbers, y: Numbers) -> float:
    d, j = cohens_d(x, y), hedges_correction(len(x) + len(y) - 2)
    assert d is not None
    assert j is not None
    return d * j


def _icc(ratings: Sequence[Numbers]) -> dict[str, float | None]:
    found = icc(ratings)
    assert found is not None
    return {"ICC2": found.single, "ICC2k": found.panel}


def _cost(cost: Numbers, passed: Numbers) -> float | None:
    found = success_cost_interval(cost, passed)
    return found.estimate if found else None


def _sums(models: Models) -> tuple[Any, Any]:
    """Costs and successes, each of shape (models, problems)."""
    cost, won = ([[sum(cell[what]) for cell in problems.values()] for problems in models.values()]
                 for what in ("cost", "passed"))  # fmt: skip
    return cost, won


def _smallest_effect(*given: float) -> float | None:
    """Variances between and within both arms, repetitions, clusters, alpha, power."""
    *variances, k, n, alpha, wanted = given
    return mde_paired(Split(*variances).of_difference(int(k), int(k)), int(n), alpha, wanted)


def _first_signal(x: Numbers, target: float, sigma: float, k: float, h: float) -> int | None:
    """Count from 1, as the source does."""
    found = first_signal(cusum((np.array(x) - target) / sigma, k), h)
    return None if found is None else found.at + 1


def _weighted_score(weights: Numbers, achieved: Numbers, most: Numbers) -> float | None:
    parts = enumerate(zip(weights, achieved, most, strict=True))
    return total_score(
        CategoryScore(id=f"c{number}", weight=weight, achieved=float(points), maximum=float(maximum))
        for number, (weight, points, maximum) in parts
    )


CALLS: Final[dict[str, Callable[..., Any]]] = {
    "bh": lambda p: benjamini_hochberg(p).tolist(),
    "change_points": lambda x: [change.at for change in change_points(x)],
    "cliffs_delta": cliffs_delta,
    "cohens_d": cohens_d,
    "cohens_dz": cohens_dz,
    "cost_of_pass": _cost,
    "cusum_first_signal": _first_signal,
    "cusum_upper": lambda x, target, k, index: float(cusum(np.array(x) - target, k).upper[index - 1]),
    "design_effect": design_effect,
    "frontier_cop_per_task": lambda models, human: strata_frontier(*_sums(models), human or math.inf).cost,
    "frontier_cop_pooled": lambda models: pooled_frontier(*_sums(models)).cost,
    "grade": lambda scores: [grade(score, excess_cited=True) for score in scores],
    "hedges_correction": hedges_correction,
    "hedges_g": _hedges_g,
    "holm": lambda p: holm(p).tolist(),
    "icc2": _icc,
    "kendall_w": kendall_w,
    "mde_paired": _smallest_effect,
    "outcome_consistency": lambda n, c: float(outcome_consistency(n, c)),
    "pass_at_k": lambda n, c, k: float(pass_at_k(n, c, k)),
    "pass_hat_k_mean": lambda n, c, k: float(pass_all_k(n, c, k).mean()),
    "sign_flip_test_exact": lambda d: float(sign_flip_p(d)[0][0]),
    "weighted_score": _weighted_score,
    "wilson_ci": _wilson,
}
