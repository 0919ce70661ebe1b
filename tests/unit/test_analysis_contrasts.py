"""Comparisons against scipy and by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from scylla_gha.analysis.contrasts import compare, likely_effect, paired_contrasts, screen
from scylla_gha.analysis.design import USUAL_SPLIT
from scylla_gha.analysis.frame import BASELINE, TIERS, Pairing, baseline_pairings, model_pairings, tier_pairings
from scylla_gha.analysis.simulated import Layout, hardest_effect
from scylla_gha.model.analysis import Contrast
from scylla_gha.model.result import Result
from scylla_gha.stats.resampling import Resampling
from tests.support.frames import frame, row, table

HOW = Resampling()
ARMS = {"base": ["PPFF", "PFFF", "PPPF", "FFFF", "PPFF", "PFFF", "PPPP"],
        "more": ["PPPF", "PPFF", "PPPP", "PFFF", "PPFF", "PPPF", "PPPF"]}  # fmt: skip


def rates(arm: str) -> list[float]:
    return [letters.count("P") / len(letters) for letters in ARMS[arm]]


def passes() -> Contrast:
    made = frame(table(ARMS))
    (one,) = compare(made, baseline_pairings(made, "base"), BASELINE, HOW)
    return one


def test_the_headline_is_the_paired_t_of_scenario_means_in_score_form() -> None:
    one, test = passes(), stats.ttest_rel(rates("more"), rates("base"))
    mean = np.mean(rates("more")) - np.mean(rates("base"))
    assert one.value == pytest.approx(mean)
    error = mean / test.statistic
    for limit in (one.low, one.high):
        assert limit is not None
        inside = math.sqrt((1 - limit**2) / (1 - mean**2))
        assert abs(mean - limit) / (error * inside) == pytest.approx(stats.t.ppf(0.975, 6))
    interval = test.confidence_interval(0.95)
    assert (one.low, one.high) == (pytest.approx(interval.low, abs=0.02), pytest.approx(interval.high, abs=0.02))


def test_the_limits_of_equivalence_allow_for_what_is_too_rare_to_be_seen() -> None:
    one = passes()
    assert (one.inner_low, one.inner_high) == (one.equal_low, one.equal_high), "of a family of one"
    assert one.inner_high is not None
    assert one.high is not None
    assert one.inner_high > stats.ttest_rel(rates("more"), rates("base")).confidence_interval(0.90).high


def test_its_p_is_the_exact_sign_flip() -> None:
    d = np.subtract(rates("more"), rates("base"))
    oracle = stats.permutation_test((d,), np.mean, permutation_type="samples", vectorized=True)
    assert passes().p == pytest.approx(oracle.pvalue)
    assert passes().least_p == pytest.approx(2 / 2**6), "a scenario without a difference tells nothing"


def test_scenarios_won_tied_and_lost_are_counted() -> None:
    assert passes().wins == (5, 1, 1)


def test_effects_are_of_trials_and_of_scenario_means() -> None:
    one = passes()
    d = np.subtract(rates("more"), rates("base"))
    assert one.d_z == pytest.approx(d.mean() / d.std(ddof=1))
    assert one.correlation == pytest.approx(np.corrcoef(rates("more"), rates("base"))[0, 1])
    assert one.cohens_d is not None
    assert one.hedges_g is not None
    assert one.cliffs_delta is not None
    assert 0 < one.hedges_g < one.cohens_d
    assert one.cliffs_delta == pytest.approx((18 * 15 - 10 * 13) / 28**2)


def test_a_family_is_adjusted_after_holm() -> None:
    made = frame(table({**ARMS, "third": ["FFFF"] * 7}))
    found = compare(made, baseline_pairings(made, "base"), BASELINE, HOW)
    raw = sorted(one.p for one in found if one.p is not None)
    adjusted = sorted(one.p_adjusted for one in found if one.p_adjusted is not None)
    assert adjusted == [pytest.approx(2 * raw[0]), pytest.approx(max(raw[1], 2 * raw[0]))]
    assert {(one.family_size, one.adjustment) for one in found} == {(2, "Holm")}


def test_what_is_paid_is_compared_as_a_ratio_of_geometric_means() -> None:
    paid = {"base": (1.0, 2.0, 5.0, 9.0), "more": (2.0, 4.4, 10.0, 18.0)}
    rows = [row(arm, f"{at:03d}-s", 1, usd=usd) for arm, all_of in paid.items() for at, usd in enumerate(all_of)]
    made = frame(rows)
    usd = {one.metric: one for one in screen(made, baseline_pairings(made, "base"), HOW)}["usd"]
    assert usd.scale == "ratio"
    assert usd.value == pytest.approx(math.exp((3 * math.log(2) + math.log(2.2)) / 4))
    assert usd.low is not None
    assert usd.low > 1.5
    assert (usd.family, usd.adjustment) == ("screening", "Benjamini-Hochberg")


def test_a_free_arm_is_compared_by_difference_not_ratio() -> None:
    made = frame(table(ARMS))
    found = {one.metric: one for one in screen(made, baseline_pairings(made, "base"), HOW)}
    assert found["usd"].scale == "difference"
    assert (found["usd"].value, found["usd"].low) == (0.0, None)
    assert found["usd"].note == "all differences are equal, so no interval can be computed"


def test_tiers_are_compared_with_the_one_before_their_sub_tests_weighing_the_same() -> None:
    def of(variant: str, passed: list[str]) -> list[Result]:
        return [one.model_copy(update={"variant": variant}) for one in table({variant.lower(): passed})]

    made = frame(of("T0/a", ["FF"] * 6) + of("T1/a", ["PP"] * 6) + of("T1/b", ["PF"] * 6) + of("T2/a", ["PP"] * 6))
    found = compare(made, tier_pairings(made), TIERS, HOW)
    assert [(one.arm, one.baseline, one.value) for one in found] == [("T1", "T0", 0.75), ("T2", "T1", 0.25)]


def test_models_are_compared_over_the_variants_that_both_have() -> None:
    made = frame(table({"a.m1": ["PP"] * 3, "a.m2": ["PF"] * 3}))
    assert model_pairings(made, {"a.m1": "m1", "a.m2": "m2"}) == [Pairing("m1", "m2", (0,), (1,))]
    assert model_pairings(made, {"a.m1": "m1", "a.m2": None}) == []


def test_a_baseline_without_rows_has_no_comparison() -> None:
    made = frame(table({"a": ["P"]}))
    assert baseline_pairings(made, "base") == []
    assert compare(made, [], BASELINE, HOW) == ()


@pytest.mark.parametrize(("scenarios", "repetitions", "family"), [(8, 3, 1), (20, 1, 1), (20, 3, 1), (12, 3, 5)])
def test_a_report_and_power_name_about_the_same_smallest_effect(scenarios: int, repetitions: int, family: int) -> None:
    """An effect that does not change the spread: the same level, and the sign-flip test counts in both."""
    layout = Layout(scenarios, repetitions, repetitions)
    promised = hardest_effect([USUAL_SPLIT], layout, family) or 0.0
    spread = math.sqrt(USUAL_SPLIT.of_difference(repetitions, repetitions))
    assert spread * (likely_effect(scenarios, family) or 0.0) == pytest.approx(promised, rel=0.12)


def test_there_is_no_smallest_effect_if_no_verdict_can_detect_one() -> None:
    ups = [0.3, 0.1, 0.2, 0.4, 0.1, 0.2]

    def smallest(scenarios: int, family: int) -> float | None:
        means = np.array([ups[:scenarios]])
        (one,) = paired_contrasts(means, np.zeros_like(means), "pass_rate", "difference", HOW, family)
        return one.smallest_effect

    assert smallest(5, 1) is None
    assert smallest(6, 1) is not None
    assert smallest(6, 2) is None
