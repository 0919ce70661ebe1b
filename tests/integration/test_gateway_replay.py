"""Recorded answers are given again without a key, by content."""

import json
from pathlib import Path

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.gateway.client import SessionHandle
from tests.support.gateway import EACH, KEY, Reply, ask, hosted, question
from tests.support.provider import Body, Fail, Say, Script, serve, tool_results

RECORDING = "recordings/cell--agent.jsonl"


def conversation(folder: str, day: str = "2026-11-21", session: str = "s1", prompt: str = "Work.") -> list[Body]:
    """Two requests as the CLI sends them, in this folder."""
    about = f"You are in {folder}.\nOS Version: Linux {session}\nToday's date is {day}."
    system = [{"type": "text", "text": f"x-anthropic-billing-header: cc={session};"}, {"type": "text", "text": about}]
    first = question(prompt, system=system, metadata={"user_id": session})
    use = {"type": "tool_use", "id": "toolu_01", "name": "Bash", "input": {"command": f"ls {folder}/src"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_01", "content": f"{folder}/src/a.py"}
    turns = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return [first, {**first, "messages": [*first["messages"], *turns]}]


def paths(folder: str) -> dict[str, str]:
    return {folder: "/scylla-workspace", f"{folder}/home": "/scylla-home"}


def script(folder: str) -> Script:
    use = Say(f"In {folder}.", "Bash", {"command": f"ls {folder}/src"}, pieces=7)
    return lambda body: Say("Done.") if tool_results(body) else use


def record(tmp_path: Path, folder: str = "/tmp/first/repo", answers: Script | None = None) -> list[Reply]:
    with serve(answers or script(folder)) as provider, \
            hosted(tmp_path / "live", provider.url, record=tmp_path / "recordings") as host:  # fmt: skip
        session = host.open(paths=paths(folder))
        return [ask(session, body) for body in conversation(folder)]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("recorded")
    record(folder)
    return (folder / RECORDING).read_bytes()


@pytest.fixture
def stored(tmp_path: Path, recording: bytes) -> Path:
    """A file with the recording of a conversation in /tmp/first/repo."""
    path = tmp_path / RECORDING
    path.parent.mkdir()
    path.write_bytes(recording)
    return path


def texts(reply: Reply, field: str) -> list[str]:
    """The pieces of one kind, as a client reads them from a stream."""
    events = [json.loads(line[5:]) for line in reply.body.splitlines() if line.startswith(b"data:")]
    return [event["delta"].get(field, "") for event in events if event["type"] == "content_block_delta"]


def test_a_recording_is_replayed_to_equal_bytes_and_costs(tmp_path: Path) -> None:
    live = record(tmp_path, answers=lambda _: Say("Héllo.", pieces=3))
    with hosted(tmp_path / "again", replay=tmp_path / "recordings") as host:
        session = host.open(paths=paths("/tmp/first/repo"))
        again = [ask(session, body) for body in conversation("/tmp/first/repo")]
        made = host.gateway.close(session)
    assert [reply.body for reply in again] == [reply.body for reply in live]
    assert [reply.headers["content-type"] for reply in again] == ["text/event-stream"] * 2
    assert made.usage.usd == pytest.approx(2 * EACH)
    assert {each.source for each in host.answered()} == {"replay"}


@pytest.mark.usefixtures("stored")
def test_another_day_folder_and_session_are_the_same_question(tmp_path: Path) -> None:
    folder = "/tmp/quite/another/place"
    with hosted(tmp_path / "again", replay=tmp_path / "recordings") as host:
        session = host.open(paths=paths(folder))
        first, second = (ask(session, body) for body in conversation(folder, "2027-01-01", "s2"))
    assert (first.status, second.status) == (200, 200)
    assert json.loads("".join(texts(first, "partial_json"))) == {"command": f"ls {folder}/src"}, (
        "a folder split over events must be put back whole"
    )
    assert "".join(texts(first, "text")) == f"In {folder}."


def test_a_recording_holds_no_folder_no_key_and_no_header(tmp_path: Path) -> None:
    record(tmp_path, answers=lambda _: Fail(401, {"request-id": "r1"}, f"bad key {KEY}"))
    record(tmp_path)
    lines = (tmp_path / RECORDING).read_text().splitlines()
    assert len(lines) == 4
    assert [set(json.loads(line)) for line in lines] == [{"digest", "status", "content_type", "body"}] * 4
    for secret in (KEY, "/tmp/first", "r1", "sk-ant-"):
        assert secret not in "".join(lines)


@pytest.mark.parametrize("change", [{"prompt": "work."}, {"prompt": "Work"}, {"folder": "/tmp/first/repo2"}])
@pytest.mark.usefixtures("stored")
def test_one_changed_byte_is_an_unmatched_request_and_never_live(tmp_path: Path, change: dict[str, str]) -> None:
    with serve(lambda _: Say("Live!")) as provider, \
            hosted(tmp_path / "again", provider.url, replay=tmp_path / "recordings") as host:  # fmt: skip
        session = host.open(paths=paths("/tmp/first/repo"))
        reply = ask(session, conversation(**{"folder": "/tmp/first/repo", **change})[0])
        made = host.gateway.close(session)
        assert provider.requests == []
    assert (reply.status, reply.error["type"]) == (404, "unmatched_request")
    assert "request 1 of cell (agent) is not in the recording" in reply.error["message"]
    assert (made.unmatched, made.usage.usd, made.errors) == (1, 0, {"unmatched_request": 1})


def test_each_recorded_answer_is_given_once_in_order(tmp_path: Path) -> None:
    answers: list[Say | Fail] = [Say("One."), Fail(529), Say("cut", cut=True), Say("Four.")]
    with serve(lambda _: answers.pop(0)) as provider, \
            hosted(tmp_path / "live", provider.url, record=tmp_path / "recordings") as host:  # fmt: skip
        session = host.open()
        live = [ask(session, question()) for _ in range(4)]
    with hosted(tmp_path / "again", replay=tmp_path / "recordings") as host:
        first, second = host.open(), None
        again = [ask(first, question()) for _ in range(2)]
        host.gateway.close(first)
        second = host.open()  # a second attempt of the cell
        again += [ask(second, question()) for _ in range(3)]
    assert [(reply.status, reply.whole, reply.body) for reply in again[:4]] == [
        (reply.status, reply.whole, reply.body) for reply in live]  # fmt: skip
    assert again[4].status == 404
    assert "fewer answers" in again[4].error["message"]


def test_answers_in_one_piece_and_token_counts_are_recorded_too(tmp_path: Path) -> None:
    def asked(session: SessionHandle) -> list[bytes]:
        counted = ask(session, question(), "/v1/messages/count_tokens")
        return [ask(session, question(stream=False)).body, counted.body]

    with serve(lambda _: Say("Hi.")) as provider, \
            hosted(tmp_path / "live", provider.url, record=tmp_path / "recordings") as host:  # fmt: skip
        live = asked(host.open())
    with hosted(tmp_path / "again", replay=tmp_path / "recordings") as host:
        assert asked(host.open()) == live


def test_a_torn_recording_is_read_to_its_last_whole_line(tmp_path: Path, stored: Path) -> None:
    stored.write_bytes(stored.read_bytes()[:-20])
    with hosted(tmp_path / "again", replay=tmp_path / "recordings") as host:
        session = host.open(paths=paths("/tmp/first/repo"))
        replies = [ask(session, body).status for body in conversation("/tmp/first/repo")]
    assert replies == [200, 404]


def test_a_missing_recording_is_named(tmp_path: Path) -> None:
    with hosted(tmp_path, replay=tmp_path / "recordings") as host, pytest.raises(ToolError, match="no such recording"):
        host.open()
