"""Controls of judges in this process: the real SDK, a real gateway, a scripted provider."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.evaluate.context import JudgeOverrides, RunContext
from scylla_gha.evaluate.judge_run import (
    ControlTarget,
    JudgedTrial,
    control_targets,
    pending_controls,
    run_controls,
    stored_controls,
)
from scylla_gha.evaluate.model_access import RecordingOptions, open_services
from scylla_gha.evaluate.run_cells import run_cells
from scylla_gha.model.judgment import JudgeControl
from scylla_gha.store import write_record
from scylla_gha.store.run_folder import traffic_of
from tests.support.agents import ShellAgent
from tests.support.in_process_run import make_run_context
from tests.support.judged_repository import RUBRIC, Script, fair, sees
from tests.support.library import write_model
from tests.support.panel import asked_for
from tests.support.provider import Fail, Provider, serve
from tests.support.records import make_model
from tests.support.repository import SCENARIO, Repository, cache, make_repository
from tests.support.trials import SOLVE

JUDGES = ("opus", "sonnet")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("SCYLLA_CACHE", str(cache()))
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "work"))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-canary-0123456789")
    made = make_repository(tmp_path / "repo", rubric=RUBRIC)
    for name in JUDGES:
        write_model(made.root, make_model(id=name))
    return made


@contextmanager
def tried(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, script: Script = fair, alone: str = "", **given: Any
) -> Iterator[tuple[RunContext, list[JudgedTrial], Provider]]:
    """A journey whose one trial is judged, within its gateway; what the provider was asked so far is forgotten."""
    judge_overrides = JudgeOverrides(judges=(alone,) if alone else ())
    fields = {"judges": JUDGES, **given}
    with serve(script) as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        runs = repository.root.parent / "runs"
        journey = make_run_context(repository, runs, {"shell": ShellAgent(SOLVE)}, **fields)
        sources = ConfigSources(Library.here(repository.root))  # the judges' wording is the toolkit's
        settings = replace(journey.settings, overrides=judge_overrides, sources=sources)
        told: list[JudgedTrial] = []
        with open_services(settings, RecordingOptions()) as journey:
            run_cells(journey, journey.settings.plan.cells, lambda *one: told.append(one))
            provider.requests.clear()
            yield journey, told, provider


def wanted(
    journey: RunContext, told: list[JudgedTrial], times: int | None = None, *, with_known_answers: bool = True
) -> list[ControlTarget]:
    targets = control_targets(journey.settings, told, times, with_known_answers=with_known_answers)
    return pending_controls(journey.settings, targets, None)


def names(found: list[ControlTarget]) -> list[tuple[str, str]]:
    return [(probe.subject, probe.judge) for subject in found for probe in subject.controls]


def test_what_is_controlled_is_each_judge_on_each_scenario_and_on_each_trial(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tried(repository, monkeypatch) as (journey, told, _):
        cell = told[0][0].id
        assert names(wanted(journey, told)) == [(SCENARIO, judge) for judge in JUDGES]
        assert names(wanted(journey, told, 2, with_known_answers=False)) == [(cell, judge) for judge in JUDGES]
        assert names(wanted(journey, [*told, *told])) == [(SCENARIO, judge) for judge in JUDGES]
        assert wanted(journey, [(told[0][0], told[0][1], None)], 2, with_known_answers=False) == []


def test_without_judges_there_is_nothing_to_control(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    with tried(repository, monkeypatch, judges=()) as (journey, told, _):
        assert wanted(journey, told, 2) == []


def test_three_questions_decide_two_controls(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    with tried(repository, monkeypatch) as (journey, told, provider):
        found = wanted(journey, told)
        run_controls(journey, found)
        probes = stored_controls(journey.settings, found)
        asked = [(sees(body), asked_for(body)) for body in provider.requests if body["model"] == "opus"]
        assert asked == [(True, ["Q1", "Q2"]), (False, ["Q1", "Q2"]), (False, ["Q2", "Q1"])]
        assert [(one.kind, one.holds) for one in probes[0].controls] == [("canary", True), ("order_swap", True)]
        assert wanted(journey, told) == []


def test_the_judgments_own_answer_is_the_first_of_those_that_are_compared(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tried(repository, monkeypatch) as (journey, told, provider):
        found = wanted(journey, told, 3, with_known_answers=False)
        run_controls(journey, found)
        (first, _) = stored_controls(journey.settings, found)
        assert [body["model"] for body in provider.requests].count("opus") == 2
        assert (first.times, first.controls[0].holds, first.controls[0].compared) == (3, True, 4)


def test_a_control_that_is_killed_is_on_record_before_anybody_is_asked(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[JudgeControl] = []
    runs = repository.root.parent / "runs"

    def script(body: Any) -> Any:
        paths = runs.glob("controls/*/*.json")
        seen.extend(JudgeControl.model_validate_json(path.read_text()) for path in paths)
        return fair(body)

    with tried(repository, monkeypatch, script, alone="opus") as (journey, told, _):
        run_controls(journey, wanted(journey, told))
    assert {probe.error for probe in seen} == {"the harness was killed during the control"}


def test_what_was_decided_stands_where_it_cannot_be_decided_again(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tried(repository, monkeypatch, lambda _: Fail(400), alone="opus") as (journey, told, _):
        (subject,) = pending_controls(
            journey.settings, control_targets(journey.settings, told, None, with_known_answers=True), None
        )
        (probe,) = subject.controls
        decided = {"kind": "canary", "judge": "opus", "holds": True, "why": "before"}
        earlier = JudgeControl.model_validate({**probe.model_dump(), "controls": (decided,), "error": "half of it"})
        write_record(journey.settings.folder.probe(SCENARIO, "opus", probe.key), earlier)
        run_controls(journey, [subject])
        (found,) = stored_controls(journey.settings, [subject])
    assert [(one.kind, one.holds) for one in found.controls] == [("canary", True), ("order_swap", None)]
    assert found.error is not None
    assert "the provider answered 400" in found.error


def test_a_wrong_answer_that_does_not_apply_leaves_the_controls_undecided(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tried(repository, monkeypatch, alone="opus") as (journey, told, provider):
        journey.settings.scenario(SCENARIO).wrong[0].write_text("no patch at all\n")
        found = wanted(journey, told)
        run_controls(journey, found)
        (probe,) = stored_controls(journey.settings, found)
        assert provider.requests == []
    assert probe.error is not None
    assert "git apply" in probe.error
    assert names(wanted(journey, told)) == [(SCENARIO, "opus")], "it is tried again"


def test_a_run_that_is_stopped_asks_nobody(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    with tried(repository, monkeypatch) as (journey, told, provider):
        journey.state.cancel.set()
        found = wanted(journey, told)
        run_controls(journey, found)
        assert (provider.requests, stored_controls(journey.settings, found)) == ([], ())


def test_what_controls_cost_is_spent_of_the_experiments_budget(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tried(repository, monkeypatch) as (journey, told, _):
        found = wanted(journey, told)
        run_controls(journey, found)
        probes = stored_controls(journey.settings, found)
        journals = [traffic_of(path) for path in journey.settings.folder.probes()]
    assert all(journal.is_file() for journal in journals)
    spent = sum(probe.usage.usd or 0 for probe in probes)
    plan = journey.settings.plan
    experiment = plan.experiment.model_copy(update={"budget_usd": spent + 1e-9})
    again = replace(journey.settings, plan=plan.model_copy(update={"experiment": experiment}), agents={})
    with serve(fair) as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        with open_services(again, RecordingOptions()) as context:
            targets = control_targets(again, told, 2, with_known_answers=False)
            run_controls(context, pending_controls(again, targets, None))
        assert provider.requests == []
