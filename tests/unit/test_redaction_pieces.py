"""What is split over events is whole afterwards, and all other bytes are as they were."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from scylla_gha.redaction import pieces as subject
from scylla_gha.redaction.pieces import piece_of, rejoined
from scylla_gha.redaction.redactor import Redactor

SECRET = "kT9xQ2mZ7vB4nL8cR1wY5sD3"
REDACTOR = Redactor([SECRET])


def delta(text: str, index: int = 0, field: str = "text", parent: str | None = None) -> bytes:
    event = {"type": "content_block_delta", "index": index, "delta": {"type": "x", field: text}}
    return json.dumps({"type": "stream_event", "event": event, "parent_tool_use_id": parent}).encode() + b"\n"


def stop() -> bytes:
    return b'{"type":"stream_event","event":{"type":"message_stop"}}\n'


def texts(data: bytes) -> list[str]:
    lines: list[dict[str, Any]] = [json.loads(line) for line in data.splitlines() if b"_delta" in line]
    return [next(str(v) for k, v in line["event"]["delta"].items() if k != "type") for line in lines]


def run(data: bytes, size: int = 1 << 20) -> bytes:
    return b"".join(rejoined((data[at : at + size] for at in range(0, len(data), size)), REDACTOR.spans))


@pytest.mark.parametrize("field", ["text", "partial_json", "thinking"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 23, 24, 25, 200])
@pytest.mark.parametrize("chunk", [37, 1 << 20])
def test_a_secret_in_pieces_of_any_size_is_put_whole(field: str, size: int, chunk: int) -> None:
    text = f"The key is {SECRET}, and again {SECRET}{SECRET}."
    data = b"".join(delta(text[at : at + size], 1, field) for at in range(0, len(text), size)) + stop()
    whole = run(data, chunk)
    assert "".join(texts(whole)) == text
    assert "".join(text for text in texts(whole) if SECRET in text).count(SECRET) == 3
    assert len(whole.splitlines()) == len(data.splitlines())
    clean, found = REDACTOR.redact_bytes(whole)
    assert found >= 2
    assert "".join(texts(clean)).startswith("The key is [redacted], and again [redacted]")
    assert not any(piece in "".join(texts(clean)) for piece in (SECRET[:6], SECRET[6:12], SECRET[-6:]))


@pytest.mark.parametrize("cut", range(1, len(SECRET)))
def test_every_cut_in_two(cut: int) -> None:
    data = b'{"x": 1}\n' + delta(f"a{SECRET[:cut]}") + b"no json\n" + delta(f"{SECRET[cut:]}b") + stop() + b"{}"
    assert texts(REDACTOR.redact_bytes(run(data))[0]) == ["a[redacted]", "b"]


def test_texts_of_two_blocks_agents_or_messages_are_not_joined() -> None:
    first, second = SECRET[:12], SECRET[12:]
    for data in (delta(first, 0) + delta(second, 1), delta(first) + stop() + delta(second),
                 delta(first) + delta(second, parent="t1"),
                 delta(first) + delta(second, field="thinking")):  # fmt: skip
        assert run(data) == data


def test_blocks_that_come_in_turn_are_each_found() -> None:
    data = b"".join(delta(letter, index) for letter in SECRET for index in (0, 1)) + stop()
    clean, found = REDACTOR.redact_bytes(run(data))
    assert found == 2
    assert "".join(texts(clean)) == "[redacted][redacted]"


def test_bytes_without_a_split_secret_are_not_touched() -> None:
    choose = random.Random(2)
    lines = [delta("abc é"), stop(), b'{"content_block_delta": 1}\n', b"{half\n", b"\n", b"\r\n", b"\xff\0\n",
             delta(SECRET), b'{"event": {"type": "content_block_delta", "delta": 3}}\n', b'["content_block_delta"]\n',
             b'{"type": "content_block_delta", "delta": {"type": "other"}}\n']  # fmt: skip
    for _ in range(50):
        data = b"".join(choose.choices(lines, k=20)) + choose.choice([b"", b"a torn li", delta("x").rstrip()])
        for size in (7, 1000):
            assert run(data, size) == data


def test_a_message_without_end_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "_HELD_BYTES", 4000)
    monkeypatch.setattr(subject, "_OVERLAP", 100)
    text = "".join(f"{number:07d}{SECRET}" for number in range(200))
    data = b"".join(delta(text[at : at + 3]) for at in range(0, len(text), 3))
    waiting = subject._Waiting(REDACTOR.spans)
    out = b""
    for line in data.splitlines(keepends=True):
        out += b"".join(waiting.take(line))
        assert sum(map(len, waiting.lines)) < 5000
    out += b"".join(waiting.give())
    assert "".join(texts(out)) == text
    assert SECRET[:8] not in "".join(texts(REDACTOR.redact_bytes(out)[0]))


def test_a_message_too_long_to_wait_for_is_gone_through_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "_OPEN_BYTES", 3000)
    monkeypatch.setattr(subject, "_HELD_BYTES", 4000)
    monkeypatch.setattr(subject, "_OVERLAP", 100)
    text = "".join(f"{number:07d}{SECRET}" for number in range(200))
    data = b"".join(delta(text[at : at + 3]) for at in range(0, len(text), 3))
    given = kept = 0

    def chunks() -> Iterator[bytes]:
        nonlocal given, kept
        for at in range(0, len(data), 500):
            kept = max(kept, given - out.count(b"\n"))
            yield data[at : at + 500]
            given += data.count(b"\n", at, at + 500)

    out = bytearray()
    for part in rejoined(chunks(), REDACTOR.spans):
        out += part
    assert "".join(texts(bytes(out))) == text
    assert 25 < kept < 70, "lines of some 120 bytes"
    assert SECRET[:8] not in "".join(texts(REDACTOR.redact_bytes(bytes(out))[0]))
    tail = stop() + delta("a") + stop()
    assert run(data + tail, 500).endswith(tail)


def test_a_line_without_end_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "_LINE_BYTES", 100)
    assert run(b"x" * 1000 + b"\n" + delta("a"), 30) == b"x" * 1000 + b"\n" + delta("a")


def test_a_provider_s_own_event_is_a_piece_too() -> None:
    event = json.dumps({"type": "content_block_delta", "index": 2, "delta": {"partial_json": "{"}}).encode()
    piece = piece_of(5, event)
    assert piece is not None
    assert (piece.at, piece.text, piece.field) == (5, "{", "partial_json")
    assert [piece_of(0, data) for data in (b"", b"{", b"3", b'{"type":"ping"}')] == [None] * 4
