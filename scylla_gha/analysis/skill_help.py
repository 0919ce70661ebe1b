"""Statistics of a skill's help: shares of assertions that hold, compared in two claims that are never mixed.

On these evals: repetitions are the random units, stratified by eval. On tasks like these: evals are the units, paired,
and only from six of them up, since a sign-flip test of five cannot reach p = 0.05. The second claim is made only if the
first one holds too, so both together are false as rarely as the first. Assertions about the skill itself cannot hold
without it: they are left out of the comparison with no skill.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, Literal

import numpy as np

from scylla_gha.analysis.contrasts import Scale, holm_adjusted, likely_effect, paired_contrasts, rule
from scylla_gha.counting import counted, first_of
from scylla_gha.model.analysis import Contrast, Ruling
from scylla_gha.model.skill_help import (
    ArmTotals,
    AssertionGroup,
    AssertionResult,
    AssertionText,
    EvalTrial,
    HelpContrast,
    HereClaim,
    Ratio,
    SkillArm,
    WhereUsed,
)
from scylla_gha.stats import Interval, wilson
from scylla_gha.stats.agreement import alpha
from scylla_gha.stats.arrays import Floats
from scylla_gha.stats.differences import benjamini_hochberg
from scylla_gha.stats.means import few_clusters_rate
from scylla_gha.stats.ratios import fieller_interval
from scylla_gha.stats.resampling import DEFAULT_RESAMPLING, Resampling
from scylla_gha.stats.strata import StratifiedDifference, stratified_difference

FEWEST_EVALS: Final = 6
FEWEST_REPETITIONS: Final = 3
MARGIN: Final = 0.05
_ALPHA: Final = 0.03  # below 0.05, since an author who adds repetitions and looks again has several chances
_SHARE: Final = "score"  # a metric between 0 and 1
_UNCLEAR: Final = 0.4  # alpha, below which judges do not read an assertion alike
_FALSE_DISCOVERIES: Final = 0.1
_LEAST_UPTAKE: Final = 0.2  # of the lower limit: below, the interval of the effect where it was used is too wide
_AGAINST: Final[Mapping[SkillArm, Literal["none", "base"]]] = {"without": "none", "base": "base"}
_MOST_NAMED: Final = 5
_MOST_EVALS: Final = 200
_COSTS: Final = ("usd", "seconds", "tokens")
Share = Callable[[EvalTrial], float | None]


@dataclass(frozen=True, slots=True)
class HelpData:
    """Judged trials of one skill, its assertions, and the evals whose label says that it should not trigger."""

    trials: Sequence[EvalTrial]
    assertions: Sequence[AssertionText]
    how: Resampling = DEFAULT_RESAMPLING
    unrelated: frozenset[str] = frozenset()

    @property
    def arms(self) -> list[SkillArm]:
        """Arms that have a trial."""
        order: tuple[SkillArm, ...] = ("with", "without", "base")
        return [arm for arm in order if any(trial.arm == arm for trial in self.trials)]

    def by_eval(self, arm: SkillArm, value: Share) -> dict[str, list[float]]:
        """Return the known values of an arm's trials by eval."""
        values: dict[str, list[float]] = defaultdict(list)
        for trial in self.trials:
            if trial.arm == arm and (number := value(trial)) is not None:
                values[trial.eval].append(number)
        return values


def contrast_of(data: HelpData, other: SkillArm) -> HelpContrast:
    """Compare the skill with no skill, or with its last version.

    Args:
        data: of the skill.
        other: the arm to compare with.
    """
    left_out = {(text.eval, text.id) for text in data.assertions if text.about_skill and other == "without"}
    dull = {
        (result.assertion.eval, result.assertion.id)
        for result in assertion_results(data, other)
        if _is_dull(result.group)
    }
    share, all_hold = share_without(left_out), _all_hold(left_out)
    here = _here(data, other, share)
    alike = _alike(data, other, share, here)
    return HelpContrast(
        against=_AGAINST[other],
        trials=sum(trial.arm in {"with", other} for trial in data.trials),
        here=here,
        no_claim="" if here else _no_claim(data, other, share),
        informative=_here(data, other, share_without(left_out | dull)) if dull else None,
        other_work=_here(data, other, lambda trial: share(trial) if trial.eval in data.unrelated else None),
        alike=alike,
        too_few="" if alike and alike.verdict != "not_enough_data" else _missing_evals(data, other, share),
        all_hold=_here(data, other, all_hold),
        where_used=_where_used(data, other, share),
        ratios=dict(_ratios(data, other)),
    )


