"""The whole statistical analysis of an experiment, computed from its result rows alone.

This module itself computes omnibus tests of any difference among several arms, unpaired tests of arms without a shared
scenario, shrunk rates, the agreement of judges, and outliers. Outliers are for a person to look at, and stay in all
numbers.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import numpy as np
from scipy.special import chdtrc

from scylla_gha.analysis.contrasts import compare, rule, screen
from scylla_gha.analysis.estimate import frontier, pass_cost_contrasts
from scylla_gha.analysis.frame import (
    BASELINE,
    MODELS,
    MODES,
    MOST_MODELS,
    TIERS,
    Frame,
    Pairing,
    baseline_pairings,
    grouped,
    model_pairings,
    tier_pairings,
)
from scylla_gha.analysis.interactions import ArmParts, interactions, mode_interactions
from scylla_gha.analysis.metrics import arm_measures, best_subtests, slices, spreads, tier_measures, used_effects
from scylla_gha.counting import counted
from scylla_gha.model.analysis import (
    Agreement,
    Analysis,
    Family,
    Omnibus,
    Outlier,
    Pair,
    ShrunkRate,
    ToolUse,
    Unpaired,
    UnpairedArm,
    UnpairedPair,
)
from scylla_gha.stats.agreement import alpha, alpha_limits, bias, icc, quadratic_kappa
from scylla_gha.stats.arrays import Floats, Ints
from scylla_gha.stats.differences import cliffs_delta, holm, kendall_w, kruskal_wallis, mann_whitney_p
from scylla_gha.stats.resampling import Resampling, bca_limits
from scylla_gha.stats.shrinkage import FEWEST, shrink

_COMPARED: Final = {"passed": "pass_rate", "score": "score", "usd": "usd", "seconds": "seconds"}  # metrics by column
_FEWEST_ARMS: Final = 3
_MOST_UNPAIRED: Final = 40  # arms; the time grows with the number of pairs
_FENCE: Final = 3.0  # outliers lie more interquartile ranges above the third quartile
_FEWEST_IN_GROUP: Final = 5
_LEAST_RATIO: Final = 2.0  # of an outlier to the median; values just above a narrow interquartile range are normal
_MOST_OUTLIERS: Final = 50
_FEW_SCENARIOS: Final = 10
_MOST_SHRUNK: Final = 200  # arms or scenarios; with 1,000, the fit takes minutes
_GRADES: Final = (0.2, 0.4, 0.6, 0.8)  # limits between the grades F, D, C, B and A; a score alone never gives S
_SCENARIOS: Final = 20  # smallest number of clusters for a bootstrap
_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Question:
    """The question of an experiment: the arms to compare, and the difference that counts as none."""

    baseline: str
    models: Mapping[str, str | None]
    margin: float
    seed: int = 0
    pairs: Mapping[str, str] | None = None  # baseline of each arm; None: the same for all
    family: Family = "baseline"  # comparisons that answer the question
    parts: Mapping[str, ArmParts] = field(default_factory=dict)  # parts of each arm's treatment; empty if unknown
    modes: Mapping[str, str] = field(default_factory=dict)  # mode by arm
    crossed: Mapping[str, ArmParts] = field(
        default_factory=dict
    )  # mode and model as parts of each arm, if modes are compared


def analyse(frame: Frame, question: Question) -> Analysis:
    """Compute the complete analysis; a value that needs more rows is null, with the reason."""
    how = Resampling(seed=question.seed)
    pairs = baseline_pairings(frame, question.baseline, question.pairs)
    tiers = compare(frame, tier_pairings(frame), TIERS, how)
    models = compare(frame, model_pairings(frame, question.models, question.modes), MODELS, how)
    answers = {"tiers": tiers, "models": models}.get(question.family, ())
    paired_by = MODES if question.family == "modes" else BASELINE
    others = (
        *tiers,
        *models,
        *screen(frame, pairs, how),
        *pass_cost_contrasts(frame, pairs),
    )
    return Analysis(
        measures=arm_measures(frame),
        slices=tuple(slices(frame)),
        rulings=tuple(rule(contrast, question.margin) for contrast in compare(frame, pairs, paired_by, how)),
        answers=tuple(rule(contrast, question.margin) for contrast in answers),
        contrasts=others,
        used_effects=tuple(used_effects(frame, pairs)),
        best=tuple(best_subtests(frame)),
        tiers=tier_measures(frame),
        interactions=(
            *interactions(frame, question.parts, how),
            *mode_interactions(frame, question.crossed, how),
        ),
        frontier=frontier(frame, how),
        agreement=agreement(frame, how),
        tools=tuple(_tools(frame)),
        spreads=tuple(spreads(frame)),
        odd=outliers(frame),
        shrunk=_shrunk(frame),
        omnibus=tuple(omnibus(frame)),
        unpaired=tuple(unpaired(frame, pairs, how)),
        warnings=tuple(_warnings(frame, question)),
    )


def _tools(frame: Frame) -> Iterator[ToolUse]:
    for at, arm in enumerate(frame.arms):
        trials = frame.rows_of(at).size
        for tool, calls in sorted(frame.tools.get(arm, {}).items(), key=lambda use: (-use[1], use[0])):
            yield ToolUse(arm=arm, tool=tool, calls=calls, per_trial=calls / trials)


def _shrunk(frame: Frame) -> tuple[ShrunkRate, ...]:
    """Shrink the arms' pass rates, if there are enough arms and scenarios to estimate how much they vary."""
    groups = grouped(frame, frame.columns["passed"])
    n = groups.n.astype(np.float64)
    if min(n.shape) < FEWEST or max(n.shape) > _MOST_SHRUNK:
        return ()
    rates = shrink(np.rint(np.nan_to_num(groups.mean) * n), n)
    if rates is None or not rates.converged:
        return ()
    return tuple(
        ShrunkRate(arm=arm, rate=float(rates.rate[at]), low=float(rates.low[at]), high=float(rates.high[at]))
        for at, arm in enumerate(frame.arms)
    )


