from typing import Any

import pytest

from scylla_gha.judge.overrides import summarise_panels
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.trial import NO_USAGE, Usage
from tests.support.records import make_cell, make_judgment, make_score

A, B, C = (make_cell("oracle", number) for number in (1, 2, 3))


def judged(score: float | None, passed: bool = True, usd: float | None = 0.5) -> Judgment:
    usage = NO_USAGE.model_copy(update={"usd": usd})
    return make_judgment(A, result=make_score(score=score, passed=passed), usage=usage)


def faulty(usd: float = 0.25) -> Judgment:
    return make_judgment(A, result=None, error="unjudged", usage=Usage(usd=usd))


def test_a_panel_alone_is_compared_with_nobody() -> None:
    found = summarise_panels("experiment", ("opus",), {"a": judged(1.0), "b": judged(0.5, passed=False), "c": None})
    assert (found.panel, found.judges, found.trials, found.judged, found.passed) == ("experiment", ("opus",), 3, 2, 1)
    assert (found.mean_score, found.usd) == (0.75, 1.0)
    assert (found.compared, found.difference, found.flips) == (0, None, ())


def test_panels_differ_by_the_mean_of_their_distances_and_not_by_their_sum() -> None:
    own = {"a": judged(1.0), "b": judged(0.4), "c": judged(0.3)}
    found = summarise_panels("other", (), {"a": judged(0.8), "b": judged(0.6), "c": None}, own)
    assert (found.compared, found.difference) == (2, pytest.approx(0.2))


@pytest.mark.parametrize(
    ("mine", "theirs", "flips"),
    [
        (judged(1.0), judged(0.1, passed=False), ("a",)),
        (judged(0.1, passed=False), judged(1.0), ("a",)),
        (judged(1.0), judged(0.7), ()),
        (judged(1.0), None, ()),
        (faulty(), judged(1.0), ()),
        (judged(None, passed=False), judged(1.0), ("a",)),
    ],
)
def test_a_trial_flips_where_one_panel_passes_it_and_the_other_does_not(mine: Any, theirs: Any, flips: Any) -> None:
    assert summarise_panels("other", (), {"a": mine}, {"a": theirs}).flips == flips


def test_a_trial_without_a_score_is_judged_and_not_in_the_means() -> None:
    found = summarise_panels("other", (), {"a": judged(None, passed=False), "b": judged(0.5)}, {"a": judged(1.0)})
    assert (found.judged, found.mean_score, found.compared, found.difference) == (2, 0.5, 0, None)


@pytest.mark.parametrize(
    ("costs", "usd"), [([0.5, 0.25], 0.75), ([0.5, None], None), ([], 0)], ids=["known", "one unknown", "none"]
)
def test_what_a_panel_cost_is_unknown_where_one_part_is(costs: list[float | None], usd: float | None) -> None:
    made = {str(at): judged(1.0, usd=cost) for at, cost in enumerate(costs)}
    assert summarise_panels("other", (), made).usd == usd


def test_what_judges_cost_that_came_to_no_verdict_is_counted() -> None:
    assert summarise_panels("other", (), {"a": faulty(), "b": judged(1.0)}).usd == 0.75
