from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.judge.overrides import JudgeOverrides, judge_overrides
from tests.support.bench import RUBRIC, wording
from tests.support.library import write, write_scenario, write_yaml
from tests.support.records import make_category, make_item, make_rubric, make_scenario

NAMES = ("001-one", "002-two")
OTHER = make_rubric(make_category(make_item(id="Q1", type="subjective", checks=())))


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
    with pytest.raises(
        ConfigError, match=r"strict: has no 002-two.yaml; give a rubric for each scenario of the trials"
    ):
        judge_overrides(library, NAMES, (), None, tmp_path / "strict")
    assert set(judge_overrides(library, NAMES[:1], (), None, tmp_path / "strict").scenarios) == {"001-one"}


def test_a_rubric_must_fit_the_scenario(library: Library, tmp_path: Path) -> None:
    file = write_yaml(tmp_path / "strict.yaml", RUBRIC)
    with pytest.raises(ConfigError, match=r"strict.yaml: for 001-one: item F1: the checkpoint 'greets' does not exist"):
        judge_overrides(library, ["001-one"], (), None, file)


def test_a_prompt_without_its_files_is_named(library: Library, tmp_path: Path) -> None:
    write(tmp_path / "kind" / "system_prompt.md", "Judge kindly.\n")
    with pytest.raises(ConfigError, match=r"kind/user_template.md: cannot be read"):
        judge_overrides(library, NAMES, (), tmp_path / "kind", None)
