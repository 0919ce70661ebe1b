"""Every API style through the real gateway: keys, money, refusals, failures of the provider, recording and replay."""

import http.client
import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.gateway.client import GatewayProcess, SessionHandle
from scylla_gha.gateway.settings import GatewaySettings, ProviderAccess
from scylla_gha.model.traffic import FREE, ModelInfo
from scylla_gha.providers.base import Body
from tests.support.gateway import PRICE, Host, Reply
from tests.support.gateway import ask as gateway_ask
from tests.support.model_apis import CASES, RETRY_INFO, Fault, ModelApis, StyleCase, serving

KEY = "real-canary-0123456789-abcdefgh"
every_style = pytest.mark.parametrize("case", CASES, ids=lambda case: case.style)


def info(case: StyleCase, **more: Any) -> ModelInfo:
    return ModelInfo(
        **{
            "id": "dear",
            "provider": case.provider,
            "context_tokens": 100_000,
            "price": PRICE,
            "max_output_tokens": 100_000,
            **more,
        }
    )


@contextmanager
def hosted(case: StyleCase, apis: ModelApis, folder: Path, **more: Any) -> Iterator[Host]:
    access = ProviderAccess(provider=case.provider, upstream=apis.url, bearer=KEY)
    settings = {"access": (access,), "models": (info(case),), "retries": 0, **more}
    with GatewayProcess.start(GatewaySettings(**settings)) as gateway:
        yield Host(gateway, folder)


def ask(
    case: StyleCase, session: SessionHandle, body: Body | None = None, path: str | None = None, method: str = "POST"
) -> Reply:
    usual_path, usual_body = case.request()
    connection = http.client.HTTPConnection(session.url.removeprefix("http://"), timeout=60)
    data = json.dumps(body if body is not None else usual_body) if method == "POST" else None
    headers = {"content-type": "application/json", **case.key(session.token)}
    connection.request(method, path or usual_path, data, headers)
    answer = connection.getresponse()
    try:
        content, whole = answer.read(), True
    except http.client.IncompleteRead as error:
        content, whole = error.partial, False
    connection.close()
    return Reply(answer.status, {name.lower(): value for name, value in answer.headers.items()}, content, whole)


@every_style
def test_an_answer_is_passed_on_counted_and_priced(case: StyleCase, tmp_path: Path) -> None:
    with serving() as apis, hosted(case, apis, tmp_path) as host:
        reply = ask(case, host.open(models=("dear",)))
        (answered,) = host.answered()
        (asked,) = host.asked()
    assert (reply.status, b"Mars" in reply.body or b", Mars." in reply.body) == (200, True)
    assert (answered.complete, answered.tokens, answered.error, answered.fault) == (True, case.tokens, None, None)
    assert answered.usd == pytest.approx(case.usd(PRICE))
    assert (asked.model, asked.turn, asked.streamed) == ("dear", 1, True)
    assert KEY in str(apis.headers[0]), "the real key went up"
    assert not any("dummy" in value for value in apis.headers[0].values())


@every_style
def test_lists_of_models_cost_nothing(case: StyleCase, tmp_path: Path) -> None:
    with serving() as apis, hosted(case, apis, tmp_path) as host:
        session = host.open(models=("dear", "unlisted"))
        listed = ask(case, session, path=case.models_path, method="GET")
        one = ask(case, session, path=f"{case.models_path}/dear", method="GET")
        none = ask(case, session, path=f"{case.models_path}/other", method="GET")
        assert (host.asked(), apis.bodies) == ([], [])
    assert (listed.status, one.status, none.status) == (200, 200, 404)
    assert b"dear" in listed.body
    assert b"unlisted" in listed.body
    assert b"unlisted" not in one.body


@every_style
def test_a_real_key_never_comes_down_and_a_wrong_dummy_is_refused(case: StyleCase, tmp_path: Path) -> None:
    with serving() as apis, hosted(case, apis, tmp_path) as host:
        reply = ask(case, host.open())
        stranger = ask(case, SessionHandle(host.sessions[0].url, "no-such-key-0123456789"))
    assert KEY.encode() not in reply.body
    assert (stranger.status, len(apis.bodies)) == (401, 1)
    assert json.loads(stranger.body)["error"]["message"]


