"""Reservations, refusals, and the order of those who wait."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from scylla_gha.gateway.budget import Budget, BudgetLedger, RequestRefusal, Reservation, SessionBudget
from scylla_gha.model.traffic import Role
from scylla_gha.providers.base import MIN_LOWERED_TOKENS, WorstCase

LONG = WorstCase(prompt_usd=1.0, token_usd=0.0001, asked=20_000)  # $3, and $1.8192 with the shortest answer
SHORT = WorstCase(prompt_usd=0.5, token_usd=0.0001, asked=5_000)  # $1, which is not lowered


def spender(trial: Budget | None = None, role: Role = "agent", cell: str = "cell") -> SessionBudget:
    return SessionBudget(trial or Budget("trial", None), role, cell)


def ask(
    ledger: BudgetLedger, who: SessionBudget, worst: WorstCase | None = LONG
) -> Coroutine[Any, Any, Reservation | RequestRefusal]:
    return ledger.reserve(who, worst, lambda: False)


def granted(ledger: BudgetLedger, who: SessionBudget, worst: WorstCase | None = LONG) -> Reservation:
    found = asyncio.run(ask(ledger, who, worst))
    assert isinstance(found, Reservation)
    return found


def refused(ledger: BudgetLedger, who: SessionBudget, worst: WorstCase | None = LONG) -> str:
    found = asyncio.run(ask(ledger, who, worst))
    assert isinstance(found, RequestRefusal)
    return found.error


def test_a_request_counts_with_its_worst_case_until_it_is_settled() -> None:
    ledger, trial = BudgetLedger(None, {}, {}), Budget("trial", 10.0)
    first, second = granted(ledger, spender(trial)), granted(ledger, spender(trial))
    assert (trial.in_flight, first.tokens) == (pytest.approx(6.0), 20_000)
    first.settle(0.1)
    assert (trial.spent, trial.in_flight) == (pytest.approx(0.1), pytest.approx(3.0))
    second.settle(None)
    assert (trial.spent, trial.in_flight) == (pytest.approx(3.1), pytest.approx(0.0)), "unknown counts as reserved"
    assert ledger.experiment.spent == ledger.roles["agent"].spent == pytest.approx(3.1)
    assert ledger.roles["judge"].spent == 0


def test_an_answer_is_lowered_to_what_is_left_and_no_further_than_the_floor() -> None:
    ledger, trial = BudgetLedger(None, {}, {}), Budget("trial", 2.0)
    assert granted(ledger, spender(trial)).tokens == 10_000
    trial = Budget("trial", 1.0 + MIN_LOWERED_TOKENS * 0.0001)
    assert granted(ledger, spender(trial)).tokens == MIN_LOWERED_TOKENS
    trial = Budget("trial", 1.8)
    assert refused(ledger, spender(trial)) == "budget_exceeded:trial"
    assert refused(ledger, spender(Budget("trial", 0.9)), SHORT) == "budget_exceeded:trial"
    unlowered = WorstCase(1.0, 0.0001, 20_000, is_fixed=True)
    assert refused(ledger, spender(Budget("trial", 2.9)), unlowered) == "budget_exceeded:trial"


@pytest.mark.parametrize(
    ("ledger", "error"),
    [
        (BudgetLedger(2.0, {}, {"agent": 0.5, "judge": 0.5}), "budget_exceeded:experiment"),
        (BudgetLedger(9.0, {"agent": 2.0}, {"agent": 0.5, "judge": 0.5}), "budget_exceeded:role"),
        (BudgetLedger(0.0, {}, {}), "budget_exceeded:experiment"),
    ],
)
def test_what_was_spent_before_counts(ledger: BudgetLedger, error: str) -> None:
    assert refused(ledger, spender()) == error


def test_a_shared_budgets_refusal_is_the_trials_own_once_its_share_is_used_up() -> None:
    ledger = BudgetLedger(10.0, {}, {"agent": 9.0})
    thrifty, greedy = (Budget("trial", None, spent, share=5.0) for spent in (0.0, 4.5))
    assert refused(ledger, spender(thrifty)) == "budget_exceeded:experiment"
    assert refused(ledger, spender(greedy)) == "budget_exceeded:trial_share"


def test_who_does_not_fit_beside_others_waits_in_order_and_is_woken() -> None:
    async def run() -> None:
        ledger, trial = BudgetLedger(None, {}, {}), Budget("trial", 3.5)
        first = await ask(ledger, spender(trial))
        assert isinstance(first, Reservation)
        order: list[str] = []

        async def wait(name: str, worst: WorstCase) -> None:
            answer = await ask(ledger, spender(trial), worst)
            order.append(name)
            assert isinstance(answer, Reservation)
            answer.settle(0.1)

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
        ledger, greedy = BudgetLedger(4.0, {}, {}), spender()
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
        answer = await large
        assert isinstance(answer, Reservation), "it has its turn when what is in flight settles"
        answer.settle(0.1)
        assert isinstance(await behind, Reservation)

    asyncio.run(run())


def test_who_waits_is_refused_when_the_budget_is_spent_and_leaves_nothing_behind_when_it_goes() -> None:
    async def run() -> None:
        ledger, trial = BudgetLedger(None, {}, {}), Budget("trial", 3.5)
        first = await ask(ledger, spender(trial))
        assert isinstance(first, Reservation)
        patient = asyncio.create_task(ask(ledger, spender(trial)))
        cancelled = asyncio.create_task(ask(ledger, spender(trial)))
        gone = await ledger.reserve(spender(trial), LONG, lambda: True)
        assert isinstance(gone, RequestRefusal)
        assert gone.error == "client_gone"
        cancelled.cancel()
        await asyncio.wait({cancelled})
        first.settle(None)
        refusal = await patient
        assert isinstance(refusal, RequestRefusal)
        assert refusal.error == "budget_exceeded:trial"
        assert (trial.spent, trial.in_flight) == (pytest.approx(3.0), pytest.approx(0.0))

    asyncio.run(run())


def test_what_is_kept_for_judges_is_theirs_alone() -> None:
    ledger = BudgetLedger(6.0, {}, {})
    ledger.reserve_for_judges("cell", 4.0)
    agents = granted(ledger, spender())
    assert agents.tokens == 10_000, "an agent has what is left beside it"
    agents.settle(0.2)
    assert refused(ledger, spender(role="judge", cell="other")) == "budget_exceeded:experiment"
    first = granted(ledger, spender(role="judge"))
    first.settle(0.5)
    assert refused(ledger, spender()) == "budget_exceeded:experiment", "what judges did not need stays reserved"
    ledger.reserve_for_judges("cell", 0.0)
    assert granted(ledger, spender()).tokens == 20_000


def test_judges_use_their_reserve_before_anything_that_agents_may_spend() -> None:
    ledger = BudgetLedger(6.5, {}, {})
    ledger.reserve_for_judges("cell", 4.0)

    def agents_tokens() -> int:
        reservation = asyncio.run(ledger.reserve(spender(), LONG, lambda: True))
        assert isinstance(reservation, Reservation), "it need not wait"
        reservation.settle(0.0)
        return reservation.tokens

    assert agents_tokens() == 15_000, "$2.50 are left beside the reserve"
    first = granted(ledger, spender(role="judge"))
    assert agents_tokens() == 15_000, "$3 of the reserve are in flight, and $1 is left of it"
    first.settle(0.5)
    assert agents_tokens() == 15_000, "what was not needed is reserved for the judges' next request"
    granted(ledger, spender(role="judge")).settle(None)
    assert agents_tokens() == 15_000, "an unknown cost is taken from the reserve as it was estimated"
    granted(ledger, spender(role="judge")).settle(1.0)
    assert agents_tokens() == 10_000, "of the last request, the reserve had $0.50"


def test_an_unknown_price_is_refused_only_under_a_budget() -> None:
    assert granted(BudgetLedger(None, {"judge": 1.0}, {}), spender(), None).usd == 0
    assert refused(BudgetLedger(None, {"agent": 1.0}, {}), spender(), None) == "unknown_price"
