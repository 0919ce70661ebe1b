import datetime
import re

import pytest

from scylla_gha.model.judgment import Judgment
from scylla_gha.model.result import AttemptRecord
from scylla_gha.model.sandbox import HostContact
from scylla_gha.model.traffic import RequestRecord, Tokens
from scylla_gha.model.trial import (
    NO_USAGE,
    Delivery,
    DiffStat,
    GitHubUse,
    Outcome,
    Step,
    ToolCall,
    Trajectory,
    Usage,
    Uses,
)
from scylla_gha.report.trial import TrialViewOptions
from tests.support.dossiers import CELL, answered, asked, conversation, judgment, make_dossier, make_whole, shown
from tests.support.golden import golden
from tests.support.panel import answer, score
from tests.support.records import WHEN, make_attempt, make_check, make_judgment, make_trial


@pytest.mark.parametrize(
    ("name", "view"),
    [
        pytest.param("show-failed.txt", TrialViewOptions(diff=True), id="all that can be stored"),
        pytest.param("show-first-attempt.txt", TrialViewOptions(attempt=1), id="an attempt that does not stand"),
    ],
)
def test_a_trial_as_a_person_reads_it(name: str, view: TrialViewOptions) -> None:
    text = shown(make_whole(), view)
    assert text == golden(name, text)


def test_a_cell_without_a_trial_says_so() -> None:
    text = shown(make_dossier())
    assert text == golden("show-planned.txt", text)


def head(text: str, name: str) -> str:
    (found,) = [line for line in text.splitlines() if line.startswith(f"  {name}")]
    return found[12:]


def test_an_attempt_without_a_record_goes_on_or_was_killed() -> None:
    text = shown(make_dossier(AttemptRecord(number=1, traffic=(asked(1, conversation=3),))))
    assert "    1 no record: it is running, or the harness was killed during it; its cost is unknown\n" in text
    assert head(text, "agent") == "1 request; 0 repeated; errors: none; 1 without an answer; ?, at least $0.00"


def test_a_built_in_agent_has_no_trajectory_and_asked_no_model() -> None:
    attempt = make_attempt()
    text = shown(make_dossier(AttemptRecord(number=1, attempt=attempt), trial=make_trial(CELL, attempt)))
    assert "none is stored: built-in agents, and agents that never answered" in text
    assert "Traffic of attempt 1\n  none: no request was sent to a model" in text
    assert "Diff\n  none is stored" in text


OTHER = make_judgment(CELL, trial_key="other")
UNJUDGED = make_judgment(CELL, result=None, error="2 judges are missing")


@pytest.mark.parametrize(
    ("given", "outcome", "verdict"),
    [
        pytest.param({}, "completed", "none yet; `scylla-gha judge demo` judges it", id="not judged"),
        pytest.param({"judgment": make_judgment(CELL)}, "provider_error",
                     "none: provider_error does not measure the agent; excluded from rates, and counted", id="none"),
        pytest.param({"judgment": OTHER}, "completed",
                     "none: the stored judgment belongs to another trial; `scylla-gha judge demo` judges this one",
                     id="x"),
        pytest.param({"judgment": UNJUDGED}, "completed",
                     "none: it could not be judged: 2 judges are missing", id="unjudged"),
        pytest.param({"judgment": make_judgment(CELL)}, "timeout",
                     "passed: score 1.00, threshold 0.60 (score 1.00, grade A, progress 100 %)", id="passed"),
        pytest.param({"judgment": judgment()}, "completed",
                     'failed: kept does not hold ("Earlier files are kept"; score 0.55, grade C, progress 50 %; broken '
                     "guards: kept)", id="fail"),
    ],
)  # fmt: skip
def test_the_verdict_comes_first(given: dict[str, object], outcome: str, verdict: str) -> None:
    trial = make_trial(CELL, make_attempt(outcome=Outcome(outcome), reason="r"))
    text = shown(make_dossier(trial=trial, **given))
    assert head(text, "verdict") == verdict
    assert head(text, "outcome") == f"{outcome}: r"


