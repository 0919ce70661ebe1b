"""Sources that are broken, or that an agent wrote: nothing in them may raise, nor be taken for what it is not."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.trial import Observed
from scylla_gha.variants import prove_delivery
from tests.support.delivery import make_declared, make_inventory, observe, request, start_event

DECLARED = make_declared(mcp_servers=("clock",), skills=("greeting",), agents=("proofreader",))
DEEP, DEEPER = (b"[" * levels + b"]" * levels for levels in (1000, 2000))  # JSON is read to 1024
HOSTILE: list[Any] = [None, 0, 1e300, True, "", "text", {}, {"a": "x"}, [], [None], [0], [[]], [{}], [{"name": None}],
           [{"name": ["x"]}], [{"type": "text"}], [{"type": "text", "text": 7}], [{"role": [], "content": 3}],
           [{"content": [{"type": "text", "text": None}, 3]}], ["x" * 100_000], [{"name": "x" * 100_000}],
           ["\u202e\x00\n- x: y"], ["mcp__", "mcp____", "mcp__a", "mcp__a__", "mcp__" + "a_" * 50_000]]  # fmt: skip


def test_what_is_not_there_is_no_source(tmp_path: Path) -> None:
    assert observe(tmp_path, None, None) == {}
    assert observe(tmp_path, None, request()).keys() == {"first request"}


@pytest.mark.parametrize(
    "text", [b"", b"{", b"null", b"[]", b"3", b"\xff\xfe", b'{"type": "system"}', b'"init"', DEEP, b"\x00" * 9,
             b'{"type": "system", "subtype": "init", "x": ' + DEEPER + b"}", b'{"type": ["system"], "subtype": "init"}']
)  # fmt: skip
def test_what_is_no_event_and_no_request_is_left_out(tmp_path: Path, text: bytes) -> None:
    assert "start event" not in observe(tmp_path, text, None)


def test_half_an_emoji_in_a_name_drops_no_source(tmp_path: Path) -> None:
    start = b'{"type": "system", "subtype": "init", "model": "\\ud800"}'
    assert observe(tmp_path, start, None)["start event"].model == "\ufffd"


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:30])
@pytest.mark.parametrize("field", sorted({*start_event(), *request()} - {"type", "subtype"}))
def test_nothing_in_either_source_may_raise(tmp_path: Path, field: str, value: Any) -> None:
    found = observe(tmp_path, start_event(**{field: value}), request(**{field: value}))
    assert len(found) == 2
    made = prove_delivery(DECLARED, list(found.values()), make_inventory())
    assert len(made.model_dump_json()) < 100_000


def test_values_nested_as_deep_as_json_may_be_are_no_names(tmp_path: Path) -> None:
    for field in (b"tools", b"skills", b"mcp_servers", b"model", b"plugins", b"messages", b"system"):
        text = b'{"type": "system", "subtype": "init", "%s": %s}' % (field, DEEP)
        assert len(observe(tmp_path, text, text)) == 2


def test_a_source_without_a_list_says_nothing_of_it(tmp_path: Path) -> None:
    found = observe(tmp_path, {"type": "system", "subtype": "init"}, {"model": "m"})
    assert found["start event"] == Observed(source="start event")
    made = prove_delivery(make_declared(), list(found.values()), None)
    assert "tool Bash (first request)" in made.missing
