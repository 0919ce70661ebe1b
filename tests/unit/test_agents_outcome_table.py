"""Each row of the table of outcomes has a case, the documentation shows the same rows, and no outcome is left out."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents.base import Reading
from scylla_gha.agents.outcome_table import TABLE, lines
from scylla_gha.agents.ruling import Traffic, rule
from scylla_gha.gateway.evidence import Evidence
from scylla_gha.gateway.journal import Account
from scylla_gha.model.delivery import Delivery
from scylla_gha.model.trial import Outcome
from scylla_gha.proc import Finished, Hit

DONE, DIED = Reading(Outcome.COMPLETED, "done"), Reading(Outcome.AGENT_ERROR, "no result")
LATE, EARLY = Reading(Outcome.TIMEOUT, "late"), Reading(Outcome.SANDBOX_ERROR, "did not start")
BEGAN = Evidence(answers=1)
# Rows that are decided where the thing happens, by the tests that are named, and the others by `rule`.
ELSEWHERE = {0, 1, len(TABLE) - 1}  # test_cli_travel.py, test_cli_travel.py, test_collect_judging.py


def ruled(reading: Reading, **given: Any) -> Outcome:
    ends = {name: given.pop(name) for name in ("cancelled", "hits", "timed_out") if name in given}
    delivery, lost, waiting, turns = (given.pop(name, None) for name in ("delivery", "lost", "waiting", "limit"))
    traffic = Traffic(Account(**given), lost=bool(lost), kept_waiting=waiting or 0.0)
    return rule(reading, Finished(0, 60.0, **ends), delivery, traffic, turns).outcome


CASES: dict[int, Outcome] = {
    2: ruled(DONE, cancelled=True),
    3: ruled(DONE, hits=frozenset({Hit.LOST}), evidence=BEGAN),
    4: ruled(DONE, delivery=Delivery(proved=False, missing=("tool x (first request)",)), evidence=BEGAN),
    5: ruled(DIED, delivery=Delivery(proved=False, claimed=("tool x (start event)",))),
    6: ruled(DONE, lost=True, evidence=BEGAN),
    7: ruled(DONE, unmatched=1),
    8: ruled(DONE, errors={"budget_exceeded:trial": 1}, evidence=BEGAN),
    9: ruled(DONE, errors={"budget_exceeded:experiment": 1}, evidence=BEGAN),
    10: ruled(DIED, evidence=Evidence(fault="401", is_lasting=True)),
    11: ruled(DIED, evidence=Evidence(answers=1, fault="529 overloaded_error")),
    12: ruled(LATE, timed_out=True, waiting=30.0, evidence=BEGAN),
    13: ruled(DIED, hits=frozenset({Hit.OUTPUT}), evidence=BEGAN),
    14: ruled(EARLY),
    15: ruled(EARLY, evidence=BEGAN),
    16: ruled(DONE, turns=2, limit=2, evidence=Evidence(answers=2, wants_tool=True)),
    17: ruled(LATE, timed_out=True, waiting=29.0, evidence=BEGAN),
    18: ruled(Reading(Outcome.REFUSED, "no"), evidence=BEGAN),
    19: ruled(Reading(Outcome.BUDGET_EXCEEDED, "turns"), evidence=BEGAN),
    20: ruled(DONE, evidence=Evidence(answers=1, fault="529 overloaded_error")),
    21: ruled(DIED, evidence=BEGAN),
}


@pytest.mark.parametrize("number", range(len(TABLE)))
def test_each_row_has_a_case_that_ends_as_it_says(number: int) -> None:
    assert number in ELSEWHERE or CASES[number] is TABLE[number].outcome
    assert all(TABLE[number].cells)


def test_every_outcome_is_in_the_table() -> None:
    assert {row.outcome for row in TABLE} == set(Outcome)


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ({"delivery": Delivery(proved=False, claimed=("tool x (start event)",))}, Outcome.AGENT_ERROR),
        ({"errors": {"permission_error": 1}}, Outcome.AGENT_ERROR),
        ({"timed_out": True, "waiting": 29.9}, Outcome.AGENT_ERROR),
        ({"hits": frozenset({Hit.MEMORY, Hit.DISK, Hit.PROCESSES})}, Outcome.AGENT_ERROR),
    ],
)
def test_what_is_like_an_excuse_and_is_none(given: dict[str, Any], outcome: Outcome) -> None:
    assert ruled(DIED, evidence=BEGAN, **given) is outcome


def test_only_a_fault_before_any_answer_stops_the_arm() -> None:
    evidence = Evidence(answers=1, fault="401")
    made = rule(DIED, Finished(0, 1.0), None, Traffic(Account(evidence=evidence), lost=False))
    assert (made.outcome, made.retryable) == (Outcome.PROVIDER_ERROR, True)


def test_the_documentation_shows_the_same_table() -> None:
    text = (Path(__file__).parents[2] / "docs/outcomes.md").read_text(encoding="utf-8")
    assert "\n".join(lines()) in text