@every_style
def test_a_budget_lowers_the_answer_and_then_refuses(case: StyleCase, tmp_path: Path) -> None:
    with serving() as apis, hosted(case, apis, tmp_path) as host:
        lowered = ask(case, host.open("some", budget_usd=0.5))
        refused = ask(case, host.open("none", budget_usd=0.000001))
        (asked,) = host.asked("some")
        (answered,) = host.answered("none")
    assert (lowered.status, refused.status) == (200, 403)
    limit = case.limit_of(apis.bodies[0])
    assert limit is not None
    assert asked.lowered == (100_000, limit)
    assert 8_192 <= limit < 50_000
    assert "spend limit" in json.loads(refused.body)["error"]["message"]
    assert (answered.source, answered.error, len(apis.bodies)) == ("refused", "budget_exceeded:trial", 1)


@every_style
def test_a_model_that_is_not_allowed_is_refused(case: StyleCase, tmp_path: Path) -> None:
    with serving() as apis, hosted(case, apis, tmp_path) as host:
        path, body = case.request(model="other")
        refused = ask(case, host.open(models=("dear",)), body, path)
    assert (refused.status, apis.bodies) == (403, [])
    assert "may not use the model other" in json.loads(refused.body)["error"]["message"]


@every_style
@pytest.mark.parametrize(
    ("fault", "status", "named"),
    [(Fault(401, code="invalid_api_key"), 401, "401"), (Fault(500), 500, "500"), (Fault(404), 404, "404")],
    ids=lambda value: str(value.status) if isinstance(value, Fault) else "",
)
def test_a_failure_of_the_provider_is_its_own(
    case: StyleCase, fault: Fault, status: int, named: str, tmp_path: Path
) -> None:
    with serving(fault) as apis, hosted(case, apis, tmp_path) as host:
        reply = ask(case, host.open())
        (answered,) = host.answered()
    assert (reply.status, answered.usd) == (status, 0.0)
    assert answered.fault is not None
    assert answered.fault.startswith(named)


@every_style
def test_a_rate_limit_is_waited_for(case: StyleCase, tmp_path: Path) -> None:
    with serving(Fault(429, {"retry-after": "1"}, "rate_limit_exceeded")) as apis, hosted(case, apis, tmp_path) as host:
        reply = ask(case, host.open())
        (answered,) = host.answered()
    assert (reply.status, len(apis.bodies), answered.met) == (200, 2, ("429",))
    assert answered.waited_seconds >= 0.9


@every_style
def test_a_500_is_tried_again(case: StyleCase, tmp_path: Path) -> None:
    with serving(Fault(500)) as apis, hosted(case, apis, tmp_path, retries=1, retry_seconds=0.01) as host:
        reply = ask(case, host.open())
        (answered,) = host.answered()
    assert (reply.status, answered.retries, len(apis.bodies)) == (200, 1, 2)


@every_style
def test_a_cut_stream_is_cut_for_the_client_and_its_cost_is_unknown(case: StyleCase, tmp_path: Path) -> None:
    with serving(Fault(cut_after=1)) as apis, hosted(case, apis, tmp_path) as host:
        reply = ask(case, host.open(budget_usd=10.0))
        (answered,) = host.answered()
    assert (reply.status, reply.whole) == (200, False)
    assert (answered.complete, answered.usd, answered.fault) == (False, None, "a cut answer")
    assert answered.charged_usd is not None
    assert 0 < answered.charged_usd < 2


@every_style
def test_a_client_that_gives_up_on_a_hang_is_free(case: StyleCase, tmp_path: Path) -> None:
    with serving(Fault(hangs=True)) as apis, hosted(case, apis, tmp_path, drain_seconds=0.2) as host:
        session = host.open()
        connection = http.client.HTTPConnection(session.url.removeprefix("http://"), timeout=0.5)
        path, body = case.request()
        connection.request("POST", path, json.dumps(body), case.key(session.token))
        with pytest.raises(TimeoutError):
            connection.getresponse()
        connection.close()
        host.gateway.close(session)
        (answered,) = host.answered()
    assert (answered.complete, answered.first_byte_seconds, answered.status) == (False, None, None)


@every_style
def test_a_recording_is_replayed_to_the_same_bytes_without_a_key(case: StyleCase, tmp_path: Path) -> None:
    with serving() as apis, hosted(case, apis, tmp_path, record=tmp_path / "takes") as host:
        live = ask(case, host.open())
    replay = GatewaySettings(models=(info(case),), replay=tmp_path / "takes")
    with GatewayProcess.start(replay) as gateway:
        host = Host(gateway, tmp_path / "again")
        session = host.open()
        again = ask(case, session)
        path, body = case.request("Something else?")
        unknown = ask(case, session, body, path)
        first, _ = host.answered()
    assert (again.status, again.body) == (200, live.body)
    assert (first.source, first.tokens) == ("replay", case.tokens)
    assert first.usd == pytest.approx(case.usd(PRICE))
    assert unknown.status == 404


