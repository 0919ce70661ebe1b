from typing import Any

import pytest

from scylla_gha.agents.base import TranscriptSummary
from scylla_gha.attempt.classify_outcome import AttemptTraffic, classify_outcome
from scylla_gha.gateway.log import TrafficSummary
from scylla_gha.model.trial import Delivery, Outcome
from scylla_gha.system.process import FinishedProcess, LimitHit

DONE = TranscriptSummary(Outcome.COMPLETED, "the agent ended by itself")
DIED = TranscriptSummary(Outcome.AGENT_ERROR, "the CLI ended with exit code -9 and no result: it printed nothing")
SHORT = Delivery(proved=False, missing=("skills: a",))
PROVED = Delivery(proved=True)
SPENT = "budget_exceeded:trial"


def ruled(
    reading: TranscriptSummary = DONE, delivery: Delivery | None = None, *, lost: bool = False, **given: Any
) -> TranscriptSummary:
    """The ruling; `given` are fields of the process's end, or of the gateway's account."""
    ends = {name: given.pop(name) for name in ("cancelled", "hits", "note") if name in given}
    return classify_outcome(
        reading, FinishedProcess(0, 1.0, **ends), delivery, AttemptTraffic(TrafficSummary(**given), lost=lost)
    )


def test_where_nothing_else_is_known_the_agents_own_end_stands() -> None:
    assert ruled() == DONE
    assert ruled(DIED, PROVED) == DIED


@pytest.mark.parametrize(
    ("given", "outcome", "reason", "again"),
    [
        ({"cancelled": True, "hits": {LimitHit.LOST}}, "cancelled", "interrupted by the user", False),
        ({"hits": {LimitHit.LOST}, "note": "gone", "delivery": SHORT},
         "sandbox_error", "the sandbox was lost: gone", True),
        ({"delivery": SHORT, "lost": True}, "delivery_error", SHORT.reason, False),
        ({"delivery": SHORT, "unmatched": 1, "errors": {SPENT: 1}}, "delivery_error", SHORT.reason, False),
        ({"lost": True, "unmatched": 1}, "provider_error", "the model gateway died during the attempt", True),
        ({"unmatched": 2, "errors": {SPENT: 1}}, "provider_error",
         "2 requests are not in the recording: prompt, agent, or output of its commands differs from the recorded run",
         False),
        ({"errors": {SPENT: 1}}, "budget_exceeded", f"refused before the request: {SPENT} (limits.usd)", False),
        ({"delivery": PROVED, "errors": {SPENT: 1}}, "budget_exceeded",
         f"refused before the request: {SPENT} (limits.usd)", False),
        ({"errors": {"budget_exceeded:trial_share": 1}}, "budget_exceeded",
         "refused before the request: budget_exceeded:trial_share (its equal part of budget_usd or role_budget_usd)",
         False),
        ({"errors": {"budget_exceeded:experiment": 1}}, "cancelled",
         "refused before the request: budget_exceeded:experiment (budget_usd)", False),
    ],
)  # fmt: skip
def test_what_is_known_better_goes_before_it_in_this_order(
    given: dict[str, Any], outcome: str, reason: str, again: bool
) -> None:
    made = ruled(**given)
    assert (made.outcome, made.reason, made.retryable) == (outcome, reason, again)


def test_a_treatment_that_is_not_proved_is_no_score_of_one_that_completed() -> None:
    unproved = Delivery(proved=False, unverified=("tools",))
    assert ruled(DONE, unproved).outcome is Outcome.DELIVERY_ERROR
    assert ruled(DIED, unproved) == DIED


def test_an_output_at_its_limit_ends_a_trial_and_one_that_had_ended_well_stays() -> None:
    ended = ruled(DIED, hits={LimitHit.OUTPUT})
    assert ended.outcome is Outcome.BUDGET_EXCEEDED
    assert ended.reason == "output: it wrote more to its output than one file may hold (limits.file_mb)"
    done = ruled(DONE, hits={LimitHit.OUTPUT}, note="the note")
    assert (done.outcome, done.reason) == (Outcome.COMPLETED, f"{DONE.reason}; it {ended.reason[11:]} (the note)")


@pytest.mark.parametrize(
    ("hit", "words"),
    [
        (LimitHit.MEMORY, "it ran out of memory in its sandbox (the note)"),
        (LimitHit.DISK, "it filled the disk of its sandbox (the note)"),
        (LimitHit.PROCESSES, "it started as many processes as its sandbox allows (the note)"),
    ],
)
def test_a_limit_of_the_box_is_the_agents_and_has_its_own_reason(hit: LimitHit, words: str) -> None:
    died = ruled(DIED, hits={hit}, note="the note")
    assert (died.outcome, died.reason) == (Outcome.AGENT_ERROR, f"{words}; {DIED.reason}")
    done = ruled(DONE, hits={hit}, note="the note")
    assert (done.outcome, done.reason) == (Outcome.COMPLETED, f"{DONE.reason}; {words}")


def test_what_could_not_be_taken_out_of_the_box_stands_in_the_reason() -> None:
    assert ruled(note="pipe: a special file, left out").reason == f"{DONE.reason}; pipe: a special file, left out"
