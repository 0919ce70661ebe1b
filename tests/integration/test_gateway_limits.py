"""The limiter learns from what a provider says in its headers, over all sessions and roles of a key."""

import datetime
import functools
from pathlib import Path

import pytest

from tests.support.gateway import EACH, ask, at_once, connect, hosted, question, send, until
from tests.support.provider import Body, Fail, Hang, Say, serve


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@pytest.mark.parametrize(
    ("kind", "stream"), [("requests", True), ("tokens", False), ("input-tokens", True), ("output-tokens", False)]
)
def test_when_nothing_is_left_of_a_limit_all_sessions_and_roles_wait_for_its_reset(
    tmp_path: Path, kind: str, stream: bool
) -> None:
    came: list[datetime.datetime] = []
    resets: list[datetime.datetime] = []

    def script(_: Body) -> Say:
        came.append(now())
        if resets:
            return Say("Hi.")
        resets.append(now() + datetime.timedelta(seconds=0.8))
        return Say("Hi.", headers={f"anthropic-ratelimit-{kind}-remaining": "0",
                                   f"anthropic-ratelimit-{kind}-reset": resets[0].isoformat()})  # fmt: skip

    with serve(script) as provider, hosted(tmp_path, provider.url) as host:
        sessions = [host.open(), host.open(cell="other"), host.open(role="judge")]
        first = ask(sessions[0], question(stream=stream))
        replies = at_once([functools.partial(ask, session, question(stream=stream)) for session in sessions[1:]])
        accounts = [host.gateway.close(session) for session in sessions]
    assert [reply.status for reply in (first, *replies)] == [200] * 3
    assert [at > resets[0] for at in came] == [False, True, True], "asked again before the reset"
    assert sum(each.retries for each in accounts) == 0, "nobody had to be refused for it"
    assert [each.usage.usd for each in accounts] == [pytest.approx(EACH)] * 3