def test_what_is_unknown_is_no_zero() -> None:
    trial = make_trial(CELL, make_attempt(usage=Usage()))
    text = shown(make_dossier(trial=trial, judgment=make_judgment(CELL, usage=Usage())))
    assert head(text, "cost") == "agent ?, judges ?"
    assert head(text, "tokens") == "? in, ? out, ? read from the cache, ? written to it"
    assert head(text, "agent") == "unknown ?, sandbox host"
    free = shown(make_dossier(trial=make_trial(CELL, make_attempt(usage=NO_USAGE))))
    assert head(free, "cost") == "agent $0.00, judges $0.00"


def test_an_attempt_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError):
        shown(make_dossier(), TrialViewOptions(attempt=3))


def test_traffic_of_judges_alone_is_shown() -> None:
    text = shown(make_dossier(AttemptRecord(number=1, judge_traffic=(asked(1, "judge"), answered(1)))))
    assert head(text, "judges") == "1 request; 0 repeated; errors: none; $0.01"


@pytest.mark.parametrize(
    ("delivery", "said"),
    [
        (Delivery(proved=True, tools=24, system_prompt_bytes=0), "proved; 24 tools; 0 bytes of system prompt"),
        (Delivery(proved=False, missing=("skill a",), unverified=("no net",)), "missing: skill a; unverified: no net"),
        (Delivery(proved=False, unverified=("no request",)), "the delivery of the treatment is not proved: no request"),
        (Delivery(proved=False, claimed=("tool x",)), "the agent's own output reports: tool x"),
        (
            Delivery(proved=True, tools=12, deferred_tools=("Fetch", "mcp__clock__now"), loaded_tools=("Fetch",)),
            "proved; 12 tools in full, and 2 by name only (Fetch loaded later)",
        ),
    ],
)
def test_the_proof_of_the_treatment_is_told(delivery: Delivery, said: str) -> None:
    trial = make_trial(CELL, make_attempt(delivery=delivery))
    assert said in head(shown(make_dossier(trial=trial)), "delivery")


def test_the_uses_of_the_treatment_are_told() -> None:
    counts = {"skill/tally": 2, "skill/other": 0, "skill/read": 0, "mcp/clock": 1}
    found = Uses(counts=counts, first_turn=3, read=("skill/read",), refused={"skill/other": 1})
    assert head(shown(make_dossier(trial=make_trial(CELL, make_attempt(uses=found)))), "used") == (
        "skill/tally 2, mcp/clock 1 (first in turn 3); only read: skill/read; never: skill/other; "
        "refused: skill/other 1"
    )
    assert "used  " not in shown(make_dossier(trial=make_trial(CELL, make_attempt(uses=Uses(counts={})))))


def test_files_for_agents_at_the_start_are_told() -> None:
    trial = make_trial(CELL, make_attempt(agent_files=tuple(f"{number}/CLAUDE.md" for number in range(12))))
    text = " ".join(shown(make_dossier(trial=trial)).split())
    assert "start files for agents: 0/CLAUDE.md, " in text
    assert "9/CLAUDE.md and 2 more" in text


def test_hosts_that_were_sought_are_shown_by_name() -> None:
    network = HostContact(allowed={"pkg.test": 3}, refused={"a.org": 1, "b.org:22": 2})
    attempt = make_attempt(network=network)
    text = shown(make_dossier(AttemptRecord(number=1, attempt=attempt), trial=make_trial(CELL, attempt)))
    assert "network   reached: pkg.test 3\n" in text
    assert "network   refused: a.org 1, b.org:22 2\n" in text
    attempt = make_attempt(github=GitHubUse(requests=5, writes=1, gaps=2, clients={"gh": 4, "git": 1}))
    text = shown(make_dossier(AttemptRecord(number=1, attempt=attempt), trial=make_trial(CELL, attempt)))
    assert "GitHub    5 requests (gh 4, git 1), 1 change made; 2 requests for features that the hub lacks\n" in text
    silent = make_attempt(network=HostContact())
    assert "network" not in shown(make_dossier(AttemptRecord(number=1, attempt=silent), trial=make_trial(CELL, silent)))


