"""An attempt's outcome, by evidence from outside the box; what the agent's process says of itself is a claim.

`outcome_table.TABLE` and docs/outcomes.md name the evidence that each outcome needs, in the order in which it is looked
for, and who could forge it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from scylla_gha.agents.base import Reading
from scylla_gha.gateway.journal import Account
from scylla_gha.model.delivery import Delivery
from scylla_gha.model.network import Reached
from scylla_gha.model.trial import Outcome
from scylla_gha.proc import Finished, Hit

_LIMITS: Final = {
    Hit.OUTPUT: "wrote more to its output than one file may hold (limits.file_mb)",
    Hit.MEMORY: "ran out of memory in its box",
    Hit.DISK: "filled the disk of its box",
    Hit.PROCESSES: "started as many processes as its box allows",
}
# Keys of an experiment by the gateway's error name; the gateway's answers to agents do not name them.
_LIMIT_OF: Final = {
    "budget_exceeded:trial": "limits.usd",
    "budget_exceeded:trial_tokens": "limits.tokens",
    "budget_exceeded:trial_turns": "limits.turns",
    "budget_exceeded:trial_requests": "limits.requests",
    "budget_exceeded:trial_share": "its equal part of budget_usd or role_budget_usd",
    "budget_exceeded:role": "role_budget_usd",
    "budget_exceeded:experiment": "budget_usd",
}
_NOTE_CHARACTERS: Final = 300  # names of files are in it, which the agent chose
_WAIT_SHARE: Final = 0.5  # of a trial's time
_WAIT_SECONDS: Final = 300.0
# Ends that a provider which failed the last request can have caused; the others are the agent's own decision.
_CUT_SHORT: Final = frozenset({Outcome.AGENT_ERROR, Outcome.TIMEOUT, Outcome.SANDBOX_ERROR})


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the gateway saw of an attempt.

    Attributes:
        account: of the session's requests.
        lost: the gateway died during the attempt.
        kept_waiting: seconds at the attempt's end in which the provider sent no byte of an answer.
    """

    account: Account
    lost: bool
    subscription: bool = False
    network: Reached | None = None
    kept_waiting: float = 0.0


@dataclass(frozen=True, slots=True)
class _Case:
    """All that an outcome is decided by."""

    reading: Reading
    finished: Finished
    delivery: Delivery | None
    traffic: Traffic
    turns: int | None

    @property
    def began(self) -> bool:
        """Whether the agent had its first turn: the model has answered, so the agent could act."""
        return self.traffic.account.evidence.answers > 0


def rule(
    reading: Reading, finished: Finished, delivery: Delivery | None, traffic: Traffic, turns: int | None = None
) -> Reading:
    """The reading with the outcome that stands: of the first rule that finds its evidence.

    Args:
        reading: what the agent's process says of itself.
        finished: how the sandbox says that it ended.
        delivery: what is proved of the treatment; None: there was nothing to prove.
        traffic: what the gateway saw.
        turns: the trial's limit of turns.
    """
    case = _Case(reading, finished, delivery, traffic, turns)
    found = next((ruled for each in _RULES if (ruled := each(case)) is not None), None)
    return _with_hits(reading, finished) if found is None else found


def _cancelled(case: _Case) -> Reading | None:
    return _with(case, Outcome.CANCELLED, "interrupted by the user") if case.finished.cancelled else None


def _box(case: _Case) -> Reading | None:
    if Hit.LOST not in case.finished.hits:
        return None
    return _with(case, Outcome.SANDBOX_ERROR, f"the box was lost: {case.finished.note}", retryable=True)


def _delivery(case: _Case) -> Reading | None:
    """A treatment that the model was not sent; what only the agent's output tells counts until the first turn."""
    delivery = case.delivery
    if delivery is None:
        return None
    fault = delivery.reason or ("" if case.began else delivery.claims)
    if not fault and not case.began and case.reading.outcome is Outcome.COMPLETED and not delivery.proved:
        fault = f"what the agent had is not proved: {'; '.join(delivery.unverified)}"
    return _with(case, Outcome.DELIVERY_ERROR, fault) if fault else None