def share_without(left_out: set[tuple[str, str]]) -> Share:
    """Return the function that gives the share of a trial's assertions that hold, without some of them."""

    def share(trial: EvalTrial) -> float | None:
        values = [
            value for name, value in trial.items.items() if value is not None and (trial.eval, name) not in left_out
        ]
        return fmean(values) if values else None

    return share


def _all_hold(left_out: set[tuple[str, str]]) -> Share:
    share = share_without(left_out)
    return lambda trial: None if (value := share(trial)) is None else float(value > 1 - 1e-9)


def _pairs(data: HelpData, other: SkillArm, value: Share) -> dict[str, tuple[list[float], list[float]]]:
    """Return the values of both arms by eval, for evals with both."""
    first, second = data.by_eval("with", value), data.by_eval(other, value)
    return {name: (first[name], second[name]) for name in sorted(first) if name in second}


def _here(data: HelpData, other: SkillArm, value: Share) -> HereClaim | None:
    """Return the claim on these evals; None with too few repetitions."""
    pairs = {
        name: pair for name, pair in _pairs(data, other, value).items() if min(map(len, pair)) >= FEWEST_REPETITIONS
    }
    found = stratified_difference(list(pairs.values()), data.how)
    if found is None:
        return None
    facts = {"value": found.value, "low": found.low, "high": found.high, "p": found.p, "least_p": found.least_p}
    if found.p <= _ALPHA and not found.low <= 0 <= found.high:
        verdict, why = ("better" if found.value > 0 else "worse"), ""
    elif found.inner_low > -MARGIN and found.inner_high < MARGIN:
        verdict, why = "equivalent", f"the 90 % interval lies within {counted(100 * MARGIN, 'point', form='g')}"
    else:
        verdict, why = (
            "not_enough_data",
            _missing_repetitions(found, pairs),
        )
    return HereClaim.model_validate({**facts, "evals": found.strata, "verdict": verdict, "why": why})


