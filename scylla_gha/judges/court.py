"""A panel with its way to a model: each trial's judges have a lane of the gateway, under a budget, on record."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.gateway.client import Gateway
from scylla_gha.gateway.journal import Account, account, account_of, read
from scylla_gha.gateway.settings import Lane
from scylla_gha.judges.blind import BlindInput, Wording, read_wording
from scylla_gha.judges.consensus import Consensus, consensus
from scylla_gha.judges.panel import Judge, Panel, ask_alone, ask_panel, panel_digest
from scylla_gha.judges.transport import sender
from scylla_gha.model.experiment import Knobs
from scylla_gha.model.panel import JudgeAnswer
from scylla_gha.model.record import digest


@dataclass(frozen=True, slots=True)
class Heard:
    """What the judges said of one trial, what they agree on, and what that cost."""

    answers: tuple[JudgeAnswer, ...]
    agreed: Consensus
    account: Account
    subscription: bool = False

    @property
    def was_reached(self) -> bool:
        """Whether all judges had their say. What was rejected may be accepted later: credit was used up, perhaps."""
        return bool(self.answers) and not any(one.lost in {"unreached", "rejected"} for one in self.answers)


@dataclass(frozen=True, slots=True)
class Court:
    """The judges of an experiment."""

    gateway: Gateway
    judges: tuple[Judge, ...]
    wording: Wording

    def hear(self, cell: str, journal: Path, blind: BlindInput, *, decided: bool = False) -> Heard:
        """Ask all judges about one trial; a judge that cannot be asked is missing, with its reason.

        The account is of this hearing alone: the journal may hold earlier ones of the same trial.

        Args:
            cell: of the trial.
            journal: of the judges' requests.
            blind: what they are shown.
            decided: the verdict does not hang on them, so nobody is asked again with the diff alone.

        Raises:
            ToolError: the gateway does not start.
        """
        before = account(journal).last_number
        with self.sitting(Lane(cell=cell, role="judge", journal=journal)) as panel:
            answers = ask_panel(panel, blind)
            if not decided and consensus(blind.items, answers).error:
                answers = ask_alone(panel, blind, answers)
        new = account_of(line for line in read(journal) if line.number > before)
        return Heard(answers, consensus(blind.items, answers), new, self.gateway.is_subscription)

    @contextmanager
    def sitting(self, lane: Lane) -> Iterator[Panel]:
        """The panel on a lane of its own, until the block ends.

        Raises:
            ToolError: the gateway does not start, or does not take the lane.
        """
        door = self.gateway.open(lane.model_copy(update={"models": tuple(judge.model for judge in self.judges)}))
        try:
            with sender(door.url, door.token) as send:
                yield Panel(self.judges, self.wording, send)
        finally:
            self.gateway.close(door)


def court(gateway: Gateway, models: Iterable[str], roots: Iterable[Path], wording: Wording | None = None) -> Court:
    """The court of these model ids, in this wording, or else in that of the first of `roots` that has one."""
    return Court(gateway, tuple(Judge(model) for model in models), wording or read_wording(roots))


def court_digest(
    models: Iterable[str], roots: Iterable[Path], settings: Knobs = Knobs(), wording: Wording | None = None
) -> str:
    """Covers the judges, their wording, and the settings that the gateway puts into their requests; empty without any.

    The gateway does that, and not the panel, since it alone knows what a model accepts.
    """
    judges = tuple(Judge(model) for model in models)
    if not judges:
        return ""
    panel = panel_digest(judges, wording or read_wording(roots))
    return digest([panel, settings.configured()]) if settings.configured() else panel
