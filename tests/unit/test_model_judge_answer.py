import pytest
from pydantic import ValidationError

from scylla_gha.model.judgment import TIERS, JudgeAnswer, JudgeScore
from tests.support.panel import answer, score


def test_the_tiers_are_the_papers_and_leave_no_gap() -> None:
    bounds = list(TIERS.values())
    assert bounds[0][0] == 0
    assert [low for low, _ in bounds[1:]] == [high for _, high in bounds[:-1]] == [0.05, 0.15, 0.30, 0.50, 0.80, 1.50]


@pytest.mark.parametrize(("state", "value"), [("scored", None), ("na", 0.0), ("missing", 0.5)])
def test_only_what_is_scored_has_a_value(state: str, value: float | None) -> None:
    with pytest.raises(ValidationError, match="a scored item has a value, and no other has"):
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
