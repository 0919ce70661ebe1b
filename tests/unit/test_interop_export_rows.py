"""Parts that exporters share: rows by planned cell, and text that every format can contain."""

import json
from xml.etree.ElementTree import Element, fromstring, tostring

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.interop.exporters.rows import PlannedCell, escape_xml, json_bytes, rows_by_arm
from tests.support.records import make_cell, make_plan, make_result

FIRST, SECOND, OTHER = make_cell("nop"), make_cell("nop", 2), make_cell("oracle")


def test_every_planned_cell_is_there_with_its_row_or_without() -> None:
    row = make_result(SECOND)
    nop, oracle = rows_by_arm(make_plan(FIRST, OTHER, SECOND), [row])
    assert (nop.arm.id, nop.cells, nop.rows) == ("nop", (PlannedCell(FIRST, None), PlannedCell(SECOND, row)), (row,))
    assert (oracle.arm.id, oracle.cells, oracle.rows) == ("oracle", (PlannedCell(OTHER, None),), ())


def test_the_order_is_the_plans_and_not_that_of_the_rows() -> None:
    rows = [make_result(SECOND), make_result(FIRST)]
    (nop,) = rows_by_arm(make_plan(FIRST, SECOND), rows)
    assert [row.cell for row in nop.rows] == [FIRST.id, SECOND.id]


def test_a_row_of_another_plan_is_refused_and_named() -> None:
    with pytest.raises(ConfigError, match=f"{SECOND.id}: is not a cell of the plan; put the plan.json of"):
        rows_by_arm(make_plan(FIRST), [make_result(SECOND)])


def test_a_cell_counts_once() -> None:
    with pytest.raises(ConfigError, match=f"{FIRST.id}: has two rows"):
        rows_by_arm(make_plan(FIRST), [make_result(FIRST), make_result(FIRST)])


EVERYTHING = "".join(map(chr, range(0x300))) + "\ud800\udfff\ufffe\uffff\ufffd\U0001f600 ]]> <b a='\"'>&amp;"


def test_any_text_is_read_back_from_xml_but_for_what_xml_cannot_hold() -> None:
    element = Element("a", {"b": escape_xml(EVERYTHING)})
    element.text = escape_xml(EVERYTHING)
    found = fromstring(tostring(element, encoding="utf-8")).get("b")
    assert found == escape_xml(EVERYTHING)
    for bad in "\x00\x08\x0b\x1b\x1f\ud800\udfff\ufffe\uffff":
        assert escape_xml(f"a{bad}b") == "a\ufffdb"
    for good in "\t\n\r <&\x7f\U0001f600":
        assert escape_xml(good) == good


def test_any_text_is_read_back_from_json_but_for_halves_of_characters() -> None:
    found = json.loads(json_bytes({EVERYTHING: [EVERYTHING]}))
    expected = EVERYTHING.replace("\ud800", "\ufffd").replace("\udfff", "\ufffd")
    assert found == {expected: [expected]}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_no_infinity_gets_into_a_file(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_bytes({"a": number})
