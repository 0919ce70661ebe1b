"""A panel with its way to a model: each trial's judges have a lane of the gateway, under a budget, on record."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.gateway.client import Gateway
from scylla_gha.gateway.journal import Account
from scylla_gha.gateway.settings import Lane
from scylla_gha.judges.blind import BlindInput, Wording, read_wording
from scylla_gha.judges.consensus import Consensus, consensus
from scylla_gha.judges.panel import Judge, Panel, ask_panel, panel_digest
from scylla_gha.judges.transport import sender
from scylla_gha.model.panel import JudgeAnswer


@dataclass(frozen=True, slots=True)
class Heard:
    """What the judges said of one trial, what they agree on, and what that cost."""

    answers: tuple[JudgeAnswer, ...]
    agreed: Consensus
    account: Account


@dataclass(frozen=True, slots=True)
class Court:
    """The judges of an experiment."""

    gateway: Gateway
    judges: tuple[Judge, ...]
    wording: Wording

    def hear(self, cell: str, journal: Path, blind: BlindInput) -> Heard:
        """Ask all judges about one trial; a judge that cannot be asked is missing, with its reason.

        Raises:
            ToolError: the gateway does not start.
        """
        door = self.gateway.open(Lane(cell=cell, role="judge", journal=journal))
        try:
            with sender(door.url, door.token) as send:
                answers = ask_panel(Panel(self.judges, self.wording, send), blind)
        finally:
            account = self.gateway.close(door)
        return Heard(answers, consensus(blind.items, answers), account)


def court(gateway: Gateway, models: Iterable[str], roots: Iterable[Path]) -> Court:
    """The court of these model ids, in the wording of the first of `roots` that has one."""
    return Court(gateway, tuple(Judge(model) for model in models), read_wording(roots))


def court_digest(models: Iterable[str], roots: Iterable[Path]) -> str:
    """Covers the judges and their wording; empty where there are none."""
    judges = tuple(Judge(model) for model in models)
    return panel_digest(judges, read_wording(roots)) if judges else ""
