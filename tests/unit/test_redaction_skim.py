"""A glance never says no where the long way finds something split; and it knows the form that agents write."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from scylla_gha.redaction import pieces, skim
from scylla_gha.redaction.pieces import rejoined
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.redaction.skim import may_be_split

SECRET = 'kT9xQ2mZ"7vB4\nL8cRé1wY5sD3'
SPANS = Redactor([SECRET]).spans
FIELDS = {"text": "text_delta", "partial_json": "input_json_delta", "thinking": "thinking_delta"}
TIGHT = (",", ":")


def delta(text: str, index: int = 0, field: str = "text", parent: str | None = None, *, tight: bool = True) -> bytes:
    """An event as Claude Code writes it."""
    event = {"type": "content_block_delta", "index": index, "delta": {"type": FIELDS[field], field: text}}
    line = {"type": "stream_event", "event": event, "session_id": "0-4", "parent_tool_use_id": parent, "uuid": "8"}
    return json.dumps(line, separators=TIGHT if tight else None, ensure_ascii=not tight).encode() + b"\n"


def own(text: str) -> bytes:
    """An event as the provider sends it."""
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
    return b"data: " + json.dumps(event, separators=TIGHT).encode() + b"\n"


@pytest.mark.parametrize("written", [delta, lambda text: delta(text, tight=False), own,
                                     lambda text: own(text).replace(b"}}\n", b"}    }\r\n"),
                                     lambda text: delta(text, 3, "thinking", 'toolu_"1'),
                                     lambda text: delta(text, 1, "partial_json")])  # fmt: skip
def test_the_forms_in_use_are_read(written: Callable[[str], bytes]) -> None:
    for cut in range(1, len(SECRET)):
        assert may_be_split(written(f"a{SECRET[:cut]}") + written(f"{SECRET[cut:]}b"), SPANS)
        assert not may_be_split(written(f"a{SECRET[:cut]}") + written(f" {SECRET[cut:]}b"), SPANS)


def test_what_claude_code_wrote_is_read() -> None:
    for path in sorted((Path(__file__).parent / "data" / "claude").glob("*.jsonl")):
        assert not may_be_split(path.read_bytes(), SPANS), path


@pytest.mark.parametrize("line", [
    b'{"content_block_delta": 1}\n', b'["content_block_delta"]\n', b'{"type":"content_block_delta","delta":{}}\n',
    delta("a").replace(b'"index":0,', b""), delta("a")[:-60], b'{"type":"content_block_delta","index":0\n',
    delta("a").replace(b'"text":"a"', b'"text":{"a":"b"}'), delta("a").replace(b'"text":"a"', b'"text":"a","b":1'),
    delta("a").replace(b'"parent', b'"more":1,"parent'), delta("a").replace(b'"a"', b'"\\x"'),
    delta("a").replace(b'"a"', b'"\xff"'), delta("a").replace(b'"a"', b'"a\tb"'),
])  # fmt: skip
def test_any_other_form_asks_for_a_closer_look(line: bytes) -> None:
    assert may_be_split(delta("x") + line + delta("y"), SPANS)
    assert not may_be_split(delta("x") + delta("y"), SPANS)


def test_texts_of_other_blocks_between_do_not_hide_a_secret() -> None:
    other = [delta("x", 1), delta("x", 0, "thinking"), delta("x", parent="t1"), delta("message_stop", 2),
             b'{"type":"assistant","message":{"content":[{"text":"\\"content_block_delta\\""}]}}\n']  # fmt: skip
    for line in other:
        assert may_be_split(delta(SECRET[:9]) + line + delta(SECRET[9:]), SPANS)


ODD = [own("x"), b"no json\n", delta("a")[:-30] + b"\n", delta("a").replace(b'"index":0,', b""),
       b'{"type":"assistant","message":"message_stop"}\n', b'{"text":"content_block_delta"}\n']  # fmt: skip


def a_block(choose: random.Random) -> list[bytes]:
    """A block's events, with secrets in pieces of any size, and sometimes an odd line."""
    words = [SECRET, SECRET[:8], "plain ", '"message_stop"', "\\", "é\U0001f600"]
    text = "".join(choose.choice(words[choose.randint(0, 2) :]) for _ in range(6))
    size, tight = choose.randint(1, 30), choose.random() < 0.7
    form = (choose.randint(0, 1), choose.choice(list(FIELDS)), choose.choice([None, "t1"]))
    lines = [delta(text[at : at + size], *form, tight=tight) for at in range(0, len(text), size)]
    if choose.random() < 0.2:
        lines.insert(choose.randrange(len(lines)), choose.choice(ODD))
    return lines


def a_transcript(choose: random.Random) -> bytes:
    """Messages of one block or of two that come in turn."""
    lines: list[bytes] = []
    for _ in range(choose.randint(1, 4)):
        blocks = [a_block(choose) for _ in range(choose.randint(1, 2))]
        while any(blocks):
            lines.append(choose.choice([block for block in blocks if block]).pop(0))
        if choose.random() < 0.7:
            lines.append(b'{"type":"stream_event","event":{"type":"message_stop"}}\n')
    return b"".join(lines) + choose.choice([b"", b"torn", delta(SECRET[:5]).rstrip()])


def line_by_line(data: bytes) -> bytes:
    """What the way without a glance gives."""
    waiting = pieces._Waiting(SPANS)
    taken = [given for line in data.splitlines(keepends=True) for given in waiting.take(line)]
    return b"".join([*taken, *waiting.give()])


@pytest.mark.parametrize("seed", range(8))
def test_a_glance_changes_nothing_of_the_result(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)
    glances: set[bool] = set()
    for _ in range(60):
        data = a_transcript(choose)
        monkeypatch.setattr(skim, "_BLOCK", choose.choice([1, 200, 1000, 1 << 15]))
        size = choose.choice([50, 333, 5000, 1 << 20])
        cut = (data[at : at + size] for at in range(0, len(data), size))
        assert b"".join(rejoined(cut, SPANS)) == line_by_line(data)
        glances.add(may_be_split(data, SPANS))
    assert glances == {True, False}
