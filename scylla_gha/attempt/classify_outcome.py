"""Rules that classify an attempt's outcome by evidence from outside the sandbox; the agent's own output is a claim.

docs/how-a-result-is-computed.md lists the evidence for each outcome in the order of the rules, and who could forge it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from scylla_gha.agents.base import TranscriptSummary
from scylla_gha.counting import counted
from scylla_gha.gateway.breaker import FAILING, REPEATED
from scylla_gha.gateway.log import TrafficSummary
from scylla_gha.model.sandbox import HostContact
from scylla_gha.model.trial import Delivery, Outcome, Uses
from scylla_gha.system.process import FinishedProcess, LimitHit

_LIMIT_TEXTS: Final = {
    LimitHit.OUTPUT: "wrote more to its output than one file may hold (limits.file_mb)",
    LimitHit.MEMORY: "ran out of memory in its sandbox",
    LimitHit.DISK: "filled the disk of its sandbox",
    LimitHit.PROCESSES: "started as many processes as its sandbox allows",
}
# Experiment keys by the gateway's error name; the gateway's answers to agents do not name them.
_LIMIT_KEYS: Final = {
    "budget_exceeded:trial": "limits.usd",
    "budget_exceeded:trial_tokens": "limits.tokens",
    "budget_exceeded:trial_turns": "limits.turns",
    "budget_exceeded:trial_requests": "limits.requests",
    "budget_exceeded:trial_share": "its equal part of budget_usd or role_budget_usd",
    "budget_exceeded:role": "role_budget_usd",
    "budget_exceeded:experiment": "budget_usd",
}
_NOTE_CHARACTERS: Final = 300  # a note may contain file names that the agent chose
# A trial is excused if the provider was silent for this part of the trial's time, or for these seconds.
_WAIT_SHARE: Final = 0.5
_WAIT_SECONDS: Final = 300.0
# Outcomes that a failed last request may have caused; the agent itself decides on the other outcomes.
_CUT_SHORT: Final = frozenset({Outcome.AGENT_ERROR, Outcome.TIMEOUT, Outcome.SANDBOX_ERROR})


@dataclass(frozen=True, slots=True)
class AttemptTraffic:
    """Traffic of an attempt, as the gateway saw it.

    Attributes:
        account: summary of the session's requests.
        lost: True if the gateway died during the attempt.
        subscription: True if a subscription paid, so that amounts in USD are list prices.
        network: hosts that the agent contacted; None if there was no session.
        uses: uses of the declared resources; None: unknown.
        kept_waiting: seconds at the attempt's end in which the provider sent no byte of the awaited answer.
    """

    account: TrafficSummary
    lost: bool
    subscription: bool = False
    network: HostContact | None = None
    uses: Uses | None = None
    kept_waiting: float = 0.0


@dataclass(frozen=True, slots=True)
class _Case:
    """Evidence by which an outcome is decided."""

    summary: TranscriptSummary
    finished: FinishedProcess
    delivery: Delivery | None
    traffic: AttemptTraffic
    turns: int | None
    command: str

    @property
    def has_answer(self) -> bool:
        """True if a byte of a model's answer has arrived, so that the agent could act."""
        return self.traffic.account.evidence.has_begun


def classify_outcome(
    summary: TranscriptSummary,
    finished: FinishedProcess,
    delivery: Delivery | None,
    traffic: AttemptTraffic,
    turns: int | None = None,
    command: str = "",
) -> TranscriptSummary:
    """Return the summary with the outcome of the first rule whose evidence is present.

    Args:
        summary: claims of the agent's transcript.
        finished: end of the process, as the sandbox reports it.
        delivery: proof of the treatment; None if there is nothing to prove.
        traffic: traffic, as the gateway saw it.
        turns: the trial's limit of turns; None: no limit.
        command: name of the command with which the prompt begins; empty: it begins with none.
    """
    case = _Case(summary, finished, delivery, traffic, turns, command)
    for rule in _RULES:
        if (classified := rule(case)) is not None:
            return _with_stated_reason(classified)
    return _with_stated_reason(_with_limit_hits(summary, finished))


def _with_stated_reason(summary: TranscriptSummary) -> TranscriptSummary:
    """Return the summary with a reason, since the agent's own reason may be blank."""
    if summary.reason.strip():
        return summary
    return replace(summary, reason=f"{summary.outcome}: neither the agent nor the harness states a reason")


def _cancelled(case: _Case) -> TranscriptSummary | None:
    return _with(case, Outcome.CANCELLED, "interrupted by the user") if case.finished.cancelled else None


def _lost_sandbox(case: _Case) -> TranscriptSummary | None:
    if LimitHit.LOST not in case.finished.hits:
        return None
    note = case.finished.note or "the reason is unknown"
    return _with(case, Outcome.SANDBOX_ERROR, f"the sandbox was lost: {note}", retryable=True)


