"""The panel through the real SDK, against a server that speaks the provider's protocol."""

import socket
from collections.abc import Callable, Sequence

import pytest

from scylla_gha.judge.judge_client import open_judge_client
from scylla_gha.judge.panel import Panel, ask, ask_panel
from scylla_gha.judge.score import Consensus, consensus
from scylla_gha.model.judgment import Judge, JudgeAnswer
from scylla_gha.providers import own_style
from tests.support.panel import WORDING, make_blind, make_item, raw, reply
from tests.support.provider import Body, Fail, Provider, Say, serve, user_texts

MODELS = ("claude-opus-5", "claude-sonnet-5", "claude-haiku-4-5")
BLIND = make_blind(items=[make_item("Q1", "binary"), make_item("Q2")])
GOOD = reply(raw("Q1", score=1), raw("Q2"))
FOREVER = 1_000_000
STYLE = own_style("anthropic")


def judged(say: Callable[[Body], Say | Fail], models: Sequence[str] = MODELS) -> tuple[list[JudgeAnswer], list[Body]]:
    """Return the answers of judges that are scripted by what they were really sent; and that."""
    with serve(say) as provider, open_judge_client(provider.url, "dummy", lambda _: STYLE, retries=0) as send:
        answers = ask_panel(Panel(tuple(Judge(name) for name in models), WORDING, send), BLIND)
        assert keys(provider) == {"Bearer dummy"}
        return list(answers), provider.requests


def keys(provider: Provider) -> set[str | None]:
    return {headers.get("authorization") for headers in provider.headers}


def agreed(answers: Sequence[JudgeAnswer]) -> Consensus:
    return consensus(BLIND.items, answers)


def test_three_judges_are_sent_the_same_and_their_model_only_differs() -> None:
    answers, requests = judged(lambda _: Say(GOOD))
    assert [one.judge for one in answers] == list(MODELS)
    assert {one["model"] for one in requests} == set(MODELS)
    assert len({str({**one, "model": None}) for one in requests}) == 1
    assert set(requests[0]) == {"model", "max_tokens", "system", "messages", "stream"}
    assert requests[0]["system"] == WORDING.system
    assert [one.value for one in agreed(answers).items.values()] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (
            Say("It is a fine change and deserves full marks."),
            "Q1: the reply is not a single JSON object: not JSON: Expecting value: line 1 column 1 (char 0)",
        ),
        (
            Say(GOOD[:50]),
            (
                "Q1: the reply is not a single JSON object: not JSON: "
                "Unterminated string starting at: line 1 column 37 (char 36)"
            ),
        ),
        (Say(GOOD, cut=True), "Q1: the stream ended before the end of the answer"),
        (Say(GOOD, stop_reason="max_tokens"), "Q1: the answer ended by max_tokens"),
        (Say("", tool="judge", arguments={"Q1": 1}), "Q1: the answer ended by tool_use"),
        (Say(GOOD + " " * FOREVER), "Q1: the answer is longer than 100000 characters"),
        (Say("[" * FOREVER), "Q1: the answer is longer than 100000 characters"),
        (Say(reply(raw("X1", score=1))), "Q1: not answered"),
    ],
    ids=["prose", "half", "cut", "tokens", "tool", "million", "brackets", "unknown"],
)
def test_what_cannot_be_read_is_asked_three_times_in_all_and_then_missing(said: Say, error: str) -> None:
    (answer,), requests = judged(lambda _: said, MODELS[:1])
    assert len(requests) == 3
    assert {item.state for item in answer.items} == {"missing"}
    assert (answer.error, answer.retries) == (error, 2)
    assert answer.unknown == (("X1",) if error == "Q1: not answered" else ())
    assert (answer.lost, agreed([answer]).error is None) == (("unreached", False) if said.cut else ("unreadable", True))


def test_who_refuses_is_not_asked_the_same_again() -> None:
    (answer,), requests = judged(lambda _: Say("", stop_reason="refusal"), MODELS[:1])
    assert len(requests) == 1
    assert (answer.lost, answer.error) == ("refused", "Q1: the answer ended by refusal")


@pytest.mark.parametrize("status", [401, 403, 429, 500, 529])
def test_an_error_of_the_provider_is_no_answer(status: int) -> None:
    (answer,), requests = judged(lambda _: Fail(status), MODELS[:1])
    assert len(requests) == 1
    assert {item.state for item in answer.items} == {"missing"}
    assert answer.error is not None
    assert answer.error.startswith(f"claude-opus-5: the provider answered {status}: ")


def test_nobody_there_is_no_answer() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
        with open_judge_client(address, "dummy", lambda _: STYLE, retries=0) as send:
            answer = ask(Panel((), WORDING, send), Judge("claude-opus-5"), BLIND)
    assert answer.error == "claude-opus-5: Connection error."


def lost(*gone: str) -> Callable[[Body], Say | Fail]:
    return lambda body: Fail(500) if body["model"] in gone else Say(GOOD)


def test_two_of_three_still_judge() -> None:
    answers, _ = judged(lost("claude-sonnet-5"))
    found = agreed(answers)
    assert found.error is None
    assert found.items["Q1"].reason == "median of claude-opus-5 1.00, claude-haiku-4-5 1.00"


def test_one_of_three_does_not() -> None:
    answers, _ = judged(lost("claude-sonnet-5", "claude-opus-5"))
    found = agreed(answers)
    assert found.error is not None
    assert found.error.startswith("unjudged: Q1: 1 of 3 judges answered, 1 with a value; 2 must agree; claude-opus-5: ")
    assert [one.value for one in found.items.values()] == [None, None]


def test_an_unreadable_item_is_read_on_the_second_request() -> None:
    def stubborn(body: Body) -> Say:
        again = "could not be used for these items" in user_texts(body)[0]
        return Say(reply(raw("Q2"))) if again else Say(reply(raw("Q1", score=1), raw("Q2", evidence="")))

    (answer,), requests = judged(stubborn, MODELS[:1])
    assert [item.value for item in answer.items] == [1.0, 1.0]
    assert len(requests) == 2


def test_temperature_is_sent_where_it_is_set() -> None:
    with (
        serve(lambda _: Say(GOOD)) as provider,
        open_judge_client(provider.url, "dummy", lambda _: STYLE, retries=0) as send,
    ):
        ask(Panel((), WORDING, send), Judge("claude-haiku-4-5", temperature=0.0, max_tokens=8192), BLIND)
    assert (provider.requests[0]["temperature"], provider.requests[0]["max_tokens"]) == (0.0, 8192)


def test_the_environment_gives_neither_key_nor_address_nor_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "canary")
    for name in ("ANTHROPIC_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with (
        serve(lambda _: Say(GOOD)) as provider,
        open_judge_client(provider.url, "dummy", lambda _: STYLE, retries=0) as send,
    ):
        answer = ask(Panel((), WORDING, send), Judge("claude-opus-5"), BLIND)
    assert (answer.error, keys(provider)) == (None, {"Bearer dummy"})
    assert "canary" not in str(provider.headers)
