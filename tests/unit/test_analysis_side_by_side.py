"""Comparison of two result sets, and warnings of what else differs between them."""

from collections.abc import Sequence
from typing import Any

import pytest

from scylla_gha.analysis.side_by_side import FAMILY, confounders, side_by_side
from scylla_gha.model.analysis import Verdict
from scylla_gha.model.report import Flip, Metric
from scylla_gha.model.result import Result
from tests.support.records import make_cell, make_result


def rows(passes: Sequence[int], of: int = 4, arm: str = "x", usd: Sequence[float] = ()) -> list[Result]:
    """A scenario for each number, passed so many times; the cost of its trials."""
    return [
        make_result(make_cell(arm, number + 1, f"s{at:02d}"), passed=number < hits, usd=usd[at] if usd else 1.0)
        for at, hits in enumerate(passes) for number in range(of)
    ]  # fmt: skip


def test_b_is_compared_with_a_and_flips_are_listed() -> None:
    (pair,) = side_by_side(rows([0, 4, 2, 1]), rows([4, 1, 2, 2], arm="y"), [("x", "y")], "pass_rate", 0.05)
    assert (pair.a_arm, pair.b_arm, pair.before, pair.after) == ("x", "y", (7, 16), (9, 16))
    one = pair.ruling.contrast
    assert (one.arm, one.baseline, one.wins, one.family) == ("b:y", "a:x", (2, 1, 1), FAMILY)
    assert one.value == pytest.approx(0.125)
    assert pair.fixes == (
        Flip(scenario="s00", before=(0, 4), after=(4, 4)),
        Flip(scenario="s03", before=(1, 4), after=(2, 4)),
    )
    assert pair.regressions == (Flip(scenario="s01", before=(4, 4), after=(1, 4)),)
    assert {"usd", "tokens", "seconds", "score"} <= {other.metric for other in pair.others}


@pytest.mark.parametrize(
    ("metric", "a", "b", "verdict"),
    [
        ("pass_rate", [0] * 10, [4, 3] * 5, "better"),
        ("pass_rate", [4, 3] * 5, [0] * 10, "worse"),
        ("usd", [1.0] * 10, [0.5, 0.6] * 5, "better"),
        ("usd", [0.5, 0.6] * 5, [1.0] * 10, "worse"),
        ("usd", [1.0] * 10, [1.0, 1.01] * 5, "equivalent"),
        ("usd", [1.0] * 10, [0.2, 3.0] * 5, "not_enough_data"),
        ("usd", [0.0] * 10, [0.5, 0.6] * 5, "worse"),
    ],
)
def test_less_is_better_of_what_is_spent(metric: Metric, a: list[float], b: list[float], verdict: Verdict) -> None:
    sides = [rows([int(one) for one in side]) if metric == "pass_rate" else rows([2] * 10, usd=side) for side in (a, b)]
    (pair,) = side_by_side(sides[0], sides[1], [("x", "x")], metric, 0.05)
    assert pair.ruling.verdict == verdict
    assert metric not in {other.metric for other in pair.others}
    if metric == "usd":
        assert ("x" if all(a) else "usd") in pair.ruling.why
        assert "points" not in pair.ruling.why


def test_p_is_adjusted_for_all_pairs() -> None:
    a = [*rows([0] * 8), *rows([2] * 8, arm="y")]
    b = [*rows([4] * 7 + [3]), *rows([2] * 8, arm="y")]
    both = side_by_side(a, b, [("x", "x"), ("y", "y")], "pass_rate", 0.05)
    first = both[0].ruling.contrast
    assert (first.family_size, first.p_adjusted) == (2, pytest.approx(2 * (first.p or 0)))


def test_no_shared_scenario_is_not_enough_data() -> None:
    other = [row.model_copy(update={"scenario": f"other-{row.scenario}"}) for row in rows([1, 2])]
    (pair,) = side_by_side(rows([1, 2]), other, [("x", "x")], "pass_rate", 0.05)
    assert (pair.ruling.verdict, pair.ruling.contrast.value, pair.fixes) == ("not_enough_data", None, ())


def test_without_pairs_there_is_no_comparison() -> None:
    assert side_by_side([], rows([1]), (), "score", 0.05) == ()


SAME = (("nop", "nop"),)


def set_of(**given: Any) -> list[Result]:
    return [make_result(make_cell(scenario=name), **given) for name in ("001-one", "002-two")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sandbox": "docker"}, "A and B have different sandboxes: host and docker."),
        ({"network": "none"}, "A and B have different sandboxes: host and host (network: none)."),
        ({"agent_version": "2"}, "nop: A and B have different agent versions: 1 and 2."),
        ({"threshold": 0.8}, "A and B have different thresholds: 0.6 and 0.8."),
        (
            {"workspace_digest": "other"},
            "2 scenarios started from different states in A and B: 001-one, 002-two.",
        ),
        ({"model": "n"}, "nop: A and B have different models: m and n."),
    ],
)
def test_what_differs_beside_the_question_is_warned_of(given: dict[str, Any], message: str) -> None:
    usual = {"threshold": 0.6, "model": "m"}
    (warning,) = confounders(set_of(**usual), set_of(**{**usual, **given}), SAME)
    assert warning.startswith(message)


def test_equal_or_unknown_conditions_have_no_warning() -> None:
    assert list(confounders(set_of(), set_of(), SAME)) == []
    assert list(confounders(set_of(), set_of(agent_version=None, workspace_digest=None), SAME)) == []
    assert list(confounders([], set_of(), ())) == []


def test_other_models_of_arms_with_other_names_are_the_question() -> None:
    other = [row.model_copy(update={"arm": "new"}) for row in set_of(model="n")]
    assert list(confounders(set_of(model="m"), other, (("nop", "new"),))) == []
