import pytest

from scylla_gha.model.delivery import Delivery
from scylla_gha.model.network import Reached
from scylla_gha.model.trial import NO_USAGE, Outcome, Usage
from scylla_gha.render.dossier import Work
from scylla_gha.render.trial import View
from tests.support.dossiers import CELL, answered, asked, judgment, make_dossier, make_whole, shown
from tests.support.golden import golden
from tests.support.records import make_attempt, make_judgment, make_trial


@pytest.mark.parametrize(
    ("name", "view"),
    [
        pytest.param("show-failed.txt", View(diff=True), id="all that can be stored"),
        pytest.param("show-first-attempt.txt", View(attempt=1), id="an attempt that does not stand"),
    ],
)
def test_a_trial_as_a_person_reads_it(name: str, view: View) -> None:
    text = shown(make_whole(), view)
    assert text == golden(name, text)


def test_a_cell_without_a_trial_says_so() -> None:
    text = shown(make_dossier())
    assert text == golden("show-planned.txt", text)


def head(text: str, name: str) -> str:
    (found,) = [line for line in text.splitlines() if line.startswith(f"  {name}")]
    return found[12:]


def test_an_attempt_without_a_record_goes_on_or_was_killed() -> None:
    text = shown(make_dossier(Work(number=1, traffic=(asked(1, conversation=3),))))
    assert "    1 no record: it goes on, or the harness was killed in the middle of it; its cost is unknown\n" in text
    assert head(text, "agent") == "1 requests; 0 repeated; errors: none; 1 without an answer; ?, at least $0.00"


def test_a_built_in_agent_has_no_trajectory_and_asked_no_model() -> None:
    attempt = make_attempt()
    text = shown(make_dossier(Work(number=1, attempt=attempt), trial=make_trial(CELL, attempt)))
    assert "none is stored: a built-in agent has none" in text
    assert "Traffic of attempt 1\n  none: no model was asked" in text
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
                     "none: the stored judgment is of another trial; `scylla-gha judge demo` judges this one", id="x"),
        pytest.param({"judgment": UNJUDGED}, "completed",
                     "none: it could not be judged: 2 judges are missing", id="unjudged"),
        pytest.param({"judgment": make_judgment(CELL)}, "timeout",
                     "passed: score 1.00, threshold 0.60 (score 1.00, grade A, progress 100 %)", id="passed"),
        pytest.param({"judgment": judgment()}, "completed",
                     "failed: kept does not hold (score 0.55, grade C, progress 50 %; broken guards: kept)", id="fail"),
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
        shown(make_dossier(), View(attempt=3))


def test_traffic_of_judges_alone_is_shown() -> None:
    text = shown(make_dossier(Work(number=1, judge_traffic=(asked(1, "judge"), answered(1)))))
    assert head(text, "judges") == "1 requests; 0 repeated; errors: none; $0.0100"


@pytest.mark.parametrize(
    ("delivery", "said"),
    [
        (Delivery(proved=True, tools=24, system_prompt_bytes=0), "proved; 24 tools; 0 bytes of system prompt"),
        (Delivery(proved=False, missing=("skill a",)), "missing: skill a"),
        (Delivery(proved=False, unverified=("no request",)), "not proved; unverified: no request"),
    ],
)
def test_the_proof_of_the_treatment_is_told(delivery: Delivery, said: str) -> None:
    trial = make_trial(CELL, make_attempt(delivery=delivery))
    assert said in head(shown(make_dossier(trial=trial)), "delivery")


def test_hosts_that_were_sought_are_shown_by_name() -> None:
    network = Reached(allowed={"pkg.test": 3}, refused={"a.org": 1, "b.org:22": 2})
    attempt = make_attempt(network=network)
    text = shown(make_dossier(Work(number=1, attempt=attempt), trial=make_trial(CELL, attempt)))
    assert "network   reached: pkg.test 3\n" in text
    assert "network   refused: a.org 1, b.org:22 2\n" in text
    silent = make_attempt(network=Reached())
    assert "network" not in shown(make_dossier(Work(number=1, attempt=silent), trial=make_trial(CELL, silent)))