def _gateway(case: _Case) -> Reading | None:
    if not case.traffic.lost:
        return None
    return _with(case, Outcome.PROVIDER_ERROR, "the model gateway died in the middle of it", retryable=True)


def _recording(case: _Case) -> Reading | None:
    unmatched = case.traffic.account.unmatched
    return _with(case, Outcome.PROVIDER_ERROR, f"{unmatched} requests are not in the recording") if unmatched else None


def _budget(case: _Case) -> Reading | None:
    """A trial's own budget measures the agent; that others have spent the experiment's does not."""
    spent = [error for error in case.traffic.account.errors if error.startswith("budget_exceeded")]
    if not spent:
        return None
    own = any(error.startswith("budget_exceeded:trial") for error in spent)
    outcome = Outcome.BUDGET_EXCEEDED if own else Outcome.CANCELLED
    limits = ", ".join(f"{error} ({_LIMIT_OF[error]})" if error in _LIMIT_OF else error for error in spent)
    return _with(case, outcome, f"refused before the request: {limits}")


def _provider(case: _Case) -> Reading | None:
    """The provider failed all tries of a request, and no later one was answered, so that the agent could not go on."""
    evidence = case.traffic.account.evidence
    if evidence.fault is None or case.reading.outcome not in _CUT_SHORT:
        return None
    reason = f"the provider failed a request for good ({evidence.fault}); {case.reading.reason}"
    return _with(case, Outcome.PROVIDER_ERROR, reason, retryable=not evidence.is_lasting)


def _silence(case: _Case) -> Reading | None:
    """The provider sent nothing for much of the trial's time, until its end."""
    seconds = case.traffic.kept_waiting
    if not case.finished.timed_out or seconds < min(_WAIT_SHARE * case.finished.seconds, _WAIT_SECONDS):
        return None
    reason = f"{case.reading.reason}, when a request had been without an answer for {seconds:.0f} s"
    return _with(case, Outcome.PROVIDER_ERROR, reason, retryable=True)


def _claim(case: _Case) -> Reading | None:
    """After its first turn, an agent's own word does not excuse it."""
    if not case.began or case.reading.outcome.measures_agent:
        return None
    return _with(case, Outcome.AGENT_ERROR, f"{case.reading.reason}; but the model had answered the agent")


def _turns(case: _Case) -> Reading | None:
    """The limit of turns was reached and the agent was not done, whatever the transcript says."""
    account = case.traffic.account
    is_reached = case.turns is not None and account.turns >= case.turns and account.evidence.wants_tool
    if not is_reached or case.reading.outcome is not Outcome.COMPLETED:
        return None
    return _with(case, Outcome.BUDGET_EXCEEDED, f"the last of {case.turns} turns asked for a tool (limits.turns)")


def _output(case: _Case) -> Reading | None:
    """An output at its limit ends a trial, whose words are cut; one that ended well before that stays as it is."""
    if Hit.OUTPUT not in case.finished.hits or case.reading.outcome is Outcome.COMPLETED:
        return None
    return _with(case, Outcome.BUDGET_EXCEEDED, f"output: it {_LIMITS[Hit.OUTPUT]}")


_RULES: Final[tuple[Callable[[_Case], Reading | None], ...]] = (
    _cancelled, _box, _delivery, _gateway, _recording, _budget, _provider, _silence, _output, _claim, _turns,
)  # fmt: skip


def _with_hits(reading: Reading, finished: Finished) -> Reading:
    """What the agent ran into; where it went on nevertheless, and ended well, it only stands in the reason."""
    hits = "; ".join(words for hit, words in _LIMITS.items() if hit in finished.hits)
    note = finished.note[:_NOTE_CHARACTERS]
    if not hits:
        return replace(reading, reason=f"{reading.reason}; {note}") if note else reading
    told = f"it {hits} ({note})" if note else f"it {hits}"
    both = (told, reading.reason) if reading.outcome is Outcome.AGENT_ERROR else (reading.reason, told)
    return replace(reading, reason="; ".join(both))


def _with(case: _Case, outcome: Outcome, reason: str, *, retryable: bool = False) -> Reading:
    return replace(case.reading, outcome=outcome, reason=reason, retryable=retryable)
