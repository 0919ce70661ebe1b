"""The first request of a session, kept by a running gateway before it is passed on."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.gateway import Reply, ask, hosted, question, shared
from tests.support.killing import writing
from tests.support.processes import wait_for
from tests.support.provider import Body, Fail, Hangup, Say, serve


def raw(text: str) -> bytes:
    """A request as a client might write it, which no other writing of it equals."""
    return json.dumps(question(text), indent=3).encode()


def test_it_is_there_before_the_provider_is_asked(tmp_path: Path) -> None:
    place = tmp_path / "first-request.json"
    found: list[bytes] = []

    def look(_: Body) -> Say:
        found.append(place.read_bytes())
        return Say("Hi.")

    with shared(tmp_path, look) as (_, host):
        session = host.open(first_request=place)
        for text in ("first", "second"):
            ask(session, raw(text))
    assert found == [raw("first")] * 2


def test_a_count_and_a_probe_go_before_it(tmp_path: Path) -> None:
    place = tmp_path / "first-request.json"
    with shared(tmp_path, lambda _: Say("Hi.")) as (_, host):
        session = host.open(first_request=place)
        ask(session, question("count"), "/v1/messages/count_tokens")
        ask(session, question("probe", max_tokens=1))
        assert not place.exists()
        ask(session, raw("first"))
    assert place.read_bytes() == raw("first")


@pytest.mark.parametrize(
    ("answer", "budget"),
    [(Fail(529), 1.0), (Hangup(), 1.0), (Say("Hi."), 0.0)],
    ids=["error", "hangup", "refused for its budget"],
)
def test_a_request_without_an_answer_is_stored_too(tmp_path: Path, answer: Say | Fail | Hangup, budget: float) -> None:
    place = tmp_path / "first-request.json"
    with shared(tmp_path, lambda _: answer) as (_, host):
        assert ask(host.open(first_request=place, budget_usd=budget), raw("first")).status >= 400
    assert place.read_bytes() == raw("first")


def test_it_is_what_the_provider_is_sent_with_configured_settings(tmp_path: Path) -> None:
    place = tmp_path / "first-request.json"
    with shared(tmp_path, lambda _: Say("Hi."), knobs={"agent": {"max_tokens": 7}}) as (provider, host):
        ask(host.open(first_request=place), raw("first"))
    assert place.read_bytes() == provider.raw[0]
    assert json.loads(place.read_bytes())["max_tokens"] == 7


def test_a_gateway_that_starts_again_writes_nothing_over_it(tmp_path: Path) -> None:
    place = tmp_path / "first-request.json"
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url) as host:
        session = host.open(first_request=place)
        ask(session, raw("first"))
        assert host.gateway.pid is not None
        os.kill(host.gateway.pid, signal.SIGKILL)
        host.gateway.close(session)
        again = host.open(first_request=place)
        assert ask(again, raw("second")).status == 200
    assert place.read_bytes() == raw("first")


def test_a_gateway_that_is_killed_while_it_writes_leaves_no_part_of_it(tmp_path: Path) -> None:
    place = tmp_path / "attempt-1" / "first-request.json"
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url) as host, ThreadPoolExecutor(1) as pool:
        session, pid = host.open(first_request=place), host.gateway.pid
        assert pid is not None

        def ask_once_it_can_be_held() -> Reply:
            assert wait_for(lambda: any(place.parent.glob(".*.tmp")))
            return ask(session, raw("first" * 100_000))

        asked = pool.submit(ask_once_it_can_be_held)
        with writing(place, pid):
            os.kill(pid, signal.SIGKILL)
            assert isinstance(asked.exception(), OSError), "nobody answered"
            assert not place.exists()
        assert provider.requests == []
        host.gateway.close(session)
        assert ask(host.open(first_request=place), raw("second")).status == 200
    assert {path.name: path.read_bytes() for path in place.parent.iterdir()} == {place.name: raw("second")}


def test_in_a_replay_it_is_kept_as_well_matched_or_not(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, \
            hosted(tmp_path, provider.url, record=tmp_path / "recordings") as host:  # fmt: skip
        ask(host.open(), raw("known"))
    with hosted(tmp_path / "again", replay=tmp_path / "recordings") as host:
        for name, status in (("known", 200), ("other", 404)):
            place = tmp_path / f"{name}.json"
            assert ask(host.open(role="agent", first_request=place), raw(name)).status == status
            assert place.read_bytes() == raw(name)


def test_each_session_has_its_own(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: Say("Hi.")) as (_, host):
        sessions = {name: host.open(cell=name, first_request=tmp_path / f"{name}.json") for name in ("a", "b")}
        ask(host.open(cell="c"), raw("c"))
        for name, session in sessions.items():
            ask(session, raw(name))
    assert [(tmp_path / f"{name}.json").read_bytes() for name in "ab"] == [raw("a"), raw("b")]
