"""An attempt's outcome, once sandbox, proof of delivery and gateway have been heard beside the agent's own words.

| evidence, the first that holds | outcome | run again |
|---|---|---|
| interrupted by the user | cancelled | no |
| the sandbox was lost | sandbox_error | yes |
| another treatment than the declared one | delivery_error | no |
| the gateway died | provider_error | yes |
| a request is not in the recording | provider_error | no |
| refused for the trial's own budget | budget_exceeded | no |
| refused for a budget of all | cancelled | no |
| its output's limit ended it | budget_exceeded | no |
| the agent's end, and another limit of its box | agent_error, or what the agent's words say, with the limit | no |
| nothing of these | what the agent's words say | |
"""

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
_NOTE_CHARACTERS: Final = 300  # names of files are in it, which the agent chose


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the gateway saw of an attempt; `lost` where it died in between."""

    account: Account
    lost: bool
    subscription: bool = False
    network: Reached | None = None


def rule(reading: Reading, finished: Finished, delivery: Delivery | None, traffic: Traffic) -> Reading:
    """The reading with the outcome that stands."""
    if finished.cancelled:
        return _with(reading, Outcome.CANCELLED, "interrupted by the user")
    if Hit.LOST in finished.hits:
        return _with(reading, Outcome.SANDBOX_ERROR, f"the box was lost: {finished.note}", retryable=True)
    if delivery is not None and (fault := _fault(delivery, reading)):
        return _with(reading, Outcome.DELIVERY_ERROR, fault)
    return _of_gateway(reading, traffic) or _of_output(reading, finished) or _of_box(reading, finished)


def _fault(delivery: Delivery, reading: Reading) -> str | None:
    """Why the trial does not measure its variant; one that ended early may have had no time to show it."""
    if delivery.reason:
        return delivery.reason
    if reading.outcome is Outcome.COMPLETED and not delivery.proved:
        return f"what the agent had is not proved: {'; '.join(delivery.unverified)}"
    return None


def _of_gateway(reading: Reading, traffic: Traffic) -> Reading | None:
    account = traffic.account
    if traffic.lost:
        return _with(reading, Outcome.PROVIDER_ERROR, "the model gateway died in the middle of it", retryable=True)
    if account.unmatched:
        return _with(reading, Outcome.PROVIDER_ERROR, f"{account.unmatched} requests are not in the recording")
    spent = [error for error in account.errors if error.startswith("budget_exceeded")]
    if not spent:
        return None
    # A trial's own budget measures the agent; that others have spent the experiment's does not.
    own = any(error.startswith("budget_exceeded:trial") for error in spent)
    outcome = Outcome.BUDGET_EXCEEDED if own else Outcome.CANCELLED
    return _with(reading, outcome, f"refused before the request: {', '.join(spent)}")


def _of_output(reading: Reading, finished: Finished) -> Reading | None:
    """An output at its limit ends a trial, whose words are cut; one that ended well before that stays as it is."""
    if Hit.OUTPUT not in finished.hits or reading.outcome is Outcome.COMPLETED or not reading.outcome.measures_agent:
        return None
    return _with(reading, Outcome.BUDGET_EXCEEDED, f"output: it {_LIMITS[Hit.OUTPUT]}")


def _of_box(reading: Reading, finished: Finished) -> Reading:
    """What the agent ran into; where it went on nevertheless, and ended well, it only stands in the reason."""
    hits = "; ".join(words for hit, words in _LIMITS.items() if hit in finished.hits)
    note = finished.note[:_NOTE_CHARACTERS]
    if not hits:
        return replace(reading, reason=f"{reading.reason}; {note}") if note else reading
    told = f"it {hits} ({note})" if note else f"it {hits}"
    both = (told, reading.reason) if reading.outcome is Outcome.AGENT_ERROR else (reading.reason, told)
    return replace(reading, reason="; ".join(both))


def _with(reading: Reading, outcome: Outcome, reason: str, *, retryable: bool = False) -> Reading:
    return replace(reading, outcome=outcome, reason=reason, retryable=retryable)
