"""Each outcome in docs/how-a-result-is-computed.md has a case that ends as its row says, and none is left out."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents.base import TranscriptSummary
from scylla_gha.attempt.classify_outcome import AttemptTraffic, classify_outcome
from scylla_gha.config.library import Library
from scylla_gha.evaluate.context import RunContext
from scylla_gha.evaluate.run_cells import run_cells
from scylla_gha.gateway.evidence import ProviderEvidence
from scylla_gha.gateway.log import TrafficSummary
from scylla_gha.model.scenario import FixtureSource
from scylla_gha.model.trial import Delivery, Outcome, Trial
from scylla_gha.store.run_folder import RunFolder
from scylla_gha.system.process import FinishedProcess, LimitHit
from tests.support.agents import ShellAgent
from tests.support.in_process_run import make_run_context, with_settings
from tests.support.library import write, write_scenario
from tests.support.pages import section
from tests.support.records import make_judgment, make_trial
from tests.support.repository import cache, make_repository
from tests.support.rows import CELL, row_of


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCYLLA_CACHE", str(cache()))
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "work"))


DONE, DIED = TranscriptSummary(Outcome.COMPLETED, "done"), TranscriptSummary(Outcome.AGENT_ERROR, "no result")
LATE, EARLY = TranscriptSummary(Outcome.TIMEOUT, "late"), TranscriptSummary(Outcome.SANDBOX_ERROR, "did not start")
UNPROVED = TranscriptSummary(Outcome.COMPLETED, "done", proves_end=False)
BEGAN = ProviderEvidence(answers=1, has_begun=True)
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in section("docs/how-a-result-is-computed.md", "How a trial ends").splitlines()
    if line.startswith("| `")
]
OUTCOMES = [Outcome(row[0].strip("`")) for row in ROWS]


def ruled(reading: TranscriptSummary, **given: Any) -> Outcome:
    return classified(reading, **given).outcome


def classified(reading: TranscriptSummary, **given: Any) -> TranscriptSummary:
    given = dict(given)
    ends = {name: given.pop(name) for name in ("cancelled", "hits", "timed_out", "note") if name in given}
    delivery, lost, waiting, turns = (given.pop(name, None) for name in ("delivery", "lost", "waiting", "limit"))
    command = given.pop("command", "")
    traffic = AttemptTraffic(TrafficSummary(**given), lost=bool(lost), kept_waiting=waiting or 0.0)
    return classify_outcome(reading, FinishedProcess(0, 60.0, **ends), delivery, traffic, turns, command)


BLANK_CASES: list[dict[str, Any]] = [
    {}, {"cancelled": True}, {"hits": frozenset({LimitHit.LOST}), "note": ""}, {"lost": True}, {"unmatched": 1},
    {"delivery": Delivery(proved=False)}, {"delivery": Delivery(proved=False, claimed=("",))},
    {"errors": {"budget_exceeded:trial": 1}}, {"errors": {"budget_exceeded:role": 1}},
    {"evidence": ProviderEvidence(fault="401", is_lasting=True)}, {"evidence": BEGAN},
    {"timed_out": True, "evidence": ProviderEvidence(awaits_first=True)}, {"timed_out": True, "waiting": 30.0},
    {"hits": frozenset({LimitHit.OUTPUT})}, {"hits": frozenset({LimitHit.MEMORY})},
]  # fmt: skip


@pytest.mark.parametrize("words", ["", " \n"])
@pytest.mark.parametrize("claimed", list(Outcome))
def test_no_outcome_is_without_a_reason_where_nobody_states_one(claimed: Outcome, words: str) -> None:
    ends = [classified(TranscriptSummary(claimed, words), **case) for case in BLANK_CASES]
    assert {end.outcome for end in ends} >= {Outcome.CANCELLED, Outcome.SANDBOX_ERROR, Outcome.PROVIDER_ERROR,
                                             Outcome.BUDGET_EXCEEDED}  # fmt: skip
    assert [end.outcome for end in ends if not re.search(r"\w\W*\Z", end.reason)] == []


def test_no_delivery_that_is_not_proved_is_without_a_reason() -> None:
    facts: list[dict[str, Any]] = [{}, {"missing": ("skill a",)}, {"undeclared": ("tool x",)},
                                   {"claimed": ("model m",)}, {"unverified": ("no request was seen",)}]  # fmt: skip
    reasons = [Delivery(proved=False, **fact).shortfall for fact in facts]
    assert reasons == [
        "the delivery of the treatment is not proved: no source gives a reason",
        "missing: skill a",
        "not declared: tool x",
        "the agent's own output reports: model m",
        "the delivery of the treatment is not proved: no request was seen",
    ]
    assert Delivery(proved=True, unverified=("x",)).shortfall == ""


CASES: dict[int, Outcome] = {
    2: ruled(DONE, cancelled=True),
    3: ruled(DONE, hits=frozenset({LimitHit.LOST}), evidence=BEGAN),
    4: ruled(DONE, command="nosuch", delivery=Delivery(proved=False)),
    5: ruled(DONE, delivery=Delivery(proved=False, missing=("tool x (first request)",)), evidence=BEGAN),
    6: ruled(DIED, delivery=Delivery(proved=False, claimed=("tool x (start event)",))),
    7: ruled(DONE, lost=True, evidence=BEGAN),
    8: ruled(DONE, unmatched=1),
    9: ruled(DIED, end="decided", errors={"session_ended": 1}, evidence=BEGAN),
    10: ruled(DONE, errors={"budget_exceeded:trial": 1}, evidence=BEGAN),
    11: ruled(DONE, errors={"budget_exceeded:experiment": 1}, evidence=BEGAN),
    12: ruled(DIED, errors={"repeated_request": 3}, evidence=BEGAN),
    13: ruled(DIED, evidence=ProviderEvidence(fault="401", is_lasting=True)),
    14: ruled(DIED, evidence=ProviderEvidence(answers=1, has_begun=True, fault="529 overloaded_error")),
    15: ruled(LATE, timed_out=True, waiting=0.1, evidence=ProviderEvidence(awaits_first=True)),
    16: ruled(LATE, timed_out=True, waiting=30.0, evidence=BEGAN),
    17: ruled(DIED, hits=frozenset({LimitHit.OUTPUT}), evidence=BEGAN),
    18: ruled(UNPROVED, requests=2, evidence=ProviderEvidence(answers=1, has_begun=True, fault="529 overloaded_error")),
    19: ruled(UNPROVED, requests=2, evidence=ProviderEvidence(answers=1, has_begun=True, is_unanswered=True)),
    20: ruled(UNPROVED, requests=1, evidence=ProviderEvidence(answers=1, has_begun=True, is_refused=True)),
    21: ruled(UNPROVED),
    22: ruled(EARLY),
    23: ruled(EARLY, evidence=BEGAN),
    24: ruled(DONE, turns=2, limit=2, evidence=ProviderEvidence(answers=2, has_begun=True, wants_tool=True)),
    25: ruled(LATE, timed_out=True, waiting=29.0, evidence=BEGAN),
    26: ruled(TranscriptSummary(Outcome.REFUSED, "no"), evidence=BEGAN),
    27: ruled(TranscriptSummary(Outcome.BUDGET_EXCEEDED, "turns"), evidence=BEGAN),
    28: ruled(DONE, evidence=ProviderEvidence(answers=1, has_begun=True, fault="529 overloaded_error")),
    29: ruled(DIED, evidence=BEGAN),
}


def test_an_answer_that_was_cut_at_its_limit_is_not_the_end_of_a_session_unless_the_cli_proves_its_end() -> None:
    cut = ProviderEvidence(answers=1, has_begun=True, is_cut=True)
    end = classified(UNPROVED, requests=1, evidence=cut)
    assert (end.outcome, end.reason) == (
        Outcome.AGENT_ERROR,
        "the last answer was cut at its limit of tokens (max_tokens)",
    )
    assert ruled(DONE, requests=1, evidence=cut) is Outcome.COMPLETED


REPEATED = {"errors": {"repeated_request": 3}, "requests": 43}
OVERLOADED = ProviderEvidence(fault="529", repeats=43, is_unanswered=True)
LOOPING = ProviderEvidence(answers=40, has_begun=True, repeats=43, is_unanswered=True)


@pytest.mark.parametrize(
    ("reading", "evidence", "outcome", "cause"),
    [
        (DIED, OVERLOADED, Outcome.PROVIDER_ERROR, "and the provider failed it (529)"),
        (LATE, OVERLOADED, Outcome.PROVIDER_ERROR, "and the provider failed it (529)"),
        (UNPROVED, LOOPING, Outcome.AGENT_ERROR, "without a failure of the provider"),
        (LATE, LOOPING, Outcome.AGENT_ERROR, "without a failure of the provider"),
    ],
)
def test_a_cli_that_repeats_a_request_without_an_end_ends_by_its_cause_and_the_reason_counts(
    reading: TranscriptSummary, evidence: ProviderEvidence, outcome: Outcome, cause: str
) -> None:
    end = classified(reading, **REPEATED, evidence=evidence)
    times = "the last request was sent 43 times, "
    assert (end.outcome, end.reason) == (
        outcome,
        f"{times}{cause}; the gateway refused 3 requests of them; {reading.reason}",
    )
    assert ruled(DONE, **REPEATED, evidence=evidence) is Outcome.COMPLETED, "its own end is proved"


@pytest.mark.parametrize("number", sorted(CASES))
def test_each_row_that_is_ruled_has_a_case_that_ends_as_it_says(number: int) -> None:
    assert CASES[number] is OUTCOMES[number]


def test_the_reason_of_a_session_that_the_gateway_ended_says_how() -> None:
    ends = [classified(DIED, end=end, turns=5, evidence=BEGAN).reason for end in ("decided", "undecided")]
    assert ends == ["decided", "undecided after 5 answers"]


def test_no_row_is_without_a_case() -> None:
    assert {*CASES, 0, 1, len(ROWS) - 1} == set(range(len(ROWS)))
    assert all(len(row) == 5 and all(row) for row in ROWS)


def worked(journey: RunContext) -> Outcome:
    """The outcome of its one cell."""
    told: list[Trial] = []
    run_cells(journey, journey.settings.plan.cells, lambda _cell, trial, _judgment: told.append(trial))
    (trial,) = told
    return trial.outcome


def test_the_first_row_is_a_start_state_that_cannot_be_made(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repo", source=FixtureSource(fixture="greeting", hash="1" * 40))
    assert worked(make_run_context(repository, tmp_path / "runs", {"shell": ShellAgent("true")})) is OUTCOMES[0]


def test_the_second_row_is_a_box_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "bin/bwrap", "#!/bin/sh\nexit 1\n").chmod(0o755)  # as where namespaces are forbidden
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    repository = make_repository(tmp_path / "repo")
    journey = make_run_context(repository, tmp_path / "runs", {"shell": ShellAgent("true")})
    plan = journey.settings.plan.model_copy(update={"sandbox": "bubblewrap"})
    assert worked(with_settings(journey, plan=plan)) is OUTCOMES[1]


def test_the_last_row_is_a_judgment_that_failed(tmp_path: Path) -> None:
    library = Library((tmp_path / "repo",))
    write_scenario(tmp_path / "repo")
    made = make_judgment(CELL, result=None, error="unjudged: Q1: the provider answered 529")
    assert row_of(RunFolder(tmp_path / "run"), library, make_trial(CELL), made).outcome == OUTCOMES[-1]


def test_every_outcome_is_in_the_table() -> None:
    assert set(OUTCOMES) == set(Outcome)


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ({"delivery": Delivery(proved=False, claimed=("tool x (start event)",))}, Outcome.AGENT_ERROR),
        ({"errors": {"permission_error": 1}}, Outcome.AGENT_ERROR),
        ({"timed_out": True, "waiting": 29.9}, Outcome.AGENT_ERROR),
        ({"hits": frozenset({LimitHit.MEMORY, LimitHit.DISK, LimitHit.PROCESSES})}, Outcome.AGENT_ERROR),
    ],
)
def test_what_is_like_an_excuse_and_is_none(given: dict[str, Any], outcome: Outcome) -> None:
    assert ruled(DIED, evidence=BEGAN, **given) is outcome


PART = ProviderEvidence(has_begun=True)  # of an answer, so that the agent could act


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        pytest.param({"evidence": ProviderEvidence(awaits_first=True)}, Outcome.PROVIDER_ERROR, id="none had begun"),
        pytest.param({"evidence": PART}, Outcome.TIMEOUT, id="a part of an answer had come"),
        pytest.param({"evidence": ProviderEvidence()}, Outcome.TIMEOUT, id="no request waited"),
        pytest.param({"evidence": PART, "waiting": 30.0}, Outcome.PROVIDER_ERROR, id="silence for half of the time"),
    ],
)
def test_a_wait_for_the_first_answer_excuses_at_the_time_limit_however_short(
    given: dict[str, Any], outcome: Outcome
) -> None:
    assert ruled(LATE, timed_out=True, **{"waiting": 0.1, **given}) is outcome


def test_before_the_time_limit_a_wait_for_the_first_answer_excuses_nothing() -> None:
    assert ruled(DIED, waiting=0.1, evidence=ProviderEvidence(awaits_first=True)) is Outcome.AGENT_ERROR


def test_a_claim_of_the_cli_excuses_nothing_once_a_part_of_an_answer_had_come() -> None:
    claimed = Delivery(proved=False, claimed=("tool x (start event)",))
    assert ruled(EARLY, evidence=PART) is ruled(DIED, delivery=claimed, evidence=PART) is Outcome.AGENT_ERROR


@pytest.mark.parametrize(
    ("reading", "given"),
    [(DIED, {}), (DONE, {"command": ""}), (DONE, {"requests": 1}), (DONE, {"evidence": BEGAN, "requests": 1})],
)
def test_a_command_explains_only_an_end_without_any_request(reading: TranscriptSummary, given: dict[str, Any]) -> None:
    assert ruled(reading, **{"command": "nosuch", **given}) is not Outcome.FIXTURE_ERROR


def test_only_a_fault_before_any_answer_stops_the_arm() -> None:
    evidence = ProviderEvidence(answers=1, has_begun=True, fault="401")
    made = classify_outcome(
        DIED, FinishedProcess(0, 1.0), None, AttemptTraffic(TrafficSummary(evidence=evidence), lost=False)
    )
    assert (made.outcome, made.retryable) == (Outcome.PROVIDER_ERROR, True)