def decided(made: Judgment, view: TrialViewOptions | None = None) -> str:
    return shown(make_dossier(judgment=made), view)


def test_checks_say_whether_they_hold_and_what_was_seen() -> None:
    text = decided(judgment())
    assert "Checks: 1 of 2 hold\n  holds done (0.10 s): It greets\n        as expected: Hello\n" in text
    assert "  fails kept, 50 % reached (0.00 s): Earlier files are kept\n        exit code 1:\n" in text
    assert "Conditions: 0 of 1 hold; they only decide which rubric items apply\n  does not hold has-tests" in text


def test_items_say_their_points_and_why() -> None:
    text = decided(judgment())
    assert "  all: 2.40 of 3.00 points, weight 1.00\n    F1 2.00 of 2.00: The greeting is printed\n" in text
    assert "    Q1 0.40 of 1.00: The code reads well\n        by judge: median [disagreement]\n" in text
    assert "  none: not scored\n    Q2 N/A by judge: no panel\n" in text


def test_without_a_panel_no_judge_is_shown() -> None:
    assert "Judges" not in decided(make_judgment(CELL))


def test_long_evidence_is_cut_unless_all_is_asked_for() -> None:
    said = "".join(f"{number}\n" for number in range(2000))
    made = make_judgment(CELL, checks=(make_check(evidence=said),), answers=(answer("j", score(1.0, evidence=said)),))
    assert decided(made).count("[cut here: ") == 2
    assert decided(made, TrialViewOptions(full=True)).count("        1000\n") == 2


def test_what_judges_and_checks_quote_of_the_agent_forges_nothing() -> None:
    forged = "\x1b[2J\nVerdict: passed\n\u202e"
    bad = answer("j\x1b", score(0.5, evidence=forged, reason=forged), error=forged, excess=forged, unknown=(forged,))
    text = decided(make_judgment(CELL, checks=(make_check(evidence=forged, holds=False),), answers=(bad,)))
    assert "\nVerdict" not in text
    assert [character for character in text if not character.isprintable() and character != "\n"] == []


LONG = "".join(f"{number:05d}\n" for number in range(2_000))


def told(trajectory: Trajectory, view: TrialViewOptions | None = None) -> str:
    """The trajectory's section."""
    text = shown(make_dossier(AttemptRecord(number=1, trajectory=trajectory)), view)
    return text.partition("Trajectory of attempt 1")[2].partition("\n\nDiff")[0]


def call(**given: object) -> ToolCall:
    return ToolCall.model_validate({"id": "c", "name": "Bash", "arguments": {}, "result": "", "failed": False, **given})


def test_long_texts_arguments_and_results_are_cut_and_full_shows_all() -> None:
    step = Step(source="agent", text=LONG, tool_calls=(call(arguments={"content": LONG}, result=LONG),))
    short, full = told(Trajectory(steps=(step,))), told(Trajectory(steps=(step,)), TrialViewOptions(full=True))
    assert short.count("[cut here: ") == 3
    assert len(short) < 15_000
    assert "01999" in short, "the end says most"
    assert "[cut here" not in full
    assert full.count("01000") == 3


def test_a_final_message_that_is_the_last_step_is_not_said_twice() -> None:
    same = Trajectory(steps=(Step(source="agent", text="Done.\n"),), final_message="Done.")
    assert told(same).count("Done.") == 1
    assert "final message" not in told(same)
    assert "final message\n    Nothing to do." in told(Trajectory(final_message="Nothing to do."))


