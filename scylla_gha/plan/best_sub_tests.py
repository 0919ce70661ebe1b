"""Choice of the sub-test that `best of` a tier stands for, from stored rows.

The rule: of the tier's sub-tests with at least ten judged trials, the highest mean pass rate over the scenarios that
all of them have; then the lowest mean cost; then the order of names. The trials that decide are not those that are
planned, so the luck of the chosen sub-test does not raise its own estimate.
"""

import datetime
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final

from scylla_gha.model.experiment import Experiment
from scylla_gha.model.result import Result

LEAST_TRIALS: Final = 10  # judged, of one sub-test
_LEAST_CANDIDATES: Final = 2


def best_sub_tests(rows: Iterable[Result], experiment: Experiment, epoch: str, names: Sequence[str]) -> dict[str, str]:
    """Choose the best sub-test of each tier whose rows suffice.

    Args:
        rows: stored rows of all experiments.
        experiment: rows of its agents and models count. Its own rows decide nothing; rows that are newer than the first
            of those in this epoch are left out, so that the choice stays the same as long as they are reused.
        epoch: of the plan.
        names: of all sub-tests, such as `T1/05-github`.

    Returns:
        Sub-tests by tier; a tier is missing if its rows do not suffice.
    """
    others: list[Result] = []
    begin: datetime.datetime | None = None
    for row in rows:
        if row.experiment != experiment.id:
            others.append(row)
        elif row.epoch == epoch and row.started_at:
            begin = min(begin or row.started_at, row.started_at)
    agents = {name.partition("@")[0] for name in experiment.agents}
    by_tier: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for row in others:
        is_earlier = begin is None or (row.started_at is not None and row.started_at < begin)
        counts = row.judged and row.passed is not None and not row.replayed
        if row.variant in names and counts and is_earlier and row.agent in agents and row.model in experiment.models:
            by_tier[str(row.variant).partition("/")[0]][str(row.variant)].append(row)
    best = {tier: _best(sub_tests) for tier, sub_tests in sorted(by_tier.items())}
    return {tier: name for tier, name in best.items() if name}


def _best(sub_tests: Mapping[str, Sequence[Result]]) -> str | None:
    """Return the best sub-test; None if fewer than two have enough trials of common scenarios."""
    candidates = {name: rows for name, rows in sub_tests.items() if len(rows) >= LEAST_TRIALS}
    if len(candidates) < _LEAST_CANDIDATES:
        return None
    common = set.intersection(*({row.scenario for row in rows} for rows in candidates.values()))
    if not common:
        return None
    return min(candidates, key=lambda name: (*_rank(candidates[name], common), name))


def _rank(rows: Sequence[Result], scenarios: set[str]) -> tuple[float, float]:
    """Return what is lower for a better sub-test: the negative pass rate, and the mean cost in USD."""
    passed: dict[str, list[bool]] = defaultdict(list)
    usd = []
    for row in rows:
        if row.scenario in scenarios:
            passed[row.scenario].append(bool(row.passed))
            usd += [] if row.usd is None else [row.usd]
    return -fmean(fmean(values) for values in passed.values()), fmean(usd) if usd else float("inf")
