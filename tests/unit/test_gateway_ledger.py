"""Reservations, refusals, and the order of those who wait."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from scylla_gha.gateway.budget import BudgetLedger, BudgetRefusal, Reservation, SessionBudget, TokenCounter, TrialBudget
from scylla_gha.model.traffic import Role, Tokens
from scylla_gha.providers.base import MIN_LOWERED_TOKENS, WorstCase

LONG = WorstCase(fixed=1.0, each=0.0001, asked=20_000)  # $3, and $1.8192 with the shortest answer
SHORT = WorstCase(fixed=0.5, each=0.0001, asked=5_000)  # $1, which is not lowered


def spender(trial: TrialBudget | None = None, role: Role = "agent", cell: str = "cell") -> SessionBudget:
    return SessionBudget(trial or TrialBudget("trial", None), role, cell)


def ask(
    ledger: BudgetLedger, who: SessionBudget, worst: WorstCase | None = LONG
) -> Coroutine[Any, Any, Reservation | BudgetRefusal]:
    return ledger.reserve(who, worst, lambda: False)


def made(ledger: BudgetLedger, who: SessionBudget, worst: WorstCase | None = LONG) -> Reservation:
    found = asyncio.run(ask(ledger, who, worst))
    assert isinstance(found, Reservation)
    return found


def refused(ledger: BudgetLedger, who: SessionBudget, worst: WorstCase | None = LONG) -> str:
    found = asyncio.run(ask(ledger, who, worst))
    assert isinstance(found, BudgetRefusal)
    return found.error


def test_a_request_counts_with_its_worst_case_until_it_is_settled() -> None:
    ledger, trial = BudgetLedger.opened(None, {}, {}), TrialBudget("trial", 10.0)
    first, second = made(ledger, spender(trial)), made(ledger, spender(trial))
    assert (trial.in_flight, first.tokens) == (pytest.approx(6.0), 20_000)
    first.settle(0.1)
    assert (trial.spent, trial.in_flight) == (pytest.approx(0.1), pytest.approx(3.0))
    second.settle(None)
    assert (trial.spent, trial.in_flight) == (pytest.approx(3.1), pytest.approx(0.0)), "unknown counts as reserved"
    assert ledger.experiment.spent == ledger.roles["agent"].spent == pytest.approx(3.1)
    assert ledger.roles["judge"].spent == 0


def test_an_answer_is_lowered_to_what_is_left_and_no_further_than_the_floor() -> None:
    ledger, trial = BudgetLedger.opened(None, {}, {}), TrialBudget("trial", 2.0)
    assert made(ledger, spender(trial)).tokens == 10_000
    trial = TrialBudget("trial", 1.0 + MIN_LOWERED_TOKENS * 0.0001)
    assert made(ledger, spender(trial)).tokens == MIN_LOWERED_TOKENS
    trial = TrialBudget("trial", 1.8)
    assert refused(ledger, spender(trial)) == "budget_exceeded:trial"
    assert refused(ledger, spender(TrialBudget("trial", 0.9)), SHORT) == "budget_exceeded:trial"
    unlowered = WorstCase(1.0, 0.0001, 20_000, is_fixed=True)
    assert refused(ledger, spender(TrialBudget("trial", 2.9)), unlowered) == "budget_exceeded:trial"


@pytest.mark.parametrize(
    ("ledger", "error"),
    [
        (BudgetLedger.opened(2.0, {}, {"agent": 0.5, "judge": 0.5}), "budget_exceeded:experiment"),
        (BudgetLedger.opened(9.0, {"agent": 2.0}, {"agent": 0.5, "judge": 0.5}), "budget_exceeded:role"),
        (BudgetLedger.opened(0.0, {}, {}), "budget_exceeded:experiment"),
    ],
)
def test_what_was_spent_before_counts(ledger: BudgetLedger, error: str) -> None:
    assert refused(ledger, spender()) == error


def test_a_shared_budgets_refusal_is_the_trials_own_once_its_share_is_used_up() -> None:
    ledger = BudgetLedger.opened(10.0, {}, {"agent": 9.0})
    thrifty, greedy = (TrialBudget("trial", None, spent, share=5.0) for spent in (0.0, 4.5))
    assert refused(ledger, spender(thrifty)) == "budget_exceeded:experiment"
    assert refused(ledger, spender(greedy)) == "budget_exceeded:trial_share"


def test_who_does_not_fit_beside_others_waits_in_order_and_is_woken() -> None:
    async def run() -> None:
        ledger, trial = BudgetLedger.opened(None, {}, {}), TrialBudget("trial", 3.5)
        first = await ask(ledger, spender(trial))
        assert isinstance(first, Reservation)
        order: list[str] = []

        async def wait(name: str, worst: WorstCase) -> None:
            granted = await ask(ledger, spender(trial), worst)
            order.append(name)
            assert isinstance(granted, Reservation)
            granted.settle(0.1)

        waiting = [asyncio.create_task(wait("long", LONG)), asyncio.create_task(wait("short", SHORT))]
        other = await ask(ledger, spender())
        assert isinstance(other, Reservation), "the budget of another trial is not concerned"
        assert order == []
        first.settle(0.2)
        await asyncio.gather(*waiting)
        assert order == ["long", "short"], "a smaller one does not overtake"
        assert (trial.spent, trial.in_flight) == (pytest.approx(0.4), pytest.approx(0.0))

    asyncio.run(run())


def test_a_request_that_waits_for_a_shared_budget_holds_up_its_own_session_alone() -> None:
    async def run() -> None:
        ledger, greedy = BudgetLedger.opened(4.0, {}, {}), spender()
        first = await ask(ledger, greedy)
        assert isinstance(first, Reservation)
        large = asyncio.create_task(ask(ledger, greedy))
        behind = asyncio.create_task(ask(ledger, greedy, SHORT))
        await asyncio.sleep(0)
        for _ in range(3):
            other = await ask(ledger, spender(), SHORT)
            assert isinstance(other, Reservation), "it fits beside what is in flight"
            other.settle(0.0)
        assert [large.done(), behind.done()] == [False, False]
        first.settle(0.1)
        granted = await large
        assert isinstance(granted, Reservation), "it has its turn when what is in flight settles"
        granted.settle(0.1)
        assert isinstance(await behind, Reservation)

    asyncio.run(run())


def test_who_waits_is_refused_when_the_budget_is_spent_and_leaves_nothing_behind_when_it_goes() -> None:
    async def run() -> None:
        ledger, trial = BudgetLedger.opened(None, {}, {}), TrialBudget("trial", 3.5)
        first = await ask(ledger, spender(trial))
        assert isinstance(first, Reservation)
        patient = asyncio.create_task(ask(ledger, spender(trial)))
        cancelled = asyncio.create_task(ask(ledger, spender(trial)))
        gone = await ledger.reserve(spender(trial), LONG, lambda: True)
        assert isinstance(gone, BudgetRefusal)
        assert gone.error == "client_gone"
        cancelled.cancel()
        await asyncio.wait({cancelled})
        first.settle(None)
        refusal = await patient
        assert isinstance(refusal, BudgetRefusal)
        assert refusal.error == "budget_exceeded:trial"
        assert (trial.spent, trial.in_flight) == (pytest.approx(3.0), pytest.approx(0.0))

    asyncio.run(run())


def test_what_is_kept_for_judges_is_theirs_alone() -> None:
    ledger = BudgetLedger.opened(6.0, {}, {})
    ledger.hold("cell", 4.0)
    agents = made(ledger, spender())
    assert agents.tokens == 10_000, "an agent has what is left beside it"
    agents.settle(0.2)
    assert refused(ledger, spender(role="judge", cell="other")) == "budget_exceeded:experiment"
    first = made(ledger, spender(role="judge"))
    assert ledger.holds["cell"].left == pytest.approx(1.0)
    first.settle(0.5)
    assert ledger.holds["cell"].left == pytest.approx(3.5), "what they did not need is kept for their next request"
    ledger.hold("cell", 0.0)
    assert ledger.holds == {}
    assert made(ledger, spender()).tokens == 20_000


def test_an_unknown_price_is_refused_only_under_a_budget() -> None:
    assert made(BudgetLedger.opened(None, {"judge": 1.0}, {}), spender(), None).usd == 0
    assert refused(BudgetLedger.opened(None, {"agent": 1.0}, {}), spender(), None) == "unknown_price"


def test_tokens_of_all_kinds_are_counted_until_the_budget_is_spent() -> None:
    tally = TokenCounter(100)
    tally.add(Tokens(input=10, output=20, cache_read=30, cache_write_5m=19, cache_write_1h=20), 0)
    assert (tally.spent, tally.refusal()) == (99, None)
    tally.add(None, 30)
    assert tally.spent == 109, "an answer of unknown length counts with a guess of its request"
    refusal = tally.refusal()
    assert refusal is not None
    assert refusal.error == "budget_exceeded:trial_tokens"
    assert "the limit of 100 tokens of this key is reached (109 so far)" in refusal.message
    assert TokenCounter(None, 10**9).refusal() is None
