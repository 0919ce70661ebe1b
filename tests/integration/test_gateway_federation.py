"""A gateway without a key, between a real client, GitHub's identities and a provider that sells tokens for them."""

from pathlib import Path

import pytest

from scylla_gha.providers.anthropic import federation_in
from scylla_gha.providers.credentials import Federation
from tests.support.gateway import ask, hosted, question
from tests.support.provider import ASKING, MINTED, RULE, Provider, Say, serve


def federation(provider: Provider, rule: str = RULE, token: str = ASKING) -> Federation:
    found = federation_in({
        "ANTHROPIC_FEDERATION_RULE_ID": rule, "ANTHROPIC_ORGANIZATION_ID": "11111111-2222-3333-4444-555555555555",
        "ACTIONS_ID_TOKEN_REQUEST_URL": f"{provider.url}/identity?v=1", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": token,
    })  # fmt: skip
    assert found is not None
    return found


def test_the_jobs_identity_buys_one_token_for_all_requests(tmp_path: Path) -> None:
    with (
        serve(lambda _: Say("Hi.")) as provider,
        hosted(tmp_path, provider.url, api_key=None, federation=federation(provider)) as host,
    ):
        session = host.open()
        statuses = [ask(session, question()).status for _ in range(3)]
    assert statuses == [200] * 3
    assert [body["assertion"] for body in provider.exchanges] == ["identityhttps%3A%2F%2Fapi.anthropic.com"]
    assert {headers["authorization"] for headers in provider.headers} == {f"Bearer {MINTED}-1"}
    assert provider.keys == [None] * 3
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert MINTED.encode() not in kept


def test_an_identity_in_a_file_does_as_well(tmp_path: Path) -> None:
    file = tmp_path / "identity"
    file.write_text("a.b.c\n")
    with serve(lambda _: Say("Hi.")) as provider:
        given = Federation(rule=RULE, organization="o", file=file)
        with hosted(tmp_path / "run", provider.url, api_key=None, federation=given) as host:
            assert ask(host.open(), question()).status == 200
    assert provider.exchanges[0]["assertion"] == "a.b.c"


@pytest.mark.parametrize(
    ("rule", "token"),
    [pytest.param("fdrl_other", ASKING, id="the rule is another"), pytest.param(RULE, "no-token", id="GitHub refuses")],
)
def test_without_a_token_the_request_fails_and_says_why(tmp_path: Path, rule: str, token: str) -> None:
    with serve(lambda _: Say("Hi.")) as provider:
        given = federation(provider, rule, token)
        with hosted(tmp_path, provider.url, api_key=None, federation=given) as host:
            reply = ask(host.open(), question())
    (answer,) = host.answered()
    assert answer.usd == 0.0, "nothing was sent, so it cost nothing"
    assert reply.status >= 500
    assert "ANTHROPIC_FEDERATION_RULE_ID" in reply.error["message"]
    assert (provider.requests, token in reply.error["message"]) == ([], False)
