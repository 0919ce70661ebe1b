import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents.claude import transcript
from scylla_gha.agents.claude.transcript import ClaudeSession, classify_session, read_transcript
from scylla_gha.model.trial import Step, ToolCall, Trajectory
from tests.support.claude import (
    DATA,
    INIT,
    Event,
    ended_with,
    read_events,
    result,
    said,
    streamed,
    text,
    tool_result,
    tool_use,
    write_transcript,
)


def recorded(name: str) -> ClaudeSession:
    return read_transcript(DATA / f"{name}.jsonl")


def test_a_recorded_session_is_its_conversation() -> None:
    session = recorded("ok")
    wrote = ToolCall(
        id="toolu_01",
        name="Write",
        arguments={"file_path": "/workspace/hello.py", "content": 'print("Hello, World!")\n'},
        result="File created successfully at: /workspace/hello.py (file state is current in your context \u2014 "
        "no need to Read it back)",
        failed=False,
    )
    assert session.trajectory.steps == (
        Step(source="agent", text="I will write it.", tool_calls=(wrote,)),
        Step(source="agent", text="Done."),
    )
    assert session.trajectory.final_message == "Done."
    assert (session.version, session.turns, session.unreadable) == ("2.1.197", 2, 0)


@pytest.mark.parametrize(
    ("name", "error", "refused"),
    [
        ("ok", None, False),
        ("hang", None, False),
        ("retrying", None, False),
        ("401", "authentication_failed", False),
        ("429", "rate_limit", False),
        ("529", "server_error", False),
        ("empty-answer", "unknown", False),
        ("refusal", "invalid_request", True),
    ],
)
def test_how_recorded_sessions_stand_at_their_end(name: str, error: str | None, refused: bool) -> None:
    session = recorded(name)
    assert (session.error, session.refused) == (error, refused)


def test_what_the_cli_says_itself_is_no_turn_of_the_model() -> None:
    session = recorded("401")
    assert session.turns == 0
    assert [step.text for step in session.trajectory.steps] == ["Failed to authenticate. API Error: 401 scripted 401"]


def test_a_message_that_was_not_streamed_is_a_turn_all_the_same(tmp_path: Path) -> None:
    session = read_events(tmp_path, INIT, said("a", text("of a sub-agent")))
    assert (session.turns, [step.text for step in session.trajectory.steps]) == (1, ["of a sub-agent"])


@pytest.mark.parametrize(
    ("name", "turns"), [("ok", 2), ("hang", 1), ("in-a-message", 2), ("retrying", 0), ("refusal", 1)]
)
def test_turns_of_recorded_sessions(name: str, turns: int) -> None:
    assert recorded(name).turns == turns


def test_messages_under_one_id_do_not_hide_each_other(tmp_path: Path) -> None:
    session = read_events(
        tmp_path,
        *streamed("msg", input_tokens=10, output_tokens=1), said("msg", text("one")), said("msg", tool_use("t1")),
        *streamed("msg", input_tokens=20, output_tokens=2), said("msg", text("two")), said("msg", text("three")),
    )  # fmt: skip
    assert session.turns == 2
    assert [step.text for step in session.trajectory.steps] == ["one", "two\nthree"]


@pytest.mark.parametrize(
    ("content", "given", "shown", "failed"),
    [
        ("plain", {}, "plain", False),
        ("no", {"is_error": True}, "no", True),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], {}, "a\nb", False),
        ([{"type": "image", "source": {}}, {"type": "text", "text": "b"}, "?"], {}, "image\nb", False),
        (None, {}, "", False),
        (7, {"is_error": False}, "7", False),
    ],
)
def test_a_tools_answer_stands_with_its_call(
    tmp_path: Path, content: Any, given: Event, shown: str, failed: bool
) -> None:
    events = [said("m", tool_use("t1"), tool_use("t2", "Read")), tool_result("t1", content, **given)]
    first, second = read_events(tmp_path, *events).trajectory.steps[0].tool_calls
    assert (first.result, first.failed) == (shown, failed)
    assert (second.name, second.result, second.failed) == ("Read", None, None), "it never got an answer"


def test_an_answer_to_no_known_call_is_passed_over(tmp_path: Path) -> None:
    assert read_events(tmp_path, tool_result("t9"), said("m", text("x"))).calls == {}


@pytest.mark.parametrize("line", ["Hello", "{", "[1]", '"text"', "7", "null", "{'a': 1}", "NaN", "\x00", "\ufffd{}"])
def test_lines_that_are_no_events_are_counted_and_the_others_read(tmp_path: Path, line: str) -> None:
    session = read_events(tmp_path, line, INIT, line, said("m", text("x")))
    assert (session.unreadable, session.version, session.turns) == (2, "2.1.197", 1)


def test_empty_lines_and_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "t", INIT)
    path.write_bytes(b"\n \r\n" + path.read_bytes() + b'\xff\xfe\n{"type":"system","subtype":"in')
    session = read_transcript(path)
    assert (session.version, session.unreadable) == ("2.1.197", 2)


