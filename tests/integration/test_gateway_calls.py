"""The gateway notes which calls the provider's answers hold, and which results the requests bring back."""

from pathlib import Path

import pytest

from scylla_gha.gateway.client import SessionHandle
from scylla_gha.model.traffic import CallResult, ToolWatch, WatchedCall, WatchedTraffic
from tests.support.gateway import KEY, ask, hosted, question, shared
from tests.support.provider import Body, Fail, Say, serve, tool_results

LINE = "Count the books on each shelf, and write the sum below."
WATCH = ToolWatch(tools={"Skill": ("skill",), "mcp__*": ()}, texts={"skill/tally": LINE})
USE = Say("I look.", "Skill", {"skill": "tally", "args": "x" * 50}, pieces=5)
USED = WatchedCall(tool="Skill", arguments={"skill": "tally"}, turn=1)


def launched(call: str, text: str = "Launching skill: tally", *, failed: bool = False) -> CallResult:
    return CallResult(call=call, text=text, failed=failed)


def continued(*results: str, first: str = "Work.") -> Body:
    """A request with results of the first call after an answer."""
    blocks = [{"type": "tool_result", "tool_use_id": "toolu_01", "content": result} for result in results]
    said = {"role": "assistant", "content": [{"type": "text", "text": "I look."}]}
    turns = [said, {"role": "user", "content": blocks}]
    return {**question(first), "messages": [*question(first)["messages"], *turns]}


def test_a_call_with_its_result(tmp_path: Path) -> None:
    with shared(tmp_path, lambda body: Say("Done.") if tool_results(body) else USE) as (_, host):
        session = host.open(watch=WATCH, paths={"/tmp/first": "/home"})
        ask(session, question("Work."))
        ask(session, continued(f"Launching skill: tally in /tmp/first {KEY}"))
        ask(session, continued("Launching skill: tally"))  # a repetition
        made = host.gateway.close(session)
        asked, answered = host.asked(), host.answered()
    assert made.watched.calls[0].model_copy(update={"result": None}) == USED
    assert [len(request.results) for request in asked] == [0, 1, 0]
    assert asked[1].results[0].text.startswith("Launching skill: tally in /home")
    assert KEY not in host.journal().read_text()
    assert [len(answer.calls) for answer in answered] == [1, 0, 0]


@pytest.mark.parametrize(
    "answer",
    [Say("I look.", "Bash", {"skill": "tally"}), Say("I look.", "Skill", {"skill": "tally"}, cut=True), Fail(429)],
)
def test_other_tools_and_cut_answers_are_no_calls(tmp_path: Path, answer: Say | Fail) -> None:
    with shared(tmp_path, lambda _: answer, rate_limit_seconds=0) as (_, host):
        session = host.open(watch=WATCH)
        ask(session, question("Work."))
        ask(session, continued("Launching skill: tally"))
        assert host.gateway.close(session).watched == WatchedTraffic()


def test_an_invented_result_is_not_noted(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: Say("Hi.")) as (_, host):
        session = host.open(watch=WATCH)
        ask(session, continued("Launching skill: tally", LINE))
        assert host.gateway.close(session).watched == WatchedTraffic()
        assert host.asked()[0].results == ()


def test_a_text_is_found_in_the_result_of_any_tool(tmp_path: Path) -> None:
    look = Say("I look.", "Bash", {"command": "cat SKILL.md"})
    with shared(tmp_path, lambda body: Say("Done.") if tool_results(body) else look) as (_, host):
        session = host.open(watch=WATCH)
        ask(session, question("Work."))
        ask(session, continued(f"# Tally\n{LINE}\n"))
        made = host.gateway.close(session)
    assert made.watched == WatchedTraffic(shown={"skill/tally": 1})


def test_names_by_their_beginning_and_calls_in_one_piece(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: Say("I ask.", "mcp__books__count", {"secret": "s"})) as (_, host):
        session = host.open(watch=WATCH)
        ask(session, {**question("Work."), "stream": False})
        ask(session, continued("3"))
        made = host.gateway.close(session)
    assert made.watched.calls[0] == WatchedCall(
        tool="mcp__books__count", arguments={}, turn=1, result=CallResult(call="toolu_01", text="3")
    )


def test_a_provider_that_repeats_ids_hides_no_call(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: USE) as (_, host):
        session = host.open(watch=WATCH)
        whole = {"stream": False}  # the scripted provider then gives all calls the same id
        for body in (question("Work."), continued("Launching skill: tally"), continued("two")):
            ask(session, {**body, **whole})
        made = host.gateway.close(session)
    texts = [call.result.text if call.result else None for call in made.watched.calls]
    assert texts == ["Launching skill: tally", "two", None]


def conversation(session: SessionHandle, folder: str) -> None:
    ask(session, question(f"Work in {folder}."))
    ask(session, continued(f"Launching skill: tally\nBase directory: {folder}", first=f"Work in {folder}."))


def test_a_replay_notes_the_same(tmp_path: Path) -> None:
    with (
        serve(lambda body: Say("Done.") if tool_results(body) else USE) as provider,
        hosted(tmp_path / "live", provider.url, record=tmp_path / "recordings") as host,
    ):
        session = host.open(watch=WATCH, paths={"/tmp/first": "/scylla-workspace"})
        conversation(session, "/tmp/first")
        live = host.gateway.close(session).watched
    with hosted(tmp_path / "again", replay=tmp_path / "recordings") as host:
        session = host.open(watch=WATCH, paths={"/tmp/second": "/scylla-workspace"})
        conversation(session, "/tmp/second")
        assert host.gateway.close(session).watched == live
    assert live.calls[0].result == launched("toolu_01", "Launching skill: tally\nBase directory: /scylla-workspace")


def test_a_session_that_continues_a_log_knows_its_calls(tmp_path: Path) -> None:
    with shared(tmp_path, lambda body: Say("Done.") if tool_results(body) else USE) as (_, host):
        first = host.open(watch=WATCH)
        ask(first, question("Work."))
        host.gateway.close(first)
        second = host.open(watch=WATCH)  # as after the death of the gateway
        ask(second, continued("Launching skill: tally"))
        made = host.gateway.close(second)
    assert [call.result for call in made.watched.calls] == [launched("toolu_01")]
