"""Recordings hold names, answer once each, and survive a kill."""

import json
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.gateway.path_aliases import PathAliases
from scylla_gha.gateway.recording import RecordedResponse, Recorder, Recording, is_stream, neutral_text
from scylla_gha.providers import PROVIDERS
from scylla_gha.providers.base import split_events
from scylla_gha.redaction.redactor import Redactor

ANTHROPIC = PROVIDERS["anthropic"]
FOLDER = "/tmp/scratch/repo"
NAMES = PathAliases({FOLDER: "/N", f"{FOLDER}/home": "/H"})


def stream(pieces: list[str], field: str, index: int = 0) -> bytes:
    deltas = [{"type": "content_block_delta", "index": index, "delta": {"type": "x", field: piece}} for piece in pieces]
    made = "".join(f"event: content_block_delta\ndata: {json.dumps(delta)}\n\n" for delta in deltas)
    return b'event: ping\ndata: {"type":  "ping"}\n\n' + made.encode() + b"data: {half\n\n: comment\n\n"


def pieces_of(text: str, field: str) -> list[str]:
    lines = [json.loads(line[6:]) for line in text.splitlines() if line.startswith('data: {"') and "delta" in line]
    return [line["delta"][field] for line in lines]


@pytest.mark.parametrize("field", ["text", "partial_json", "thinking"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 11, 17, 200])
def test_a_folder_split_over_events_is_found(field: str, size: int) -> None:
    text = f'{{"a": "ls {FOLDER}/src {FOLDER}/home/x {FOLDER}{FOLDER}", "b": "{FOLDER}"}}'
    body = stream([text[at : at + size] for at in range(0, len(text), size)], field)
    recorded = neutral_text(body, NAMES, ANTHROPIC, streamed=True)
    assert FOLDER not in recorded
    assert "".join(pieces_of(recorded, field)) == text.replace(f"{FOLDER}/home", "/H").replace(FOLDER, "/N")
    shown = NAMES.show(recorded.encode())
    assert "".join(pieces_of(shown.decode(), field)) == text
    assert len(split_events(shown)) == len(split_events(body))


@pytest.mark.parametrize("size", [1, 4, 16, 17, 200])
def test_a_secret_split_over_events_is_taken_out(size: int) -> None:
    secret = "s3cret-0123456789"
    text = f"in {FOLDER} it is {secret}, {secret}"
    body = stream([text[at : at + size] for at in range(0, len(text), size)], "text")
    recorded = neutral_text(body, PathAliases({FOLDER: "/N"}, Redactor([secret])), ANTHROPIC, streamed=True)
    assert "".join(pieces_of(recorded, "text")) == "in /N it is [redacted], [redacted]"


def test_what_is_not_split_keeps_every_byte() -> None:
    body = stream([f"in {FOLDER}, ", "é", "", "more"], "text")
    assert NAMES.show(neutral_text(body, NAMES, ANTHROPIC, streamed=True).encode()) == body
    assert neutral_text(b'{"x":   "/tmp/scratch/repo"}', NAMES, ANTHROPIC, streamed=False) == '{"x":   "/N"}'


def test_blocks_are_not_mixed() -> None:
    """The end of one block and the start of the next are no folder together."""
    body = stream(["ends in /tmp/scratch"], "text", 0) + stream(["/repo begins"], "text", 1)
    assert neutral_text(body, NAMES, ANTHROPIC, streamed=True).encode() == body


def test_events_give_the_same_bytes() -> None:
    body = stream(["a", "b"], "text") + b"data: cut in the mid"
    assert b"".join(split_events(body)) == body
    assert split_events(b"") == []


def take(digest: str, body: str) -> RecordedResponse:
    return RecordedResponse(digest=digest, status=200, content_type="text/event-stream; charset=utf-8", body=body)


def test_each_answer_once_in_order_and_none_after_a_tear(tmp_path: Path) -> None:
    path = tmp_path / "tapes" / "c.jsonl"
    recorder = Recorder(path)
    for body in ("one", "two"):
        recorder.keep(take("d", body))
    recorder.close()
    with path.open("a") as file:
        file.write('{"digest": "torn')
    recorder = Recorder(path)
    recorder.keep(take("e", "three"))
    recorder.close()
    tape = Recording(path)
    assert [tape.take("d"), tape.take("e"), tape.take("d"), tape.take("d")] == [
        take("d", "one"), take("e", "three"), take("d", "two"), None]  # fmt: skip
    assert "fewer answers" in tape.missing("d")
    assert "no question" in tape.missing("x")


def test_what_is_no_recording_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such recording"):
        Recording(tmp_path / "c.jsonl")
    (tmp_path / "c.jsonl").write_text("{}\n")
    with pytest.raises(ConfigError, match="not a recording"):
        Recording(tmp_path / "c.jsonl")


@pytest.mark.parametrize(("kind", "expected"), [("text/event-stream", True), ("text/event-stream; charset=utf-8", True),
                                                ("application/json", False), ("", False)])  # fmt: skip
def test_streams_are_known_by_their_type(kind: str, expected: bool) -> None:
    assert is_stream(kind) is expected
