"""Agreement of the judges, over all trials and within each scenario, and how often their disagreement decides."""

from itertools import combinations
from typing import Final

import numpy as np

from scylla_gha.analysis.frame import Frame
from scylla_gha.model.analysis import Agreement, Pair
from scylla_gha.stats.agreement import alpha, alpha_limits, bias, icc, quadratic_kappa
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.resampling import Resampling

_GRADES: Final = (0.2, 0.4, 0.6, 0.8)  # where F, D, C, B and A part; S takes more than a score
_SCENARIOS: Final = 20  # fewer are too few clusters for a bootstrap
_DIGITS: Final = 9


def agreement(frame: Frame, how: Resampling) -> Agreement | None:
    """Compute the agreement of the panel's own scores, trial by trial; None without a panel."""
    judges = tuple(frame.scores)
    if len(judges) < 2:  # noqa: PLR2004 agreement takes two
        return None
    table = np.column_stack([frame.scores[judge] for judge in judges])
    rows = frame.judged & ((~np.isnan(table)).sum(axis=1) > 1)
    table, scenario = table[rows], frame.scenario[rows]
    if not len(table):
        return None
    limits = alpha_limits(table, scenario, how) if np.unique(scenario).size >= _SCENARIOS else None
    correlations = icc(table)
    return Agreement(
        judges=judges, trials=len(table), alpha=alpha(table),
        alpha_low=limits[0] if limits else None, alpha_high=limits[1] if limits else None,
        icc_single=correlations.single if correlations else None,
        icc_panel=correlations.panel if correlations else None,
        kappa=_kappa(table), decisive=_decisive(table, frame.columns["threshold"][rows]),
        pairs=_pairs(judges, table),
        by_scenario={frame.scenarios[at]: alpha(table[scenario == at]) for at in np.unique(scenario)},
    )  # fmt: skip


def _pairs(judges: tuple[str, ...], table: Floats) -> tuple[Pair, ...]:
    biases = ((a, b, bias(table[:, a], table[:, b])) for a, b in combinations(range(table.shape[1]), 2))
    return tuple(
        Pair(first=judges[a], second=judges[b], bias=difference.mean, sd=difference.sd, n=difference.n)
        for a, b, difference in biases
        if difference is not None
    )


def _kappa(table: Floats) -> float | None:
    """Average over pairs of judges; pairs without a spread have none."""
    grades = np.digitize(np.round(table, _DIGITS), _GRADES)
    known, kappas = ~np.isnan(table), []
    for a, b in combinations(range(table.shape[1]), 2):
        both = known[:, a] & known[:, b]
        kappas.append(quadratic_kappa(grades[both, a], grades[both, b], len(_GRADES) + 1))
    defined = [kappa for kappa in kappas if kappa is not None]
    return sum(defined) / len(defined) if defined else None


def _decisive(table: Floats, threshold: Floats) -> float | None:
    """Return the share of trials with scores on both sides of the threshold, where the consensus rule decides."""
    known = ~np.isnan(threshold)
    if not known.any():
        return None
    low, high = np.nanmin(table[known], axis=1), np.nanmax(table[known], axis=1)
    return float(((low < threshold[known]) & (threshold[known] <= high)).mean())