def _command_without_request(case: _Case) -> TranscriptSummary | None:
    """Detect a prompt that the CLI took as a built-in or unknown command, so that it sent no request to the model."""
    if not case.command or case.traffic.account.requests or case.summary.outcome is not Outcome.COMPLETED:
        return None
    final_message = case.summary.trajectory.final_message or "it printed nothing"
    reason = (
        f"the prompt begins with /{case.command}, and the CLI ended without a request to the model "
        f"({final_message[:_NOTE_CHARACTERS]}): neither a skill of the arm nor a command of the start state has this "
        "name"
    )
    return _with(case, Outcome.FIXTURE_ERROR, reason)


def _wrong_delivery(case: _Case) -> TranscriptSummary | None:
    """Detect a treatment that did not reach the model; count the agent's output only before the first turn."""
    delivery = case.delivery
    if delivery is None:
        return None
    fault = delivery.reason or ("" if case.has_answer else delivery.claims)
    if not fault and not case.has_answer and case.summary.outcome is Outcome.COMPLETED and not delivery.proved:
        fault = delivery.shortfall
    return _with(case, Outcome.DELIVERY_ERROR, fault) if fault else None


def _dead_gateway(case: _Case) -> TranscriptSummary | None:
    if not case.traffic.lost:
        return None
    return _with(case, Outcome.PROVIDER_ERROR, "the model gateway died during the attempt", retryable=True)


def _missing_recording(case: _Case) -> TranscriptSummary | None:
    unmatched = case.traffic.account.unmatched
    requests = counted(unmatched, "request is", "requests are")
    reason = f"{requests} not in the recording: prompt, agent, or output of its commands differs from the recorded run"
    return _with(case, Outcome.PROVIDER_ERROR, reason) if unmatched else None


def _stopped(case: _Case) -> TranscriptSummary | None:
    """Detect that the gateway ended the session by the scenario's stop rule; ignore what the transcript claims."""
    end, turns = case.traffic.account.end, counted(case.traffic.account.turns, "answer")
    if end is None:
        return None
    return _with(case, Outcome.COMPLETED, end if end == "decided" else f"{end} after {turns}")


def _spent_budget(case: _Case) -> TranscriptSummary | None:
    """Detect a spent budget. Only the trial's budget or share measures the agent, not a budget that others spent."""
    spent = [error for error in case.traffic.account.errors if error.startswith("budget_exceeded")]
    if not spent:
        return None
    is_trial = any(error.startswith("budget_exceeded:trial") for error in spent)
    outcome = Outcome.BUDGET_EXCEEDED if is_trial else Outcome.CANCELLED
    limits = ", ".join(f"{error} ({_LIMIT_KEYS[error]})" if error in _LIMIT_KEYS else error for error in spent)
    return _with(case, outcome, f"refused before the request: {limits}")


def _repeated_requests(case: _Case) -> TranscriptSummary | None:
    """Detect a CLI that repeated a request, or failing requests, until the gateway's breaker refused them."""
    account, evidence = case.traffic.account, case.traffic.account.evidence
    refused = sum(account.errors.get(name, 0) for name in (REPEATED, FAILING))
    is_lost = case.summary.outcome in _CUT_SHORT or (not case.summary.proves_end and evidence.is_unanswered)
    if not refused or not is_lost:
        return None
    outcome = Outcome.PROVIDER_ERROR if evidence.fault else Outcome.AGENT_ERROR
    times = f"the last request was sent {counted(evidence.repeats, 'time')}"
    cause = f"and the provider failed it ({evidence.fault})" if evidence.fault else "without a failure of the provider"
    reason = f"{times}, {cause}; the gateway refused {counted(refused, 'request')} of them; {case.summary.reason}"
    return _with(case, outcome, reason, retryable=bool(evidence.fault) and not evidence.is_lasting)


def _failed_request(case: _Case) -> TranscriptSummary | None:
    """Detect a last request that failed in all tries, so that the agent could not continue."""
    evidence = case.traffic.account.evidence
    if evidence.fault is None or case.summary.outcome not in _CUT_SHORT:
        return None
    times = f", sent {counted(evidence.repeats, 'time')}" if evidence.repeats > 1 else ""
    reason = f"the last request to the provider failed ({evidence.fault}{times}); {case.summary.reason}"
    return _with(case, Outcome.PROVIDER_ERROR, reason, retryable=not evidence.is_lasting)


def _hidden_refusal(case: _Case) -> TranscriptSummary | None:
    """Detect a refusal of the model in its last answer, which some CLIs report as success."""
    is_claim = not case.summary.proves_end and case.summary.outcome is Outcome.COMPLETED
    if not is_claim or not case.traffic.account.evidence.is_refused:
        return None
    return _with(case, Outcome.REFUSED, "the model refused in its last answer, and the CLI reports success")


