"""Budgets of a run: a cell starts only if its limit fits beside the money that is spent or reserved.

The gateway refuses each request above a budget; this keeps a cell from starting that would only be cut off. A cell that
does not fit waits while other cells are running, since most cost less than their limit. It is refused when no running
cell is left that could release money.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.model.experiment import Experiment
from scylla_gha.process import Cancel

_POLL_SECONDS = 0.5  # an interruption does not wake a waiting thread


@dataclass(frozen=True, slots=True)
class CellNeed:
    """Maximum cost of a cell in USD: its agent's by the limit of a trial, its judges' by the longest evidence."""

    agent: float
    judges: float


class CellBudget:
    """The budgets of one run, shared by its worker threads."""

    def __init__(self, experiment: Experiment, gateway: GatewayProcess) -> None:
        self._experiment = experiment
        self._gateway = gateway
        self._reserved: list[CellNeed] = []
        self._changed = threading.Condition()
        self._refused = False

    @property
    def is_spent(self) -> bool:
        """True if a cell was refused, or a request."""
        return self._refused or self._gateway.overspent

    @contextmanager
    def cell(self, name: str, need: CellNeed, cancel: Cancel) -> Iterator[str | None]:
        """Reserve the maximum cost of a cell until it is judged; yield the reason if it does not fit.

        No agent, that of the cell included, can spend what is reserved for the judges.
        """
        refusal = self._reserve(need, cancel)
        if refusal is not None:
            yield refusal
            return
        try:
            with self._gateway.reserve_for_judges(name, need.judges):
                yield None
        finally:
            self._release(need)

    @contextmanager
    def judging(self, name: str, usd: float) -> Iterator[None]:
        """Reserve the maximum cost of the judges of a stored trial until it is judged."""
        need = CellNeed(0.0, usd)
        with self._changed:
            self._reserved.append(need)
        try:
            with self._gateway.reserve_for_judges(name, usd):
                yield
        finally:
            self._release(need)

    def _release(self, need: CellNeed) -> None:
        with self._changed:
            self._reserved.remove(need)
            self._changed.notify_all()

    def _reserve(self, need: CellNeed, cancel: Cancel) -> str | None:
        with self._changed:
            while (reason := self._excess(need)) and self._reserved and not cancel.is_set:
                self._changed.wait(_POLL_SECONDS)
            if reason is None:
                self._reserved.append(need)
            elif not cancel.is_set:
                self._refused = True
            return reason

    def _excess(self, need: CellNeed) -> str | None:
        experiment, gateway = self._experiment, self._gateway
        roles = experiment.role_budget_usd
        agents = need.agent + sum(other.agent for other in self._reserved)
        judges = need.judges + sum(other.judges for other in self._reserved)
        return (
            _shortage("this experiment", experiment.budget_usd, gateway.spent_usd(), agents, judges)
            or _shortage("the role 'agent'", roles.agent, gateway.spent_usd("agent"), agents, 0.0)
            or _shortage("the role 'judge'", roles.judge, gateway.spent_usd("judge"), 0.0, judges)
            or ("a budget is spent: requests of earlier cells were refused" if gateway.overspent else None)
        )


def _shortage(whose: str, budget: float | None, spent: float, agents: float, judges: float) -> str | None:
    if budget is None or (spent < budget and spent + agents + judges <= budget):
        return None
    parts = [f"${agents:g} (limits.usd)"] * bool(agents) + [f"${judges:.2f} for its judges"] * bool(judges)
    need = f", and the cell may need {' and '.join(parts)}" if parts and spent < budget else ""
    return f"${spent:.4f} of the budget of ${budget:g} for {whose} is spent{need}"
