"""What cells may still spend: a cell is started only where its limit fits beside what is spent and promised.

The gateway refuses each request above a budget; this keeps a cell from being started that would only be cut. While
other cells are at work, one that does not fit waits: most cost less than they may. It is refused when nobody is at
work any more who could leave something over.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from scylla_gha.gateway.client import Gateway
from scylla_gha.model.experiment import Experiment
from scylla_gha.proc import Cancel

_LOOK_SECONDS = 0.5  # an interruption wakes nobody who waits


class Allowance:
    """The budgets of one run, for lanes in several threads."""

    def __init__(self, experiment: Experiment, gateway: Gateway) -> None:
        self._experiment = experiment
        self._gateway = gateway
        self._promised: list[float] = []
        self._changed = threading.Condition()
        self._refused = False

    @property
    def is_spent(self) -> bool:
        """Whether a cell was refused, or a request."""
        return self._refused or self._gateway.overspent

    @contextmanager
    def cell(self, usd: float, cancel: Cancel) -> Iterator[str | None]:
        """Set `usd` aside for a cell while it is worked on; why it is not to be started, where it does not fit."""
        refusal = self._take(usd, cancel)
        try:
            yield refusal
        finally:
            if refusal is None:
                with self._changed:
                    self._promised.remove(usd)
                    self._changed.notify_all()

    def _take(self, usd: float, cancel: Cancel) -> str | None:
        with self._changed:
            while (why := self._misfit(usd)) and self._promised and not cancel.is_set:
                self._changed.wait(_LOOK_SECONDS)
            if why is None:
                self._promised.append(usd)
            elif not cancel.is_set:
                self._refused = True
            return why

    def _misfit(self, usd: float) -> str | None:
        experiment, gateway = self._experiment, self._gateway
        roles = experiment.role_budget_usd
        promised = usd + sum(self._promised)
        return (
            _lack("this experiment", experiment.budget_usd, gateway.spent_usd(), promised)
            or _lack("the role 'agent'", roles.agent, gateway.spent_usd("agent"), promised)
            or _lack("the role 'judge'", roles.judge, gateway.spent_usd("judge"), 0.0)
            or ("a budget is spent: requests of earlier cells were refused" if gateway.overspent else None)
        )


def _lack(whose: str, budget: float | None, spent: float, promised: float) -> str | None:
    if budget is None or (spent < budget and spent + promised <= budget):
        return None
    need = f", and the cell may need ${promised:g} (limits.usd)" if promised and spent < budget else ""
    return f"${spent:.4f} of the budget of ${budget:g} for {whose} is spent{need}"
