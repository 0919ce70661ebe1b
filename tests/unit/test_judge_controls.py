from collections.abc import Iterator

import pytest

from scylla_gha.judge.controls import canary_control, order_swap_control, repeat_control
from scylla_gha.judge.prompt import BlindInput
from scylla_gha.model.judgment import Judge, JudgeAnswer, PanelDifference
from tests.support.panel import answer, make_blind, make_item, score

JUDGE = Judge("opus")
ITEMS = (make_item("Q1", points=3), make_item("Q2"))
BLIND = make_blind(items=ITEMS)
GOOD, BAD = make_blind(items=ITEMS, message="good"), make_blind(items=ITEMS, message="bad")


def flipping(judge: Judge, values: Iterator[float]) -> JudgeAnswer:
    return answer(judge.model, score(next(values)), score(0.5, "Q2"))


def positional(judge: Judge, blind: BlindInput) -> JudgeAnswer:
    """Full marks for whatever comes first."""
    return answer(judge.model, *(score(float(at == 0), item.id) for at, item in enumerate(blind.items)))


def test_a_judge_that_flips_is_found_out() -> None:
    values = iter([1.0, 0.0])
    found = repeat_control(lambda judge, _: flipping(judge, values), JUDGE, BLIND)
    assert (found.kind, found.judge, found.holds, found.compared) == ("repeat", "opus", False, 2)
    assert found.differences == (PanelDifference(id="Q1", first=1.0, second=0.0),)
    assert found.why == "1 of 2 items differ"


def test_every_later_answer_is_compared_with_the_first() -> None:
    values = iter([1.0, 0.9, 1.0, 0.8])
    found = repeat_control(lambda judge, _: flipping(judge, values), JUDGE, BLIND, times=4)
    assert (found.compared, [one.second for one in found.differences]) == (6, [0.9, 0.8])
    assert next(values, None) is None


def test_an_answer_that_is_there_already_is_the_first() -> None:
    values = iter([0.5])
    there = answer("opus", score(1.0), score(0.5, "Q2"))
    found = repeat_control(lambda judge, _: flipping(judge, values), JUDGE, BLIND, first=there)
    assert found.differences == (PanelDifference(id="Q1", first=1.0, second=0.5),)


def test_a_steady_judge_holds() -> None:
    found = repeat_control(positional, JUDGE, BLIND)
    assert (found.holds, found.differences) == (True, ())


def test_a_judge_that_favours_the_first_item_is_found_out() -> None:
    found = order_swap_control(positional, JUDGE, BLIND)
    assert found.holds is False
    assert [(one.id, one.first, one.second) for one in found.differences] == [("Q1", 1.0, 0.0), ("Q2", 0.0, 1.0)]


def test_an_item_without_an_answer_is_not_compared() -> None:
    def forgetful(judge: Judge, blind: BlindInput) -> JudgeAnswer:
        kept = score(None, "Q2")
        return answer(judge.model, *([kept] if blind.items[0].id == "Q2" else [score(1.0), kept]))

    found = order_swap_control(forgetful, JUDGE, BLIND)
    assert (found.holds, found.compared) == (True, 1)


def test_a_judge_that_never_answers_is_undecided() -> None:
    found = repeat_control(lambda judge, _: answer(judge.model, error="500"), JUDGE, BLIND)
    assert (found.holds, found.why) == (None, "no item has an answer on both sides")


@pytest.mark.parametrize(
    ("good", "bad", "holds"),
    [((1, 1), (0, 0), True), ((1, 0.2), (0, 1), True), ((0.7, 1), (0, 0), False), ((1, 1), (0.5, 0.5), True),
     ((1, 1), (0.8, 0.8), True), ((1, 1), (0.9, 0.9), False), ((1, 1), (1, 1), False), ((0.9, 0.9), (0.7, 0.7), True),
     ((1, None), (0, None), True)],
)  # fmt: skip
def test_good_must_be_high_and_bad_lower(
    good: tuple[float, float | None], bad: tuple[float, float | None], holds: bool
) -> None:
    def seeing(judge: Judge, blind: BlindInput) -> JudgeAnswer:
        first, second = good if blind is GOOD else bad
        return answer(judge.model, score(first), score(second, "Q2"))

    assert canary_control(seeing, JUDGE, GOOD, BAD).holds is holds


def test_the_verdict_says_both_values() -> None:
    found = canary_control(positional, JUDGE, GOOD, BAD)
    assert found.why == "known-good 0.75 (at least 0.8), known-bad 0.75 (lower by at least 0.2)"


@pytest.mark.parametrize(("silent", "which"), [(GOOD, "known-good"), (BAD, "known-bad")])
def test_a_canary_without_an_answer_is_undecided(silent: BlindInput, which: str) -> None:
    def half(judge: Judge, blind: BlindInput) -> JudgeAnswer:
        return answer(judge.model, score(1.0)) if blind is silent else positional(judge, blind)

    found = canary_control(half, JUDGE, GOOD, BAD)
    assert (found.holds, found.why) == (None, f"no item of the {which} answer has a value")
