from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.config.keys import judgment_key
from scylla_gha.model import digest
from scylla_gha.model.judgment import TIERS, ItemScore, JudgeAnswer, JudgeControl, JudgeScore, Judgment
from tests.support.panel import answer, score
from tests.support.records import make_attempt, make_cell, make_check, make_judgment, make_score, make_trial


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan")])
def test_values_are_fractions(value: float) -> None:
    with pytest.raises(ValidationError, match="value"):
        make_check(value=value)
    with pytest.raises(ValidationError, match="score"):
        make_score(score=value)


@pytest.mark.parametrize("given", [{"grade": "E"}, {"grade": "a"}, {"passed": None}])
def test_score_refuses(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(given))):
        make_score(**given)


def test_an_item_that_is_not_scored_is_not_zero_in_its_file() -> None:
    item = ItemScore(id="O1", category="all", points=1.0, value=None, by="judge", reason="no panel")
    judgment = make_judgment(make_cell(), items=(item,), result=make_score(score=None, grade=None, passed=False))
    text = judgment.model_dump_json()
    assert '"value":null' in text
    assert '"score":null' in text
    assert Judgment.model_validate_json(text) == judgment


def test_the_image_that_checks_run_in_is_in_the_key_where_there_is_one() -> None:
    trial = make_trial(make_cell(), make_attempt(diff=None))
    without = judgment_key(trial, "checks", "panel")
    assert without == digest([trial.key, None, "checks", "panel"])
    assert len({without, *(judgment_key(trial, "checks", "panel", image) for image in ("a", "b"))}) == 3


def test_the_tiers_are_the_papers_and_leave_no_gap() -> None:
    bounds = list(TIERS.values())
    assert bounds[0][0] == 0
    assert [low for low, _ in bounds[1:]] == [high for _, high in bounds[:-1]] == [0.05, 0.15, 0.30, 0.50, 0.80, 1.50]


@pytest.mark.parametrize(("state", "value"), [("scored", None), ("na", 0.0), ("missing", 0.5)])
def test_only_what_is_scored_has_a_value(state: str, value: float | None) -> None:
    with pytest.raises(ValidationError, match="a scored item needs a value, and any other must have none"):
        JudgeScore.model_validate({"id": "Q1", "evidence": "", "state": state, "value": value})


def test_an_item_that_is_missing_is_no_answer() -> None:
    gone = JudgeScore(id="Q1", evidence="", state="missing", reason="not answered")
    said = answer("opus", gone, score(None, "Q2"))
    assert said.score("Q1") is None
    assert said.score("Q2") == score(None, "Q2")
    assert said.score("Q3") is None


def test_an_answer_survives_its_file() -> None:
    said = answer("opus", score(0.25, flags=("evidence_contradicts_score",)), steps=("one",), error="late")
    assert JudgeAnswer.model_validate_json(said.model_dump_json()) == said


def test_a_probe_is_about_a_trial_or_about_a_scenario() -> None:
    known = JudgeControl(key="k", judge="opus", scenario="001-one")
    assert (known.subject, known.model_copy(update={"cell": "001-one--nop--r01"}).subject) == (
        "001-one",
        "001-one--nop--r01",
    )


def test_a_probe_that_was_never_asked_cost_nothing() -> None:
    assert JudgeControl(key="k", judge="opus", scenario="001-one").usage.usd == 0.0


def test_nobody_is_asked_less_than_once() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        JudgeControl(key="k", judge="opus", scenario="001-one", times=0)
