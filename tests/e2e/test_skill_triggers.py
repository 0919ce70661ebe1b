"""Triggers of skills by `scylla-gha skill`, with the real Claude Code CLI and a scripted provider."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.triggers import QueryCounts, TriggerReport
from tests.support.command import Said, scylla
from tests.support.provider import Body, Provider, serve
from tests.support.repository import write_tree
from tests.support.skills import write_skill
from tests.support.trigger_journeys import USUAL, Journeys, author, query

KEY = "sk-ant-canary-0123456789"
REPORT = "runs/skill-skills-triggers/triggers.json"
# What each journey is for the skill of its label: triggered, answers of first use, undecided.
EXPECTED: dict[str, tuple[int, tuple[int, ...], int]] = {
    "first": (1, (1,), 0),
    "bash-first": (1, (2,), 0),
    "other-first": (1, (2,), 0),
    "sub-agent": (1, (1,), 0),
    "forked": (1, (1,), 0),
    "unknown": (0, (), 0),
    "reads": (1, (1,), 0),
    "never": (0, (), 0),
    "cut": (0, (), 0),  # the CLI asks again, and ends without the skill
    "limited": (1, (1,), 0),
    "forges": (0, (), 0),
    "works-on": (0, (), 1),
    "quiet": (0, (), 0),
    "loud": (1, (1,), 0),
}
# Requests that were paid for; 0 after the decision.
PAID = {"first": 1, "bash-first": 2, "other-first": 2, "forked": 1, "loud": 1, "works-on": 5, "never": 1}


@dataclass(frozen=True)
class Run:
    folder: Path
    said: Said
    model: Journeys
    provider: Provider
    report: TriggerReport

    def counts(self, name: str) -> QueryCounts:
        (found,) = [each for skill in self.report.skills for each in skill.queries if each.text == query(name)]
        return found


def measure(root: Path, provider: Provider, *options: str) -> Said:
    env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}
    return scylla("skill", "skills", "--yes", "--only", "triggers", "--jobs", "2", *options, cwd=root, env=env)


def read(root: Path) -> TriggerReport:
    return TriggerReport.model_validate_json((root / REPORT).read_text())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("triggers")
    author(folder)
    model = Journeys()
    with serve(model) as provider:
        said = measure(folder, provider, "--trigger-repetitions", "1")
    return Run(folder, said, model, provider, read(folder))


@pytest.mark.parametrize("name", USUAL)
def test_a_journey(run: Run, name: str) -> None:
    found = run.counts(name)
    assert (found.fired, found.turns, found.undecided, found.trials) == (*EXPECTED[name], 1)
    assert found.read == (name == "reads")


@pytest.mark.parametrize("name", PAID)
def test_nothing_is_paid_after_the_decision(run: Run, name: str) -> None:
    assert run.model.asked[name] == PAID[name]


def test_the_answer_names_rates_swaps_and_what_was_not_run(run: Run) -> None:
    tally = next(skill for skill in run.report.skills if skill.skill == "tally")
    assert tally.should is not None
    assert tally.should_not is not None
    assert (tally.should.fired, tally.should.trials) == (6, 11)
    assert (tally.should_not.fired, tally.should_not.trials) == (1, 2)
    assert "tally: Fires on 6 of 11 asks (" in run.said.out
    assert [(swap.expected, swap.used) for swap in run.report.swaps] == [("tally", "other")]
    assert "private: its queries are not run: only users can call it" in run.said.err
    assert "1 query calls a skill by its name" in run.said.err
    assert tally.missing == {}


def outcomes(root: Path) -> dict[str, tuple[str, str]]:
    rows = map(json.loads, (root / REPORT).with_name("results.jsonl").read_text().splitlines())
    found: dict[str, Any] = {row["scenario"]: (row["outcome"], row["reason"]) for row in rows}
    return found


def test_the_decision_is_the_reason_of_the_outcome(run: Run) -> None:
    found = {
        name: reason
        for scenario, reason in outcomes(run.folder).items()
        for name in USUAL
        if f"journey-{name}-sum" in scenario
    }
    assert found["first"] == ("completed", "decided")
    assert found["works-on"] == ("completed", "undecided after 5 answers")
    assert found["never"][0] == "completed"


def test_a_trial_passes_if_the_skill_triggered_as_the_label_says(run: Run) -> None:
    lines = (run.folder / REPORT).with_name("results.jsonl").read_text().splitlines()
    passed = {row["scenario"]: row["passed"] for row in map(json.loads, lines)}
    found = {
        name: verdict for scenario, verdict in passed.items() for name in USUAL if f"journey-{name}-sum" in scenario
    }
    assert (found["first"], found["never"]) == (True, False)


def test_a_plugins_skill_that_is_listed_by_its_name_only(tmp_path: Path) -> None:
    long = "description: " + "Works with many ledgers of all kinds and shelves. " * 20
    author(tmp_path, ("first", "plugin"))
    for name in ("a-first", "b-second", "tally"):
        write_skill(tmp_path / "skills" / name, f"name: {name}\n{long.rstrip()}")
    write_tree(tmp_path, {".claude-plugin/plugin.json": '{"name": "books"}'})
    model = "claude-haiku-4-5-20251001"  # its context leaves less room than that of newer models
    with serve(Journeys()) as provider:
        said = measure(tmp_path, provider, "--trigger-repetitions", "1", "--model", model)
    assert said.code == 0, said.err
    found = {each.text: each for skill in read(tmp_path).skills for each in skill.queries}
    assert [found[query(name)].turns for name in ("first", "plugin")] == [(1,), (1,)]
    listed = "\n".join(text for body in provider.requests for text in system_texts(body))
    assert "- books:tally" in listed
    assert "- books:tally: " not in listed


def system_texts(body: Body) -> list[str]:
    return [json.dumps(message, ensure_ascii=False).replace("\\n", "\n") for message in body["messages"]]


def test_a_stored_run_is_reported_again_for_nothing_and_strictly(run: Run) -> None:
    with serve(Journeys()) as provider:
        again = measure(run.folder, provider, "--trigger-repetitions", "1", "--strict")
    assert provider.requests == []
    assert "tally: Fires on 5 of 11 asks (" in again.out
