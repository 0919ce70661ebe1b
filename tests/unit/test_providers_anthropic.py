"""The Anthropic provider: headers in both directions, errors, and identity federation."""

import json
from http import HTTPStatus
from pathlib import Path

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from scylla_gha.gateway.forward import failure, to_client
from scylla_gha.gateway.settings import ProviderAccess
from scylla_gha.providers.anthropic import MessagesStyle, federation_in
from scylla_gha.providers.credentials import Federation

ANTHROPIC = MessagesStyle()

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
    ("access", "added"),
    [
        (ProviderAccess(provider="anthropic", api_key="real"), {"x-api-key": "real", "anthropic-beta": "a"}),
        (ProviderAccess(provider="anthropic", bearer="real"), {"authorization": "Bearer real", "anthropic-beta": "a"}),
        (ProviderAccess(provider="anthropic", bearer="sk-ant-oat01-real"),
         {"authorization": "Bearer sk-ant-oat01-real", "anthropic-beta": "a,b,oauth-2025-04-20"}),
        (ProviderAccess(provider="anthropic"), {"anthropic-beta": "a"}),
    ],
)  # fmt: skip
def test_the_real_key_takes_the_dummys_place(access: ProviderAccess, added: dict[str, str]) -> None:
    sent = ANTHROPIC.request_headers(SENT, access.credentials(None))
    assert {name.lower(): sent[name] for name in sent} == {**KEPT, **added}
    assert "dummy" not in str(sent)


def test_a_token_by_federation_takes_the_dummys_place() -> None:
    access = ProviderAccess(provider="anthropic", federation=Federation(rule="r", organization="o"))
    sent = ANTHROPIC.request_headers(SENT, access.credentials("exchanged"))
    assert (sent["authorization"], sent["anthropic-beta"]) == ("Bearer exchanged", "a,b,oauth-2025-04-20")


def test_the_providers_headers_come_back_but_for_those_of_its_connection_and_its_waits() -> None:
    headers = CIMultiDictProxy(CIMultiDict({"request-id": "r", "retry-after": "3", "transfer-encoding": "chunked",
                                            "set-cookie": "a=b", "retry-after-ms": "3"}))  # fmt: skip
    assert dict(to_client(headers)) == {"request-id": "r"}


@pytest.mark.parametrize("headers", [{"x-api-key": "t"}, {"authorization": "Bearer t"},
                                     {"x-api-key": "", "authorization": "Bearer t"}])  # fmt: skip
def test_a_token_stands_in_two_places(headers: dict[str, str]) -> None:
    assert ANTHROPIC.session_token(headers, {}) == "t"
    assert ANTHROPIC.session_token({}, {}) == ""


def test_errors_have_the_providers_form() -> None:
    made = failure(ANTHROPIC, HTTPStatus.FORBIDDEN, "permission_error", "no")
    assert isinstance(made.body, bytes)
    assert json.loads(made.body) == {"type": "error", "error": {"type": "permission_error", "message": "no"}}
    assert (made.status, made.content_type) == (403, "application/json")


RULES = {"ANTHROPIC_FEDERATION_RULE_ID": "fdrl_1", "ANTHROPIC_ORGANIZATION_ID": "o"}
FILE = {"ANTHROPIC_IDENTITY_TOKEN_FILE": "/run/identity"}
ASK = {"ACTIONS_ID_TOKEN_REQUEST_URL": "https://vstoken.example/x?v=1", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t"}


@pytest.mark.parametrize(
    "environ",
    [
        pytest.param({}, id="nothing"),
        pytest.param(FILE, id="no rule"),
        pytest.param(RULES, id="no identity"),
        pytest.param({**RULES, "ACTIONS_ID_TOKEN_REQUEST_URL": "https://x/y"}, id="nothing to ask GitHub with"),
        pytest.param({**RULES, **ASK, "ACTIONS_ID_TOKEN_REQUEST_URL": "http://x.example/y"}, id="in clear text"),
    ],
)
def test_what_is_not_whole_is_no_federation(environ: dict[str, str]) -> None:
    assert federation_in(environ) is None


def test_a_file_goes_before_github() -> None:
    found = federation_in({**RULES, **FILE, **ASK, "ANTHROPIC_WORKSPACE_ID": "wrkspc_1"})
    assert found == Federation(
        rule="fdrl_1",
        organization="o",
        workspace="wrkspc_1",
        file=Path("/run/identity"),
        audience="https://api.anthropic.com",
    )


def test_the_token_of_the_job_is_not_in_what_is_printed() -> None:
    found = federation_in({**RULES, **ASK, "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "canary"})
    assert found is not None
    assert found.token == "canary"
    assert "canary" not in repr(found)
