from xml.etree.ElementTree import Element, fromstring

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.interop.exporters.junit import junit
from scylla_gha.model.plan import Plan
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from tests.support.golden import golden
from tests.support.records import (
    make_cell,
    make_excluded_result,
    make_experiment,
    make_model_arm,
    make_plan,
    make_result,
)

HOSTILE = '\x1b[31m<![CDATA[ ]]> </testcase> & "quoted" \x00\ud800 ::error::@everyone\n'
CELLS = tuple(make_cell("nop", number) for number in range(1, 5))
PASSED, FAILED, FAULTY, MISSING = CELLS


def rows() -> list[Result]:
    return [
        make_result(PASSED, seconds=1.5, usd=None),
        make_result(FAILED, passed=False, score=0.25, grade="D", outcome=Outcome.TIMEOUT, reason="600 s are over"),
        make_excluded_result(FAULTY, Outcome.PROVIDER_ERROR, reason=HOSTILE),
    ]


def read(plan: Plan, results: list[Result], reasons: dict[str, str] | None = None) -> Element:
    return fromstring(junit(plan, results, reasons or {}))


def case(root: Element, cell: str) -> Element:
    found = root.find(f".//testcase[@name='{cell}']")
    assert found is not None
    return found


def test_it_reads_as_it_always_did() -> None:
    text = junit(make_plan(*CELLS, make_cell("oracle")), rows(), {}).decode()
    assert text == golden("junit.xml", text)


def test_every_planned_cell_is_a_case_and_counts_add_up() -> None:
    root = read(make_plan(*CELLS), rows())
    for element in (root, root[0]):
        counts = {name: element.get(name) for name in ("tests", "failures", "errors", "skipped")}
        assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert float(root.get("time", "0")) == pytest.approx(5.5)


def test_chosen_arms_alone_are_written_and_counted() -> None:
    plan = make_plan(*CELLS, make_cell("oracle"))
    root = fromstring(junit(plan, rows(), {}, ["oracle"]))
    assert ([suite.get("name") for suite in root], root.get("tests"), root.get("failures")) == (["oracle"], "1", "0")


def test_a_passed_cell_has_its_properties_and_no_verdict_and_unknown_ones_are_left_out() -> None:
    found = case(read(make_plan(*CELLS), rows()), PASSED.id)
    assert [child.tag for child in found] == ["properties"]
    properties = {each.get("name"): each.get("value") for each in found[0]}
    assert (properties["score"], properties["outcome"]) == ("1.0", "completed")
    assert "usd" not in properties
    assert found.get("time") == "1.500"


def test_a_failure_tells_outcome_score_and_reason() -> None:
    (failure,) = case(read(make_plan(*CELLS), rows()), FAILED.id).iter("failure")
    assert (failure.get("type"), failure.get("message")) == ("timeout", "score 0.25: 600 s are over")


def test_what_does_not_measure_the_agent_is_an_error_and_hostile_text_stays_text() -> None:
    (error,) = case(read(make_plan(*CELLS), rows()), FAULTY.id).iter("error")
    assert error.get("type") == "provider_error"
    message = error.get("message")
    assert message == HOSTILE.replace("\x1b", "\ufffd").replace("\x00", "\ufffd").replace("\ud800", "\ufffd")


def test_a_missing_cell_is_skipped_with_the_reason_that_is_known() -> None:
    plan = make_plan(*CELLS)
    (plain,) = case(read(plan, rows()), MISSING.id).iter("skipped")
    (told,) = case(read(plan, rows(), {MISSING.id: f"budget {HOSTILE}"}), MISSING.id).iter("skipped")
    assert plain.get("message") == "no trial was collected"
    assert str(told.get("message")).startswith("budget ")


def test_a_trial_that_nobody_judged_is_an_error_and_no_failure() -> None:
    row = make_result(PASSED, judged=False, passed=None, score=None, grade=None, reason="ended by itself")
    (error,) = case(read(make_plan(PASSED), [row]), PASSED.id).iter("error")
    assert error.get("message") == "not judged: ended by itself"


def test_a_failure_without_a_score_says_so() -> None:
    row = make_result(PASSED, passed=False, score=None, grade=None, reason="why")
    (failure,) = case(read(make_plan(PASSED), [row]), PASSED.id).iter("failure")
    assert failure.get("message") == "not scored: why"


def test_an_arm_tells_model_and_variant() -> None:
    arm = make_model_arm()
    plan = make_plan(make_cell(arm.id), arms=(arm,))
    suite = read(plan, [])[0]
    properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert properties == {
        "experiment": "demo", "agent": "cli", "agent_version": "1", "model": "m", "variant": "T0/00-empty"
    }  # fmt: skip
    assert suite.get("name") == arm.id


def test_a_plan_of_nothing_is_a_document_of_nothing() -> None:
    root = read(make_plan(*CELLS, cells=(), arms=(), experiment=make_experiment()), [])
    assert (root.tag, root.get("tests"), list(root)) == ("testsuites", "0", [])


def test_rows_of_another_plan_are_refused() -> None:
    with pytest.raises(ConfigError, match="not a cell of the plan"):
        junit(make_plan(PASSED), [make_result(FAILED)], {})
