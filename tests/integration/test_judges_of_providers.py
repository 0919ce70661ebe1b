"""A panel with models of all API styles, through the real client and gateway, against a server that speaks them all."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.settings import GatewaySettings, ProviderAccess
from scylla_gha.judge.panel import GatewayPanel, PanelResult
from scylla_gha.model.experiment import ModelKnobs
from scylla_gha.model.judgment import Judge, JudgeAnswer
from scylla_gha.providers.base import Body
from scylla_gha.providers.scripted_style import ScriptedAnswer
from tests.support.model_apis import CHAT, GEMINI, RESPONSES, Fault, ModelApis, serving
from tests.support.panel import WORDING, make_blind, make_item, raw, reply
from tests.support.records import make_model

KEY = "provider-canary-0123456789"
GOOD = reply(raw("Q1", score=1), raw("Q2"))
BLIND = make_blind(items=[make_item("Q1", "binary"), make_item("Q2")])
# Model, provider, and what the style calls the end of an answer by itself and by the limit.
JUDGES = {
    "claude-x": "anthropic",
    "gpt-x": "openai",
    "gemini-x": "gemini",
    "open/x": "openrouter",
    "own-x": "local",
}
ENDS = {
    "claude-x": ('"stop_reason": "end_turn"', '"stop_reason": "max_tokens"', "max_tokens"),
    "gpt-x": (
        '"incomplete_details": null',
        '"incomplete_details": {"reason": "max_output_tokens"}',
        "max_output_tokens",
    ),
    "gemini-x": ('"finishReason": "STOP"', '"finishReason": "MAX_TOKENS"', "MAX_TOKENS"),
    "open/x": ('"finish_reason": "stop"', '"finish_reason": "length"', "length"),
}
REFUSALS = {
    "claude-x": '"stop_reason": "refusal"',
    "gpt-x": '"incomplete_details": {"reason": "content_filter"}',
    "gemini-x": '"finishReason": "SAFETY"',
    "open/x": '"finish_reason": "content_filter"',
}
STYLES = list(ENDS)


def asked(
    tmp_path: Path,
    models: list[str],
    *faults: Fault,
    text: str = GOOD,
    edit: Callable[[str], str] = lambda event: event,
    **settings: Any,
) -> tuple[PanelResult, ModelApis]:
    """Ask a panel about one trial; each model may have a temperature."""
    with serving(*faults, answer=ScriptedAnswer(text), edit=edit) as apis:
        gateway_settings = GatewaySettings(
            access=tuple(ProviderAccess(provider=name, upstream=apis.url, bearer=KEY) for name in JUDGES.values()),
            models=tuple(
                make_model(id=name, provider=provider, context_tokens=1_000_000) for name, provider in JUDGES.items()
            ),
            retries=0,
            **settings,
        )
        with GatewayProcess.start(gateway_settings) as gateway:
            panel = GatewayPanel(gateway, tuple(map(Judge, models)), WORDING)
            return panel.ask("cell", tmp_path / "traffic.jsonl", BLIND), apis


def only(result: PanelResult) -> JudgeAnswer:
    (answer,) = result.answers
    return answer


def values(answer: JudgeAnswer) -> list[float | None]:
    return [score.value for score in answer.items]


def test_models_of_five_providers_judge_with_the_same_texts_and_their_costs_are_known(tmp_path: Path) -> None:
    result, apis = asked(tmp_path, list(JUDGES))
    assert [answer.judge for answer in result.answers] == list(JUDGES)
    assert [values(answer) for answer in result.answers] == [[1.0, 1.0]] * 5
    assert len({answer.prompt_digest for answer in result.answers}) == 1
    assert sorted(target.partition("?")[0] for target in apis.targets) == [
        "/v1/chat/completions",
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/responses",
        "/v1beta/models/gemini-x:streamGenerateContent",
    ]
    assert {system_of(body) for body in apis.bodies} == {WORDING.system}
    assert len({user_of(body) for body in apis.bodies}) == 1
    assert all(KEY in str(headers) for headers in apis.headers)
    price = make_model().price
    assert price is not None
    styles = (RESPONSES, GEMINI, CHAT, CHAT)
    assert (result.account.usage.usd or 0.0) > sum(case.usd(price) for case in styles)
    assert result.account.requests == 5


def system_of(body: Body) -> str:
    """The system prompt in a request of any style."""
    messages = body.get("messages") or body.get("input") or []
    if "systemInstruction" in body:
        return str(body["systemInstruction"]["parts"][0]["text"])
    return str(body.get("system") or messages[0]["content"])


def user_of(body: Body) -> str:
    if "contents" in body:
        return str(body["contents"][0]["parts"][0]["text"])
    return str((body.get("messages") or body.get("input") or [])[-1]["content"])


def test_each_api_is_asked_for_json_in_its_own_way_and_for_nothing_that_it_does_not_take(tmp_path: Path) -> None:
    _, apis = asked(tmp_path, STYLES)
    by_path = {target.partition("?")[0]: body for target, body in zip(apis.targets, apis.bodies, strict=True)}
    assert set(by_path["/v1/messages"]) == {"model", "max_tokens", "system", "messages", "stream"}
    responses = by_path["/v1/responses"]
    assert responses["text"] == {"format": {"type": "json_object"}}
    assert (responses["store"], responses["max_output_tokens"]) == (False, 16_000)
    assert "json" in str(responses["input"]).lower(), "the API refuses the mode without the word"
    chat = by_path["/v1/chat/completions"]
    assert (chat["response_format"], chat["max_tokens"]) == ({"type": "json_object"}, 16_000)
    gemini = by_path["/v1beta/models/gemini-x:streamGenerateContent"]
    assert gemini["generationConfig"] == {"maxOutputTokens": 16_000, "responseMimeType": "application/json"}
    assert all("temperature" not in str(body.keys()) for body in apis.bodies)


def test_settings_of_judges_reach_each_api_under_its_own_name(tmp_path: Path) -> None:
    _, apis = asked(tmp_path, STYLES, knobs={"judge": ModelKnobs(temperature=0.5, max_tokens=9_000)})
    limits = {"max_tokens", "max_output_tokens", "maxOutputTokens"}
    for body in apis.bodies:
        settings = body.get("generationConfig", body)
        assert settings["temperature"] == 0.5
        assert [settings[name] for name in limits if name in settings] == [9_000]


@pytest.mark.parametrize("model", STYLES)
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("It is a fine change.", "not a single JSON object"),
        ("", "not a single JSON object"),
        ("x" * 100_001, "longer than 100000 characters"),
    ],
    ids=["prose", "empty", "long"],
)
def test_an_unreadable_answer_is_asked_three_times_and_then_null(
    tmp_path: Path, model: str, text: str, error: str
) -> None:
    result, apis = asked(tmp_path, [model], text=text)
    answer = only(result)
    assert error in (answer.error or "")
    assert values(answer) == [None, None]
    assert answer.lost == "unreadable"
    assert len(apis.bodies) == 6, "three times with all evidence, three times with the diff alone"


@pytest.mark.parametrize("model", STYLES)
def test_an_answer_that_the_limit_cuts_is_not_graded(tmp_path: Path, model: str) -> None:
    own, limit, word = ENDS[model]
    result, _ = asked(tmp_path, [model], edit=lambda event: event.replace(own, limit))
    answer = only(result)
    assert answer.error == f"Q1: the answer ended by {word}"
    assert (values(answer), answer.lost) == ([None, None], "unreadable")


@pytest.mark.parametrize("model", STYLES)
def test_a_refusal_is_not_asked_the_same_again(tmp_path: Path, model: str) -> None:
    result, apis = asked(tmp_path, [model], edit=lambda event: event.replace(ENDS[model][0], REFUSALS[model]))
    assert (values(only(result)), only(result).lost) == ([None, None], "refused")
    assert len(apis.bodies) == 2, "once with all evidence, once with the diff alone"


@pytest.mark.parametrize("model", STYLES)
def test_a_stream_that_ends_early_is_a_fault_of_the_provider(tmp_path: Path, model: str) -> None:
    result, _ = asked(tmp_path, [model], *[Fault(cut_after=1)] * 3)
    answer = only(result)
    assert (values(answer), answer.lost) == ([None, None], "unreached")
    assert answer.error == "Q1: the stream ended before the end of the answer"
    assert result.agreed.error is not None


@pytest.mark.parametrize("model", STYLES)
def test_an_error_in_a_stream_is_a_fault_of_the_provider(tmp_path: Path, model: str) -> None:
    error = 'data: {"type": "error", "code": "overloaded", "error": {"type": "overloaded", "code": "overloaded"}}\n\n'
    result, _ = asked(tmp_path, [model], edit=lambda _: error)
    assert only(result).lost == "unreached"
    assert only(result).error == "Q1: the answer ended by an error: overloaded"


@pytest.mark.parametrize("model", STYLES)
def test_an_error_status_is_no_answer(tmp_path: Path, model: str) -> None:
    result, _ = asked(tmp_path, [model], Fault(401))
    assert (values(only(result)), only(result).lost) == ([None, None], "unreached")
    assert (only(result).error or "").startswith(f"{model}: the provider answered 401: ")


@pytest.mark.parametrize("model", STYLES[1:])
def test_a_server_without_a_mode_for_json_is_asked_without_it(tmp_path: Path, model: str) -> None:
    result, apis = asked(tmp_path, [model], Fault(400))
    assert values(only(result)) == [1.0, 1.0]
    assert ["json_object" in str(body) or "application/json" in str(body) for body in apis.bodies] == [True, False]
    assert result.account.usage.usd is not None, "a rejected request is free"
    assert not math.isnan(result.account.usage.usd)


def test_thinking_that_a_server_leaves_in_the_text_is_not_the_answer(tmp_path: Path) -> None:
    result, _ = asked(tmp_path, ["own-x"], text=f'<think>\n{{"items": []}} first\n</think>\n\n{GOOD}')
    assert values(only(result)) == [1.0, 1.0]


def test_thinking_of_gemini_is_not_the_answer(tmp_path: Path) -> None:
    thought = 'data: {"candidates": [{"content": {"parts": [{"text": "{not", "thought": true}]}, "index": 0}]}\n\n'
    sent: list[str] = []

    def edit(event: str) -> str:
        sent.append(event)
        return thought + event if len(sent) == 1 else event

    result, _ = asked(tmp_path, ["gemini-x"], edit=edit)
    assert values(only(result)) == [1.0, 1.0]