def test_a_subscription_that_is_used_up_for_hours_is_not_asked_again(tmp_path: Path) -> None:
    told = {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": "4102444800"}
    with serve(lambda _: Fail(429, told)) as provider, hosted(tmp_path, provider.url) as host:
        first, second = ask(host.open(), question()), ask(host.open(role="judge"), question())
        assert len(provider.requests) == 1
    assert (first.status, first.error["type"]) == (429, "scripted_error")
    assert "lasts longer than 300 s" in second.error["message"]


def test_a_warning_of_a_subscription_makes_nobody_wait(tmp_path: Path) -> None:
    told = {"anthropic-ratelimit-unified-status": "allowed_warning", "anthropic-ratelimit-unified-reset": "4102444800"}
    with serve(lambda _: Say("Hi.", headers=told)) as provider, \
            hosted(tmp_path, provider.url, rate_limit_seconds=0) as host:  # fmt: skip
        assert [ask(host.open(cell=cell), question()).status for cell in "abc"] == [200] * 3


def test_a_refused_count_of_tokens_or_another_model_makes_no_judge_wait(tmp_path: Path) -> None:
    def script(body: Body) -> Say | Fail:
        return Fail(429, {"retry-after": "60"}) if body["model"] == "busy" else Say("Hi.")

    def counted(_: Body) -> Fail:
        return Fail(429, {"retry-after": "60"})

    with serve(script, counted) as provider, hosted(tmp_path, provider.url, rate_limit_seconds=5) as host:
        agent, judge = host.open(), host.open(role="judge")
        count = ask(agent, question(), "/v1/messages/count_tokens")
        busy = ask(agent, question(model="busy"))
        fine = ask(judge, question())
        (answer,) = host.answered(role="judge")
    assert [count.status, busy.status, fine.status] == [429, 429, 200]
    assert answer.waited_seconds < 1


def test_who_leaves_while_it_waits_for_a_rate_limit_of_others_costs_nothing_and_has_waited(tmp_path: Path) -> None:
    def script(_: Body) -> Say:
        reset = (now() + datetime.timedelta(seconds=1.5)).isoformat()
        return Say("Hi.", headers={"anthropic-ratelimit-requests-remaining": "0",
                                   "anthropic-ratelimit-requests-reset": reset})  # fmt: skip

    with serve(script) as provider, hosted(tmp_path, provider.url) as host:
        assert ask(host.open(), question()).status == 200
        session = host.open(cell="leaving")
        leaving = connect(session)
        send(leaving, session, question(), "/v1/messages")
        until(lambda: host.asked("leaving"))
        leaving.close()
        assert ask(host.open(cell="patient"), question()).status == 200
        made = host.gateway.close(session)
        assert len(provider.requests) == 2
    assert (made.usage.usd, made.evidence.fault, made.evidence.limited_seconds > 0) == (0.0, None, True)


@pytest.mark.parametrize("user", ["the task", "a request of the shell"])
def test_a_session_that_uses_up_a_limit_beside_its_main_conversation_waits_in_its_own_time(
    tmp_path: Path, user: str
) -> None:
    def script(body: Body) -> Say:
        reset = (now() + datetime.timedelta(seconds=50)).isoformat()
        used_up = {"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": reset}
        return Say("Hi.", headers=used_up if body["max_tokens"] == 30 else {})

    with serve(script) as provider, hosted(tmp_path, provider.url, drain_seconds=0) as host:
        session = host.open()
        assert [ask(session, each).status for each in (question("the task"), question(user, max_tokens=30))] == [
            200
        ] * 2
        waiting = connect(session)
        send(waiting, session, question("the task", max_tokens=26))
        waiting.sock.settimeout(1)
        with pytest.raises(TimeoutError):
            waiting.getresponse()
        evidence = host.gateway.close(session).evidence
        waiting.close()
        assert len(provider.requests) == 2
    assert (evidence.limited_seconds > 0) is (user == "the task")


def test_what_one_session_is_refused_or_is_slow_at_holds_up_no_other(tmp_path: Path) -> None:
    def script(body: Body) -> Say | Fail | Hang:
        text = str(body["messages"])
        return Fail(429, {"retry-after": "1"}) if "refused" in text else Hang() if "slow" in text else Say("Hi.")

    with serve(script) as provider, hosted(tmp_path, provider.url, drain_seconds=0) as host:
        greedy = host.open("greedy")
        refused, slow = connect(greedy), connect(greedy)
        send(refused, greedy, question("refused"))
        until(lambda: provider.requests)
        refused.close()
        send(slow, greedy, question("slow"))
        until(lambda: "slow" in str(provider.requests))
        assert ask(host.open("neighbour"), question()).status == 200
        (answer,) = host.answered("neighbour")
        slow.close()
        provider.ended.set()
    assert answer.waited_seconds < 5


def test_a_long_pause_is_of_the_session_that_met_it_and_ends_with_it(tmp_path: Path) -> None:
    def script(body: Body) -> Say | Fail:
        return Fail(429, {"retry-after": "60"}) if "refused" in str(body["messages"]) else Say("Hi.")

    with serve(script) as provider, hosted(tmp_path, provider.url) as host:
        greedy = host.open("greedy")
        neighbour, refused, queued = host.open("neighbour"), connect(greedy), connect(greedy)
        send(refused, greedy, question("refused"))
        until(lambda: ask(neighbour, question()).status == 200 and host.answered("neighbour")[-1].waited_seconds > 1)
        send(queued, greedy, question("queued"))
        until(lambda: len(host.asked("greedy")) == 2)
        made = host.gateway.close(greedy)  # while its clients still wait
        assert "queued" not in str(provider.requests)
        ended = {each.number: each for each in host.answered("greedy")}
        refused.close()
        queued.close()
        assert host.answered("neighbour")[-1].waited_seconds < 50
    assert (made.usage.usd, ended[2].error, ended[2].usd) == (0.0, "client_gone", 0.0)
    assert ended[1].met == ("429",)
