from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.config.keys import judgment_key
from scylla_gha.model.judgment import ItemScore, Judgment
from scylla_gha.model.record import digest
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
    without = judgment_key(trial, "checks", "court")
    assert without == digest([trial.key, None, "checks", "court"])
    assert len({without, *(judgment_key(trial, "checks", "court", image) for image in ("a", "b"))}) == 3
