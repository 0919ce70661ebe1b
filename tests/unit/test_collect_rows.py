from pathlib import Path
from typing import Any

import pytest

from scylla_gha.collect import collect
from scylla_gha.config.keys import judging_digest, judgment_key
from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.model.judgment import CategoryScore, CheckResult, ItemScore, JudgeAnswer, JudgeScore, Judgment
from scylla_gha.model.result import Result
from scylla_gha.model.safety_net import BlockedCall, SafetyNetSummary
from scylla_gha.model.sandbox import HostContact, Isolation
from scylla_gha.model.trial import NO_USAGE, DiffStat, Outcome, Trial, Usage, Uses
from scylla_gha.store import read_lines
from scylla_gha.store.run_folder import RunFolder
from tests.support.hub_scenario import ID, write_hub_scenario
from tests.support.library import write, write_scenario
from tests.support.records import (
    make_attempt,
    make_cell,
    make_judgment,
    make_model_arm,
    make_plan,
    make_score,
    make_trial,
)
from tests.support.rows import CELL, collected, row_of, store
from tests.support.traffic import write_traffic

BLOCKED = BlockedCall(rule="disk", tool="Bash", command="mkfs /dev/sda")
ISOLATION = Isolation(network="open", keys="exposed", files="open")
USES = Uses(counts={"skill/tally": 2, "mcp/clock": 0}, first_turn=3, read=("skill/other",), refused={"skill/tally": 1})
DIFF = DiffStat(files=("a", "b"), added=3, deleted=4, sha256="0")

ITEMS = (ItemScore(id="R1", category="all", points=1.0, value=0.75, by="judge", reason=""),)
ANSWERS = (
    JudgeAnswer(judge="one", prompt_digest="",
                items=(JudgeScore(id="R1", evidence="seen", state="scored", value=0.5),)),
    JudgeAnswer(judge="two", prompt_digest="", error="it was cut"),
)  # fmt: skip


@pytest.fixture
def library(tmp_path: Path) -> Library:
    write_scenario(tmp_path / "here")
    return Library((tmp_path / "here",))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "runs")


def test_a_judgment_by_older_checks_or_rubric_does_not_count(folder: RunFolder, library: Library) -> None:
    trial = make_trial(CELL)
    store(folder, trial, make_judgment(CELL, key=judgment_key(trial, "what judged before the checks were changed", "")))
    (row,) = collected(folder, library)
    assert (row.judged, row.score) == (False, None)


