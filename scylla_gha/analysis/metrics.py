"""All metrics of one arm: those of the Scylla paper (section 5), with their intervals, and others beside them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.estimate import LIKE, Sample, over_scenarios, share
from scylla_gha.analysis.frame import COMPONENTS, TOKENS, Frame
from scylla_gha.model.analysis import ArmMeasures, Measure
from scylla_gha.stats.arrays import Bools, Floats, Ints
from scylla_gha.stats.clusters import (
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
)

_TAIL_TRIALS: Final = 20  # below that, the 90th percentile is the largest but one or two
_MANY: Final = 2
_HALF: Final = 0.5


def arm_measures(frame: Frame) -> tuple[ArmMeasures, ...]:
    """Compute the metrics of each arm, in the frame's order; every metric is there, with or without a value."""
    return tuple(ArmMeasures(arm=name, measures=tuple(_Arm.of(frame, at).all())) for at, name in enumerate(frame.arms))


@dataclass(frozen=True, slots=True)
class _Arm:
    """One arm's judged rows."""

    frame: Frame
    index: int
    rows: Ints
    sample: Sample

    @classmethod
    def of(cls, frame: Frame, index: int) -> "_Arm":
        rows = frame.rows_of(index)
        return cls(frame, index, rows, Sample.of(frame.scenario[rows]))

    def column(self, name: str) -> Floats:
        return self.frame.columns[name][self.rows]

    def all(self) -> Iterator[Measure]:
        yield from self._success()
        yield from self._repeatability()
        yield from self._time()
        yield from self._cost()
        yield from self._tools()
        yield from self._ends()

    def _success(self) -> Iterator[Measure]:
        passed, sample = self.column("passed"), self.sample
        yield sample.rate("pass_rate", passed)
        yield share("pass_rate_pooled", int(passed.sum()), passed.size, sample.scenarios.count)
        yield sample.ratio("implementation_rate", self.column("points"), self.column("points_max"))
        yield sample.mean("score", self.column("score"), is_share=True)
        yield sample.mean("progress_rate", self.column("progress"), is_share=True)
        changed = (self.column("files_changed") > 0) & (self.column("guards") > 0)
        failed = sample.only(changed).rate("change_fail_rate", self._broke()[changed])
        yield failed.model_copy(update={"note": failed.note or "of trials that changed something and had a guard"})

    def _broke(self) -> Floats:
        return (self.column("broken_guards") > 0).astype(np.float64)

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
        note = "the paper's 1 - sd / mean; of few repetitions it is too high"
        yield over_scenarios("consistency", by_scenario, int(known.sum()), note)
        yield from self._pass_k(n, c)
        trials, icc = effective_n(clusters), icc1(clusters)
        yield sample.number("icc", icc, "fewer than two scenarios, no repetition, or all trials alike")
        effect = None if icc is None else design_effect(float((n**2).sum()) / n.sum(), min(max(icc, 0.0), 1.0))
        yield sample.number("design_effect", effect, "the ICC is undefined")
        yield sample.number("effective_trials", trials, "there is no trial")

    def _pass_k(self, n: Ints, c: Ints) -> Iterator[Measure]:
        k = int(n.min()) if n.size else 0
        if k < _MANY:
            for name in ("pass_at_k", "pass_all_k"):
                yield self.sample.undefined(name, "it takes two repetitions of each scenario")
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
        why = "half of the trials or more ran into their limit" if timed.size else "no trial knows it"
        yield some.number("seconds_median", _censored_median(timed, outcomes[known]), why)
        tail = float(np.quantile(timed, 0.9)) if timed.size >= _TAIL_TRIALS else None
        yield some.number("seconds_p90", tail, f"it takes {_TAIL_TRIALS} trials")
        for name in ("first_byte_seconds", "generation_seconds", "tool_seconds"):
            yield sample.mean(name, self.column(name))

    def _cost(self) -> Iterator[Measure]:
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

    def _tools(self) -> Iterator[Measure]:
        calls, sample = self.column("tool_calls"), self.sample
        yield sample.mean("turns", self.column("turns"))
        yield sample.mean("tool_calls", calls)
        yield sample.ratio("tool_failure_rate", self.column("failed_tool_calls"), calls)
        yield sample.ratio("request_retry_rate", self.column("repeated_requests"), self.column("requests"))

    def _ends(self) -> Iterator[Measure]:
        """Yield how trials ended: of all that are stored, judged or not."""
        mine = np.flatnonzero(self.frame.arm == self.index)
        ends = [self.frame.outcomes[row] for row in mine]
        scenarios = np.unique(self.frame.scenario[mine]).size
        for name in ("timeout", "budget_exceeded", "agent_error", "refused"):
            yield share(f"{name}_share", ends.count(name), len(ends), scenarios)
        faults = len(ends) - int(self.frame.measures[mine].sum())
        yield share("fault_share", faults, len(ends), scenarios)


def _censored_median(values: Floats, censored: Bools) -> float | None:
    """Compute the median if some values are known only as longer than a limit; None if these are half or more."""
    if not values.size or censored.mean() >= _HALF:
        return None
    return float(np.median(np.where(censored, np.inf, values)))
