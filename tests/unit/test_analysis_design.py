"""Power of designs: smallest effects, costs, and the scenarios at hand."""

import numpy as np
import pytest

from scylla_gha.analysis.contrasts import can_show
from scylla_gha.analysis.design import (
    USUAL_BASIS,
    USUAL_SPLIT,
    PowerQuestion,
    RepetitionCost,
    own_scenarios,
    pair_variances,
    power,
    repetition_cost,
    why_no_p,
)
from scylla_gha.analysis.frame import passes_by_repetition
from scylla_gha.analysis.simulated import (
    AATestOptions,
    Layout,
    differs,
    hardest_effect,
    not_worse,
    rate_differences,
    verdicts_on,
)
from scylla_gha.model.report import Power
from scylla_gha.stats.differences import Split
from scylla_gha.stats.means import mean_limits_bounded
from scylla_gha.stats.resampling import Resampling, sign_flip_p
from tests.support.frames import fault, frame, group, row, table


@pytest.fixture(scope="module")
def usual() -> Power:
    return made()


def at_hand(effect: float, scenarios: int) -> str:
    return own_scenarios(PowerQuestion("demo", 2, scenarios, 1, effect), [USUAL_SPLIT])


def made(effect: float = 0.1, arms: int = 2, scenarios: int = 47, price: RepetitionCost | None = None) -> Power:
    return power(PowerQuestion("demo", arms, scenarios, 5, effect), (), price or RepetitionCost(), USUAL_BASIS)


@pytest.mark.parametrize(
    ("scenarios", "repetitions", "points"),
    [(10, 5, 31.5), (20, 5, 20.9), (47, 1, 25.3), (47, 3, 15.9), (47, 10, 10.8), (100, 5, 8.9), (200, 5, 6.3)],
)
def test_a_verdict_takes_a_little_more_than_the_t_test_of_the_literature(
    usual: Power, scenarios: int, repetitions: int, points: float
) -> None:
    """Scenarios that tie tell nothing, and p is of signs: the fewer trials, the more is why_no_p."""
    (one,) = [each for each in usual.designs if (each.scenarios, each.repetitions) == (scenarios, repetitions)]
    assert one.smallest_effect is not None
    assert 0.98 < one.smallest_effect / (points / 100) < 1.12


@pytest.mark.parametrize(
    ("scenarios", "repetitions", "points"), [(6, 1, 96), (6, 3, 79), (8, 1, 79), (8, 3, 53), (20, 1, 44), (50, 1, 26)]
)
def test_with_few_trials_the_t_test_would_promise_far_too_much(scenarios: int, repetitions: int, points: int) -> None:
    layout = Layout(scenarios, repetitions, repetitions)
    assert hardest_effect([USUAL_SPLIT], layout, 1) == pytest.approx(points / 100, abs=0.02)


@pytest.mark.parametrize("split", [USUAL_SPLIT, Split(0.02, 0.08, 0.08, 0.9), Split(0.0, 0.2, 0.2, 0.3)])
@pytest.mark.parametrize(("scenarios", "repetitions", "family"), [(8, 3, 1), (20, 1, 1), (20, 3, 4), (50, 5, 1)])
def test_the_power_that_is_promised_is_that_of_other_experiments(
    split: Split, scenarios: int, repetitions: int, family: int
) -> None:
    layout = Layout(scenarios, repetitions, repetitions)
    effect = hardest_effect([split], layout, family)
    if effect is not None:
        seen = differs(rate_differences(split, layout, effect, 1500, seed=7), family).mean()
        assert seen == pytest.approx(0.8, abs=0.05)


def test_what_is_simulated_is_what_verdicts_say() -> None:
    """The vectorised rule against that of reports, experiment by experiment."""
    rng = np.random.default_rng(5)
    rates = rng.beta(1, 1, 9)
    shape = 60, 9
    one, other = rng.binomial(3, np.minimum(rates + 0.35, 1), shape) / 3, rng.binomial(3, rates, shape) / 3
    ruled = list(verdicts_on(one, other, AATestOptions(family=2, margin=0.3)))
    assert [each.verdict in {"better", "worse"} for each in ruled] == list(differs(one - other, 2))
    passed = [(each.contrast.inner_low or -1) > -0.3 for each in ruled]
    assert passed == list(not_worse(one - other, 0.3))
    assert {each.verdict for each in ruled} == {"better", "not_enough_data"}


@pytest.mark.parametrize(("scenarios", "family"), [(20, 24), (47, 6)])
def test_a_bound_of_p_spares_drawn_signs_and_changes_no_verdict(scenarios: int, family: int) -> None:
    d = rate_differences(USUAL_SPLIT, Layout(scenarios, 3, 3), 0.25, 300, seed=9)
    p, _ = sign_flip_p(d, Resampling())
    low, high = mean_limits_bounded(d)
    expected = (p * family <= 0.05) & ((low > 0) | (high < 0))
    assert 0.05 < expected.mean() < 1
    assert (differs(d, family) == expected).all()


