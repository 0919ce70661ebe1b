import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.aggregate.warnings import control_warnings
from scylla_gha.config.keys import canary_key, repeat_key
from scylla_gha.judge.panel import (
    canary_control,
    has_known_answers,
    order_swap_control,
    repeat_control,
    unique_judges,
)
from scylla_gha.judge.prompt import BlindInput
from scylla_gha.model.judgment import ControlResult, Judge, JudgeAnswer, JudgeControl, PanelDifference
from tests.support.judged_repository import RUBRIC
from tests.support.library import write
from tests.support.panel import WORDING, answer, make_blind, make_item, score
from tests.support.records import make_attempt, make_cell, make_rubric, make_trial
from tests.support.repository import Repository, make_repository

JUDGE = Judge("opus")
ITEMS = (make_item("Q1", points=3), make_item("Q2"))
BLIND = make_blind(items=ITEMS)
GOOD, BAD = make_blind(items=ITEMS, message="good"), make_blind(items=ITEMS, message="bad")
OTHER_WORDS = dataclasses.replace(WORDING, system="Judge fairly.")
TRIAL = make_trial(make_cell())


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


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return make_repository(tmp_path / "repo", rubric=RUBRIC)


def test_each_judge_is_controlled_once() -> None:
    assert unique_judges(["opus", "sonnet", "opus"]) == (Judge("opus"), Judge("sonnet"))


def test_known_answers_are_a_solution_and_a_wrong_one_with_items_for_judges(repository: Repository) -> None:
    folder = repository.folder()
    assert has_known_answers(folder)
    assert not has_known_answers(dataclasses.replace(folder, rubric=make_rubric()))
    for patch in folder.wrong:
        patch.unlink()
    assert not has_known_answers(folder)


def test_without_a_solution_there_is_no_known_good(repository: Repository) -> None:
    repository.folder().solution.unlink()
    assert not has_known_answers(repository.folder())


def test_a_known_key_covers_judge_words_rubric_task_and_both_answers(repository: Repository) -> None:
    folder = repository.folder()
    keys = {
        canary_key(JUDGE, WORDING, folder),
        canary_key(Judge("sonnet"), WORDING, folder),
        canary_key(Judge("opus", temperature=0.0), WORDING, folder),
        canary_key(JUDGE, OTHER_WORDS, folder),
        canary_key(JUDGE, WORDING, dataclasses.replace(folder, rubric=make_rubric())),
        canary_key(JUDGE, WORDING, dataclasses.replace(folder, prompt="Else.\n")),
    }
    assert canary_key(JUDGE, WORDING, repository.folder()) in keys
    for patch in (folder.solution, folder.wrong[0]):
        write(patch, patch.read_bytes() + b"\n")
        keys.add(canary_key(JUDGE, WORDING, folder))
    assert len(keys) == 8


def test_a_key_of_asking_again_covers_judge_words_trial_rubric_and_times(repository: Repository) -> None:
    folder = repository.folder()
    other = make_trial(make_cell("oracle"))
    keys = [
        repeat_key(JUDGE, WORDING, folder, TRIAL, 2),
        repeat_key(JUDGE, WORDING, folder, TRIAL, 3),
        repeat_key(Judge("sonnet"), WORDING, folder, TRIAL, 2),
        repeat_key(JUDGE, OTHER_WORDS, folder, TRIAL, 2),
        repeat_key(JUDGE, WORDING, dataclasses.replace(folder, rubric=make_rubric()), TRIAL, 2),
        repeat_key(JUDGE, WORDING, folder, other, 2),
    ]
    assert len(set(keys)) == 6
    slower = make_trial(make_cell(), make_attempt(seconds=99.0))
    assert repeat_key(JUDGE, WORDING, folder, slower, 2) == keys[0]


def probe(*controls: ControlResult, **given: Any) -> JudgeControl:
    return JudgeControl.model_validate(
        {"key": "k", "judge": "opus", "scenario": "001-one", "controls": controls, **given}
    )


def control(kind: Any, holds: bool | None, **given: Any) -> ControlResult:
    return ControlResult(kind=kind, judge="opus", holds=holds, why="as seen", **given)


def noise(differ: int, of: int) -> ControlResult:
    found = tuple(PanelDifference(id=f"Q{at}", first=1.0, second=0.0) for at in range(differ))
    return control("repeat", not differ, compared=of, differences=found)


@pytest.mark.parametrize(
    ("probes", "warnings"),
    [
        pytest.param([], [], id="none"),
        pytest.param([probe(control("canary", True), control("order_swap", True))], [], id="all holds"),
        pytest.param(
            [probe(control("canary", False))], ["judge opus failed the canary of 001-one: as seen."], id="bird"
        ),
        pytest.param(
            [probe(control("order_swap", False))], ["judge opus failed the order swap of 001-one: as seen."], id="order"
        ),
        pytest.param([probe(control("canary", None))], [], id="all N/A is no fault"),
        pytest.param(
            [probe(error="400")],
            ["judge opus: not all controls of 001-one could be decided: 400."],
            id="could not be asked",
        ),
        pytest.param(
            [probe(control("canary", False), stands=False), probe(error="400", stands=False)], [], id="not by it"
        ),
        pytest.param([probe(noise(0, 3), cell="c")], [], id="steady"),
        pytest.param(
            [probe(noise(1, 3), cell="c"), probe(noise(0, 3), cell="d"), probe(noise(2, 3), cell="e")],
            ["judge opus answered 3 of 9 items differently when asked the same question again."],
            id="all trials of a judge together",
        ),
    ],
)
def test_what_a_reader_must_know_of_the_judges(probes: list[JudgeControl], warnings: list[str]) -> None:
    assert list(control_warnings(probes)) == warnings
