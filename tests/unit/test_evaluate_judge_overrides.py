from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.context import JudgeOverrides
from scylla_gha.evaluate.judge_run import judge_overrides, summarise_panels
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.trial import NO_USAGE, Usage
from tests.support.judged_repository import RUBRIC, wording
from tests.support.library import write, write_scenario, write_yaml
from tests.support.records import (
    make_category,
    make_cell,
    make_item,
    make_judgment,
    make_rubric,
    make_scenario,
    make_score,
)

NAMES = ("001-one", "002-two")
OTHER = make_rubric(make_category(make_item(id="Q1", type="subjective", checks=())))
CELL = make_cell("oracle", 1)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    for name in NAMES:
        write_scenario(tmp_path / "here", make_scenario(id=name))
    return Library((tmp_path / "here",))


def test_nothing_given_is_as_the_experiment_says(library: Library) -> None:
    made = judge_overrides(library, NAMES, (), None, None)
    assert (bool(made), made) == (False, JudgeOverrides())


def test_judges_are_named_once_and_in_order(library: Library) -> None:
    made = judge_overrides(library, NAMES, ("b", "a", "b"), None, None)
    assert (bool(made), made.judges, made.wording, made.scenarios) == (True, ("b", "a"), None, {})


def test_an_alias_of_a_judge_is_its_model() -> None:
    own = Library((toolkit_root(),))
    judges = ("claude-haiku-4-5", "claude-haiku-4-5-20251001", "claude-opus-5")
    assert judge_overrides(own, (), judges, None, None).judges == ("claude-haiku-4-5-20251001", "claude-opus-5")


def test_a_prompt_is_read_from_its_folder(library: Library, tmp_path: Path) -> None:
    made = judge_overrides(library, NAMES, (), wording(tmp_path / "kind", "Judge kindly.\n"), None)
    assert made.wording is not None
    assert (bool(made), made.wording.system, made.name) == (True, "Judge kindly.\n", "prompt kind")


def test_a_rubric_of_one_scenario_takes_the_place_of_its_own(library: Library, tmp_path: Path) -> None:
    file = write_yaml(tmp_path / "strict.yaml", OTHER)
    made = judge_overrides(library, ["001-one", "001-one"], (), None, file)
    assert (bool(made), made.name, {name: one.rubric for name, one in made.scenarios.items()}) == (
        True,
        "rubric strict",
        {"001-one": OTHER},
    )
    own = library.scenario("001-one")
    assert (own.rubric, own.judging_digest) != (OTHER, made.scenarios["001-one"].judging_digest)


def test_a_rubric_of_one_scenario_is_none_of_two(library: Library, tmp_path: Path) -> None:
    file = write_yaml(tmp_path / "strict.yaml", OTHER)
    with pytest.raises(
        ConfigError, match=r"strict.yaml: is the rubric of one scenario, but the trials are of 2: 001-one,"
    ):
        judge_overrides(library, NAMES, (), None, file)


def test_a_folder_has_a_rubric_for_each_scenario(library: Library, tmp_path: Path) -> None:
    for name in NAMES:
        write_yaml(tmp_path / "strict" / f"{name}.yaml", OTHER)
    assert set(judge_overrides(library, NAMES, (), None, tmp_path / "strict").scenarios) == set(NAMES)
    (tmp_path / "strict" / "002-two.yaml").unlink()
    with pytest.raises(ConfigError, match=r"strict: lacks 002-two.yaml; give a rubric for each scenario of the trials"):
        judge_overrides(library, NAMES, (), None, tmp_path / "strict")
    assert set(judge_overrides(library, NAMES[:1], (), None, tmp_path / "strict").scenarios) == {"001-one"}


def test_a_rubric_must_fit_the_scenario(library: Library, tmp_path: Path) -> None:
    file = write_yaml(tmp_path / "strict.yaml", RUBRIC)
    with pytest.raises(ConfigError, match=r"strict.yaml: for 001-one: item F1: there is no checkpoint 'greets'"):
        judge_overrides(library, ["001-one"], (), None, file)


def test_a_prompt_without_its_files_is_named(library: Library, tmp_path: Path) -> None:
    write(tmp_path / "kind" / "system_prompt.md", "Judge kindly.\n")
    with pytest.raises(ConfigError, match=r"kind/user_template.md: cannot be read"):
        judge_overrides(library, NAMES, (), tmp_path / "kind", None)


def judged(score: float | None, passed: bool = True, usd: float | None = 0.5) -> Judgment:
    usage = NO_USAGE.model_copy(update={"usd": usd})
    return make_judgment(CELL, result=make_score(score=score, passed=passed), usage=usage)


def faulty(usd: float = 0.25) -> Judgment:
    return make_judgment(CELL, result=None, error="unjudged", usage=Usage(usd=usd))


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
