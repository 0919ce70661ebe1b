"""All metrics of one arm: those of the Scylla paper (section 5), and what makes them honest beside them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis.frame import COMPONENTS, TOKENS, Frame
from scylla_gha.analysis.measured import LIKE, Sample, over_scenarios, share
from scylla_gha.model.analysis import ArmMeasures, Measure
from scylla_gha.stats.arrays import Floats, Ints
from scylla_gha.stats.clusters import clustered, design_effect, effective_n, icc1
from scylla_gha.stats.consistency import cv_consistencies, outcome_consistency, score_consistency
from scylla_gha.stats.order import censored_median, quantile
from scylla_gha.stats.pass_k import pass_all_k, pass_at_k, solved

_TAIL_TRIALS: Final = 20  # below that, the 90th percentile is the largest but one or two
_MANY: Final = 2


def arm_measures(frame: Frame) -> tuple[ArmMeasures, ...]:
    """Of each arm, in the frame's order; every metric is there, with or without a value."""
    return tuple(
        ArmMeasures(arm=name, measures=tuple(_Arm.of(frame, place).all())) for place, name in enumerate(frame.arms)
    )


@dataclass(frozen=True, slots=True)
class _Arm:
    """One arm's judged rows."""

    frame: Frame
    place: int
    rows: Ints
    sample: Sample

    @classmethod
    def of(cls, frame: Frame, place: int) -> "_Arm":
        rows = frame.rows_of(place)
        return cls(frame, place, rows, Sample.at(frame.scenario[rows]))

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
        yield share("pass_rate_pooled", int(passed.sum()), passed.size, sample.of.count)
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
        found = clustered(passed, sample.of)
        n, c = found.sizes, np.rint(found.sums).astype(np.int64)
        many = int(n[n >= _MANY].sum())
        yield over_scenarios("outcome_consistency", outcome_consistency(n, c), many)
        scores = self.column("score")
        known = ~np.isnan(scores)
        scored = sample.only(known)
        alike = score_consistency(scores[known], scored.of.of)
        yield scored.bare("score_consistency", alike.value if alike else None, "no scenario has two scores")
        of = clustered(scores[known], scored.of)
        yield over_scenarios("consistency", cv_consistencies(of.sizes, of.means, of.within), int(known.sum()),
                             "the paper's 1 - sd / mean; of few repetitions it is too high")  # fmt: skip
        yield from self._pass_k(n, c)
        trials, icc = effective_n(passed, sample.of), icc1(passed, sample.of)
        yield sample.bare("icc", icc, "fewer than two scenarios, no repetition, or all trials alike")
        effect = None if icc is None else design_effect(float((n**2).sum()) / n.sum(), min(max(icc, 0.0), 1.0))
        yield sample.bare("design_effect", effect, "the ICC is undefined")
        yield sample.bare("effective_trials", trials, "there is no trial")

    def _pass_k(self, n: Ints, c: Ints) -> Iterator[Measure]:
        k = int(n.min()) if n.size else 0
        if k < _MANY:
            for name in ("pass_at_k", "pass_all_k"):
                yield self.sample.nothing(name, "it takes two repetitions of each scenario")
        else:
            note = f"k = {k}"
            yield over_scenarios("pass_at_k", pass_at_k(n, c, k), int(n.sum()), note)
            yield over_scenarios("pass_all_k", pass_all_k(n, c, k), int(n.sum()), note)
        ever = solved(n, c)
        for name, part in (("solved_once", ever.ever), ("solved_always", ever.always)):
            found = share(name, round((part or 0) * ever.groups), ever.groups, ever.groups)
            yield found.model_copy(update={"target": LIKE})  # each scenario counts once

    def _time(self) -> Iterator[Measure]:
        seconds, sample = self.column("seconds"), self.sample
        yield sample.mean("seconds", seconds)
        outcomes = np.array([self.frame.outcomes[row] == "timeout" for row in self.rows], dtype=np.bool_)
        known = ~np.isnan(seconds)
        timed, some = seconds[known], sample.only(known)
        middle = censored_median(timed, outcomes[known])
        why = "half of the trials or more ran into their limit" if middle else "no trial knows it"
        yield some.bare("seconds_median", middle.median if middle else None, why)
        tail = float(quantile(timed, 0.9)) if timed.size >= _TAIL_TRIALS else None
        yield some.bare("seconds_p90", tail, f"it takes {_TAIL_TRIALS} trials")
        for name in ("first_byte_seconds", "generation_seconds", "tool_seconds"):
            yield sample.mean(name, self.column(name))

    def _cost(self) -> Iterator[Measure]:
        usd, passed, sample = self.column("usd"), self.column("passed"), self.sample
        tokens = self.frame.tokens[self.rows]
        yield sample.whole("usd", usd)
        yield sample.per_pass("cost_of_pass", usd, passed)
        yield sample.whole("tokens", tokens)
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
        """How trials ended: of all that are stored, judged or not."""
        mine = np.flatnonzero(self.frame.arm == self.place)
        ends = [self.frame.outcomes[row] for row in mine]
        scenarios = np.unique(self.frame.scenario[mine]).size
        for name in ("timeout", "budget_exceeded", "agent_error", "refused"):
            yield share(f"{name}_share", ends.count(name), len(ends), scenarios)
        faults = len(ends) - int(self.frame.measures[mine].sum())
        yield share("fault_share", faults, len(ends), scenarios)
