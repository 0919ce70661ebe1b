"""Cost of a pass against the baseline's, from rows."""

import pytest

from scylla_gha.analysis.costs import pass_cost_contrasts
from scylla_gha.analysis.pairings import Pairing, baseline_pairings, tier_pairings
from scylla_gha.model.analysis import Contrast
from scylla_gha.model.result import Result
from tests.support.frames import frame, group


def rows(arm: str, **scenarios: tuple[float | None, str]) -> list[Result]:
    """For each scenario, what each trial costs, and its passes as letters."""
    return [one for scenario, (usd, letters) in scenarios.items() for one in group(arm, scenario, letters, usd=usd)]


def only(*found: list[Result]) -> Contrast:
    made = frame([each for part in found for each in part])
    (one,) = pass_cost_contrasts(made, baseline_pairings(made, "base"))
    return one


BASE = rows("base", a=(1.0, "PF"), b=(2.0, "PP"), c=(4.0, "FF"))


def test_it_is_the_ratio_over_the_scenarios_that_both_have() -> None:
    more = rows("more", a=(2.0, "PP"), b=(2.0, "PP"), d=(9.0, "FF"))
    one = only(BASE, more)
    assert (one.metric, one.scale, one.scenarios, one.dropped) == ("cost_of_pass", "ratio", 2, 2)
    assert one.value == pytest.approx((2.0 / 1.0) / (1.5 / 0.75))
    assert one.wins == (0, 2, 0)
    assert (one.low or 9) < (one.inner_low or 0) < 1 < (one.inner_high or 9) < (one.high or 0)
    assert (one.p, one.p_adjusted, one.note) == (None, None, "")


def test_a_scenario_without_a_pass_is_the_dearest() -> None:
    assert only(BASE, rows("more", a=(9.0, "PP"), b=(1.0, "PP"), c=(50.0, "PF"))).wins == (1, 0, 2)


@pytest.mark.parametrize(
    ("more", "note"),
    [
        (rows("more", a=(1.0, "FF"), b=(1.0, "FF")), "an arm passed nothing, so its pass has no finite cost"),
        (rows("more", a=(0.0, "PP"), b=(0.0, "PP")), "an arm is free"),
        (rows("more", a=(None, "PP")), "the two share no scenario with a known cost"),
        (rows("more", a=(1.0, "PP")), "one scenario shows no spread"),
    ],
)
def test_what_has_no_ratio_or_no_limits_says_why(more: list[Result], note: str) -> None:
    one = only(BASE, more)
    assert (one.note, one.low, one.high) == (note, None, None)


def test_where_nothing_is_paid_and_for_sides_of_several_arms_there_is_none() -> None:
    free = frame([*rows("base", a=(0.0, "PP")), *rows("more", a=(0.0, "PF"))])
    assert pass_cost_contrasts(free, baseline_pairings(free, "base")) == ()
    paid = frame(BASE)
    assert pass_cost_contrasts(paid, [Pairing("x", "y", (0, 0), (0,))]) == ()
    assert pass_cost_contrasts(paid, tier_pairings(paid)) == ()