def test_a_judged_trial_becomes_a_whole_row(folder: RunFolder, library: Library) -> None:
    used = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4, usd=0.5)
    attempt = make_attempt(usage=used, turns=7, tool_calls={"Bash": 2, "Edit": 1}, failed_tool_calls=1, diff=DIFF,
                           base_commit="b", workspace_digest="w", agent_version="9",
                           safety_net=SafetyNetSummary(calls=4, blocked=(BLOCKED,), unread=2), redactions=2,
                           network=HostContact(allowed={"a.org": 9}, refused={"b.org": 2, "c.org:22": 1}),
                           agent_files=("CLAUDE.md",), uses=USES,
                           requests=5, repeated_requests=1, side_requests=2, side_usd=0.125,
                           first_byte_seconds=0.5, generation_seconds=3.0,
                           tool_seconds=1.5, characters={"tool_input": 7})  # fmt: skip
    score = make_score(score=0.7, grade="B", progress=0.5, broken=("tests",), passed=False)
    write_traffic(folder.cell(CELL.id).attempt(1).file("judge-traffic.jsonl"), 0.25)
    achieved = CategoryScore(id="works", weight=1.0, achieved=1.5, maximum=2.0)
    checks = tuple(CheckResult(id=name, holds=name == "a", value=0.0, evidence="") for name in "ab")
    judgment = make_judgment(CELL, result=score, checks=checks, items=ITEMS, answers=ANSWERS, categories=(achieved,))
    row = row_of(folder, library, make_trial(CELL, attempt, isolation=ISOLATION), judgment)
    assert row.model_dump(mode="json") == {
        "schema_version": 2, "experiment": "demo", "cell": CELL.id, "key": CELL.key, "epoch": "",
        "scenario": "001-one", "category": "new_features", "size": "small", "difficulty": "trivial", "arm": "nop",
        "agent": "nop", "agent_version": "9", "model": None, "variant": None, "repetition": 1,
        "outcome": "completed", "started_at": "2026-01-02T03:04:05Z",
        "reason": "ended by itself", "measures_agent": True, "judged": True, "passed": False, "score": 0.7,
        "unjudged": None, "treatment_tokens": {}, "short_skills": None, "deferred_tools": None,
        "uses": {"skill/tally": 2, "mcp/clock": 0}, "first_use": 3, "skills_read": ["skill/other"],
        "uses_refused": {"skill/tally": 1},
        "loaded_tools": None, "checkpoints": 2, "checkpoints_passed": 1,
        "judging": judging_digest(library.scenario(CELL.scenario).judging_digest, ""),
        "grade": "B", "progress": 0.5, "threshold": 0.6, "points": 1.5, "points_max": 2.0,
        "judge_scores": {"one": 0.5, "two": None}, "items_na": 0, "items_unjudged": 0, "guards": 0, "broken_guards": 1,
        "attempts": 1, "excused_attempts": {}, "excuse": None, "check_seconds": None, "seconds": 2.0, "usd": 0.5,
        "judge_usd": 0.25, "side_requests": 2, "side_usd": 0.125,
        "first_byte_seconds": 0.5, "generation_seconds": 3.0, "tool_seconds": 1.5, "characters": {"tool_input": 7},
        "requests": 5, "repeated_requests": 1, "human_usd": None, "total_tokens": None, "tools": {"Bash": 2, "Edit": 1},
        "input_tokens": 1, "output_tokens": 2, "cache_read_tokens": 3, "cache_write_tokens": 4, "turns": 7,
        "tool_calls": 3, "failed_tool_calls": 1, "blocked_calls": 1, "unread_calls": 2, "unguarded_calls": 0,
        "unseen_calls": 0, "safety_net": "hook",
        "network_refused": 3, "delivered": None, "delivery_unverified": None,
        "github": None, "github_requests": None, "github_writes": None, "github_gaps": None,
        "github_calls": {}, "github_failed": None, "github_repeated": None, "github_other_clients": {}, "mode": None,
        "files_changed": 2, "lines_changed": 7, "base_commit": "b",
        "workspace_digest": "w", "agent_files": ["CLAUDE.md"],
        "sandbox": "host", "network": "open", "keys": "exposed", "files": "open",
        "unadjusted": "", "judge_unadjusted": "", "subscription": False, "replayed": False,
        "redactions": 2,
    }  # fmt: skip


def test_a_row_of_a_model_names_model_variant_and_the_planned_version(folder: RunFolder, library: Library) -> None:
    cell = make_cell("t0-00-empty.cli.m")
    store(folder, make_trial(cell))
    (row,) = collected(folder, library, make_plan(cell, arms=(make_model_arm(version="2.0"),), epoch="may"))
    assert (row.model, row.variant, row.agent_version, row.epoch) == ("m", "T0/00-empty", "2.0", "may")


@pytest.mark.parametrize("outcome", ["timeout", "refused", "agent_error", "budget_exceeded"])
def test_a_failure_of_the_agent_is_in_the_rates(folder: RunFolder, library: Library, outcome: str) -> None:
    attempt = make_attempt(outcome=Outcome(outcome), reason="why")
    score = make_score(score=None, grade=None, passed=False, progress=None)
    row = row_of(folder, library, make_trial(CELL, attempt), make_judgment(CELL, result=score))
    assert (row.outcome, row.reason, row.measures_agent, row.judged) == (outcome, "why", True, True)
    assert (row.passed, row.score, row.grade, row.progress) == (False, None, None, None)


