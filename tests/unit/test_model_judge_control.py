import pytest
from pydantic import ValidationError

from scylla_gha.model.judgment import JudgeControl


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