def test_simulated_rates_have_the_variances_that_were_asked_for() -> None:
    split = Split(0.02, 0.08, 0.08, 0.85)
    found = rate_differences(split, Layout(2000, 4, 4), 0.0, 20)
    assert found.mean() == pytest.approx(0, abs=0.005)
    assert found.var() == pytest.approx(split.of_difference(4, 4), rel=0.05)
    assert rate_differences(split, Layout(2000, 4, 4), 0.3, 20).mean() == pytest.approx(-0.3, abs=0.01)


def test_five_scenarios_see_nothing_whatever_a_t_test_would_say(usual: Power) -> None:
    assert {one.smallest_effect for one in usual.designs if one.scenarios == 5} == {None}
    assert not can_show(5, 1)
    assert can_show(6, 1)
    assert "needs at least 6 scenarios (the experiment has 5)" in why_no_p(5, 1)


def test_more_comparisons_than_draws_can_tell() -> None:
    assert can_show(47, 113)
    assert not can_show(47, 501)
    assert "compare fewer arms" in why_no_p(47, 501)


def test_without_room_for_an_effect_there_is_none_to_be_seen() -> None:
    certain = Split(0.0, 0.0, 0.0, 0.5)
    assert hardest_effect([certain], Layout(6, 1, 1), 1) is None, "half of six scenarios cannot be six"


def test_the_cheapest_design_that_sees_it_is_marked() -> None:
    found = made(effect=0.2, price=RepetitionCost(usd=2.0, minutes=0.5))
    assert found.cheapest is not None
    assert found.cheapest.usd == min(one.usd or 0 for one in found.designs if one.sees)
    assert (found.cheapest.smallest_effect or 1) <= 0.2
    assert found.cheapest.usd == 2.0 * found.cheapest.scenarios * found.cheapest.repetitions
    assert found.cheapest.trials == 2 * found.cheapest.scenarios * found.cheapest.repetitions
    assert made(effect=0.001).cheapest is None


def test_without_a_price_there_are_no_dollars(usual: Power) -> None:
    assert {(one.usd, one.minutes) for one in usual.designs} == {(None, None)}


@pytest.mark.parametrize(
    ("scenarios", "effect", "said"),
    [
        (5, 0.1, "the 5 scenarios at hand cannot show any effect: a verdict needs at least 6 scenarios"),
        (20, 0.1, "the 20 scenarios at hand cannot show 10 points even with 100 repetitions"),
        (100, 0.1, "the 100 scenarios at hand can show 10 points with 5 repetitions"),
    ],
)
def test_power_of_the_scenarios_at_hand_is_described(scenarios: int, effect: float, said: str) -> None:
    assert at_hand(effect, scenarios).startswith(said)


def test_variances_are_those_of_each_pair() -> None:
    rows = table({"base": ["PPFF", "PPPF", "FFFF"], "arm": ["PPPP", "PFPF", "FFFP"], "once": ["P", "P", "F"]})
    (one,) = pair_variances(frame(rows), {"arm": "base", "once": "base"})
    assert (one.arm, one.scenarios) == ("arm", 3)
    assert one.within == pytest.approx((0 + 1 + 0.75) / 9)
    assert one.within_baseline == pytest.approx((1 + 0.75 + 0) / 9)
    assert one.between >= 0
    assert pair_variances(frame(rows), {"arm": "nobody"}) == ()


def test_the_arm_with_the_largest_smallest_effect_decides() -> None:
    calm, wild = Split(0.0, 0.1, 0.1, 0.5), Split(0.05, 0.2, 0.2, 0.5)
    each = [hardest_effect([split], Layout(20, 5, 5), 2) or 1 for split in (calm, wild)]
    assert each[0] < each[1] == hardest_effect([calm, wild], Layout(20, 5, 5), 2)


def test_costs_are_of_a_repetition_by_all_arms_and_unknown_is_unknown() -> None:
    rows = [
        row("a", "001-a", 1, usd=1.0, judge_usd=0.5, seconds=60.0),
        row("a", "001-a", 2, usd=2.0, judge_usd=0.5, seconds=120.0),
        row("b", "001-a", 1, usd=4.0, judge_usd=0.0, seconds=30.0),
        fault("b", "001-a", 2),
    ]
    found = repetition_cost(frame(rows), ("a", "b"))
    assert (found.usd, found.minutes) == (pytest.approx(2.0 + 4.0), pytest.approx(1.5 + 0.5))
    unknown = repetition_cost(frame([*rows, row("b", "002-b", 1, usd=None)]), ("a", "b"))
    assert unknown.usd is None
    assert unknown.minutes is not None
    assert repetition_cost(frame(rows), ("a", "c")) == RepetitionCost()


def test_the_repetitions_of_a_scenario_stand_in_a_row_in_their_order() -> None:
    rows = [row("arm", "002-b", 2, passed=False), row("arm", "002-b", 1), *group("arm", "001-a", "PFP"),
            *group("other", "003-c", "P"), fault("arm", "001-a", 9)]  # fmt: skip
    found = passes_by_repetition(frame(rows), 0)
    np.testing.assert_array_equal(found, [[1, 0, 1], [1, 0, np.nan], [np.nan] * 3])


def test_an_arm_without_a_row_has_no_column() -> None:
    assert passes_by_repetition(frame(group("arm", "001-a", "P"), "arm", "none"), 1).shape == (1, 0)
    assert passes_by_repetition(frame([], "arm"), 0).shape == (0, 0)