def _warnings(frame: Frame, question: Question) -> Iterator[str]:
    scenarios = np.unique(frame.scenario[frame.judged]).size
    if scenarios == 1:
        yield (
            "All trials are of one scenario: the results hold for this scenario only, and comparisons have no p value."
        )
    elif 0 < scenarios < _FEW_SCENARIOS:
        yield (
            f"{counted(scenarios, 'scenario is', 'scenarios are')} few: intervals over scenarios are wide, and with "
            "skewed costs their real confidence is below the stated one."
        )
    groups = grouped(frame, frame.columns["passed"]).n
    tried = groups[groups > 0]
    if tried.size and tried.min() != tried.max():
        yield (
            f"Repetitions differ between groups ({tried.min()} to {tried.max()}): scenarios keep equal weights, "
            "so the pooled rate differs from the headline rate."
        )
    gaps = int(((groups == 0) & (groups.sum(axis=0, keepdims=True) > 0)).sum())
    if gaps:
        yield f"{gaps} of {counted(groups.size, 'group')} have no judged trial: comparisons skip their scenarios."
    models = len(set(question.models.values()) - {None})
    if models > MOST_MODELS:
        yield (
            f"{counted(models, 'model is', 'models are')} too many to compare all pairs: each is compared with "
            "the baseline only."
        )


def omnibus(frame: Frame) -> Iterator[Omnibus]:
    """Apply Friedman's test to each metric of three arms or more, on the scenarios that all arms have."""
    for column in _COMPARED:
        means = grouped(frame, frame.columns[column]).mean
        means = means[~np.isnan(means).all(axis=1)]
        shared = means[:, ~np.isnan(means).any(axis=0)]
        arms, scenarios = shared.shape
        if arms < _FEWEST_ARMS:
            continue
        w = kendall_w(shared)
        if w is not None:
            statistic = scenarios * (arms - 1) * w
            p = max(float(chdtrc(arms - 1, statistic)), math.ulp(0.0))
            yield Omnibus(metric=_COMPARED[column], arms=arms, scenarios=scenarios, statistic=statistic, p=p, w=w)


def unpaired(frame: Frame, pairings: Sequence[Pairing], how: Resampling) -> Iterator[Unpaired]:
    """Compare arms by the ranks of their trials, for each metric, if some arm shares no scenario with its baseline."""
    tried = grouped(frame, frame.columns["passed"]).n > 0
    apart = any(not (tried[pair.first[0]] & tried[pair.second[0]]).any() for pair in pairings)
    if not apart or len(frame.arms) > _MOST_UNPAIRED:
        return
    for column in _COMPARED:
        values = [frame.columns[column][frame.rows_of(at)] for at in range(len(frame.arms))]
        known = {at: x[~np.isnan(x)] for at, x in enumerate(values) if not np.isnan(x).all()}
        if len(known) > 1:
            yield _unpaired(frame, column, known, how)


def _unpaired(frame: Frame, column: str, known: dict[int, Floats], how: Resampling) -> Unpaired:
    test = kruskal_wallis(list(known.values()))
    pairs = [(one, other) for one in known for other in known if other < one]
    p = [mann_whitney_p(known[one], known[other]) for one, other in pairs]
    adjusted = holm([1.0 if raw is None else raw for raw in p])
    return Unpaired(
        metric=_COMPARED[column],
        h=test.h if test else None,
        p=test.p if test else None,
        arms=tuple(_unpaired_arm(frame.arms[at], x, how) for at, x in known.items()),
        pairs=tuple(
            UnpairedPair(
                arm=frame.arms[one],
                baseline=frame.arms[other],
                p=raw,
                p_adjusted=None if raw is None else float(adjusted_p),
                cliffs_delta=cliffs_delta(known[one], known[other]),
            )
            for (one, other), raw, adjusted_p in zip(pairs, p, adjusted, strict=True)
        ),
    )


def _unpaired_arm(name: str, x: Floats, how: Resampling) -> UnpairedArm:
    low, high = bca_limits(x, how) or (None, None)
    return UnpairedArm(arm=name, n=x.size, mean=float(x.mean()), median=float(np.median(x)), low=low, high=high)


