from scylla_gha.config.keys import judgment_key
from scylla_gha.model import digest
from scylla_gha.model.judgment import TIERS, ItemScore, JudgeAnswer, JudgeControl, JudgeScore, Judgment
from tests.support.panel import answer, score
from tests.support.records import make_attempt, make_cell, make_judgment, make_score, make_trial


def test_an_item_that_is_not_scored_is_not_zero_in_its_file() -> None:
    item = ItemScore(id="O1", category="all", points=1.0, value=None, by="judge", reason="no panel")
    judgment = make_judgment(make_cell(), items=(item,), result=make_score(score=None, grade=None, passed=False))
    text = judgment.model_dump_json()
    assert '"value":null' in text
    assert '"score":null' in text
    assert Judgment.model_validate_json(text) == judgment


def test_the_image_that_checks_run_in_is_in_the_key_where_there_is_one() -> None:
    trial = make_trial(make_cell(), make_attempt(diff=None))
    without = judgment_key(trial, "checks", "panel")
    assert without == digest([trial.key, None, "checks", "panel"])
    assert len({without, *(judgment_key(trial, "checks", "panel", image) for image in ("a", "b"))}) == 3


def test_the_tiers_are_the_papers_and_leave_no_gap() -> None:
    bounds = list(TIERS.values())
    assert bounds[0][0] == 0
    assert [low for low, _ in bounds[1:]] == [high for _, high in bounds[:-1]] == [0.05, 0.15, 0.30, 0.50, 0.80, 1.50]


def test_an_item_that_is_missing_is_no_answer() -> None:
    gone = JudgeScore(id="Q1", evidence="", state="missing", reason="not answered")
    said = answer("opus", gone, score(None, "Q2"))
    assert said.score("Q1") is None
    assert said.score("Q2") == score(None, "Q2")
    assert said.score("Q3") is None


def test_an_answer_survives_its_file() -> None:
    said = answer("opus", score(0.25, flags=("evidence_contradicts_score",)), steps=("one",), error="late")
    assert JudgeAnswer.model_validate_json(said.model_dump_json()) == said


def test_a_probe_is_about_a_trial_or_about_a_scenario() -> None:
    known = JudgeControl(key="k", judge="opus", scenario="001-one")
    assert (known.subject, known.model_copy(update={"cell": "001-one--nop--r01"}).subject) == (
        "001-one",
        "001-one--nop--r01",
    )


def test_a_probe_that_was_never_asked_cost_nothing() -> None:
    assert JudgeControl(key="k", judge="opus", scenario="001-one").usage.usd == 0.0
