"""Metrics of arms, pass rates of parts of their trials, their times and costs, and the best sub-test of each tier.

The metrics of the Scylla paper (section 5) are among them. Each has an interval if one can be computed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from scylla_gha.analysis import COMPONENTS, TOKENS, TREATMENT
from scylla_gha.analysis.estimate import HERE, LIKE, Sample, over_scenarios, share
from scylla_gha.analysis.frame import Frame, Groups, Pairing, arms_by_tier, grouped
from scylla_gha.model.analysis import (
    ArmMeasures,
    BestSubtest,
    Measure,
    Slice,
    Spread,
    SpreadMetric,
    TierMeasures,
    UsedEffect,
)
from scylla_gha.stats.arrays import Bools, Floats, Ints
from scylla_gha.stats.means import (
    clustered,
    cv_consistencies,
    design_effect,
    effective_n,
    icc1,
    outcome_consistency,
    pass_all_k,
    pass_at_k,
    score_consistency,
    solved,
    wilson_effective,
    wilson_limits,
)
from scylla_gha.stats.ratios import fieller_interval

_TAIL_TRIALS: Final = 20  # with fewer trials, the 90th percentile is one of the two largest values
_MANY: Final = 2
_HALF: Final = 0.5
_SEVERAL: Final = -1  # index for several arms together
By = Literal["scenario", "category", "difficulty", "size", "tier"]
_PARTS: Final[tuple[By, ...]] = ("category", "difficulty", "size")
_OF_USED: Final = {"pass_rate": "passed", "score": "score"}  # column of each metric of `used_effects`
_FEWEST_USED: Final = 6  # minimum number of scenarios for such an effect
_LEAST_UPTAKE: Final = 0.2
_METRICS: Final[tuple[SpreadMetric, ...]] = ("seconds", "usd")
_MOST_VALUES: Final = 1200  # values of one metric, all arms together
_MOST_OF_ARM: Final = 60
_LEAST_OF_ARM: Final = 8
_QUARTILES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
_DIGITS: Final = 5  # significant digits


def arm_measures(frame: Frame) -> tuple[ArmMeasures, ...]:
    """Compute the metrics of each arm, in the frame's order; every metric is included, with or without a value.

    Metrics of treatments are left out if no row has a treatment.
    """
    arms = [_Arm.of(frame, (at,), at) for at in range(len(frame.arms))]
    return tuple(ArmMeasures(arm=frame.arms[arm.index], measures=tuple(arm.all())) for arm in arms)


def tier_measures(frame: Frame) -> tuple[TierMeasures, ...]:
    """Compute costs and tokens of each tier over the trials of all its sub-tests; empty with fewer than two tiers."""
    tiers = arms_by_tier(frame)
    if len(tiers) < _MANY:
        return ()
    return tuple(
        TierMeasures(
            tier=tier,
            arms=tuple(frame.arms[arm] for arm in arms),
            measures=tuple(_Arm.of(frame, arms).of_tier()),
        )
        for tier, arms in tiers.items()
    )


def used_effects(frame: Frame, pairings: Sequence[Pairing]) -> Iterator[UsedEffect]:
    """Yield the effect of each arm's treatment where it was used, if its interval is bounded.

    The lower limit of the arm's uptake must be above 0.2, there must be six scenarios, and the interval must be
    bounded. If all trials used the treatment, the effect is that of the comparison, and is left out.
    """
    columns = frame.columns
    uses = np.where(columns["declared"] == 0, 0.0, columns["used"])
    used = grouped(frame, uses).mean
    for metric, column in _OF_USED.items():
        values = grouped(frame, np.where(np.isnan(uses), np.nan, columns[column])).mean
        for pairing in pairings:
            first, second = pairing.first[0], pairing.second[0]
            x, y = values[first] - values[second], used[first] - used[second]
            known = ~np.isnan(x + y)
            low = next((part.low for part in _Arm.of(frame, (first,)).uptake() if part.metric == "uptake"), None)
            if known.sum() < _FEWEST_USED or (low or 0.0) <= _LEAST_UPTAKE or np.all(y[known] == 1):
                continue
            effect = fieller_interval(x[known], y[known])
            if effect is None or effect.estimate is None or effect.low is None or effect.high is None:
                continue
            yield UsedEffect(
                arm=pairing.arm,
                baseline=pairing.baseline,
                metric=metric,
                value=min(1.0, max(-1.0, effect.estimate)),  # no share can change by more
                low=max(-1.0, effect.low),
                high=min(1.0, effect.high),
                uptake=float(y[known].mean()),
                scenarios=effect.n,
            )


@dataclass(frozen=True, slots=True)
class _Arm:
    """The judged rows of one arm, or of several arms together."""

    frame: Frame
    index: int
    rows: Ints
    sample: Sample

    @classmethod
    def of(cls, frame: Frame, arms: tuple[int, ...], index: int = _SEVERAL) -> "_Arm":
        rows = np.concatenate([frame.rows_of(arm) for arm in arms])
        return cls(frame, index, rows, Sample.of(frame.scenario[rows]))

    def column(self, name: str) -> Floats:
        return self.frame.columns[name][self.rows]

    def all(self) -> Iterator[Measure]:
        yield from self._success()
        yield from self._repeatability()
        yield from self._time()
        yield from self.spending()
        yield from self._tools()
        yield from self.uptake()
        yield from self._ends()

    def of_tier(self) -> Iterator[Measure]:
        """Yield the metrics that are computed for tiers."""
        yield from self.spending()
        yield from self.uptake()

    def _success(self) -> Iterator[Measure]:
        passed, sample = self.column("passed"), self.sample
        yield sample.rate("pass_rate", passed)
        yield share("pass_rate_pooled", int(passed.sum()), passed.size, sample.scenarios.count)
        yield sample.ratio("implementation_rate", self.column("points"), self.column("points_max"))
        yield sample.mean("score", self.column("score"), is_share=True)
        yield sample.mean("progress_rate", self.column("progress"), is_share=True)
        changed = (self.column("changes") > 0) & (self.column("guards") > 0)
        failed = sample.only(changed).rate(
            "change_fail_rate", (self.column("broken_guards") > 0).astype(np.float64)[changed]
        )
        yield failed.model_copy(update={"note": failed.note or "only trials that changed something and had a guard"})

    def _repeatability(self) -> Iterator[Measure]:
        passed, sample = self.column("passed"), self.sample
        clusters = clustered(passed, sample.scenarios)
        n, c = clusters.sizes, np.rint(clusters.sums).astype(np.int64)
        many = int(n[n >= _MANY].sum())
        yield over_scenarios("outcome_consistency", outcome_consistency(n, c), many)
        scores = self.column("score")
        known = ~np.isnan(scores)
        scored = sample.only(known)
        alike = score_consistency(scores[known], scored.scenarios)
        yield scored.number("score_consistency", alike, "no scenario has two scores")
        by_scenario = cv_consistencies(clustered(scores[known], scored.scenarios))
        note = "the paper's 1 - sd / mean; it is too high with few repetitions"
        yield over_scenarios("consistency", by_scenario, int(known.sum()), note)
        yield from self._pass_k(n, c)
        trials, icc = effective_n(clusters), icc1(clusters)
        yield sample.number("icc", icc, "fewer than two scenarios, no repetition, or equal trials")
        effect = None if icc is None else design_effect(float((n**2).sum()) / n.sum(), min(max(icc, 0.0), 1.0))
        yield sample.number("design_effect", effect, "the ICC is undefined")
        yield sample.number("effective_trials", trials, "there is no trial")

    def _pass_k(self, n: Ints, c: Ints) -> Iterator[Measure]:
        k = int(n.min()) if n.size else 0
        if k < _MANY:
            for name in ("pass_at_k", "pass_all_k"):
                yield self.sample.undefined(name, "two repetitions of each scenario are needed")
        else:
            note = f"k = {k}"
            yield over_scenarios("pass_at_k", pass_at_k(n, c, k), int(n.sum()), note)
            yield over_scenarios("pass_all_k", pass_all_k(n, c, k), int(n.sum()), note)
        counts = solved(n, c)
        for name, hits in (("solved_once", counts.ever), ("solved_always", counts.always)):
            measure = share(name, hits, counts.groups, counts.groups)
            yield measure.model_copy(update={"target": LIKE})  # each scenario counts once

    def _time(self) -> Iterator[Measure]:
        seconds, sample = self.column("seconds"), self.sample
        yield sample.mean("seconds", seconds)
        outcomes = np.array([self.frame.outcomes[row] == "timeout" for row in self.rows], dtype=np.bool_)
        known = ~np.isnan(seconds)
        timed, some = seconds[known], sample.only(known)
        why = "at least half of the trials reached their time limit" if timed.size else "unknown in every trial"
        yield some.number("seconds_median", _censored_median(timed, outcomes[known]), why)
        tail = float(np.quantile(timed, 0.9)) if timed.size >= _TAIL_TRIALS else None
        yield some.number("seconds_p90", tail, f"at least {_TAIL_TRIALS} trials are needed")
        for name in ("first_byte_seconds", "generation_seconds", "tool_seconds"):
            yield sample.mean(name, self.column(name))

    def spending(self) -> Iterator[Measure]:
        """Yield costs and tokens."""
        usd, passed, sample = self.column("usd"), self.column("passed"), self.sample
        tokens = self.frame.tokens[self.rows]
        yield sample.complete_mean("usd", usd)
        yield sample.per_pass("cost_of_pass", usd, passed)
        yield sample.complete_mean("tokens", tokens)
        yield sample.per_pass("tokens_per_pass", tokens, passed)
        yield sample.per_pass("seconds_per_pass", self.column("seconds"), passed)
        yield sample.ratio("usd_per_score", usd, self.column("score"), is_share=False)
        for name in TOKENS:
            yield sample.ratio(f"{name}_share", self.column(name), tokens)
        cache = self.column("cache_read_tokens")
        yield sample.ratio(
            "cache_hit_rate", cache, cache + self.column("input_tokens") + self.column("cache_write_tokens")
        )
        characters = sum((self.column(name) for name in COMPONENTS), np.zeros(self.rows.size))
        for name in COMPONENTS:
            yield sample.ratio(f"{name}_share", self.column(name), characters)
        for part in TREATMENT:
            if not np.isnan(self.frame.columns[f"treatment_{part}"]).all():
                mean = sample.complete_mean if self.index == _SEVERAL else sample.mean
                yield mean(f"treatment_{part}_tokens", self.column(f"treatment_{part}"))

    def _tools(self) -> Iterator[Measure]:
        calls, sample = self.column("tool_calls"), self.sample
        yield sample.mean("turns", self.column("turns"))
        yield sample.mean("tool_calls", calls)
        yield sample.ratio("tool_failure_rate", self.column("failed_tool_calls"), calls)
        yield sample.ratio("request_retry_rate", self.column("repeated_requests"), self.column("requests"))

    def uptake(self) -> Iterator[Measure]:
        """Yield the share of trials that used a declared resource, and the turn of the first use, if any is known."""
        if np.isnan(self.frame.columns["used"]).all():
            return
        used, first, sample = self.column("used"), self.column("first_use"), self.sample
        if np.isnan(used).all():
            yield sample.undefined("uptake", "the arm declares no resource, or its uses are unknown in every trial")
            return
        yield sample.rate("uptake", used)
        known = ~np.isnan(first)
        mean = sample.only(known).mean("first_use", first[known])
        yield mean.model_copy(update={"note": mean.note or "of trials that used a declared resource"})

    def _ends(self) -> Iterator[Measure]:
        """Yield the shares of outcomes among all stored trials, judged or not."""
        mine = np.flatnonzero(self.frame.arm == self.index)
        ends = [self.frame.outcomes[row] for row in mine]
        scenarios = np.unique(self.frame.scenario[mine]).size
        for name in ("timeout", "budget_exceeded", "agent_error", "refused"):
            yield share(f"{name}_share", ends.count(name), len(ends), scenarios)
        faults = len(ends) - int(self.frame.measures[mine].sum())
        yield share("fault_share", faults, len(ends), scenarios)


def _censored_median(values: Floats, censored: Bools) -> float | None:
    """Compute the median if some values are only known to be above a limit; None if at least half are."""
    if not values.size or censored.mean() >= _HALF:
        return None
    return float(np.median(np.where(censored, np.inf, values)))


def slices(frame: Frame) -> Iterator[Slice]:
    """Yield pass rates by category, difficulty, size, tier and scenario; skip arms without a judged trial there.

    The rate of a tier is over the scenarios that all of its sub-tests tried, so that each sub-test has the same weight.
    """
    groups = grouped(frame, frame.columns["passed"])
    for by in _PARTS:
        names = [getattr(frame.about[scenario], by) for scenario in frame.scenarios]
        for name in sorted(set(names)):
            columns = np.array([part == name for part in names], dtype=np.bool_)
            yield from _slices(by, name, frame.arms, groups.n[:, columns], groups.mean[:, columns])
    for tier, arms in arms_by_tier(frame).items():
        chosen = list(arms)
        mean = groups.mean[chosen].mean(axis=0, keepdims=True)
        n = np.where(np.isnan(mean), 0, groups.n[chosen].sum(axis=0, keepdims=True))
        yield from _slices("tier", tier, (tier,), n, mean)
    yield from _scenarios(frame, groups)


def _scenarios(frame: Frame, groups: Groups) -> Iterator[Slice]:
    """Yield one slice per arm and scenario, with Wilson's interval of its repetitions."""
    hits = np.rint(np.nan_to_num(groups.mean) * groups.n)
    low, high = wilson_limits(hits, groups.n)
    for column, scenario in enumerate(frame.scenarios):
        for row, arm in enumerate(frame.arms):
            n = int(groups.n[row, column])
            if n:
                rate = Measure(
                    metric="pass_rate",
                    value=float(groups.mean[row, column]),
                    low=float(low[row, column]),
                    high=float(high[row, column]),
                    n=n,
                    scenarios=1,
                    method="Wilson",
                    target=HERE,
                )
                yield Slice(by="scenario", name=scenario, arm=arm, passed=int(hits[row, column]), rate=rate)


