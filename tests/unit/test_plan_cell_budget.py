"""A cell starts where its limit fits, waits while others may leave something over, and else is refused."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.settings import GatewaySettings
from scylla_gha.plan.budget import CellBudget, CellNeed
from scylla_gha.system.process import Cancel
from tests.support.gateway import ask, hosted, question
from tests.support.provider import Say, serve
from tests.support.records import make_experiment


def allowance(spent: dict[str, float] | None = None, **experiment: Any) -> CellBudget:
    """Of a gateway that was never started, and has that much behind it."""
    settings = GatewaySettings.model_validate({"spent_usd": spent or {}})
    return CellBudget(make_experiment(**experiment), GatewayProcess(settings))


def refusal(given: CellBudget, usd: float) -> str | None:
    with given.cell("cell", CellNeed(usd, 0.0), Cancel()) as why:
        return why


ROLES: dict[str, Any] = {"role_budget_usd": {"agent": 2.0, "judge": 1.0}}


@pytest.mark.parametrize(
    ("spent", "experiment", "usd", "why"),
    [
        pytest.param({}, {}, 9.0, None, id="no budget"),
        pytest.param({"agent": 3.0}, {"budget_usd": 5.0}, 2.0, None, id="it just fits"),
        pytest.param({"agent": 3.0}, {"budget_usd": 5.0}, 2.1,
                     "$3.00 of the budget of $5.00 for this experiment is spent, and the cell may need $2.10 (limits",
                     id="it does not fit"),
        pytest.param({"agent": 3.0, "judge": 1.5}, {"budget_usd": 5.0}, 1.0, "for this experiment", id="judges count"),
        pytest.param({"agent": 4.9}, {"budget_usd": 5.0}, 0.0, None, id="no limit of a trial: while something is left"),
        pytest.param({"agent": 5.0}, {"budget_usd": 5.0}, 0.0,
                     "$5.00 of the budget of $5.00 for this experiment is spent", id="nothing is left"),
        pytest.param({"agent": 1.5}, ROLES, 1.0, "for the role 'agent'", id="the agents' budget"),
        pytest.param({"agent": 1.0, "judge": 0.9}, ROLES, 1.0, None, id="within the budgets of both roles"),
        pytest.param({"judge": 1.0}, ROLES, 1.0, "$1.00 of the budget of $1.00 for the role 'judge' is spent",
                     id="who could not be judged is not run"),
    ],
)  # fmt: skip
def test_what_starts(spent: dict[str, float], experiment: dict[str, Any], usd: float, why: str | None) -> None:
    given = allowance(spent, **experiment)
    found = refusal(given, usd)
    assert (found is None) == (why is None)
    assert why is None or (found is not None and why in found)
    assert given.is_spent is (why is not None)


@contextmanager
def second(given: CellBudget, usd: float, cancel: Cancel) -> Iterator[list[str | None]]:
    """Another worker that wants to start a cell."""
    found: list[str | None] = []

    def worker() -> None:
        with given.cell("cell", CellNeed(usd, 0.0), cancel) as why:
            found.append(why)

    thread = threading.Thread(target=worker)
    thread.start()
    yield found
    thread.join(60)
    assert not thread.is_alive()


def test_what_judges_may_need_is_set_aside_with_the_cell() -> None:
    for budgets in ({"budget_usd": 2.9}, {"role_budget_usd": {"judge": 1.9}}):
        with allowance(**budgets).cell("cell", CellNeed(1.0, 1.92), Cancel()) as why:
            assert why is not None
            assert "$1.92 for its judges" in why
    with allowance(budget_usd=2.92).cell("cell", CellNeed(1.0, 0.0), Cancel()) as why:
        assert why is None


def test_together_cells_are_promised_no_more_than_is_left_and_the_next_waits() -> None:
    given = allowance(budget_usd=1.0)
    with second_after_first(given, Cancel()) as found:
        assert found == [], "it waits while the first is at work"
    assert found == [None]
    assert not given.is_spent


@contextmanager
def second_after_first(given: CellBudget, cancel: Cancel) -> Iterator[list[str | None]]:
    first = given.cell("cell", CellNeed(0.6, 0.0), cancel)
    assert first.__enter__() is None
    with second(given, 0.6, cancel) as found:
        yield found
        first.__exit__(None, None, None)


def test_an_interruption_ends_the_waiting_and_is_no_spent_budget() -> None:
    given, cancel = allowance(budget_usd=1.0), Cancel()
    with second_after_first(given, cancel) as found:
        cancel.set()
    assert len(found) == 1
    assert not given.is_spent


def test_a_cell_that_fails_gives_back_what_it_was_promised() -> None:
    given = allowance(budget_usd=1.0)
    with pytest.raises(OSError, match="disk"), given.cell("cell", CellNeed(1.0, 0.0), Cancel()):
        raise OSError("disk")
    assert refusal(given, 1.0) is None


def test_once_the_gateway_refuses_for_a_budget_no_cell_starts(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, \
            hosted(tmp_path, provider.url, experiment_usd=1.0, spent_usd={"agent": 1.0}) as host:  # fmt: skip
        given = CellBudget(make_experiment(), host.gateway)
        assert refusal(given, 0.0) is None
        session = host.open()
        assert ask(session, question()).status == 403
        host.gateway.close(session)
        assert refusal(given, 0.0) == "a budget is spent: requests of earlier cells were refused"


def test_a_trials_own_budget_stops_no_other_cell(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url) as host:
        given = CellBudget(make_experiment(), host.gateway)
        session = host.open(budget_usd=0.0)
        assert ask(session, question()).status == 403
        host.gateway.close(session)
        assert (refusal(given, 0.0), given.is_spent) == (None, False)


def test_what_judges_of_a_stored_trial_may_need_is_kept_until_it_is_judged(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, \
            hosted(tmp_path, provider.url, experiment_usd=1.0) as host:  # fmt: skip
        given = CellBudget(make_experiment(budget_usd=1.0), host.gateway)
        with given.judging("stored", 1.0):
            session = host.open()
            assert ask(session, question()).status == 403, "no agent spends it"
            host.gateway.close(session)
        session = host.open()
        assert ask(session, question()).status == 200
        host.gateway.close(session)