@every_style
def test_an_answer_in_one_piece_is_counted(case: StyleCase, tmp_path: Path) -> None:
    path, body = case.request(stream=False)
    path = case.path.replace("MODEL", "dear")
    with serving() as apis, hosted(case, apis, tmp_path) as host:
        reply = ask(case, host.open(), {key: value for key, value in body.items() if value is not False}, path)
        (answered,) = host.answered()
    assert (reply.status, answered.tokens, answered.complete) == (200, case.tokens, True)
    assert json.loads(reply.body)
    assert apis.bodies


def test_a_local_server_needs_no_key_costs_nothing_and_speaks_several_styles(tmp_path: Path) -> None:
    local = ModelInfo(id="dear", provider="local", context_tokens=100_000, price=FREE)
    messages = {"model": "dear", "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Hello?"}]}
    with serving() as apis:
        access = ProviderAccess.of("local", {"SCYLLA_LOCAL_BASE_URL": f"{apis.url}/v1"})
        assert access is not None
        with GatewayProcess.start(GatewaySettings(access=(access,), models=(local,), retries=0)) as gateway:
            host = Host(gateway, tmp_path)
            session = host.open(budget_usd=0.01, budget_tokens=100_000)
            replies = [ask(case, session) for case in CASES if case.style != "gemini"]
            replies.append(gateway_ask(session, messages))
            refused = ask(CASES[0], session)
            answered = host.answered()
    assert [reply.status for reply in (*replies, refused)] == [200, 200, 200, 403]
    assert [answer.usd for answer in answered] == [0.0] * 4
    assert b"limit of 100,000 tokens" in refused.body, "only tokens limit what costs nothing"
    assert all("authorization" not in headers and "x-api-key" not in headers for headers in apis.headers)
    assert apis.targets == ["/v1/responses", "/v1/chat/completions", "/v1/messages?beta=true"]
    assert apis.bodies[1]["stream_options"] == {"include_usage": True}
    assert b"prompt_tokens" not in replies[1].body, "the client did not ask for it"


def test_what_a_local_server_did_not_finish_cost_nothing_and_its_tokens_are_unknown(tmp_path: Path) -> None:
    (case,) = (case for case in CASES if case.style == "openai-chat")
    local = ModelInfo(id="dear", provider="local", context_tokens=100_000, price=FREE)
    with serving(Fault(cut_after=1)) as apis:
        access = ProviderAccess(provider="local", upstream=apis.url)
        with hosted(case, apis, tmp_path, access=(access,), models=(local,)) as host:
            reply = ask(case, host.open())
            (answered,) = host.answered()
    assert (reply.whole, answered.complete, answered.usage.usd) == (False, False, 0.0)
    assert (answered.usage.input_tokens, answered.usage.output_tokens) == (None, None)


def test_a_key_without_credit_is_not_waited_for(tmp_path: Path) -> None:
    case = CASES[0]
    with serving(Fault(429, code="insufficient_quota")) as apis, hosted(case, apis, tmp_path, retries=3) as host:
        reply = ask(case, host.open())
        (answered,) = host.answered()
    assert (reply.status, len(apis.bodies)) == (429, 1)
    assert answered.fault == "429 insufficient_quota"
    assert reply.headers["x-should-retry"] == "false"


def test_geminis_wait_is_in_the_body_and_its_key_may_be_in_the_query(tmp_path: Path) -> None:
    (case,) = (case for case in CASES if case.style == "gemini")
    fault = Fault(429, details=({"@type": RETRY_INFO, "retryDelay": "1s"},))
    with serving(fault) as apis, hosted(case, apis, tmp_path) as host:
        session = host.open()
        path, body = case.request()
        with urllib.request.urlopen(
            urllib.request.Request(f"{session.url}{path}&key={session.token}", json.dumps(body).encode())
        ) as answer:
            assert b"finishReason" in answer.read()
        (answered,) = host.answered()
    assert answered.waited_seconds >= 0.9
    assert apis.targets == [path] * 2, "the dummy key stays here"
    assert apis.headers[0]["x-goog-api-key"] == KEY


def test_counts_of_tokens_are_free(tmp_path: Path) -> None:
    paths = {"openai-responses": "/v1/responses/input_tokens", "gemini": "/v1beta/models/dear:countTokens"}
    for case in (case for case in CASES if case.style in paths):
        with serving() as apis, hosted(case, apis, tmp_path / case.style) as host:
            reply = ask(case, host.open(budget_usd=0.000001), path=paths[case.style])
            (answered,) = host.answered()
        assert (reply.status, answered.usd, answered.complete) == (200, 0.0, True)