def _missing_repetitions(
    found: StratifiedDifference, pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> str:
    """Return how many repetitions would show a difference of this size, with the spread that was seen."""
    value, width = found.value, found.high - found.low
    now = min(min(map(len, pair)) for pair in pairs.values())
    if found.least_p > _ALPHA:
        tries = counted(now, "repetition")
        need = next(n for n in range(now, 99) if 2 / math.comb(2 * n, n) ** len(pairs) <= _ALPHA)
        return f"{tries} of {counted(len(pairs), 'eval')} cannot show a difference; take --repetitions {need}"
    if abs(value) <= width / 20:
        least = counted(50 * width, "point", form=".0f")
        return f"no difference of {least} or more is likely; smaller ones take more repetitions"
    need = max(math.ceil(now * (width / (2 * abs(value))) ** 2 * 1.3), now + 1)
    return f"if it is {counted(100 * value, 'point', form='+.0f')}, about --repetitions {need} would show it"


def _no_claim(data: HelpData, other: SkillArm, value: Share) -> str:
    pairs = _pairs(data, other, value)
    if not pairs:
        return "no eval has a judged trial of both"
    most = max(min(map(len, pair)) for pair in pairs.values())
    return f"{counted(most, 'repetition')} of each eval; from {FEWEST_REPETITIONS} on these evals can be compared"


def _means(data: HelpData, other: SkillArm, value: Share) -> tuple[Floats, Floats]:
    pairs = _pairs(data, other, value).values()
    return np.array([fmean(first) for first, _ in pairs]), np.array([fmean(second) for _, second in pairs])


def _alike(data: HelpData, other: SkillArm, value: Share, here: HereClaim | None) -> Ruling | None:
    """Return the claim on tasks like these; None with too few evals."""
    first, second = _means(data, other, value)
    if first.size < FEWEST_EVALS:
        return None
    ruling = rule(_contrast(first, second, _SHARE, "difference", data.how), MARGIN)
    if here is None or ruling.verdict == here.verdict or ruling.verdict not in {"better", "worse"}:
        return ruling
    why = "not even these evals show the difference by their repetitions"
    return ruling.model_copy(update={"verdict": "not_enough_data", "why": why})


def _contrast(first: Floats, second: Floats, metric: str, scale: Scale, how: Resampling) -> Contrast:
    contrasts = paired_contrasts(first[None, :], second[None, :], metric, scale, how)
    (contrast,) = holm_adjusted(contrasts, "help")
    return contrast


def _missing_evals(data: HelpData, other: SkillArm, value: Share) -> str:
    """Return how many evals to add for a claim on tasks like these."""
    first, second = _means(data, other, value)
    differences = first - second
    spread = float(differences.std(ddof=1)) if differences.size > 1 else 0.0
    effect = abs(float(differences.mean())) if differences.size else 0.0
    fits = (n for n in range(FEWEST_EVALS, _MOST_EVALS) if (likely_effect(n, 1) or math.inf) * spread <= effect)
    need = next(fits, None) if effect else None
    if need is None:
        need = FEWEST_EVALS if differences.size < FEWEST_EVALS else None
    if need is None:
        return f"{counted(differences.size, 'eval')} show no difference that more of them are likely to confirm"
    # The number that is likely to be enough was not: at least one more is needed, and enough evals that differ.
    lacking = max(need - differences.size, FEWEST_EVALS - np.count_nonzero(differences), 1)
    return f"too few evals for more than these; add {lacking}"


def _where_used(data: HelpData, other: SkillArm, value: Share) -> WhereUsed | None:
    """Return the difference divided by the difference in uptake; None unless its interval has the coverage.

    It assumes that a description that is not followed changes nothing.
    """
    uptake = uptake_of(data, "with")
    pairs, uses = _pairs(data, other, value), _pairs(data, other, _used)
    names = [name for name in pairs if name in uses]
    if uptake is None or uptake.low is None or uptake.low <= _LEAST_UPTAKE or len(names) < FEWEST_EVALS:
        return None
    effects, shares = ([fmean(of[name][0]) - fmean(of[name][1]) for name in names] for of in (pairs, uses))
    found = fieller_interval(effects, shares)
    if found is None or found.estimate is None or found.low is None or found.high is None:
        return None
    return WhereUsed(value=found.estimate, low=found.low, high=found.high)


def _used(trial: EvalTrial) -> float | None:
    if trial.used is None:
        return 0.0 if trial.arm == "without" else None
    return float(trial.used)


def uptake_of(data: HelpData, arm: SkillArm) -> Interval | None:
    """Return the share of trials that used the skill, with an interval over evals; None if it is unknown."""
    uses = data.by_eval(arm, lambda trial: None if trial.used is None else float(trial.used))
    values = [value for shares in uses.values() for value in shares]
    labels = [number for number, each in enumerate(uses.values()) for _ in each]
    return few_clusters_rate(values, labels) if values else None


def uptake_notes(data: HelpData) -> Iterator[str]:
    """Yield a note on evals in which the skill was not always used, but should have been."""
    uses = data.by_eval("with", lambda trial: None if trial.used is None else float(trial.used))
    unused = {name: values for name, values in uses.items() if min(values) < 1 and name not in data.unrelated}
    if unused:
        trials = sum(map(len, unused.values()))
        count = trials - round(sum(map(sum, unused.values())))
        yield (
            f"not used in {count} of {counted(trials, 'trial')} of {first_of(unused, _MOST_NAMED)}: if these should "
            "trigger it, the description is the fault there, not the body"
        )


def _ratios(data: HelpData, other: SkillArm) -> Iterator[tuple[str, Ratio]]:
    for name in _COSTS:
        first, second = _means(data, other, lambda trial, name=name: getattr(trial, name))  # type: ignore[misc]
        if not first.size or np.any(first <= 0) or np.any(second <= 0):
            continue
        contrast = _contrast(first, second, name, "ratio", data.how)
        if contrast.value is not None:
            yield name, Ratio(value=contrast.value, low=contrast.low, high=contrast.high)


def arm_totals(data: HelpData, arm: SkillArm) -> ArmTotals:
    """Return the figures of an arm."""
    about = {(text.eval, text.id) for text in data.assertions if text.about_skill}
    own = [trial for trial in data.trials if trial.arm == arm]
    uptake = uptake_of(data, arm)
    return ArmTotals(
        arm=arm,
        trials=len(own),
        share=_mean(data.by_eval(arm, share_without(about))),
        all_hold=_mean(data.by_eval(arm, _all_hold(about))),
        usd=_mean(data.by_eval(arm, lambda trial: trial.usd)),
        seconds=_mean(data.by_eval(arm, lambda trial: trial.seconds)),
        tokens=_mean(data.by_eval(arm, lambda trial: trial.tokens)),
        uptake=uptake.estimate if uptake else None,
        uptake_low=uptake.low if uptake else None,
        uptake_high=uptake.high if uptake else None,
    )


def _mean(values: Mapping[str, Sequence[float]]) -> float | None:
    return fmean(map(fmean, values.values())) if values else None


def assertion_results(data: HelpData, other: SkillArm | None) -> list[AssertionResult]:
    """Return how each assertion fared; `other` is the arm to compare with, None if there is none."""
    return [_result(data, assertion, other) for assertion in data.assertions]


def _result(data: HelpData, assertion: AssertionText, other: SkillArm | None) -> AssertionResult:
    trials = [trial for trial in data.trials if trial.eval == assertion.eval]
    counts: dict[SkillArm, tuple[int, int]] = {}
    for arm in data.arms:
        values = [
            value for trial in trials if trial.arm == arm and (value := trial.items.get(assertion.id)) is not None
        ]
        counts[arm] = (sum(value > 1 - 1e-9 for value in values), len(values))
    votes = [trial.votes[assertion.id] for trial in trials if assertion.id in trial.votes]
    ratings = [[math.nan if vote is None else vote for vote in row] for row in votes]
    agreement = alpha(ratings) if ratings and not assertion.by_code else None
    pair = (counts.get("with", (0, 0)), counts.get(other, (0, 0)) if other else (0, 0))
    return AssertionResult(
        assertion=assertion,
        against=_AGAINST[other] if other else None,
        counts=counts,
        **_difference(*pair),
        alpha=agreement,
        group=_group(*pair, is_compared=other is not None),
        is_unclear=agreement is not None and agreement < _UNCLEAR,
    )


def _difference(first: tuple[int, int], second: tuple[int, int]) -> dict[str, float]:
    """Return the difference of two rates with its 95 % limits (Newcombe 1998, method 10)."""
    limits = wilson(*first), wilson(*second)
    if limits[0] is None or limits[1] is None:
        return {}
    p, q = first[0] / first[1], second[0] / second[1]
    low = p - q - math.hypot(p - limits[0][0], limits[1][1] - q)
    high = p - q + math.hypot(limits[0][1] - p, q - limits[1][0])
    return {"difference": p - q, "low": low, "high": high}


def _group(first: tuple[int, int], second: tuple[int, int], *, is_compared: bool) -> AssertionGroup:
    held, judged = first[0] + second[0], first[1] + second[1]
    if not judged or not first[1] or (is_compared and not second[1]):
        return "not judged"
    if held in {0, judged}:
        return "always holds" if held else "never holds"
    if not is_compared:
        return "no difference"
    difference = first[0] / first[1] - second[0] / second[1]
    return "tells apart" if difference > 0 else "holds less" if difference < 0 else "no difference"


def _is_dull(group: AssertionGroup) -> bool:
    return group in {"always holds", "never holds"}


def discoveries(claims: Mapping[str, float]) -> list[str]:
    """Return the skills whose difference stays with a false discovery rate of 10 % (Benjamini-Hochberg).

    Args:
        claims: p of each skill that has a claim on its evals.
    """
    adjusted = benjamini_hochberg(list(claims.values()))
    return [name for name, p in zip(claims, adjusted, strict=True) if p <= _FALSE_DISCOVERIES]
