"""Recordings have aliases instead of folders, no secrets, and each response once; a torn last line is left out."""

import json
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.gateway.recording import PathAliases, RecordedResponse, Recorder, Recording, is_stream, recordable_text
from scylla_gha.providers import PROVIDERS
from scylla_gha.providers.base import split_events
from scylla_gha.redaction import Redactor

ANTHROPIC = PROVIDERS["anthropic"].styles["anthropic-messages"]
FOLDER = "/tmp/scratch/repo"
ALIASES = PathAliases({FOLDER: "/N", f"{FOLDER}/home": "/H"})


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
    recorded = recordable_text(body, ALIASES, ANTHROPIC, streamed=True)
    assert FOLDER not in recorded
    assert "".join(pieces_of(recorded, field)) == text.replace(f"{FOLDER}/home", "/H").replace(FOLDER, "/N")
    shown = ALIASES.show(recorded.encode())
    assert "".join(pieces_of(shown.decode(), field)) == text
    assert len(split_events(shown)) == len(split_events(body))


@pytest.mark.parametrize("size", [1, 4, 16, 17, 200])
def test_a_secret_split_over_events_is_taken_out(size: int) -> None:
    secret = "s3cret-0123456789"
    text = f"in {FOLDER} it is {secret}, {secret}"
    body = stream([text[at : at + size] for at in range(0, len(text), size)], "text")
    recorded = recordable_text(body, PathAliases({FOLDER: "/N"}, Redactor([secret])), ANTHROPIC, streamed=True)
    assert "".join(pieces_of(recorded, "text")) == "in /N it is [redacted], [redacted]"


def test_what_is_not_split_keeps_every_byte() -> None:
    body = stream([f"in {FOLDER}, ", "é", "", "more"], "text")
    assert ALIASES.show(recordable_text(body, ALIASES, ANTHROPIC, streamed=True).encode()) == body
    assert recordable_text(b'{"x":   "/tmp/scratch/repo"}', ALIASES, ANTHROPIC, streamed=False) == '{"x":   "/N"}'


def test_blocks_are_not_mixed() -> None:
    """The end of one block and the start of the next are no folder together."""
    body = stream(["ends in /tmp/scratch"], "text", 0) + stream(["/repo begins"], "text", 1)
    assert recordable_text(body, ALIASES, ANTHROPIC, streamed=True).encode() == body


def test_events_give_the_same_bytes() -> None:
    body = stream(["a", "b"], "text") + b"data: cut in the mid"
    assert b"".join(split_events(body)) == body
    assert split_events(b"") == []


def response(digest: str, body: str) -> RecordedResponse:
    return RecordedResponse(digest=digest, status=200, content_type="text/event-stream; charset=utf-8", body=body)


def test_each_answer_once_in_order_and_none_after_a_tear(tmp_path: Path) -> None:
    path = tmp_path / "recordings" / "c.jsonl"
    recorder = Recorder(path)
    for body in ("one", "two"):
        recorder.write(response("d", body))
    recorder.close()
    with path.open("a") as file:
        file.write('{"digest": "torn')
    recorder = Recorder(path)
    recorder.write(response("e", "three"))
    recorder.close()
    recording = Recording(path)
    assert [recording.take("d"), recording.take("e"), recording.take("d"), recording.take("d")] == [
        response("d", "one"), response("e", "three"), response("d", "two"), None]  # fmt: skip
    assert "fewer answers" in recording.missing("d")
    assert "no request" in recording.missing("x")


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


def test_the_longest_folder_goes_first_and_comes_back() -> None:
    aliases = PathAliases({"/w": "/N", "/w/home": "/H", "": "/nothing", "/x": ""})
    assert aliases.hide(b"/w/home/a /w/b /w-2 /x") == b"/H/a /N/b /N-2 /x"
    assert aliases.show(aliases.hide(b"/w/home/a /w/b /w-2")) == b"/w/home/a /w/b /w-2"


@pytest.mark.parametrize("folder", ["/tmp/plain", "/tmp/with space", "/tmp/Ünïcode/ß", "/tmp/日本"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_folders_inside_json_inside_json(folder: str, ascii_only: bool) -> None:
    inner = json.dumps({"path": f"{folder}/a"}, ensure_ascii=ascii_only)
    text = json.dumps({"partial_json": inner, "text": f"in {folder}"}, ensure_ascii=ascii_only).encode()
    aliases = PathAliases({folder: "/N"})
    hidden = aliases.hide(text)
    assert json.loads(hidden) == {"partial_json": '{"path": "/N/a"}', "text": "in /N"}
    shown = json.loads(aliases.show(hidden))
    assert (shown["text"], json.loads(shown["partial_json"])) == (f"in {folder}", {"path": f"{folder}/a"})


def test_spans_of_folders_are_found_in_order() -> None:
    aliases = PathAliases({"/w": "/N", "/w/home": "/H"})
    assert aliases.spans("a /w/home b /w/home/w /w") == [(2, 9), (12, 19), (19, 21), (22, 24)]
    assert aliases.spans("nothing") == []


def test_secrets_are_hidden_for_good_and_have_spans() -> None:
    aliases = PathAliases({"/w": "/N"}, Redactor(["s3cret-0123456789"]))
    assert aliases.show(aliases.hide(b"/w/s3cret-0123456789")) == b"/w/[redacted]"
    assert aliases.spans("/w s3cret-0123456789") == [(0, 2), (3, 20)]
