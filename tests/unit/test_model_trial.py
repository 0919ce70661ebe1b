import datetime

import pytest

from scylla_gha.model.trial import NO_USAGE, Outcome, Trial, Usage
from tests.support.records import WHEN, make_attempt, make_cell, make_trial


@pytest.mark.parametrize(
    ("outcome", "measures"),
    [
        ("completed", True),
        ("timeout", True),
        ("refused", True),
        ("agent_error", True),
        ("budget_exceeded", True),
        ("provider_error", False),
        ("sandbox_error", False),
        ("fixture_error", False),
        ("delivery_error", False),
        ("judge_error", False),
        ("cancelled", False),
    ],
)
def test_only_outcomes_that_the_agent_caused_measure_it(outcome: str, measures: bool) -> None:
    assert Outcome(outcome).measures_agent is measures


def test_there_are_eleven_outcomes() -> None:
    assert len(Outcome) == 11


def test_usage_adds_up_kind_by_kind() -> None:
    one = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4, usd=0.5)
    assert one.plus(one) == Usage(input_tokens=2, output_tokens=4, cache_read_tokens=6, cache_write_tokens=8, usd=1.0)
    assert one.plus(NO_USAGE) == one


def test_usage_that_is_unknown_in_one_part_is_unknown_in_the_sum() -> None:
    known = Usage(input_tokens=1, usd=0.5)
    assert known.plus(Usage(input_tokens=2)) == Usage(input_tokens=3, usd=None)
    assert Usage(input_tokens=2).plus(known).usd is None


def test_the_last_attempt_stands_and_all_are_paid_for() -> None:
    failed = make_attempt(outcome=Outcome.PROVIDER_ERROR, usage=NO_USAGE.model_copy(update={"usd": 0.25}))
    stands = make_attempt(number=2, outcome=Outcome.TIMEOUT, usage=NO_USAGE.model_copy(update={"usd": 0.5}))
    trial = make_trial(make_cell(), failed, stands)
    assert (trial.last, trial.outcome, trial.usage.usd) == (stands, Outcome.TIMEOUT, 0.75)


def test_a_trial_survives_its_file() -> None:
    trial = make_trial(make_cell(), make_attempt(usage=Usage(), tool_calls={"Bash": 2}))
    assert Trial.model_validate_json(trial.model_dump_json()) == trial


def test_the_age_is_that_of_the_attempt_that_stands() -> None:
    early, late = make_attempt(started_at=WHEN), make_attempt(number=2, started_at=WHEN + datetime.timedelta(days=9))
    trial = make_trial(make_cell(), early, late)
    assert not trial.is_older_than(None)
    assert not trial.is_older_than(late.started_at)
    assert trial.is_older_than(late.started_at + datetime.timedelta(seconds=1))
