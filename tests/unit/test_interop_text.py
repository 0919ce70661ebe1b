import json
from xml.etree.ElementTree import Element, fromstring, tostring

import pytest

from scylla_gha.interop.exporters.rows import escape_xml, json_bytes

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
