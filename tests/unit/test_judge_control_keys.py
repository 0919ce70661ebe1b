import dataclasses
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.keys import canary_key, repeat_key
from scylla_gha.judge.controls import control_warnings, has_known_answers, unique_judges
from scylla_gha.model.judgment import ControlResult, Judge, JudgeControl, PanelDifference
from tests.support.bench import RUBRIC
from tests.support.library import write
from tests.support.panel import WORDING
from tests.support.records import make_attempt, make_cell, make_rubric, make_trial
from tests.support.repository import Repository, make_repository

JUDGE = Judge("opus")
OTHER_WORDS = dataclasses.replace(WORDING, system="Judge fairly.")
TRIAL = make_trial(make_cell())


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
            ["judge opus, asked the same again, says otherwise of 3 of 9 items."],
            id="all trials of a judge together",
        ),
    ],
)
def test_what_a_reader_must_know_of_the_judges(probes: list[JudgeControl], warnings: list[str]) -> None:
    assert list(control_warnings(probes)) == warnings
