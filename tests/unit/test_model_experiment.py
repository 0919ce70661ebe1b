from typing import Any

import pytest
from pydantic import ValidationError

from scylla_gha.model.experiment import Limits, Retry
from tests.support.records import make_experiment


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"id": "Not A Slug"}, "id"),
        ({"id": "a/b"}, "id"),
        ({"question": ""}, "question"),
        ({"scenarios": ()}, "scenarios"),
        ({"agents": ()}, "agents"),
        ({"repetitions": 0}, "repetitions"),
        ({"repetitions": 10_000}, "repetitions"),
        ({"budget_usd": 0.0}, "budget_usd"),
        ({"baseline": ""}, "baseline"),
    ],
)
def test_experiment_refuses(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        make_experiment(**given)


@pytest.mark.parametrize("field", ["timeout_seconds", "turns", "usd", "file_mb", "diff_mb"])
def test_a_limit_of_nothing_is_refused(field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        Limits.model_validate({field: 0})


@pytest.mark.parametrize("given", [{"attempts": 0}, {"attempts": 11}, {"backoff_seconds": -1.0}])
def test_retry_is_bounded(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(given))):
        Retry.model_validate(given)


def test_one_attempt_without_a_pause_is_possible() -> None:
    assert Retry(attempts=1, backoff_seconds=0.0).attempts == 1
