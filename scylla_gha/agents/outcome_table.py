"""The table of outcomes: the evidence that each needs, in the order in which it is looked for, and who could forge it.

docs/outcomes.md shows the same rows, and a test gives each row a case.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.trial import Outcome

COLUMNS: Final = ("outcome", "evidence", "known from", "tried again", "who could forge it")
_NOBODY: Final = "nobody in the box"
_HARMLESS: Final = "the agent, against itself: it counts as an attempt of the agent either way"

_COPY: Final = "an agent that sends the main conversation's first message with a request that the provider {}"


@dataclass(frozen=True, slots=True)
class Row:
    """One way in which an outcome comes about.

    Attributes:
        outcome: what the attempt, or for judge_error the trial, ends in.
        evidence: what has to be found; the first row whose evidence is found decides.
        source: who tells it.
        again: whether the attempt is made again: yes, no, or when.
        forger: who could bring the evidence about without the fact, and what that would cost.
    """

    outcome: Outcome
    evidence: str
    source: str
    again: str
    forger: str

    @property
    def cells(self) -> tuple[str, ...]:
        """As the columns of the table."""
        return (f"`{self.outcome}`", self.evidence, self.source, self.again, self.forger)


TABLE: Final[tuple[Row, ...]] = (
    Row(Outcome.FIXTURE_ERROR, "the start state cannot be made, or the agent's program cannot be started",
        "the harness", "no", f"{_NOBODY}: there is no agent yet"),
    Row(Outcome.SANDBOX_ERROR, "no box can be made", "the sandbox", "yes", f"{_NOBODY}: there is no agent yet"),
    Row(Outcome.CANCELLED, "the user interrupted the run", "the harness", "by the same command", _NOBODY),
    Row(Outcome.SANDBOX_ERROR, "the container engine says that it lost the box; memory, disk, number of processes and "
        "signals are the agent's", "the engine", "yes", "an agent that makes the engine itself fail"),
    Row(Outcome.DELIVERY_ERROR, "the first request to the model lacks a declared treatment, or has another one",
        "the gateway", "no, and the arm is stopped", f"{_NOBODY}: the request came before the first answer"),
    Row(Outcome.DELIVERY_ERROR, "the CLI's start event does so; on the host, where the agent could rewrite it, only "
        "before the model's first answer", "the transcript", "no, and the arm is stopped",
        f"{_NOBODY}: it was written before the first answer, or counts only until then"),
    Row(Outcome.PROVIDER_ERROR, "the gateway's process died during the attempt", "the harness", "yes",
        "on the host, an agent that ends the process"),
    Row(Outcome.PROVIDER_ERROR, "a request is not in the recording that is replayed", "the gateway",
        "no, and the arm is stopped", "an agent that asks what was never recorded: a replay measures nothing anew"),
    Row(Outcome.BUDGET_EXCEEDED, "the gateway refused a request for the trial's own budget, turns or requests; "
        "without `limits.usd`, also for a shared budget once the trial has used up its equal part of it",
        "the gateway", "no", _HARMLESS),
    Row(Outcome.CANCELLED, "the gateway refused a request since others spent the budget of a role or of the "
        "experiment", "the gateway", "by the same command, with a larger budget",
        f"{_NOBODY}: it would be others that spend more than their part, and they count"),
    Row(Outcome.PROVIDER_ERROR, "the first requests of the session were refused with 401, 402, 403 or 404",
        "the gateway", "no, and the arm is stopped", f"{_NOBODY}: the model has not answered yet"),
    Row(Outcome.PROVIDER_ERROR, "the provider failed all of the gateway's tries of a request of the main conversation "
        "(not reached, 5xx, 408, a rate limit that lasts, 401 or 402, or an answer that broke off), no later one was "
        "answered, and the agent did not end well", "the gateway", "yes", _COPY.format("always fails")),
    Row(Outcome.PROVIDER_ERROR, "at the time limit, no byte had come of a streamed request of the main conversation "
        "for half of the limit or five minutes, or it waited so long for a rate limit that the session did not provoke",
        "the gateway", "yes", _COPY.format("does not answer")),
    Row(Outcome.BUDGET_EXCEEDED, "its output reached the limit of a file, and it had not completed", "the harness",
        "no", _HARMLESS),
    Row(Outcome.SANDBOX_ERROR, "before the model's first answer: the CLI did not start, has an unknown form, or says "
        "that it reached no model", "the transcript, and the gateway that saw no answer", "if no model was reached",
        f"{_NOBODY}: the model has not answered yet"),
    Row(Outcome.AGENT_ERROR, "the same after the model's first answer", "the gateway", "no", _HARMLESS),
    Row(Outcome.BUDGET_EXCEEDED, "the main conversation had all `limits.turns`, and its last answer asked for a tool",
        "the gateway", "no", _HARMLESS),
    Row(Outcome.TIMEOUT, "it ran until its time limit", "the sandbox", "no", _HARMLESS),
    Row(Outcome.REFUSED, "the CLI says that the model refused", "the transcript", "no", _HARMLESS),
    Row(Outcome.BUDGET_EXCEEDED, "the CLI says that it reached its limit of turns or USD", "the transcript", "no",
        _HARMLESS),
    Row(Outcome.COMPLETED, "the CLI's results say that it ended well, and none of them says otherwise",
        "the transcript", "no", "the agent: whether it passed is for the checks to say"),
    Row(Outcome.AGENT_ERROR, "anything else", "the transcript", "no", _HARMLESS),
    Row(Outcome.JUDGE_ERROR, "no panel can be asked, or judging itself failed, and no required check failed",
        "the harness", "judging, by `scylla-gha judge`", _NOBODY),
)  # fmt: skip


def lines() -> Iterator[str]:
    """The table in Markdown."""
    for cells in (COLUMNS, ("---",) * len(COLUMNS), *(row.cells for row in TABLE)):
        yield f"| {' | '.join(cells)} |"
