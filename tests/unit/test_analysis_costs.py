"""Cost of a pass against the baseline's, from rows."""

import pytest

from scylla_gha.analysis.estimate import frontier, pass_cost_contrasts
from scylla_gha.analysis.frame import Pairing, baseline_pairings, tier_pairings
from scylla_gha.model.analysis import Contrast
from scylla_gha.model.result import Result
from scylla_gha.stats.resampling import Resampling
from tests.support.frames import frame, group, row

HOW = Resampling()


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
        (rows("more", a=(1.0, "FF"), b=(1.0, "FF")), "an arm never passed, so the cost of its pass is infinite"),
        (rows("more", a=(0.0, "PP"), b=(0.0, "PP")), "an arm is free"),
        (rows("more", a=(None, "PP")), "the two arms share no scenario with a known cost"),
        (rows("more", a=(1.0, "PP")), "with one scenario, no interval can be computed"),
    ],
)
def test_a_missing_ratio_or_limit_has_a_note(more: list[Result], note: str) -> None:
    one = only(BASE, more)
    assert (one.note, one.low, one.high) == (note, None, None)


def test_free_arms_and_sides_of_several_arms_have_no_cost_ratio() -> None:
    free = frame([*rows("base", a=(0.0, "PP")), *rows("more", a=(0.0, "PF"))])
    assert pass_cost_contrasts(free, baseline_pairings(free, "base")) == ()
    paid = frame(BASE)
    assert pass_cost_contrasts(paid, [Pairing("x", "y", (0, 0), (0,))]) == ()
    assert pass_cost_contrasts(paid, tier_pairings(paid)) == ()


def test_the_frontier_is_the_cheapest_arm_pooled_and_scenario_by_scenario() -> None:
    rows = [*group("cheap", "001-a", "PPFF", usd=1.0), *group("cheap", "002-b", "PFFF", usd=1.0),
            *group("dear", "001-a", "PPPP", usd=3.0), *group("dear", "002-b", "PPPP", usd=3.0)]  # fmt: skip
    found = frontier(frame(rows), HOW)
    assert found is not None
    assert (found.pooled.value, found.best) == (pytest.approx(8 / 3), ("cheap",))
    assert found.per_scenario.value == pytest.approx((2.0 + 3.0) / 2)
    assert found.pareto == ("cheap", "dear")
    assert found.shares == {}, "of two scenarios, resampling tells nothing"


def test_a_person_may_be_the_cheapest() -> None:
    rows = [*group("arm", "001-a", "PF", usd=10.0, human_usd=4.0), *group("arm", "002-b", "FF", usd=1.0, human_usd=7.0)]
    found = frontier(frame(rows), HOW)
    assert found is not None
    assert (found.per_scenario.value, found.human, found.unsolved) == (5.5, 2, 0)
    alone = frontier(frame([one.model_copy(update={"human_usd": None}) for one in rows]), HOW)
    assert alone is not None
    assert (alone.per_scenario.value, alone.per_scenario.state, alone.unsolved) == (None, "infinite", 1)


def priced(arm: str, dear: float, scenarios: range) -> list[Result]:
    return [row(arm, f"{at:03d}-s", k, usd=dear * (1 + at) * (1 + 0.1 * k), passed=(at + k) % 3 > 0)
            for at in scenarios for k in (1, 2)]  # fmt: skip


def test_an_arm_that_tried_only_cheap_scenarios_is_not_the_cheapest() -> None:
    found = frontier(frame([*priced("all", 1.0, range(24)), *priced("cheap ones", 1.1, range(4))]), HOW)
    assert found is not None
    assert found.best == ("all",)
    assert found.pooled.scenarios == 4
    assert found.pooled.note == "no interval: at least 20 scenarios are needed"
    assert (found.pooled.low, found.shares) == (None, {})


def test_arms_without_a_common_scenario_have_no_frontier_together() -> None:
    found = frontier(frame([*priced("a", 1.0, range(3)), *priced("b", 1.0, range(3, 6))]), HOW)
    assert found is not None
    assert (found.pooled.state, found.pooled.value, found.best) == ("undefined", None, ())
    assert found.per_scenario.state == "undefined"


def test_one_arm_alone_has_an_interval() -> None:
    found = frontier(frame(priced("a", 1.0, range(24))), HOW)
    assert found is not None
    assert found.pooled.low is not None
    assert found.pooled.value is not None
    assert found.pooled.low < found.pooled.value
    assert found.shares == {"a": 1.0}
    assert found.optimism is None


@pytest.mark.parametrize("usd", [0.0, None])
def test_what_is_free_or_unknown_has_no_frontier(usd: float | None) -> None:
    assert frontier(frame(group("arm", "001-a", "PP", usd=usd)), HOW) is None
