"""A session ends at the answers that decide it, or after some answers; nothing is asked of the provider after that."""

import threading
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.traffic import StopRule, ToolWatch
from scylla_gha.system.process import Cancel
from tests.support.gateway import ask, hosted, question, shared
from tests.support.provider import Body, Fail, Provider, Say, serve

TALLY = ("tally", "/tally", "books:tally")
RULE = StopRule(tool="Skill", argument="skill", names=(TALLY,), answers=3)
WATCH = ToolWatch(tools={"Skill": ("skill",)})
GO_ON = Say("On.", "Bash", {})


def uses(name: Any, tool: str = "Skill") -> Say:
    return Say("I look.", tool, {"skill": name}, pieces=3)


def turn(number: int) -> Body:
    """The request of a turn of one conversation."""
    said = [{"role": "assistant", "content": "On."}, {"role": "user", "content": "Go on."}] * number
    return {**question("Work."), "messages": [*question("Work.")["messages"], *said]}


def statuses(tmp_path: Path, *answers: Say | Fail, rule: StopRule = RULE) -> tuple[list[int], Provider, Any]:
    """What four turns of a conversation get, where the provider gives these answers in turn."""
    left = list(answers)
    with shared(tmp_path, lambda _: left.pop(0) if left else GO_ON) as (provider, host):
        session = host.open(watch=WATCH, stop=rule)
        found = [ask(session, turn(number)).status for number in range(4)]
        return found, provider, host.gateway.close(session)


@pytest.mark.parametrize("name", TALLY)
def test_a_call_ends_the_session_and_nothing_more_is_asked(tmp_path: Path, name: str) -> None:
    found, provider, made = statuses(tmp_path, uses(name))
    assert found == [200, 403, 403, 403]
    assert (len(provider.requests), made.end, made.errors) == (1, "decided", {"session_ended": 3})
    assert [call.is_last for call in made.watched.calls] == [True]


@pytest.mark.parametrize(
    "answer",
    [
        uses("Tally"),
        uses("tally2"),
        uses(["tally"]),
        uses({"tally": 1}),
        uses("tally", "Bash"),
        uses("pdf"),
        Say("I look.", "Skill", {"skill": "tally"}, cut=True),
    ],
)
def test_other_calls_do_not_end_it(tmp_path: Path, answer: Say) -> None:
    found, provider, made = statuses(tmp_path, answer, uses("tally"))
    assert found[1:] == [200, 403, 403]
    assert (len(provider.requests), made.end) == (2, "decided")


def test_it_ends_undecided_after_the_answers_of_the_main_conversation(tmp_path: Path) -> None:
    found, provider, made = statuses(tmp_path)
    assert found == [200, 200, 200, 403]
    assert (len(provider.requests), made.end) == (3, "undecided")


def test_answers_of_other_conversations_do_not_count_but_their_calls_do(tmp_path: Path) -> None:
    def script(body: Body) -> Say:
        return uses("tally") if "call it" in str(body) else Say("On.")

    with shared(tmp_path, script) as (provider, host):
        session = host.open(watch=WATCH, stop=RULE)
        ask(session, turn(0))
        for number in range(5):
            assert ask(session, question(f"sub-agent {number}")).status == 200
        ask(session, question("call it"))
        assert ask(session, turn(1)).status == 403
        assert len(provider.requests) == 7
        assert host.gateway.close(session).end == "decided"


def of_client(body: Body, name: str) -> Body:
    return {**body, "metadata": {"user_id": name}}


def test_calls_in_answers_to_another_program_decide_nothing(tmp_path: Path) -> None:
    def script(body: Body) -> Say:
        return uses("tally") if "call it" in str(body) else Say("On.", "Bash", {})

    with shared(tmp_path, script) as (_, host):
        session = host.open(watch=WATCH, stop=RULE)
        ask(session, of_client(turn(0), "cli"))
        ask(session, of_client(question("call it"), "a program"))
        ask(session, question("call it"))
        assert ask(session, of_client(turn(1), "cli")).status == 200
        ask(session, of_client(question("sub-agent, call it"), "cli"))
        assert ask(session, of_client(turn(2), "cli")).status == 403
        made = host.gateway.close(session)
    assert (made.end, len(made.watched.calls)) == ("decided", 1)


def test_a_turn_that_is_asked_again_counts_once_and_a_failure_not_at_all(tmp_path: Path) -> None:
    answers: list[Say | Fail] = [Say("On."), Say("On."), Fail(400), Say("On.")]
    with shared(tmp_path, lambda _: answers.pop(0)) as (_, host):
        session = host.open(watch=WATCH, stop=RULE)
        found = [ask(session, turn(number)).status for number in (0, 0, 1, 1)]
        assert found == [200, 200, 400, 200]
        assert host.gateway.close(session).end is None


def test_a_conversation_that_is_at_its_end_is_not_cut(tmp_path: Path) -> None:
    found, _, made = statuses(tmp_path, GO_ON, GO_ON, Say("Done."), Say("Done."))
    assert (found, made.end) == ([200] * 4, None)


def test_all_names_must_be_called(tmp_path: Path) -> None:
    both = RULE.model_copy(update={"names": (TALLY, ("books",))})
    found, _, made = statuses(tmp_path, uses("books"), uses("books"), uses("tally"), rule=both)
    assert (found, made.end) == ([200, 200, 200, 403], "decided")
    assert [call.is_last for call in made.watched.calls] == [False, False, True]


def test_the_end_is_told_at_once(tmp_path: Path) -> None:
    cancel = Cancel()
    with shared(tmp_path, lambda _: uses("tally")) as (_, host):
        session = host.open(watch=WATCH, stop=RULE)
        with host.gateway.ending(session, cancel) as flag:
            assert not flag.wait(0.3)
            thread = threading.Thread(target=ask, args=(session, turn(0)))
            thread.start()
            assert flag.wait(10)
            assert flag.is_set
            thread.join()
        assert not cancel.is_set
        host.gateway.close(session)


@pytest.mark.parametrize("how", ["closed", "cancelled"])
def test_the_flag_is_set_when_the_session_is_closed_or_the_user_interrupts(tmp_path: Path, how: str) -> None:
    cancel = Cancel()
    with shared(tmp_path, lambda _: Say("On.")) as (_, host):
        session = host.open(watch=WATCH, stop=RULE)
        with host.gateway.ending(session, cancel) as flag:
            if how == "closed":
                host.gateway.close(session)
            else:
                cancel.set()
            assert flag.wait(10)


def test_a_log_that_is_continued_keeps_its_end(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: uses("tally")) as (provider, host):
        first = host.open(watch=WATCH, stop=RULE)
        ask(first, turn(0))
        host.gateway.close(first)
        second = host.open(watch=WATCH, stop=RULE)  # as after the death of the gateway
        assert ask(second, turn(1)).status == 403
        assert (len(provider.requests), host.gateway.close(second).end) == (1, "decided")


def test_a_replay_ends_the_same(tmp_path: Path) -> None:
    with (
        serve(lambda _: uses("tally")) as provider,
        hosted(tmp_path / "live", provider.url, record=tmp_path / "recordings") as host,
    ):
        session = host.open(watch=WATCH, stop=RULE)
        ask(session, turn(0))
        host.gateway.close(session)
    with hosted(tmp_path / "again", replay=tmp_path / "recordings") as host:
        session = host.open(watch=WATCH, stop=RULE)
        assert [ask(session, turn(number)).status for number in range(2)] == [200, 403]
        assert host.gateway.close(session).end == "decided"
