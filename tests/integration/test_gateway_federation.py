"""Model access by a job's identity, through the real exchange of the provider's own library."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scylla_gha.gateway.client import Gateway
from scylla_gha.gateway.federation import Federation
from scylla_gha.gateway.settings import Settings
from tests.support.gateway import MODELS, Host, ask, question
from tests.support.provider import Provider, Say, serve

REQUEST_TOKEN = "runner-canary-0123456789"


@contextmanager
def federated(folder: Path, provider: Provider) -> Iterator[Host]:
    one = Federation(rule="fdrl_1", organization="org", service_account="svac_1",
                     request_url=f"{provider.url}/identity?version=2", request_token=REQUEST_TOKEN)  # fmt: skip
    with Gateway.start(Settings(upstream=provider.url, federation=one, models=MODELS)) as gateway:
        yield Host(gateway, folder)


def test_a_token_is_had_once_and_anew_before_its_end(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, federated(tmp_path, provider) as host:
        provider.lives = [1, 3600]
        door = host.lane()
        replies = [ask(door, question()) for _ in range(3)]
    assert [reply.status for reply in replies] == [200, 200, 200]
    assert [sent["authorization"] for sent in provider.headers] == [
        f"Bearer token-by-federation-{number}" for number in (1, 2, 2)
    ]
    assert {sent["anthropic-beta"] for sent in provider.headers} == {"oauth-2025-04-20"}
    assert provider.keys == [None, None, None]
    assert provider.identities[0].startswith("/identity?version=2&audience=http%3A%2F%2F127.0.0.1%3A")
    assert provider.identities[0].endswith(f" Bearer {REQUEST_TOKEN}")
    assert [made["assertion"] for made in provider.exchanges] == ["identity-1", "identity-2"]
    assert {(made["federation_rule_id"], made["service_account_id"]) for made in provider.exchanges} == {
        ("fdrl_1", "svac_1")
    }


def test_what_was_exchanged_is_in_no_file(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, federated(tmp_path, provider) as host:
        provider.lives = [3600]
        ask(host.lane(), question())
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert kept
    assert not any(secret in kept for secret in (b"token-by-federation", b"identity-1", REQUEST_TOKEN.encode()))


def test_a_rule_that_does_not_trust_the_job_is_named_and_costs_nothing(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, federated(tmp_path, provider) as host:
        door = host.lane()
        reply = ask(door, question())
        made = host.gateway.close(door)
    assert reply.status == 502
    assert "no token by the federation rule fdrl_1" in reply.error["message"]
    assert provider.requests == []
    assert made.known_usd == 0
