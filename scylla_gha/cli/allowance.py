"""What cells may still spend: a cell is started only where its limit fits beside what is spent and promised.

The gateway refuses each request above a budget; this keeps a cell from being started that would only be cut. While
other cells are at work, one that does not fit waits: most cost less than they may. It is refused when nobody is at
work any more who could leave something over.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scylla_gha.gateway.client import Gateway
from scylla_gha.model.experiment import Experiment
from scylla_gha.proc import Cancel

_LOOK_SECONDS = 0.5  # an interruption wakes nobody who waits


@dataclass(frozen=True, slots=True)
class Need:
    """What a cell may need in USD: its agent, by the limit of a trial, and its judges, by the longest evidence."""

    agent: float
    judges: float


class Allowance:
    """The budgets of one run, for lanes in several threads."""

    def __init__(self, experiment: Experiment, gateway: Gateway) -> None:
        self._experiment = experiment
        self._gateway = gateway
        self._promised: list[Need] = []
        self._changed = threading.Condition()
        self._refused = False

    @property
    def is_spent(self) -> bool:
        """Whether a cell was refused, or a request."""
        return self._refused or self._gateway.overspent

    @contextmanager
    def cell(self, name: str, need: Need, cancel: Cancel) -> Iterator[str | None]:
        """Set aside what a cell may need, until it is judged; why it is not to be started, where it does not fit.

        What its judges may need is kept from all agents, its own included.
        """
        refusal = self._take(need, cancel)
        if refusal is not None:
            yield refusal
            return
        try:
            with self._gateway.keep(name, need.judges):
                yield None
        finally:
            with self._changed:
                self._promised.remove(need)
                self._changed.notify_all()

    def _take(self, need: Need, cancel: Cancel) -> str | None:
        with self._changed:
            while (why := self._misfit(need)) and self._promised and not cancel.is_set:
                self._changed.wait(_LOOK_SECONDS)
            if why is None:
                self._promised.append(need)
            elif not cancel.is_set:
                self._refused = True
            return why

    def _misfit(self, need: Need) -> str | None:
        experiment, gateway = self._experiment, self._gateway
        roles = experiment.role_budget_usd
        agents = need.agent + sum(each.agent for each in self._promised)
        judges = need.judges + sum(each.judges for each in self._promised)
        return (
            _lack("this experiment", experiment.budget_usd, gateway.spent_usd(), agents, judges)
            or _lack("the role 'agent'", roles.agent, gateway.spent_usd("agent"), agents, 0.0)
            or _lack("the role 'judge'", roles.judge, gateway.spent_usd("judge"), 0.0, judges)
            or ("a budget is spent: requests of earlier cells were refused" if gateway.overspent else None)
        )


def _lack(whose: str, budget: float | None, spent: float, agents: float, judges: float) -> str | None:
    if budget is None or (spent < budget and spent + agents + judges <= budget):
        return None
    parts = [f"${agents:g} (limits.usd)"] * bool(agents) + [f"${judges:.2f} for its judges"] * bool(judges)
    need = f", and the cell may need {' and '.join(parts)}" if parts and spent < budget else ""
    return f"${spent:.4f} of the budget of ${budget:g} for {whose} is spent{need}"
