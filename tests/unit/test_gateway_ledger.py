"""Reservations and refusals."""

import pytest

from scylla_gha.gateway.ledger import Ledger, Purse, Refusal, Reservation, Tally
from scylla_gha.model.traffic import Tokens
from tests.support.gateway import PRICE


def reserved(ledger: Ledger, trial: Purse, characters: int = 3_000_000) -> Reservation:
    made = ledger.reserve(trial, "agent", PRICE, characters)
    assert isinstance(made, Reservation)
    return made


def refused(ledger: Ledger, trial: Purse | None = None) -> str:
    made = ledger.reserve(trial or Purse("trial", None), "agent", PRICE, 3)
    assert isinstance(made, Refusal)
    return made.error


def test_in_flight_counts_by_its_input_and_settles_by_its_cost() -> None:
    ledger, trial = Ledger.opened(None, {}, {}), Purse("trial", 3.0)
    first, second = reserved(ledger, trial), reserved(ledger, trial)  # a million tokens each: $2
    assert refused(ledger, trial) == "budget_exceeded:trial"
    first.settle(0.1)
    assert trial.spent == pytest.approx(0.1)
    assert trial.in_flight == pytest.approx(2.0)
    second.settle(None)
    assert trial.spent == pytest.approx(2.1), "an unknown cost counts with its estimate"
    reserved(ledger, trial).settle(1.0)
    assert refused(ledger, trial) == "budget_exceeded:trial"
    assert ledger.experiment.spent == ledger.roles["agent"].spent == pytest.approx(3.1)
    assert ledger.roles["judge"].spent == 0


@pytest.mark.parametrize(
    ("ledger", "error"),
    [
        (Ledger.opened(1.0, {}, {"agent": 0.5, "judge": 0.5}), "budget_exceeded:experiment"),
        (Ledger.opened(2.0, {"agent": 0.5}, {"agent": 0.5, "judge": 0.5}), "budget_exceeded:role"),
        (Ledger.opened(0.0, {}, {}), "budget_exceeded:experiment"),
    ],
)
def test_what_was_spent_before_counts(ledger: Ledger, error: str) -> None:
    assert refused(ledger) == error


def test_an_unknown_price_is_refused_only_under_a_budget() -> None:
    trial = Purse("trial", None)
    assert isinstance(Ledger.opened(None, {"judge": 1.0}, {}).reserve(trial, "agent", None, 3), Reservation)
    made = Ledger.opened(None, {"agent": 1.0}, {}).reserve(trial, "agent", None, 3)
    assert isinstance(made, Refusal)
    assert made.error == "unknown_price"
    assert "the budget of $1 for the role 'agent' cannot be kept" in made.message


def test_tokens_of_all_kinds_are_counted_until_the_budget_is_spent() -> None:
    tally = Tally(100)
    tally.add(Tokens(input=10, output=20, cache_read=30, cache_write_5m=19, cache_write_1h=20), 0)
    assert (tally.spent, tally.refusal()) == (99, None)
    tally.add(None, 30)
    assert tally.spent == 109, "an answer of unknown length counts with a guess of its request"
    refusal = tally.refusal()
    assert refusal is not None
    assert refusal.error == "budget_exceeded:trial_tokens"
    assert "the budget of 100 tokens for this trial is spent (109 so far); raise limits.tokens" in refusal.message
    assert Tally(None, 10**9).refusal() is None