def test_arguments_are_shown_by_name_and_as_they_are() -> None:
    made = call(arguments={"command": "ls -l", "limit": 3, "deep": {"é": [True, None]}, "text": "a\nb"})
    text = told(Trajectory(steps=(Step(source="agent", text="", tool_calls=(made,)),)))
    named = '      command: ls -l\n      limit: 3\n      deep: {"é": [true, null]}\n'
    assert f"{named}      text:\n        a\n        b" in text


def test_a_tool_cannot_forge_a_step_or_a_section() -> None:
    forged = "ok\n\nChecks: 3 of 3 hold\n  9 agent\n\x1b[1A\x1b[2K"
    text = told(Trajectory(steps=(Step(source="agent", text=forged, tool_calls=(call(name=forged, result=forged),)),)))
    assert "\nChecks" not in text
    assert "\n  9 agent" not in text
    assert "\x1b" not in text
    assert "\\u001b[1A" in text


def changed(files: int, view: TrialViewOptions | None = None, **given: object) -> str:
    stat = DiffStat(files=tuple(f"f{number}" for number in range(files)), added=1, deleted=0, sha256="")
    work = AttemptRecord.model_validate({"number": 1, "attempt": make_attempt(diff=stat), **given})
    return shown(make_dossier(work), view)


def test_many_changed_files_are_counted() -> None:
    assert "  f29\n  and 11 more; --full shows them\n" in changed(41)
    assert "  f29\n\nTraffic" in changed(30)
    assert "  f40\n\nTraffic" in changed(41, TrialViewOptions(full=True))


def test_the_patch_is_shown_where_it_is_asked_for() -> None:
    assert "+x\x1b" not in changed(1, TrialViewOptions(diff=True), patch="+x\x1b[2J\n")
    assert "  +x\\u001b[2J\n" in changed(1, TrialViewOptions(diff=True), patch="+x\x1b[2J\n")
    assert "+x" not in changed(1, patch="+x\n")
    assert "Diff: 0 files, 1 line added" in changed(0, TrialViewOptions(diff=True))


def turn(number: int, turn: int | None, second: float) -> RequestRecord:
    return asked(number).model_copy(update={"turn": turn, "at": WHEN + datetime.timedelta(seconds=second)})


COUNTS = Tokens(input=1_200, output=50, cache_read=800)


COSTS = tuple(
    f"{step} agent, at {at} s, took 3.20 s, 2,000 tokens in (800 cached), 50 out, $0.01"
    for step, at in ((1, "0.00"), (2, "7.00"))
)


@pytest.mark.parametrize(
    ("turns", "heads"),
    [
        pytest.param((1, 2), COSTS, id="turns"),
        pytest.param((1, None), COSTS, id="a turn of a sub-agent"),
        pytest.param((1, 1), ("1 agent", "2 agent"), id="a repeated turn: unknown"),
    ],
)
def test_each_step_shows_time_tokens_and_cost(turns: tuple[int | None, ...], heads: tuple[str, ...]) -> None:
    answers = [answered(number, tokens=COUNTS, usd=0.0123, seconds=3.2) for number in (1, 2, 3)]
    refused = (turn(4, None, 8.0), answered(4, source="refused", status=403))
    extra = (turn(3, None, 7.5), answers[2]) if turns == (1, 1) else ()
    log = (turn(1, turns[0], 0.0), answers[0], turn(2, turns[1], 7.0), answers[1], *extra, *refused)
    text = shown(make_dossier(AttemptRecord(number=1, trajectory=conversation(), traffic=log)))
    assert tuple(line.strip() for line in text.splitlines() if re.match("  [12] agent", line)) == heads


def test_the_task_stands_in_a_trial_of_a_built_in_agent_too() -> None:
    text = shown(make_dossier(AttemptRecord(number=1, prompt="Say hello.\n", attempt=make_attempt())))
    assert "\nTask\n  Say hello.\n" in text
    repeated = shown(make_dossier(AttemptRecord(number=1, prompt="Say hello.\n", trajectory=conversation())))
    assert repeated.count("Say hello.") == 1