@pytest.mark.parametrize("outcome", ["provider_error", "sandbox_error", "fixture_error", "delivery_error", "cancelled"])
def test_a_fault_that_is_not_the_agents_is_no_failure_of_it(folder: RunFolder, library: Library, outcome: str) -> None:
    attempt = make_attempt(outcome=Outcome(outcome))
    row = row_of(folder, library, make_trial(CELL, attempt), make_judgment(CELL))  # a judgment cannot make it one
    assert (row.measures_agent, row.judged, row.passed, row.score, row.grade) == (False, False, None, None, None)


def test_a_trial_that_could_not_be_judged_is_excluded_with_the_reason(folder: RunFolder, library: Library) -> None:
    row = row_of(folder, library, make_trial(CELL), make_judgment(CELL, result=None, error="no space left"))
    assert (row.outcome, row.reason, row.measures_agent) == ("judge_error", "no space left", False)
    assert (row.judged, row.passed) == (False, None)


def test_a_fault_of_the_provider_stays_one_though_it_could_not_be_judged_either(
    folder: RunFolder, library: Library
) -> None:
    trial = make_trial(CELL, make_attempt(outcome=Outcome.PROVIDER_ERROR, reason="overloaded"))
    row = row_of(folder, library, trial, make_judgment(CELL, result=None, error="x"))
    assert (row.outcome, row.reason) == ("provider_error", "overloaded")


@pytest.mark.parametrize("judgment", [None, make_judgment(CELL, trial_key="another")], ids=["none", "of another trial"])
def test_a_trial_without_its_judgment_is_counted_and_unknown(
    folder: RunFolder, library: Library, judgment: Judgment | None
) -> None:
    row = row_of(folder, library, make_trial(CELL), judgment)
    assert (row.measures_agent, row.judged, row.passed, row.score) == (True, False, None, None)
    assert (row.items_na, row.broken_guards) == (0, 0)


def test_items_that_were_not_scored_are_counted(folder: RunFolder, library: Library) -> None:
    items = [
        ItemScore(id=f"O{n}", category="all", points=1.0, value=value, by="judge", reason="")
        for n, value in enumerate([None, 0.0, None])
    ]
    assert row_of(folder, library, make_trial(CELL), make_judgment(CELL, items=tuple(items))).items_na == 2


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [(0.25, 0.5, 0.75), (None, 0.5, None), (0.5, None, None), (0.0, 0.0, 0.0)],
)
def test_what_failed_attempts_cost_is_in_the_row_and_unknown_stays_unknown(
    folder: RunFolder, library: Library, first: float | None, second: float | None, expected: float | None
) -> None:
    attempts = [
        make_attempt(number=1, outcome=Outcome.PROVIDER_ERROR, seconds=99.0, usage=_usd(first)),
        make_attempt(number=2, seconds=3.0, usage=_usd(second)),
    ]
    row = row_of(folder, library, make_trial(CELL, *attempts))
    assert (row.usd, row.attempts, row.seconds, row.outcome) == (expected, 2, 3.0, "completed")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"side_requests": 1, "side_usd": 0.25}, {"side_requests": 2, "side_usd": 0.5}, (3, 0.75)),
        ({"usage": NO_USAGE}, {"side_requests": 2, "side_usd": 0.5}, (2, 0.5)),
        ({}, {"side_requests": 2, "side_usd": 0.5}, (None, None)),
        ({"side_requests": 1, "side_usd": None}, {"side_requests": 2, "side_usd": 0.5}, (3, None)),
    ],
    ids=["summed", "an attempt that reached no model", "an older record", "an unknown cost"],
)
def test_what_other_models_than_the_arms_cost_is_summed_over_attempts(
    folder: RunFolder, library: Library, first: dict[str, Any], second: dict[str, Any], expected: tuple[Any, Any]
) -> None:
    one = make_attempt(**{"outcome": Outcome.PROVIDER_ERROR, "usage": _usd(1.0), **first})
    two = make_attempt(**{"number": 2, "usage": _usd(1.0), "requests": 4, **second})
    row = row_of(folder, library, make_trial(CELL, one, two))
    assert (row.side_requests, row.side_usd) == expected


