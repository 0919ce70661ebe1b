"""How a run reaches its models: one gateway, which alone holds the key."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from scylla_gha.cli.journey import Journey
from scylla_gha.cli.options import Tape
from scylla_gha.cli.planning import Installed
from scylla_gha.errors import ToolError
from scylla_gha.gateway.client import Gateway
from scylla_gha.gateway.journal import account
from scylla_gha.gateway.settings import ANTHROPIC, Settings
from scylla_gha.store import traffic_of

_KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


def require_access(agents: dict[str, Installed], judges: Sequence[str], tape: Tape) -> None:
    """Look for a key, where agents or judges need one.

    Raises:
        ToolError: there is neither a key nor a recording.
    """
    names = [name for name, installed in agents.items() if installed.agent.package is not None]
    names += ["the judge panel"] if judges else []
    if names and tape.replay is None and not any(os.environ.get(key) for key in _KEYS):
        raise ToolError(f"{', '.join(names)} needs a key to reach a model; set ANTHROPIC_API_KEY, or give --replay")


@contextmanager
def reach(journey: Journey, tape: Tape) -> Iterator[None]:
    """Give the journey a running gateway while it needs one.

    The gateway keeps the experiment's budget; what earlier attempts of the planned cells cost is spent of it already.
    """
    agents = any(installed.agent.package for installed in journey.agents.values())
    if not agents and not journey.judges:
        yield
        return
    settings = Settings(
        upstream=os.environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC,
        api_key=os.environ.get("ANTHROPIC_API_KEY") or None,
        bearer=os.environ.get("ANTHROPIC_AUTH_TOKEN") or None,
        models=tuple(journey.library.models().values()),
        experiment_usd=journey.plan.experiment.budget_usd,
        spent_usd={
            "agent": _spent(journey, "traffic.jsonl"),
            "judge": _spent(journey, "judge-traffic.jsonl") + _spent_on_controls(journey),
        },
        rate_limit_seconds=journey.plan.experiment.limits.rate_limit_seconds,
        record=tape.record,
        replay=tape.replay,
    )
    with Gateway.start(settings) as running:
        journey.gateway = running
        yield


def _spent(journey: Journey, name: str) -> float:
    attempts = (attempt for cell in journey.plan.cells for attempt in journey.folder.cell(cell.id).attempts())
    return sum(account(attempt.file(name)).known_usd for attempt in attempts)


def _spent_on_controls(journey: Journey) -> float:
    return sum(account(traffic_of(path)).known_usd for path in journey.folder.probes())