def test_an_empty_transcript_is_an_empty_session(tmp_path: Path) -> None:
    session = read_events(tmp_path)
    assert (session.version, session.result, session.turns) == (None, None, 0)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "rate_limit_event", "rate_limit_info": {}},
        {"type": None},
        {},
        {"type": ["system"]},
        {"type": "system"},
        {"type": "system", "subtype": "compact_boundary"},
        {"type": "system", "subtype": ["init"]},
        {"type": "stream_event"},
        {"type": "stream_event", "event": "ping"},
        {"type": "stream_event", "event": {"type": "ping"}},
        {"type": "stream_event", "event": {"type": "message_delta", "usage": {"output_tokens": 5}}},
        {"type": "assistant"},
        {"type": "assistant", "message": "text"},
        {"type": "assistant", "message": {"content": "text"}},
        {"type": "assistant", "message": {"content": ["text", None, {"type": "thinking"}]}},
        {"type": "assistant", "error": ["x"], "message": {}},
        {"type": "user", "message": "text"},
        {"type": "user", "message": {"content": "text"}},
        {"type": "user", "message": {"content": ["text"]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": ["t"]}]}},
        {"type": "user", "timestamp": "yesterday"},
        {"type": "user", "timestamp": 7},
    ],
    ids=str,
)
def test_events_of_unknown_form_are_passed_over(tmp_path: Path, event: Event) -> None:
    session = read_events(tmp_path, INIT, event, *streamed("m"), said("m", text("x")), result())
    assert (session.version, session.trajectory.steps[-1].text) == ("2.1.197", "x")
    assert session.unreadable == 0


def test_many_messages_are_read_in_one_pass() -> None:
    class Counted(dict[str, transcript.ModelMessage]):
        walks = 0

        def __reversed__(self) -> Any:
            Counted.walks += 1
            return super().__reversed__()

    session = ClaudeSession(messages=Counted())
    for number in range(3):
        transcript._add_message(session, said(f"m{number}", text("x")))
    assert (session.turns, Counted.walks) == (3, 0)


def test_a_second_start_changes_no_version(tmp_path: Path) -> None:
    assert read_events(tmp_path, INIT, {**INIT, "claude_code_version": "9.9.9"}).version == "2.1.197"


def test_an_init_without_a_version_is_a_start_all_the_same(tmp_path: Path) -> None:
    assert read_events(tmp_path, {"type": "system", "subtype": "init"}).version == "unknown"


@pytest.mark.parametrize("levels", [50, 90, 100, 400, 900, 1010, 2000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_an_event_is_never_too_deep_to_be_kept(tmp_path: Path, levels: int, opening: str) -> None:
    deep = opening * levels + "0" + ("]" if opening == "[" else "}") * levels
    calls = [
        json.dumps(said("m", {**tool_use("t"), field: "DEEP"})).replace('"DEEP"', deep) for field in ("input", "id")
    ]
    last = json.dumps(result(result="DEEP", stop_reason="DEEP")).replace('"DEEP"', deep)
    session = read_events(tmp_path, INIT, *calls, last)
    assert Trajectory.model_validate_json(session.trajectory.model_dump_json()) == session.trajectory
    assert session.unreadable == (0 if levels < 95 else 3)
    (tmp_path / "transcript.stderr").touch()
    assert len(classify_session(session, ended_with(tmp_path / "transcript.jsonl"))[1]) <= 400


def test_a_year_that_no_clock_has_is_no_time(tmp_path: Path) -> None:
    times = ["0001-01-01T00:00:00", "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"]
    assert [read_events(tmp_path, {"type": "user", "timestamp": time}).turns for time in times] == [0] * 3


def test_a_flood_of_lines_is_not_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "flood").write_bytes(b'{"a": 1}\n' * 1_000_001 + json.dumps(result()).encode() + b"\n")
    session = read_transcript(tmp_path / "flood")
    assert (session.result, session.unreadable) == (None, 1)


@pytest.mark.parametrize(
    "long",
    [
        pytest.param(b"x" * 40_000_000, id="no event"),
        pytest.param(b'{"type":"user","note":"' + b"x" * 40_000_000 + b'"}', id="an event with a long text"),
        pytest.param(b'{"type":"user","note":[' + b"{}," * 5_000_000 + b"{}]}", id="an event of many parts"),
    ],
)
def test_a_line_that_would_fill_the_memory_is_unreadable_and_the_others_are_read(tmp_path: Path, long: bytes) -> None:
    lines = [b'{"type":"system","subtype":"init","claude_code_version":"2.1.197"}', long, b'{"type":"result"}', b""]
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(b"\n".join(lines))
    script = "import pathlib, sys; from scylla_gha.agents.claude.transcript import read_transcript; "
    script += "from scylla_gha.agents.json_lines import events_with; "
    script += "session = read_transcript(pathlib.Path(sys.argv[1])); "
    script += "print(session.version, session.unreadable, session.result, len(list(events_with(pathlib.Path("
    script += "sys.argv[1]), b'type')))); print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])"
    made = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    summary, most_kilobytes = made.stdout.splitlines()
    assert summary == "2.1.197 1 {'type': 'result'} 2"
    assert int(most_kilobytes) < 200_000
