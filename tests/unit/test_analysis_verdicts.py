"""From rows to a verdict: what it takes, and what it says where that is not there."""

import pytest

from scylla_gha.analysis.contrasts import compare, rule, scenarios_for_equivalence, scenarios_needed
from scylla_gha.analysis.frame import BASELINE, baseline_pairings
from scylla_gha.model.analysis import Ruling
from scylla_gha.stats import format_p
from scylla_gha.stats.resampling import Resampling
from tests.support.frames import frame, table


def ruled(margin: float = 0.05, /, **arms: list[str]) -> dict[str, Ruling]:
    made = frame(table(arms))
    contrasts = compare(made, baseline_pairings(made, "base"), BASELINE, Resampling())
    return {contrast.arm: rule(contrast, margin) for contrast in contrasts}


def test_an_arm_that_wins_everywhere_is_better_though_its_differences_show_no_spread() -> None:
    ruling = ruled(base=["FF"] * 6, good=["PP"] * 6)["good"]
    assert ruling.verdict == "better"
    assert ruling.contrast.p == pytest.approx(2 / 2**6)
    assert (ruling.contrast.value, ruling.contrast.wins) == (1.0, (6, 0, 0))
    assert ruling.contrast.low is not None
    assert 0 < ruling.contrast.low < 1
    assert "+100.0 points" in ruling.why


def test_an_arm_that_loses_is_worse() -> None:
    assert ruled(base=["PPPP"] * 8, bad=["FFFP"] * 4 + ["FFFF"] * 4)["bad"].verdict == "worse"


def test_five_scenarios_never_give_a_verdict_and_the_need_is_named() -> None:
    ruling = ruled(base=["F"] * 5, good=["P"] * 5)["good"]
    assert ruling.verdict == "not_enough_data"
    assert "5 of 5 scenarios differ, and a verdict needs at least 6 that differ" in ruling.why


def test_p_is_adjusted_for_every_arm_of_the_family() -> None:
    arms = {f"good{at}": ["PP"] * 6 for at in range(4)}
    found = ruled(base=["FF"] * 6, **arms)
    assert {one.verdict for one in found.values()} == {"not_enough_data"}
    assert {one.contrast.p_adjusted for one in found.values()} == {4 * 2 / 2**6}


def test_arms_that_do_the_same_in_many_scenarios_are_equivalent_within_a_margin() -> None:
    same = ["PPPPPPPPPF"] * 40 + ["PPPPPPPPFF"] * 40
    swapped = ["PPPPPPPPFF"] * 40 + ["PPPPPPPPPF"] * 40
    ruling = ruled(0.10, base=same, twin=swapped)["twin"]
    assert ruling.verdict == "equivalent"
    assert "the limits of equivalence [" in ruling.why
    assert ruled(0.01, base=same, twin=swapped)["twin"].verdict == "not_enough_data"


@pytest.mark.parametrize("scenarios", [2, 5, 20, 58, 59, 80])
def test_identical_and_nearly_identical_arms_have_one_verdict(scenarios: int) -> None:
    """One trial in ten of one scenario may not turn equivalence around."""
    base = ["P" * 10] * scenarios
    found = ruled(0.05, base=base, same=base)["same"], ruled(0.05, base=base, near=[*base[1:], "PPPPPPPPPF"])["near"]
    first = "equivalent" if scenarios >= 59 else "not_enough_data"
    assert found[0].verdict == first
    if scenarios != 59:  # the very edge
        assert found[1].verdict == first
    if first == "not_enough_data":
        assert found[0].why.endswith("equivalent within 5 points needs at least 59 scenarios")


def test_equivalence_is_adjusted_for_the_family() -> None:
    base = ["PP"] * 70
    assert ruled(0.05, base=base, a=base)["a"].verdict == "equivalent"
    assert {one.verdict for one in ruled(0.05, base=base, a=base, b=base).values()} == {"not_enough_data"}


@pytest.mark.parametrize(("margin", "family", "needed"), [(0.05, 1, 59), (0.1, 1, 29), (0.2, 1, 14), (0.05, 2, 72)])
def test_how_many_scenarios_equivalence_takes(margin: float, family: int, needed: int) -> None:
    assert scenarios_for_equivalence(margin, family) == needed
    base = ["P"] * needed
    arms = {f"a{at}": base for at in range(family)}
    assert ruled(margin, base=base, **arms)["a0"].verdict == "equivalent"
    fewer = {name: some[1:] for name, some in {"base": base, **arms}.items()}
    assert ruled(margin, **fewer)["a0"].verdict == "not_enough_data"


def test_limits_of_a_difference_stay_within_a_hundred_points() -> None:
    ruling = ruled(base=["F"] * 7, good=["P"] * 6 + ["F"])["good"]
    contrast = ruling.contrast
    assert contrast.high is not None
    assert contrast.low is not None
    assert 0 < contrast.low < 6 / 7 < contrast.high < 1


def test_one_scenario_has_no_verdict() -> None:
    ruling = ruled(base=["FFFFFFFF"], good=["PPPPPPPP"])["good"]
    assert (ruling.verdict, ruling.contrast.low) == ("not_enough_data", None)


def test_scenarios_that_one_arm_lacks_are_dropped_and_counted() -> None:
    ruling = ruled(base=["FF"] * 7, good=["PP"] * 6 + ["-"])["good"]
    assert (ruling.contrast.scenarios, ruling.contrast.dropped) == (6, 1)


def test_arms_without_a_common_scenario_cannot_be_compared() -> None:
    ruling = ruled(base=["FF", "-"], good=["-", "PP"])["good"]
    assert (ruling.verdict, ruling.contrast.p) == ("not_enough_data", None)
    assert ruling.why == "the two sides share no scenario with a known value"


@pytest.mark.parametrize(("family", "needed"), [(1, 6), (2, 7), (6, 8), (113, 13)])
def test_how_many_scenarios_a_family_takes(family: int, needed: int) -> None:
    assert scenarios_needed(family) == needed


@pytest.mark.parametrize(
    ("p", "shown"), [(None, "unknown"), (1.0, "1"), (0.0500001, "0.050"), (0.0078125, "0.0078"), (1e-300, "< 0.0001")]
)
def test_p_is_never_shown_as_zero(p: float | None, shown: str) -> None:
    assert format_p(p) == shown
