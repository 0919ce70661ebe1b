"""The step `judge` with a panel: code decides what it can, judges the rest, and nobody makes up a score."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.keys import judgment_key
from scylla_gha.judge import judge_trial
from scylla_gha.judge.panel import open_panel
from scylla_gha.judge.score import NO_PANEL
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.trial import NO_USAGE, Outcome, Trajectory
from scylla_gha.prepare import PreparedScenario
from scylla_gha.store import write_record
from scylla_gha.store.run_folder import CellFolder
from tests.support.gateway import EACH
from tests.support.panel import asked_for, fault, raw, reply
from tests.support.provider import Body, Fail, Say
from tests.support.records import make_category, make_item, make_rubric
from tests.support.repository import make_repository
from tests.support.shared_host import shared_host
from tests.support.trials import SOLVE, leave_trial, make_judging_context

JUDGES = ("dear", "stubborn", "dear")
RUBRIC = make_rubric(
    make_category(make_item(id="F1", checks=("greets",)), id="functional", weight=0.5),
    make_category(make_item(id="Q1", type="subjective", checks=()), id="quality", weight=0.5),
)


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCYLLA_WORK", str(tmp_path / "work"))


def near(usd: float) -> Any:
    return pytest.approx(usd)


def says(**item: Any) -> Callable[[Body], Say]:
    return lambda body: Say(reply(*(raw(name, **item) for name in asked_for(body))))


@dataclass
class Case:
    """A trial's scenario and cell, and what the judges of it were sent."""

    prepared: PreparedScenario
    cell: CellFolder
    sent: list[Body] = field(default_factory=list)

    def judged(self, script: Callable[[Body], Say | Fail], do: str = SOLVE, **attempt: Any) -> Judgment:
        """The judgment of a trial by a panel."""
        trial = leave_trial(self.prepared, self.cell, do, **attempt)
        with shared_host(self.cell.root, script) as (host, provider):
            panel = open_panel(host.gateway, JUDGES, [Path(__file__).parents[2]])
            made = judge_trial(trial, self.prepared, self.cell, make_judging_context(panel=panel, digest="panel"))
            self.sent = list(provider.requests)
        assert made.key == judgment_key(trial, self.prepared.folder.judging_digest, "panel")
        return made

    def say_last(self, message: str) -> None:
        """Let the agent's final message be this."""
        write_record(self.cell.attempt(1).file("trajectory.json"), Trajectory(final_message=message))


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(make_repository(tmp_path / "repo", rubric=RUBRIC).prepared(), CellFolder(tmp_path / "cell"))


def test_the_panels_items_stand_beside_those_of_code(case: Case) -> None:
    made = case.judged(says(deductions=[fault("minor", 0.2)]))
    assert [(item.id, item.value, item.by) for item in made.items] == [("F1", 1.0, "check"), ("Q1", 0.8, "judge")]
    assert made.result is not None
    assert (made.result.score, made.result.passed, made.error) == (0.9, True, None)
    assert [(one.judge, one.score("Q1") is not None) for one in made.answers] == [(name, True) for name in JUDGES]
    assert made.usage.usd == near(3 * EACH)
    assert case.cell.attempt(1).file("judge-traffic.jsonl").read_text().count('"kind":"answered"') == 3


def test_without_a_court_the_panels_items_do_not_apply(case: Case) -> None:
    made = judge_trial(leave_trial(case.prepared, case.cell), case.prepared, case.cell, make_judging_context())
    assert [(item.value, item.reason) for item in made.items if item.by == "judge"] == [(None, NO_PANEL)]
    assert (made.answers, made.usage) == ((), NO_USAGE)
    assert made.result is not None
    assert made.result.score == 1.0


def test_judges_see_the_work_and_the_last_word_and_nothing_of_the_arm(case: Case) -> None:
    case.say_last("All is done, says canary.")
    made = case.judged(says())
    text = case.sent[0]["messages"][0]["content"]
    assert "All is done, says canary." in text
    assert "+echo hello" in text
    assert "notes/kept.txt" in text
    assert not [word for word in (made.cell, made.trial_key, str(case.cell.root)) if word in str(case.sent)]


@pytest.mark.parametrize("outcome", ["completed", "timeout"])
def test_who_changed_nothing_earns_nothing_and_nobody_is_paid_to_say_so(case: Case, outcome: str) -> None:
    made = case.judged(says(), "true", outcome=Outcome(outcome))
    assert case.sent == []
    assert [(item.id, item.value) for item in made.items] == [("F1", 0.0), ("Q1", 0.0)]
    assert made.result is not None
    assert (made.result.score, made.result.passed, made.usage, made.answers) == (0.0, False, NO_USAGE, ())


def test_where_all_items_are_for_code_nobody_is_asked(case: Case, tmp_path: Path) -> None:
    other = Case(make_repository(tmp_path / "other").prepared(), case.cell)
    made = other.judged(says())
    assert (other.sent, made.answers, made.usage) == ([], (), NO_USAGE)
    assert made.result is not None
    assert made.result.score == 1.0


def test_a_panel_that_cannot_be_asked_leaves_no_score_but_what_it_cost(case: Case) -> None:
    made = case.judged(lambda body: Fail(400) if body["model"] == "dear" else says()(body))
    assert made.error is not None
    assert made.error.startswith("unjudged: Q1: 1 of 3 judges answered, 1 with a value; 2 must agree")
    assert (made.result, made.categories) == (None, ())
    assert [check.id for check in made.checks] == ["greets", "kept", "scope"]
    assert (made.usage.usd, len(made.answers)) == (near(EACH), 3)


REFUSED = Say("I will not read this.", stop_reason="refusal")


