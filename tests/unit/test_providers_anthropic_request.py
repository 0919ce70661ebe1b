"""Identity of a request, and what makes it another one."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from scylla_gha.gateway.recording import PathAliases
from scylla_gha.model.traffic import ModelInfo
from scylla_gha.providers.anthropic.request import _SEARCH_BYTES, apply_settings, parse_request
from scylla_gha.providers.base import InvalidRequestError, ModelRequest, ToolResult
from scylla_gha.providers.json_requests import _require_unique_keys

BODY: dict[str, Any] = {
    "model": "m", "stream": True, "max_tokens": 5, "metadata": {"user_id": "u1"},
    "system": [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2;"},
               {"type": "text", "text": "Be.\n - OS Version: Linux 6.1\nToday's date is 2026-11-21."}],
    "tools": [{"name": "Bash", "input_schema": {}}],
    "messages": [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "1234"}, {"type": "text", "text": "12"},
                                          {"type": "tool_use", "id": "t", "name": "Bash", "input": {"a": "/w/x"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "123"},
                                     {"type": "tool_result", "content": [{"type": "text", "text": "45"}]},
                                     {"type": "image", "source": {"type": "base64", "data": "A" * 999}}]},
    ],
}  # fmt: skip
NAMES = PathAliases({"/w": "/name"})


def with_search(*blocks: object) -> dict[str, Any]:
    """A conversation with three deferred tools, and the results of a search for tools."""
    tools: list[Any] = [
        {"name": name, "input_schema": {}, "defer_loading": True} for name in ("Fetch", "mcp__clock__now", "Spy")
    ]
    messages = [*BODY["messages"], {"role": "user", "content": [{"type": "tool_result", "content": list(blocks)}]}]
    return {**BODY, "tools": [{"name": "Bash", "input_schema": {}}, *tools], "messages": messages}


def understood(body: dict[str, Any], names: PathAliases = NAMES, *, counting: bool = False) -> ModelRequest:
    question = parse_request(json.dumps(body).encode(), names.hide, counting=counting)
    assert question is not None
    return question


@pytest.mark.parametrize(
    ("names", "loaded"),
    [
        ((), ()),
        (("Fetch",), ("Fetch",)),
        (("mcp__clock__now", "Fetch", "Fetch"), ("Fetch", "mcp__clock__now")),
        (("Bash", "Other", None, 1, ["Fetch"]), ()),
    ],
)
def test_tools_that_a_search_has_loaded_are_named(names: tuple[Any, ...], loaded: tuple[str, ...]) -> None:
    references = [{"type": "tool_reference", "tool_name": name} for name in names]
    assert understood(with_search({"type": "text", "text": "Fetch"}, *references)).loaded_tools == loaded
    defined = {**with_search(*references), "tools": [{"name": name} for name in ("Fetch", "mcp__clock__now")]}
    assert understood(defined).loaded_tools == (), "they were never deferred"


def test_characters_by_component() -> None:
    system = sum(len(block["text"]) for block in BODY["system"])
    assert understood(BODY).characters == {
        "system_prompt": system, "tool_schemas": len('[{"name":"Bash","input_schema":{}}]'), "conversation": 11,
        "tool_input": len('{"a":"/name/x"}'), "tool_output": 5}  # fmt: skip
    assert understood({"model": "m", "messages": []}).characters == {}
    assert understood({"model": "m", "system": "abc", "messages": 3, "tools": None}).size == 3


def changed(change: Callable[[dict[str, Any]], object]) -> ModelRequest:
    body = copy.deepcopy(BODY)
    change(body)
    return understood(body)


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b["metadata"].update(user_id="u2"),
        lambda b: b.pop("metadata"),
        lambda b: b["system"].pop(0),
        lambda b: b["system"][0].update(text="x-anthropic-billing-header: cc_version=3;"),
        lambda b: b["system"][1].update(text="Be.\n - OS Version: Other 7\nToday's date is 2027-01-31."),
        lambda b: b.update({"messages": b.pop("messages")}),
    ],
)
def test_who_when_and_where_make_no_other_question(change: Callable[[dict[str, Any]], object]) -> None:
    assert changed(change).digest == understood(BODY).digest


@pytest.mark.parametrize("length", range(_SEARCH_BYTES - 90, _SEARCH_BYTES - 10, 3))
def test_the_date_in_a_long_text_makes_no_other_question(length: int) -> None:
    first, second = (
        {"model": "m", "system": f"{'x' * length}Today's date is {date}."} for date in ("2026-11-21", "2027-01-31")
    )
    assert understood(first).digest == understood(second).digest
    assert understood({**first, "system": "x" * length + "cache_control"}).terms.caches


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b.update(max_tokens=6),
        lambda b: b.update(stream=False),
        lambda b: b["system"][1].update(text=b["system"][1]["text"].replace("Be.", "be.")),
        lambda b: b["messages"][0].update(content="Hello "),
        lambda b: b["messages"][1]["content"][2]["input"].update(a="/v/x"),
        lambda b: b["messages"].pop(),
        lambda b: b["tools"].append({}),
    ],
)
def test_each_byte_of_the_prompt_makes_another(change: Callable[[dict[str, Any]], object]) -> None:
    assert changed(change).digest != understood(BODY).digest


def test_folders_count_by_their_names_and_kinds_apart() -> None:
    moved = json.loads(json.dumps(BODY).replace("/w/", "/elsewhere/"))
    assert understood(moved, PathAliases({"/elsewhere": "/name"})).digest == understood(BODY).digest
    assert understood(BODY, counting=True).digest != understood(BODY).digest


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"model": null}',
        b"\xff",
        b'"model"',
        b'{"model": "m", "max_tokens": "1"}',
        b'{"model": "m", "max_tokens": 1.5}',
    ],
)
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequestError):
        parse_request(body, NAMES.hide)


def model(*accepts: Any) -> ModelInfo:
    return ModelInfo(id="m", provider="p", context_tokens=1, accepts=accepts)


@pytest.mark.parametrize(
    ("accepted", "more", "adjusted"),
    [
        (model("temperature", "max_tokens"), {}, {"temperature", "max_tokens"}),
        (model("max_tokens"), {}, {"max_tokens"}),
        (model(), {}, set()),
        (None, {}, set()),
        (model("temperature", "max_tokens"), {"thinking": {"type": "disabled"}}, {"temperature", "max_tokens"}),
        (model("temperature", "max_tokens"), {"thinking": {"type": "enabled", "budget_tokens": 8}}, {"max_tokens"}),
        (model("temperature", "max_tokens"), {"thinking": {"type": "enabled", "budget_tokens": 9}}, set()),
    ],
)
def test_settings_are_put_in_where_they_are_taken(accepted: ModelInfo | None, more: Any, adjusted: set[str]) -> None:
    before = understood({**BODY, **more})
    after = apply_settings(before, {"temperature": 0.5, "max_tokens": 9}, accepted)
    assert (set(after.adjusted), set(after.unadjusted)) == (adjusted, {"temperature", "max_tokens"} - adjusted)
    sent = json.loads(after.body)
    assert (sent.get("temperature"), sent["max_tokens"]) == (
        0.5 if "temperature" in adjusted else None, 9 if "max_tokens" in adjusted else 5)  # fmt: skip
    assert after.digest == before.digest
    assert (after.body == before.body) is (not adjusted)


def test_a_limit_above_what_the_model_writes_stays_out() -> None:
    limited = model("max_tokens").model_copy(update={"max_output_tokens": 9})
    before = understood(BODY)
    assert apply_settings(before, {"max_tokens": 9}, limited).adjusted == ("max_tokens",)
    after = apply_settings(before, {"max_tokens": 10}, limited)
    assert (after.body, after.unadjusted) == (before.body, ("max_tokens",))


def test_without_settings_the_bytes_stay() -> None:
    question = understood(BODY)
    assert apply_settings(question, {}, None) is question


@pytest.mark.parametrize(("max_tokens", "probing"), [(1, True), (2, False), (0, False), (None, False)])
def test_a_request_for_one_token_asks_only_whether_there_would_be_an_answer(max_tokens: Any, probing: bool) -> None:
    assert understood({**BODY, "max_tokens": max_tokens}).probing is probing
    assert (
        apply_settings(understood({**BODY, "max_tokens": max_tokens}), {"max_tokens": 9}, model("max_tokens")).probing
        is probing
    )
    assert not understood({"model": "m"}).probing


def test_a_key_that_stands_twice_among_many_is_found_in_one_pass() -> None:
    compared = 0

    class Key(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, str(other))

    keys = [*(Key(f"k{number}") for number in range(1_000)), Key("k999")]
    with pytest.raises(InvalidRequestError, match="the key 'k999' is repeated"):
        _require_unique_keys([(key, 1) for key in keys])
    assert compared < len(keys)


SPARE = r'"note": "say \u0022x\u0022 and \\u0022", "more": 1e5, "text": "caf\u00e9"'  # orjson writes other bytes


@pytest.mark.parametrize("written", [SPARE, SPARE + ', "a": {"b": [1, 2]}', '"a" : "\\\\"', '"a\\"": 1, "a": 2'])
def test_what_is_written_in_another_way_is_no_doubled_key(written: str) -> None:
    assert parse_request(f'{{"model": "m", {written}}}'.encode(), NAMES.hide).model == "m"


@pytest.mark.parametrize(
    "written",
    [
        f'{SPARE}, "model": "n"',
        f'"model": "n", {SPARE}',
        r'"\u006dodel": "n"',
        r'"a": [{"b": {"c": "\u0022", "\u0063": 1e99}}]',
        '"a":1,"a":1e9',
        '"":1,"":100000',
    ],
)
def test_a_key_that_stands_twice_is_found_however_it_is_written(written: str) -> None:
    with pytest.raises(InvalidRequestError, match="is repeated in an object"):
        parse_request(f'{{"model": "m", {written}}}'.encode(), NAMES.hide)


@pytest.mark.parametrize(
    ("written", "caches"),
    [
        (r'"system": [{"text": "x", "cache_control": {"type": "ephemeral"}}]', True),
        (r'"system": [{"text": "x", "cache\u005fcontrol": {"type": "ephemeral"}}]', True),
        (r'"system": "caf\u00e9"', False),
    ],
)
def test_a_request_may_ask_to_cache_where_it_names_that_in_any_spelling(written: str, caches: bool) -> None:
    assert parse_request(f'{{"model": "m", {written}}}'.encode(), NAMES.hide).terms.caches is caches


def test_results_are_those_after_the_last_answer() -> None:
    later = [
        {"role": "assistant", "content": "On."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "x"},
                {"type": "tool_result", "tool_use_id": "u", "is_error": True, "content": "in /w/x"},
            ],
        },
        {"role": "system", "content": "A note."},
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "v",
                    "content": [{"type": "text", "text": "1"}, {"type": "image"}, {"type": "text", "text": "2"}],
                }
            ],
        },
    ]
    assert understood({**BODY, "messages": [*BODY["messages"], *later]}).results == (
        ToolResult("u", "in /name/x", failed=True),
        ToolResult("v", "1\n2", failed=False),
    )
    assert [result.text for result in understood(BODY).results] == ["123", "45"]
    assert understood(BODY, counting=True).results == ()
