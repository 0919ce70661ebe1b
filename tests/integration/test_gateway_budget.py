"""Budgets of trials, roles and the experiment, and what a crash of the gateway leaves."""

import http.client
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.gateway.settings import GatewaySettings, Session
from tests.support.gateway import EACH, FOR_TWO, KEY, access_to, ask, connect, hosted, question, send, shared, until
from tests.support.provider import Say, serve


@pytest.mark.parametrize(
    ("limits", "session_limits", "scope", "said"),
    [
        pytest.param({}, {"budget_usd": FOR_TWO}, "trial", "of this key", id="trial"),
        pytest.param({}, {"budget_tokens": 126}, "trial_tokens", "126 tokens of this key", id="tokens"),
        pytest.param({"role_usd": {"agent": FOR_TWO}}, {}, "role", "of keys of this kind (agent)", id="role"),
        pytest.param({"experiment_usd": FOR_TWO}, {}, "experiment", "of this account", id="experiment"),
        pytest.param({"experiment_usd": 1.0, "spent_usd": {"judge": 1.0 - FOR_TWO}}, {}, "experiment",
                     "$1.00 of this account", id="with what was spent before"),
    ],
)  # fmt: skip
def test_a_spent_budget_refuses_before_the_provider_is_asked(
    tmp_path: Path, limits: dict[str, Any], session_limits: dict[str, Any], scope: str, said: str
) -> None:
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url, **limits) as host:
        session, judge = host.open(**session_limits), host.open(role="judge", **session_limits)
        replies = [ask(session, question()) for _ in range(4)]
        other = ask(judge, question())
        made = host.gateway.close(session)
        assert len(provider.requests) == 2 + (other.status == 200)
    assert [reply.status for reply in replies] == [200, 200, 403, 403]
    assert replies[2].error["type"] == "permission_error"
    assert said in replies[2].error["message"]
    assert "is reached" in replies[2].error["message"]
    assert other.status == (403 if scope == "experiment" else 200)
    assert (made.refused, made.errors) == (2, {f"budget_exceeded:{scope}": 2})
    assert made.usage.usd == pytest.approx(2 * EACH)


def test_a_model_without_a_price_is_refused_where_there_is_a_budget(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url, role_usd={"judge": 1.0}) as host:
        assert ask(host.open(), question(model="new")).status == 200
        refused = ask(host.open(role="judge"), question(model="new"))
    assert refused.status == 403
    assert "no known price" in refused.error["message"]
    assert [each.error for each in host.answered(role="judge")] == ["unknown_price"]


def test_a_killed_gateway_leaves_a_complete_log_and_starts_again(tmp_path: Path) -> None:
    with serve(lambda body: Say("Hi.", pause=600 if "long" in str(body) else 0)) as provider, \
            hosted(tmp_path, provider.url, experiment_usd=3 * EACH) as host:  # fmt: skip
        session = host.open()
        assert ask(session, question()).status == 200
        connection = connect(session)
        send(connection, session, question("long"))
        answer = connection.getresponse()
        assert answer.readline() == b"event: message_start\n"
        assert host.gateway.pid is not None
        os.kill(host.gateway.pid, signal.SIGKILL)
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            answer.read()
        connection.close()
        assert host.gateway.is_lost(session)
        made = host.gateway.close(session)
        assert (made.requests, made.unanswered, made.usage.usd, made.known_usd) == (2, 1, None, EACH)
        again = host.open(cell="again")
        assert not host.gateway.is_lost(again)
        assert host.gateway.is_lost(session)
        assert [ask(again, question()).status for _ in range(2)] == [200, 403], "what was spent before must count"
        provider.ended.set()


def test_a_session_that_is_opened_again_goes_on_with_its_numbers_and_its_budget(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: Say("Hi.")) as (_, host):
        for status in (200, 200, 403):
            session = host.open(budget_usd=FOR_TWO)
            assert ask(session, question()).status == status
            host.gateway.close(session)
    assert [each.number for each in host.asked()] == [1, 2, 3]


def test_told_to_end_it_lets_what_is_in_flight_end(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.", pause=0.5)) as provider, hosted(tmp_path, provider.url) as host:
        session = host.open()
        connection = connect(session)
        send(connection, session, question())
        answer = connection.getresponse()
        assert host.gateway.pid is not None
        os.kill(host.gateway.pid, signal.SIGTERM)
        assert b"message_stop" in answer.read()
        connection.close()
        until(lambda: not host.gateway.alive)
    assert summarise_traffic(host.journal()).usage.usd == pytest.approx(EACH)


def test_it_ends_when_the_harness_is_killed() -> None:
    script = ("import sys, time\nfrom scylla_gha.gateway.client import GatewayProcess\n"
              "from scylla_gha.gateway.settings import GatewaySettings\n"
              "print(GatewayProcess.start(GatewaySettings()).pid, flush=True)\ntime.sleep(600)")  # fmt: skip
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        process = Path(f"/proc/{int(harness.stdout.readline())}")
        assert process.exists()
        harness.kill()
    until(lambda: not process.exists() or "Z" in (process / "stat").read_text().split()[2])


def test_the_key_is_in_no_file_no_arguments_and_no_environment(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, \
            hosted(tmp_path, provider.url, record=tmp_path / "recordings") as host:  # fmt: skip
        session = host.open()
        ask(session, question())
        process = Path(f"/proc/{host.gateway.pid}")
        seen = [(process / name).read_bytes() for name in ("cmdline", "environ")]
        host.gateway.close(session)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert provider.keys == [KEY]
    assert not [content for content in [*seen, *(path.read_bytes() for path in files)] if KEY.encode() in content]
    assert KEY not in repr(GatewaySettings(access=access_to("")))


def test_closing_twice_counts_once(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: Say("Hi.")) as (_, host):
        session = host.open()
        ask(session, question())
        assert host.gateway.close(session).requests == 1
        assert host.gateway.close(session).requests == 0


def test_a_gateway_stops_quickly_and_twice(tmp_path: Path) -> None:
    with GatewayProcess.start(GatewaySettings()) as gateway:
        gateway.open(Session(cell="cell", role="agent", journal=tmp_path / "traffic.jsonl"))
        began = time.monotonic()
        gateway.stop()
        assert time.monotonic() - began < 60
        assert not gateway.alive
