from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.model.scenario import DiffCondition, FixtureSource, ProgressStep, ScenarioTask, Validation, size_of
from tests.support.records import make_category, make_checkpoint, make_item, make_rubric, make_scenario

SHA = "0123456789abcdef0123456789abcdef01234567"

ONE_KIND = "give exactly one of run, file, changes, github, git and unchanged"


@pytest.mark.parametrize(
    ("lines", "size"),
    [(0, "small"), (99, "small"), (100, "medium"), (499, "medium"), (500, "large"), (5000, "large")],
)
def test_size_follows_the_bounds_of_the_paper(lines: int, size: str) -> None:
    assert size_of(lines) == size


@pytest.mark.parametrize("given", [{}, {"fixture": "a", "repo": "https://example.org/r.git"}], ids=["neither", "both"])
def test_source_is_exactly_one_place(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="give exactly one of fixture and repo"):
        FixtureSource.model_validate({**given, "hash": SHA})


@pytest.mark.parametrize("commit", ["main", SHA[:7], SHA.upper(), SHA + "0", SHA + "\n"])
def test_source_is_pinned_to_a_whole_commit(commit: str) -> None:
    with pytest.raises(ValidationError, match="hash"):
        FixtureSource(fixture="a", hash=commit)


@pytest.mark.parametrize("folder", ["../etc", "a/b", "/", ".", "A"])
def test_fixture_is_a_plain_folder_name(folder: str) -> None:
    with pytest.raises(ValidationError, match="fixture"):
        FixtureSource(fixture=folder, hash=SHA)


@pytest.mark.parametrize(
    "name",
    ["001", "001-", "01-a", "0001-a", "001-a/../../b", "001-A", "001-a b", "001-a\n", "x001-a", "001-" + "a" * 117],
)
def test_scenario_id_is_a_number_and_a_name_that_can_be_a_folder(name: str) -> None:
    with pytest.raises(ValidationError, match="id"):
        make_scenario(id=name)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"file": None}, ONE_KIND),
        ({"file": "a", "run": "true"}, ONE_KIND),
        (
            {"run": "true", "changes": DiffCondition()},
            ONE_KIND,
        ),
        ({"file": "a", "exit": 1}, "belong to run"),
        ({"file": "a", "stdout": "x"}, "belong to run"),
        ({"file": "a", "stdout": ""}, "belong to run"),
        ({"file": "a", "stdout_matches": "x"}, "belong to run"),
        ({"changes": DiffCondition(), "graduated": True}, "belong to run"),
        ({"run": "true", "absent": True}, "belong to file"),
        ({"changes": DiffCondition(), "matches": "x"}, "belong to file"),
        ({"run": "true", "guard": True, "required": False}, "a guard is always required"),
    ],
)
def test_checkpoint_is_of_one_kind_with_its_own_keys_only(given: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValidationError, match=fault):
        make_checkpoint(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"run": "true", "exit": 3, "stdout": ""},
        {"run": "true", "graduated": True, "guard": True},
        {"file": "a", "absent": True},
        {"changes": DiffCondition(only=("src/**",), max_files=1)},
    ],
)
def test_checkpoint_is_required_unless_it_says_otherwise(given: dict[str, Any]) -> None:
    assert make_checkpoint(**given).required


@pytest.mark.parametrize("given", [{}, {"checkpoint": "a", "item": "F1"}], ids=["neither", "both"])
def test_progress_step_has_exactly_one_proof(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="exactly one of checkpoint and item"):
        ProgressStep.model_validate({"step": "x", **given})


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"category": "bugs"}, "category"),
        ({"tiers": ()}, "tiers"),
        ({"tiers": ("T7",)}, "tiers"),
        ({"checkpoints": ()}, "checkpoints"),
        ({"progress": ()}, "progress"),
        ({"runs_per_tier": 0}, "runs_per_tier"),
        ({"title": ""}, "title"),
        ({"human_baseline_usd": 0.0}, "human_baseline_usd"),
    ],
)
def test_scenario_refuses(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        make_scenario(**given)


@pytest.mark.parametrize("seconds", [0, 24 * 3600 + 1])
def test_a_time_limit_is_more_than_nothing_and_at_most_a_day(seconds: int) -> None:
    assert ScenarioTask(prompt_file="p", timeout_seconds=24 * 3600).timeout_seconds == 86_400
    with pytest.raises(ValidationError, match="timeout_seconds"):
        ScenarioTask(prompt_file="p", timeout_seconds=seconds)


def test_what_a_scenario_need_not_say() -> None:
    scenario, checkpoint = make_scenario(title="x"), make_checkpoint()
    assert (scenario.runs_per_tier, scenario.progress[0].weight) == (10, 1.0)
    assert (checkpoint.required, checkpoint.guard, checkpoint.exit) == (True, False, 0)
    assert Validation(rubric_file="r").timeout_seconds == 60


def test_items_come_in_the_order_of_the_categories() -> None:
    first = make_category(make_item(id="Q2"), make_item(id="Q1"), id="q", weight=0.5)
    second = make_category(make_item(id="A1"), id="a", weight=0.5)
    assert [item.id for item in make_rubric(first, second).items] == ["Q2", "Q1", "A1"]


def test_a_trial_passes_at_grade_b_unless_the_rubric_says_otherwise() -> None:
    assert make_rubric().pass_threshold == 0.60


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"id": "f1"}, "id"),
        ({"id": "FF1"}, "id"),
        ({"id": "F"}, "id"),
        ({"points": 0.0}, "points"),
        ({"type": "boolean"}, "type"),
        ({"text": ""}, "text"),
    ],
)
def test_item_refuses(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        make_item(**given)


@pytest.mark.parametrize("weight", [0.0, -0.1, 1.1])
def test_category_weight_is_a_share(weight: float) -> None:
    with pytest.raises(ValidationError, match="weight"):
        make_category(weight=weight)


def test_category_has_items() -> None:
    with pytest.raises(ValidationError, match="items"):
        make_category(items=())


@pytest.mark.parametrize("threshold", [0.0, 1.01])
def test_threshold_that_all_or_none_would_reach_is_refused(threshold: float) -> None:
    with pytest.raises(ValidationError, match="pass_threshold"):
        make_rubric(pass_threshold=threshold)
