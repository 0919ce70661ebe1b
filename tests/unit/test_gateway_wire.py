"""Which headers go which way."""

import json
from http import HTTPStatus

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from scylla_gha.gateway.headers import failure, to_client
from scylla_gha.gateway.settings import SessionSettings
from scylla_gha.providers.anthropic.provider import Anthropic
from scylla_gha.providers.federation import Federation

ANTHROPIC = Anthropic()

SENT = CIMultiDictProxy(CIMultiDict([
    ("X-Api-Key", "dummy"), ("Authorization", "Bearer dummy"), ("Host", "127.0.0.1"), ("Content-Length", "3"),
    ("Accept-Encoding", "gzip"), ("Connection", "keep-alive"), ("Cookie", "a=b"), ("Content-Type", "application/json"),
    ("anthropic-version", "2023-06-01"), ("anthropic-beta", "a"), ("anthropic-beta", "b"), ("X-App", "cli"),
    ("CDN-Loop", "x"), ("X-Forwarded-For", "1.2.3.4"), ("X-HTTP-Method-Override", "DELETE"), ("Range", "bytes=0-1"),
    ("anthropic-workspace-id", "w"), ("anthropic-organization-id", "o"), ("Via", "1.1 x"), ("Max-Forwards", "0"),
    ("X-Stainless-Lang", "js"), ("X-Claude-Code-Session-Id", "s"),
]))  # fmt: skip
KEPT = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-app": "cli",
        "x-stainless-lang": "js", "x-claude-code-session-id": "s",
        "accept-encoding": "identity"}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "added"),
    [
        (SessionSettings(api_key="real"), {"x-api-key": "real", "anthropic-beta": "a"}),
        (SessionSettings(bearer="real"), {"authorization": "Bearer real", "anthropic-beta": "a"}),
        (SessionSettings(bearer="sk-ant-oat01-real"),
         {"authorization": "Bearer sk-ant-oat01-real", "anthropic-beta": "a,b,oauth-2025-04-20"}),
        (SessionSettings(), {"anthropic-beta": "a"}),
    ],
)  # fmt: skip
def test_the_real_key_takes_the_dummys_place(settings: SessionSettings, added: dict[str, str]) -> None:
    sent = ANTHROPIC.request_headers(SENT, settings.credentials(None))
    assert {name.lower(): sent[name] for name in sent} == {**KEPT, **added}
    assert "dummy" not in str(sent)


def test_a_token_by_federation_takes_the_dummys_place() -> None:
    sent = ANTHROPIC.request_headers(
        SENT, SessionSettings(federation=Federation(rule="r", organization="o")).credentials("exchanged")
    )
    assert (sent["authorization"], sent["anthropic-beta"]) == ("Bearer exchanged", "a,b,oauth-2025-04-20")


def test_the_providers_headers_come_back_but_for_those_of_its_connection_and_its_waits() -> None:
    headers = CIMultiDictProxy(CIMultiDict({"request-id": "r", "retry-after": "3", "transfer-encoding": "chunked",
                                            "set-cookie": "a=b", "retry-after-ms": "3"}))  # fmt: skip
    assert dict(to_client(headers)) == {"request-id": "r"}


@pytest.mark.parametrize("headers", [{"x-api-key": "t"}, {"authorization": "Bearer t"},
                                     {"x-api-key": "", "authorization": "Bearer t"}])  # fmt: skip
def test_a_token_stands_in_two_places(headers: dict[str, str]) -> None:
    assert ANTHROPIC.session_token(headers) == "t"
    assert ANTHROPIC.session_token({}) == ""


def test_errors_have_the_providers_form() -> None:
    made = failure(ANTHROPIC, HTTPStatus.FORBIDDEN, "permission_error", "no")
    assert isinstance(made.body, bytes)
    assert json.loads(made.body) == {"type": "error", "error": {"type": "permission_error", "message": "no"}}
    assert (made.status, made.content_type) == (403, "application/json")