def _slices(by: By, name: str, arms: tuple[str, ...], n: Ints, mean: Floats) -> Iterator[Slice]:
    """Yield one slice per row, with Wilson's interval for its trials (effective number if several scenarios)."""
    count, trials = (n > 0).sum(axis=1), n.sum(axis=1)
    hits = np.rint(np.nansum(mean * n, axis=1))
    known = np.where(n > 0, mean, np.nan)
    rate = np.nansum(known, axis=1) / np.where(count > 0, count, np.nan)
    low, high = wilson_effective(rate, _effective(known, rate, count, trials), count - 1)
    one_low, one_high = wilson_limits(hits, trials)
    for row, arm in enumerate(arms):
        if not trials[row] or np.isnan(rate[row]):
            continue
        alone = count[row] == 1
        limits = (one_low[row], one_high[row]) if alone else (low[row], high[row])
        measure = Measure(
            metric="pass_rate",
            value=float(rate[row]),
            low=float(limits[0]),
            high=float(limits[1]),
            n=int(trials[row]),
            scenarios=int(count[row]),
            target=HERE if alone else LIKE,
            method="Wilson" if alone else "Wilson, effective n and t",
        )
        yield Slice(by=by, name=name, arm=arm, passed=int(hits[row]), rate=measure)


def _effective(known: Floats, rate: Floats, count: Ints, trials: Ints) -> Floats:
    """Return the number of independent trials with the same precision: p (1 - p) over the variance of the mean.

    It lies between the numbers of scenarios and of trials. Without a spread between scenarios it is the number of
    scenarios, which is the safe choice.
    """
    offset = np.where(np.isnan(known), 0.0, known - rate[:, None])
    variance = (offset * offset).sum(axis=1) / np.where(count > 1, count - 1, np.nan) / np.maximum(count, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        n = np.where(variance > 0, rate * (1 - rate) / variance, count)
    return np.clip(n, count, trials)


def best_subtests(frame: Frame) -> Iterator[BestSubtest]:
    """Find the best sub-test of each tier that has at least two.

    The best of several is also the luckiest, so odd repetitions choose it, and even repetitions estimate its rate.
    """
    odd = frame.repetition % 2 == 1
    means = grouped(frame, np.where(odd, frame.columns["passed"], np.nan)).mean
    for tier, arms in arms_by_tier(frame).items():
        known = {arm: float(row[~np.isnan(row)].mean()) for arm in arms if not np.isnan(row := means[arm]).all()}
        if len(arms) > 1 and known:
            arm = max(known, key=lambda arm: known[arm])
            chosen, reported = (_half_rate(frame, arm, half) for half in (odd, ~odd))
            if reported.value is not None:
                yield BestSubtest(tier=tier, arm=frame.arms[arm], of=len(arms), chosen=chosen, reported=reported)


def _half_rate(frame: Frame, arm: int, half: Bools) -> Measure:
    rows = frame.rows_of(arm)
    rows = rows[half[rows]]
    return Sample.of(frame.scenario[rows]).rate("pass_rate", frame.columns["passed"][rows])


def spreads(frame: Frame) -> Iterator[Spread]:
    """Yield the spread of each metric over the judged trials of each arm, unless all its values are unknown."""
    most = max(_LEAST_OF_ARM, min(_MOST_OF_ARM, _MOST_VALUES // max(1, len(frame.arms))))
    timed_out = np.array([outcome == "timeout" for outcome in frame.outcomes], dtype=np.bool_)
    for metric in _METRICS:
        for at, arm in enumerate(frame.arms):
            rows = frame.rows_of(at)
            values = frame.columns[metric][rows]
            known = ~np.isnan(values)
            if known.any():
                order = np.argsort(values[known], kind="stable")
                yield _spread((arm, metric), values[known][order], timed_out[rows][known][order], most)


def _spread(label: tuple[str, SpreadMetric], values: Floats, timed_out: Bools, most: int) -> Spread:
    """Keep sorted values at equal distances in rank; values of timeouts are listed separately."""
    ended, late = values[~timed_out], values[timed_out]
    least, first, median, third, largest = _rounded(np.quantile(values, _QUARTILES))
    return Spread(
        arm=label[0],
        metric=label[1],
        n=values.size,
        timeouts=late.size,
        quartiles=(least, first, median, third, largest),
        values=tuple(_rounded(ended[_ranks(ended.size, most)])),
        late=tuple(_rounded(late[_ranks(late.size, most)])),
    )


def _ranks(size: int, most: int) -> Ints:
    return np.unique(np.linspace(0, max(0, size - 1), min(size, most)).round().astype(np.int64))


def _rounded(values: Floats) -> Iterator[float]:
    return (float(f"{value:.{_DIGITS}g}") for value in values)