def _unproved_end(case: _Case) -> TranscriptSummary | None:
    """Reject the success of a CLI that may report half an answer or a failed request as success."""
    summary, account = case.summary, case.traffic.account
    if summary.proves_end or summary.outcome is not Outcome.COMPLETED:
        return None
    if account.evidence.fault:
        reason = f"the last request to the provider failed ({account.evidence.fault}), and the CLI reports success"
        return _with(case, Outcome.PROVIDER_ERROR, reason, retryable=not account.evidence.is_lasting)
    if not account.requests:
        return _with(case, Outcome.SANDBOX_ERROR, f"the CLI sent no request to the model; {summary.reason}")
    if account.evidence.is_unanswered:
        return _with(case, Outcome.AGENT_ERROR, "the last request got no whole answer, and the CLI reports success")
    if account.evidence.is_cut:
        return _with(case, Outcome.AGENT_ERROR, "the last answer was cut at its limit of tokens (max_tokens)")
    return None


def _no_start(case: _Case) -> TranscriptSummary | None:
    """Detect a CLI that failed before its first request, so that the model was not involved."""
    summary = case.summary
    if summary.proves_end or summary.outcome is not Outcome.AGENT_ERROR or case.traffic.account.requests:
        return None
    return _with(case, Outcome.SANDBOX_ERROR, f"the CLI sent no request to the model; {summary.reason}")


def _missing_first_answer(case: _Case) -> TranscriptSummary | None:
    """Detect a time limit that was reached while a request waited for the model's first answer."""
    if not (case.finished.timed_out and case.traffic.account.evidence.awaits_first):
        return None
    reason = f"{case.summary.reason}, and its first request was still without an answer"
    return _with(case, Outcome.PROVIDER_ERROR, reason, retryable=True)


def _silent_provider(case: _Case) -> TranscriptSummary | None:
    """Detect a provider that sent nothing for a large part of the trial's time, up to its end."""
    seconds = case.traffic.kept_waiting
    if not case.finished.timed_out or seconds < min(_WAIT_SHARE * case.finished.seconds, _WAIT_SECONDS):
        return None
    reason = f"{case.summary.reason}, when the provider had sent nothing for {seconds:.0f} s"
    return _with(case, Outcome.PROVIDER_ERROR, reason, retryable=True)


def _late_excuse(case: _Case) -> TranscriptSummary | None:
    """Reject an excuse after the agent's first turn if only the agent states it."""
    if not case.has_answer or case.summary.outcome.measures_agent:
        return None
    return _with(case, Outcome.AGENT_ERROR, f"{case.summary.reason}; but the model had answered the agent")


def _spent_turns(case: _Case) -> TranscriptSummary | None:
    """Detect that the agent reached the limit of turns before it was done; ignore what the transcript claims."""
    account = case.traffic.account
    is_reached = case.turns is not None and account.turns >= case.turns and account.evidence.wants_tool
    if not is_reached or case.summary.outcome is not Outcome.COMPLETED:
        return None
    return _with(
        case, Outcome.BUDGET_EXCEEDED, f"the last of {counted(case.turns or 0, 'turn')} asked for a tool (limits.turns)"
    )


def _full_output(case: _Case) -> TranscriptSummary | None:
    """Detect an output that reached its size limit; a trial that completed before that stays completed."""
    if LimitHit.OUTPUT not in case.finished.hits or case.summary.outcome is Outcome.COMPLETED:
        return None
    return _with(case, Outcome.BUDGET_EXCEEDED, f"output: it {_LIMIT_TEXTS[LimitHit.OUTPUT]}")


_RULES: Final[tuple[Callable[[_Case], TranscriptSummary | None], ...]] = (
    _cancelled,
    _lost_sandbox,
    _command_without_request,
    _wrong_delivery,
    _dead_gateway,
    _missing_recording,
    _stopped,
    _spent_budget,
    _repeated_requests,
    _failed_request,
    _missing_first_answer,
    _silent_provider,
    _full_output,
    _hidden_refusal,
    _unproved_end,
    _no_start,
    _late_excuse,
    _spent_turns,
)


def _with_limit_hits(summary: TranscriptSummary, finished: FinishedProcess) -> TranscriptSummary:
    """Add the limits that the agent reached to the reason, without a change of the outcome."""
    hits = "; ".join(words for hit, words in _LIMIT_TEXTS.items() if hit in finished.hits)
    note = finished.note[:_NOTE_CHARACTERS]
    if not hits:
        return replace(summary, reason=f"{summary.reason}; {note}") if note else summary
    limits = f"it {hits} ({note})" if note else f"it {hits}"
    parts = (limits, summary.reason) if summary.outcome is Outcome.AGENT_ERROR else (summary.reason, limits)
    return replace(summary, reason="; ".join(parts))


def _with(case: _Case, outcome: Outcome, reason: str, *, retryable: bool = False) -> TranscriptSummary:
    return replace(case.summary, outcome=outcome, reason=reason, retryable=retryable)
