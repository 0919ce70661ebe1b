from typing import Any

import pytest

from scylla_gha.judge.reply import RawItem, item_score
from scylla_gha.model.judgment import JudgeScore
from tests.support.panel import fault, make_item, raw


def judged(kind: str, **given: Any) -> JudgeScore:
    return item_score(make_item(kind=kind), RawItem.model_validate(raw(**given)))


@pytest.mark.parametrize(
    ("points", "value"),
    [
        ([], 1.0),
        ([("trivial", 0.1), ("minor", 0.2)], 0.7),
        ([("minor", 0.3), ("minor", 0.3), ("minor", 0.3)], 0.1),  # not 0.1 and a bit
        ([("severe", 1.2)], 0.0),
        ([("critical", 1.5)], 0.0),
        ([("critical", 40)], 0.0),
    ],
)
def test_a_subjective_value_is_one_less_the_deductions(points: list[tuple[str, float]], value: float) -> None:
    assert judged("subjective", deductions=[fault(*one) for one in points]).value == value


@pytest.mark.parametrize(("own", "flags"), [(0.75, ()), (1.0, ("evidence_contradicts_score",))])
def test_a_judges_own_number_of_a_subjective_item_is_not_taken(own: float, flags: tuple[str, ...]) -> None:
    one = judged("subjective", score=own, deductions=[fault("minor", 0.3)])
    assert (one.value, one.flags) == (0.7, flags)


@pytest.mark.parametrize(
    ("kind", "score", "value"),
    [("binary", 1, 1.0), ("binary", 0, 0.0), ("graduated", 0.25, 0.25), ("graduated", 1, 1.0)],
)
def test_other_items_have_the_judges_number(kind: str, score: float, value: float) -> None:
    one = judged(kind, score=score)
    assert (one.state, one.value, one.flags) == ("scored", value, ())


@pytest.mark.parametrize(
    ("kind", "given", "reason"),
    [
        ("binary", {"score": 0.5}, "score: of a binary item it is 0 or 1"),
        ("binary", {"score": 10}, "score: of a binary item it is 0 or 1"),
        ("graduated", {"score": 1.01}, "score: is not in 0..1"),
        ("graduated", {"score": -0.2}, "score: is not in 0..1"),
        ("graduated", {"score": float("inf")}, "score: is not in 0..1"),
        ("subjective", {"deductions": [fault("minor", 0.9)]}, "deductions: minor is 0.15 to 0.30 points, not 0.9"),
        ("subjective", {"deductions": [fault("critical", 0)]}, "deductions: critical is 1.50 points or more, not 0"),
        ("subjective", {"deductions": [fault("trivial", -1)]}, "deductions: trivial is 0.05 to 0.15 points, not -1"),
        ("binary", {"score": 1, "deductions": [fault("major", 5)]}, "deductions: major is 0.50 to 0.80 points, not 5"),
    ],
)  # fmt: skip
def test_a_number_out_of_range_is_missing_and_never_moved_into_it(
    kind: str, given: dict[str, Any], reason: str
) -> None:
    one = judged(kind, **given)
    assert (one.state, one.value, one.reason, one.flags) == ("missing", None, reason, ("points_out_of_range",))


def test_no_number_is_missing_without_a_flag() -> None:
    one = judged("binary")
    assert (one.state, one.reason, one.flags) == ("missing", "score: is null, and it is not N/A either", ())


def test_not_applicable_needs_a_reason_and_nothing_else() -> None:
    one = judged("binary", na=" there are no tests ")
    assert (one.state, one.value, one.reason) == ("na", None, "there are no tests")
    assert judged("binary", na=" ", score=1).state == "scored"
    both = judged("binary", na="no tests", score=1)
    assert (both.state, both.reason) == ("missing", "it is N/A, and yet has a score or deductions")
    assert judged("subjective", na="no tests", deductions=[fault("minor", 0.2)]).state == "missing"


@pytest.mark.parametrize(
    ("kind", "given", "flagged"),
    [
        ("binary", {"score": 1, "deductions": [fault("major", 0.6)]}, True),
        ("graduated", {"score": 1, "deductions": [fault("critical", 2)]}, True),
        ("binary", {"score": 1, "deductions": [fault("minor", 0.2)]}, False),
        ("binary", {"score": 1, "evidence": "The requirement is not fully met."}, True),
        ("binary", {"score": 1, "evidence": "The requirement is met."}, False),
        ("binary", {"score": 0, "evidence": "All requirements are fully satisfied."}, True),
        ("binary", {"score": 0, "evidence": "It is satisfied by nothing that I can see."}, False),
        ("binary", {"score": 0, "evidence": "It is not satisfied."}, False),
        ("binary", {"score": 0, "evidence": "It doesn't matter that it is met."}, False),
        ("binary", {"score": 0, "evidence": "It is met.", "deductions": [fault("critical", 2)]}, False),
        ("graduated", {"score": 0.5, "evidence": "All are satisfied."}, False),
    ],
)
def test_evidence_that_speaks_against_the_value_is_flagged(kind: str, given: dict[str, Any], flagged: bool) -> None:
    one = judged(kind, **given)
    assert one.flags == (("evidence_contradicts_score",) if flagged else ())
    assert one.value == given["score"]


def test_long_words_are_cut() -> None:
    one = judged("binary", score=1, evidence="e" * 90_000)
    assert len(one.evidence) == 2_000
