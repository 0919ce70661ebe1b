"""How far judges agree, over all trials and within each scenario, and how often their disagreement decides."""

from itertools import combinations
from typing import Final

import numpy as np

from scylla_gha.analysis.frame import Frame
from scylla_gha.model.analysis import Agreement, Pair
from scylla_gha.stats.alpha import alpha, alpha_limits
from scylla_gha.stats.arrays import Floats, Ints
from scylla_gha.stats.kappa import cross_table, quadratic, weighted_kappa
from scylla_gha.stats.raters import biases, icc
from scylla_gha.stats.resampling import Resampling

_GRADES: Final = (0.2, 0.4, 0.6, 0.8)  # where F, D, C, B and A part; S takes more than a score
_SCENARIOS: Final = 20  # fewer clusters make no honest bootstrap
_DIGITS: Final = 9


def agreement(frame: Frame, how: Resampling) -> Agreement | None:
    """Of the panel's own scores, trial by trial; None where no panel judged."""
    judges = tuple(frame.scores)
    if len(judges) < 2:  # noqa: PLR2004 who is alone agrees with nobody
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
        icc_single=correlations.icc2 if correlations else None,
        icc_panel=correlations.icc2k if correlations else None,
        kappa=_kappa(table), decisive=_decisive(table, frame.columns["threshold"][rows]),
        pairs=_pairs(judges, table), by_scenario=_by_scenario(frame, table, scenario),
    )  # fmt: skip


def _pairs(judges: tuple[str, ...], table: Floats) -> tuple[Pair, ...]:
    found = biases(table)
    return tuple(
        Pair(first=judges[a], second=judges[b], bias=one.mean, sd=one.sd, n=one.n)
        for (a, b), one in found.items()
        if one is not None
    )


def _kappa(table: Floats) -> float | None:
    """Mean over pairs of judges; of pairs without a spread there is none."""
    grades = np.digitize(np.round(table, _DIGITS), _GRADES).astype(np.float64)
    grades[np.isnan(table)] = np.nan
    levels = list(range(len(_GRADES) + 1))
    found = []
    for a, b in combinations(range(table.shape[1]), 2):
        both = ~np.isnan(grades[:, a]) & ~np.isnan(grades[:, b])
        counts = cross_table(grades[both, a].astype(int).tolist(), grades[both, b].astype(int).tolist(), levels)
        found.append(weighted_kappa(counts, quadratic(len(levels))))
    known = [one for one in found if one is not None]
    return sum(known) / len(known) if known else None


def _decisive(table: Floats, threshold: Floats) -> float | None:
    """The scores of judges lie on both sides of the threshold: another rule of consensus might say otherwise."""
    known = ~np.isnan(threshold)
    if not known.any():
        return None
    low, high = np.nanmin(table[known], axis=1), np.nanmax(table[known], axis=1)
    return float(((low < threshold[known]) & (threshold[known] <= high)).mean())


def _by_scenario(frame: Frame, table: Floats, scenario: Ints) -> dict[str, float | None]:
    return {frame.scenarios[place]: alpha(table[scenario == place]) for place in np.unique(scenario)}