def _usd(value: float | None) -> Usage:
    return NO_USAGE.model_copy(update={"usd": value})


def test_a_trial_without_a_diff_has_unknown_changes_not_none(folder: RunFolder, library: Library) -> None:
    row = row_of(folder, library, make_trial(CELL))
    assert (row.files_changed, row.lines_changed) == (None, None)


@pytest.mark.parametrize("trial", [None, make_trial(CELL, key="another")], ids=["no trial", "a trial of another key"])
def test_a_cell_without_its_trial_has_no_row(folder: RunFolder, library: Library, trial: Trial | None) -> None:
    if trial is not None:
        store(folder, trial, make_judgment(CELL))
    assert collected(folder, library) == []


def test_rows_are_in_the_order_of_the_plan(folder: RunFolder, library: Library) -> None:
    cells = [make_cell("oracle"), make_cell("nop", 2), make_cell("nop", 1)]
    for cell in cells:
        store(folder, make_trial(cell))
    rows = collected(folder, library, make_plan(*cells))
    assert [row.cell for row in rows] == [cell.id for cell in cells]


def test_trials_that_are_not_planned_are_left_alone(folder: RunFolder, library: Library) -> None:
    store(folder, make_trial(make_cell("oracle")))
    store(folder, make_trial(CELL))
    assert [row.cell for row in collected(folder, library)] == [CELL.id]


@pytest.mark.parametrize("name", ["trial.json", "judgment.json"])
def test_an_unreadable_record_is_named_and_the_rows_before_it_are_kept(
    folder: RunFolder, library: Library, name: str
) -> None:
    store(folder, make_trial(CELL), make_judgment(CELL))
    before = collected(folder, library)
    bad = write(folder.cell(CELL.id).root / name, '{"cell":')
    with pytest.raises(ConfigError, match=rf"{bad}: not a (Trial|Judgment) of this version"):
        collect(make_plan(CELL), folder, library)
    assert list(read_lines(folder.results, Result)) == before


def test_collecting_again_is_the_same_file(folder: RunFolder, library: Library) -> None:
    store(folder, make_trial(CELL), make_judgment(CELL))
    collected(folder, library)
    first = folder.results.read_bytes()
    collected(folder, library)
    assert folder.results.read_bytes() == first


def test_a_row_says_which_settings_were_left_out_and_who_paid(folder: RunFolder, library: Library) -> None:
    first = make_attempt(subscription=True)
    last = make_attempt(number=2, adjusted=("max_tokens",), unadjusted=("max_tokens", "temperature"))
    judgment = make_judgment(CELL, unadjusted=("temperature",))
    row = row_of(folder, library, make_trial(CELL, first, last), judgment)
    assert (row.unadjusted, row.judge_unadjusted, row.subscription) == ("max_tokens temperature", "temperature", True)
    row = row_of(folder, library, make_trial(CELL, last), make_judgment(CELL, subscription=True))
    assert row.subscription


def test_a_row_names_its_github_also_if_no_attempt_reached_it(folder: RunFolder, tmp_path: Path) -> None:
    write_hub_scenario(tmp_path / "github")
    cell = make_cell(scenario=ID)
    store(folder, make_trial(cell, make_attempt(outcome=Outcome.SANDBOX_ERROR)))
    (row,) = collected(folder, Library.here(tmp_path / "github"), make_plan(cell))
    assert (row.github, row.github_requests, row.github_gaps) == ("hub", None, None)