def outliers(frame: Frame) -> tuple[Outlier, ...]:
    """Find at most fifty outliers, sorted by cell."""
    idle = frame.judged & (frame.columns["passed"] == 1) & (frame.columns["changes"] == 0)
    unusual = {(frame.cells[row], "passed without a change") for row in np.flatnonzero(idle)}
    for name, unit in (("seconds", "s"), ("usd", "USD"), ("turns", "turns")):
        unusual.update(_far_out(frame, name, unit, frame.columns[name]))
    return tuple(Outlier(cell=cell, what=what) for cell, what in sorted(unusual)[:_MOST_OUTLIERS])


def _far_out(frame: Frame, name: str, unit: str, values: Floats) -> Iterator[tuple[str, str]]:
    """Yield trials far above the others of the same scenario and arm. Source: Tukey 1977, the outer fence."""
    known = np.flatnonzero(frame.judged & ~np.isnan(values))
    group = frame.arm[known] * len(frame.scenarios) + frame.scenario[known]
    order = np.lexsort((values[known], group))
    rows, starts = known[order], np.flatnonzero(np.diff(group[order], prepend=-1))
    sizes = np.diff(np.append(starts, rows.size))
    starts, sizes = starts[sizes >= _FEWEST_IN_GROUP], sizes[sizes >= _FEWEST_IN_GROUP]
    if not starts.size:
        return
    ordered = values[rows]
    low, middle, high = (_quantiles(ordered, starts, sizes, q) for q in (0.25, 0.5, 0.75))
    limits = np.maximum(high + _FENCE * (high - low), _LEAST_RATIO * middle)
    far = np.flatnonzero(ordered[starts + sizes - 1] > limits)
    for at in far:
        group_rows = rows[starts[at] : starts[at] + sizes[at]]
        for row in group_rows[values[group_rows] > limits[at]]:
            yield (
                frame.cells[row],
                f"{name}: {values[row]:.4g} {unit}; the median of its group is {middle[at]:.4g}",
            )


def _quantiles(ordered: Floats, starts: Ints, sizes: Ints, q: float) -> Floats:
    """Compute the quantile of each run of sorted values, type 7 of Hyndman & Fan 1996."""
    position = q * (sizes - 1)
    under = np.floor(position).astype(np.int64)
    low, high = ordered[starts + under], ordered[starts + np.minimum(under + 1, sizes - 1)]
    return np.asarray(low + (position - under) * (high - low))


def agreement(frame: Frame, how: Resampling) -> Agreement | None:
    """Compute the agreement of the judges' scores, trial by trial; None without a panel."""
    judges = tuple(frame.scores)
    if len(judges) < 2:  # noqa: PLR2004 agreement needs two judges
        return None
    table = np.column_stack([frame.scores[judge] for judge in judges])
    rows = frame.judged & ((~np.isnan(table)).sum(axis=1) > 1)
    table, scenario = table[rows], frame.scenario[rows]
    if not len(table):
        return None
    limits = alpha_limits(table, scenario, how) if np.unique(scenario).size >= _SCENARIOS else None
    correlations = icc(table)
    return Agreement(
        judges=judges,
        trials=len(table),
        alpha=alpha(table),
        alpha_low=limits[0] if limits else None,
        alpha_high=limits[1] if limits else None,
        icc_single=correlations.single if correlations else None,
        icc_panel=correlations.panel if correlations else None,
        kappa=_kappa(table),
        decisive=_decisive(table, frame.columns["threshold"][rows]),
        pairs=_pairs(judges, table),
        by_scenario={frame.scenarios[at]: alpha(table[scenario == at]) for at in np.unique(scenario)},
    )


def _pairs(judges: tuple[str, ...], table: Floats) -> tuple[Pair, ...]:
    biases = ((a, b, bias(table[:, a], table[:, b])) for a, b in combinations(range(table.shape[1]), 2))
    return tuple(
        Pair(first=judges[a], second=judges[b], bias=difference.mean, sd=difference.sd, n=difference.n)
        for a, b, difference in biases
        if difference is not None
    )


def _kappa(table: Floats) -> float | None:
    """Average kappa over the pairs of judges; pairs without a spread are skipped."""
    grades = np.digitize(np.round(table, _DIGITS), _GRADES)
    known, kappas = ~np.isnan(table), []
    for a, b in combinations(range(table.shape[1]), 2):
        both = known[:, a] & known[:, b]
        kappas.append(quadratic_kappa(grades[both, a], grades[both, b], len(_GRADES) + 1))
    defined = [kappa for kappa in kappas if kappa is not None]
    return sum(defined) / len(defined) if defined else None


def _decisive(table: Floats, threshold: Floats) -> float | None:
    """Return the share of trials whose judges score on both sides of the threshold, so that the consensus decides."""
    known = ~np.isnan(threshold)
    if not known.any():
        return None
    low, high = np.nanmin(table[known], axis=1), np.nanmax(table[known], axis=1)
    return float(((low < threshold[known]) & (threshold[known] <= high)).mean())
