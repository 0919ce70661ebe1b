"""Scenarios on GitHub that ask for words: code decides on facts, judges on what is said, and both are proved."""

import functools
from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder, unmet_items

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.name for path in (ROOT / "scenarios/github").iterdir())
ASK_FOR_WORDS = ("151", "152", "153", "155", "156", "157", "158")


@functools.cache
def scenario(name: str) -> ScenarioFolder:
    return Library((ROOT,)).scenario(name)


def judged(folder: ScenarioFolder) -> set[str]:
    return {item.id for item in folder.rubric.items if not item.checks}


def test_what_these_ask_to_be_said_is_for_judges() -> None:
    assert {name[:3] for name in NAMES if judged(scenario(name))} >= set(ASK_FOR_WORDS)


@pytest.mark.parametrize("name", NAMES)
def test_an_item_of_judges_decides_whether_a_trial_passes(name: str) -> None:
    items = [item for item in scenario(name).rubric.items if not item.checks]
    assert [item.id for item in items if not item.required] == [], "a trial would pass by code alone"


@pytest.mark.parametrize("name", NAMES)
def test_each_item_of_judges_has_a_wrong_solution_that_code_accepts(name: str) -> None:
    folder = scenario(name)
    assert {item for file in folder.wrong for item in unmet_items(file)} == judged(folder)


@pytest.mark.parametrize("name", [name for name in NAMES if name[:3] in ASK_FOR_WORDS])
def test_words_are_tried_hidden_and_in_other_forms(name: str) -> None:
    folder = scenario(name)
    assert unmet_items(folder.path / "wrong" / "hidden-text.sh") == (), "code rejects what the page does not show"
    assert len(folder.right) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_no_condition_looks_for_words_in_markdown(name: str) -> None:
    conditions = [point.github for point in scenario(name).scenario.checkpoints if point.github]
    texts = [condition for condition in conditions if "source" in condition.select]
    assert [condition for condition in texts if "length(source)" not in condition.select] == []