def test_where_a_required_check_fails_the_trial_failed_whatever_judges_do(case: Case) -> None:
    made = case.judged(lambda _: REFUSED, "echo 'echo no' >greet.sh")
    assert made.result is not None
    assert (made.result.score, made.result.grade, made.result.passed) == (0.0, "F", False)
    assert made.result.why.startswith("greets does not hold; 3 judges gave no verdict, which counts as not met: dear (")
    assert [item.value for item in made.items] == [0.0, 0.0]
    assert len(case.sent) == 6, "with all evidence, and with the diff alone"
    assert {one.lost for one in made.answers} == {"refused"}


@pytest.mark.parametrize("attempt", [{"outcome": Outcome.COMPLETED}, {"outcome": Outcome.TIMEOUT, "reason": "slow"}])
def test_what_failed_is_a_failure_also_where_no_judge_can_be_reached(case: Case, attempt: dict[str, Any]) -> None:
    do = SOLVE if attempt["outcome"] is Outcome.TIMEOUT else "echo 'echo no' >greet.sh"
    made = case.judged(lambda _: Fail(404), do, **attempt)
    assert made.result is not None
    assert (made.result.score, made.result.passed) == (None, False)
    assert made.error is not None, "so that it is scored, once a judge can be reached"
    assert {one.lost for one in made.answers} == {"unreached"}


def test_what_failed_is_a_failure_also_where_judging_cannot_begin(case: Case) -> None:
    case.cell.attempt(1).file("judge-traffic.jsonl").mkdir(parents=True)
    made = case.judged(says(), "echo 'echo no' >greet.sh")
    assert made.result is not None
    assert not made.result.passed
    assert made.error


def test_judges_who_refuse_are_asked_again_with_the_diff_alone(case: Case) -> None:
    case.say_last("A text that no model reads.")

    def script(body: Body) -> Say:
        shown = body["messages"][0]["content"]
        return REFUSED if "no model reads" in shown else says()(body)

    made = case.judged(script, f"{SOLVE}; touch notes/words-of-the-agent")
    assert made.result is not None
    assert (made.result.score, made.result.passed, made.error, made.unjudged) == (1.0, True, None, None)
    assert [(one.diff_alone, one.lost, one.retries) for one in made.answers] == [(True, None, 1)] * 3
    alone = case.sent[-1]["messages"][0]["content"]
    assert "+echo hello" in alone
    assert "greets: holds" in alone
    assert not [part for part in ("final message", "workspace tree", "output of the checks") if f'"{part}"' in alone]
    assert made.usage.usd == near(6 * EACH)


@pytest.mark.parametrize("answer", [REFUSED, Say("I cannot help with that.")], ids=["stop reason", "in words"])
def test_judged_items_of_a_solution_that_no_judge_will_read_are_not_met(case: Case, answer: Say) -> None:
    made = case.judged(lambda _: answer)
    assert (made.error, made.unjudged) == (None, None)
    assert made.result is not None, "only faults of the provider exclude"
    assert (made.result.score, made.result.passed) == (0.5, False)
    assert "; 3 judges gave no verdict, which counts as not met: dear (Q1: " in made.result.why
    assert [(item.id, item.value) for item in made.items] == [("F1", 1.0), ("Q1", 0.0)]
    assert made.items[1].reason.startswith("no judge gave a verdict; counts as not met: dear: ")
    assert {(one.diff_alone, one.lost is None) for one in made.answers} == {(True, False)}


@pytest.mark.parametrize("status", [400, 413])
def test_evidence_that_a_provider_rejects_is_shown_again_as_a_diff_alone(case: Case, status: int) -> None:
    case.say_last("Much too long.")
    made = case.judged(lambda body: Fail(status) if "Much too long" in str(body["messages"]) else says()(body))
    assert made.result is not None
    assert made.result.passed


def test_a_text_that_a_provider_always_rejects_counts_as_refused(case: Case) -> None:
    """Such as one that a content filter stops before the model: the agent wrote it, so it excludes nothing."""

    def script(body: Body) -> Say | Fail:
        return Fail(400) if "echo hello" in str(body["messages"]) else says()(body)

    made = case.judged(script)
    assert made.result is not None
    assert (made.result.score, made.result.passed, made.error) == (0.5, False, None)
    assert {one.lost for one in made.answers} == {"refused"}
    assert "the same request without the agent's work was accepted" in str(made.answers[0].error)
    assert len(case.sent) == 9


def test_an_account_whose_requests_are_all_rejected_excludes_the_trial(case: Case) -> None:
    made = case.judged(lambda _: Fail(400))
    assert (made.result, {one.lost for one in made.answers}) == (None, {"rejected"})
    assert made.error, "it is judged again"


def test_what_the_panel_likes_does_not_pass_where_a_required_check_fails(case: Case) -> None:
    made = case.judged(says(), "echo 'echo no' >greet.sh")
    assert made.result is not None
    assert (made.result.score, made.result.passed, made.result.why) == (0.5, False, "greets does not hold")


def test_junk_hides_neither_the_change_nor_the_files_that_were_there(case: Case) -> None:
    junk = "mkdir a; x=$(printf 'x%.0s' $(seq 300)); for i in $(seq 1100); do printf $x >a/$i; done"
    case.judged(says(), f"{SOLVE}; {junk}")
    text = case.sent[0]["messages"][0]["content"]
    assert text.index("+echo hello") < text.index("+xxx")
    assert text.index("+1 -1 greet.sh (whole)") < text.index(" a/1 (")
    assert text.index("\nnotes/kept.txt\n") < text.index("\na/1\n")
    assert "Changed files: 1101" in text
    assert " not shown. First come those that task, checks and rubric name" in text
