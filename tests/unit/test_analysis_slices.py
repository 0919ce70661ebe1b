"""Slices, judges, the best sub-test, and outliers."""

import pytest

from scylla_gha.analysis.analyse import agreement, outliers
from scylla_gha.analysis.metrics import best_subtests, slices
from scylla_gha.model.result import Result
from scylla_gha.stats.resampling import Resampling
from tests.support.frames import frame, group, row, table

HOW = Resampling()


def sub_test(name: str, passed: list[str], **given: float) -> list[Result]:
    return [
        one.model_copy(update={"variant": name, **given}) for one in table({name.lower().replace("/", "-"): passed})
    ]


def test_slices_are_of_scenarios_categories_difficulties_sizes_and_tiers() -> None:
    rows = [*sub_test("T0/a", ["PP", "PF", "FF"]), *sub_test("T0/b", ["FF", "FF", "FF"])]
    rows = [one.model_copy(update={"category": "review" if one.scenario == "000-s" else "bug_fixing"}) for one in rows]
    found = {(one.by, one.name, one.arm): one for one in slices(frame(rows))}
    assert {by for by, _, _ in found} == {"scenario", "category", "difficulty", "size", "tier"}
    review = found["category", "review", "t0-a"].rate
    assert (review.value, review.method, review.target) == (1.0, "Wilson", "these scenarios")
    fixing = found["category", "bug_fixing", "t0-a"].rate
    assert (fixing.value, fixing.scenarios, fixing.target) == (0.25, 2, "scenarios like these")
    assert found["scenario", "001-s", "t0-a"].passed == 1
    assert found["tier", "T0", "T0"].rate.value == pytest.approx(0.25)
    for one in found.values():
        assert one.rate.low is not None
        assert one.rate.high is not None
        assert 0 <= one.rate.low <= (one.rate.value or 0) <= one.rate.high <= 1


def judged(scenario: str, *scores: tuple[float | None, ...]) -> list[Result]:
    return [row("arm", scenario, at, threshold=0.6, judge_scores=dict(zip("abc", three, strict=True)))
            for at, three in enumerate(scores, start=1)]  # fmt: skip


def test_judges_who_agree_have_an_alpha_of_one() -> None:
    found = agreement(frame(judged("001-a", (0.2, 0.2, 0.2), (0.9, 0.9, 0.9))), HOW)
    assert found is not None
    assert (found.alpha, found.decisive, found.kappa) == (1.0, 0.0, 1.0)
    assert found.icc_single == pytest.approx(1.0)
    assert found.alpha_low is None, "a bootstrap of so few scenarios would be no interval"


def test_judges_on_both_sides_of_the_threshold_leave_the_pass_to_the_rule() -> None:
    rows = judged("001-a", (0.5, 0.7, 0.8), (0.9, 0.8, 0.7)) + judged("002-b", (0.1, 0.2, None), (None, 0.2, None))
    found = agreement(frame(rows), HOW)
    assert found is not None
    assert (found.trials, found.decisive) == (3, pytest.approx(1 / 3))
    bias = {(one.first, one.second): one for one in found.pairs}
    assert bias["a", "b"].bias == pytest.approx((-0.2 + 0.1 - 0.1) / 3)
    assert bias["a", "c"].n == 2
    assert set(found.by_scenario) == {"001-a", "002-b"}


def test_without_a_panel_there_is_no_agreement() -> None:
    assert agreement(frame(group("arm", "001-a", "PF")), HOW) is None


def test_the_best_sub_test_is_chosen_on_odd_and_reported_on_even_repetitions() -> None:
    rows = [*sub_test("T0/lucky", ["PFPF"] * 3), *sub_test("T0/steady", ["FPPP"] * 3), *sub_test("T1/only", ["PP"] * 3)]
    (best,) = best_subtests(frame(rows))
    assert (best.tier, best.arm, best.of) == ("T0", "t0-lucky", 2)
    assert (best.chosen.value, best.reported.value) == (1.0, 0.0)


def test_one_repetition_has_no_half_to_tell_the_best_by() -> None:
    assert list(best_subtests(frame([*sub_test("T0/a", ["P"]), *sub_test("T0/b", ["F"])]))) == []


def test_trials_far_above_their_group_and_idle_passes_are_named() -> None:
    rows = [row("arm", "001-a", at, seconds=10.0 + at, usd=1.0) for at in range(1, 9)]
    rows += [row("arm", "001-a", 9, seconds=400.0, usd=1.0), row("arm", "001-a", 10, files_changed=0, usd=1.0)]
    found = outliers(frame(rows))
    assert [(one.cell, one.what) for one in found] == [
        ("001-a--arm--r09", "seconds: 400 s; the median of its group is 14.5"),
        ("001-a--arm--r10", "passed without a change"),
    ]


def test_in_a_small_group_nothing_is_out_of_the_ordinary() -> None:
    assert outliers(frame([row("arm", "001-a", at, seconds=10.0**at) for at in range(1, 5)])) == ()
