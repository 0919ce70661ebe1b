"""One session that asks for more than its part of the gateway: it fares worse for it, and no other does."""

import contextlib
import functools
import http.client
import json
import os
import resource
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.gateway.client import SessionHandle
from scylla_gha.sandboxes.base import socket_folder
from tests.support.gateway import Host, OverSocket, ask, at_once, connect, hosted, question, send, shared, until
from tests.support.provider import Body, Hangup, Say, serve

MEGA = 1024 * 1024


@pytest.fixture(autouse=True)
def _many_files() -> Iterator[None]:
    """This process holds the ends of all connections; the gateway begins with the usual limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def crowd(stack: contextlib.ExitStack, place: Path | int, count: int) -> list[socket.socket]:
    """Connections on which nothing is said."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, soft + count), hard))
    made = []
    for _ in range(count):
        made.append(stack.enter_context(socket.socket(socket.AF_UNIX if isinstance(place, Path) else socket.AF_INET)))
        made[-1].connect(str(place) if isinstance(place, Path) else ("127.0.0.1", place))
    return made


def over_socket(place: Path, session: SessionHandle) -> int:
    with contextlib.closing(OverSocket(place)) as connection:
        send(connection, session, question())
        return connection.getresponse().status


def test_idle_connections_harm_neither_a_neighbour_nor_the_harness(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, contextlib.ExitStack() as stack:
        own, other = (stack.enter_context(socket_folder()) / "s" for _ in range(2))
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        host = stack.enter_context(hosted(tmp_path, provider.url))
        greedy, neighbour = host.open("greedy", socket=own), host.open("neighbour", socket=other)
        crowd(stack, own, 1300)
        assert over_socket(other, neighbour) == 200
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            over_socket(own, greedy)
        crowd(stack, int(greedy.url.rpartition(":")[2]), 600)  # the port that judges use
        assert ask(host.open(role="judge"), question()).status == 200
        assert not host.gateway.is_lost(neighbour)
        assert [host.gateway.close(session).requests for session in (greedy, neighbour)] == [0, 1]
        with pytest.raises(ConnectionError):
            over_socket(own, greedy)


def test_beyond_its_requests_in_flight_a_session_waits_and_its_neighbour_does_not(tmp_path: Path) -> None:
    free = threading.Event()
    going: list[Body] = []

    def script(body: Body) -> Say:
        if "wait" in str(body["messages"]):
            going.append(body)
            free.wait(60)
        return Say("Hi.")

    with serve(script) as provider, hosted(tmp_path, provider.url) as host:
        greedy, neighbour = host.open("greedy"), host.open("neighbour")

        def look() -> int:
            until(lambda: len(going) >= 32)
            other = ask(neighbour, question()).status
            free.set()
            return other if len(going) <= 32 else 0

        calls = [functools.partial(ask, greedy, question(f"wait {number}")) for number in range(40)]
        statuses = at_once([look, *(lambda call=call: call().status for call in calls)])
        assert statuses == [200] * 41
        assert host.gateway.close(greedy).requests == 40


def memory(host: Host) -> float:
    """Resident megabytes of the gateway at their highest."""
    status = Path(f"/proc/{host.gateway.pid}/status").read_text()
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def test_unfinished_bodies_fill_no_memory(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url) as host:
        greedy = host.open("greedy")
        connections = [connect(greedy) for _ in range(16)]
        for connection in connections:
            connection.putrequest("POST", "/v1/messages")
            connection.putheader("x-api-key", greedy.token)
            connection.putheader("content-length", str(31 * MEGA))
            connection.endheaders()
            with contextlib.suppress(ConnectionError):
                connection.send(b"x" * 30 * MEGA)
        assert ask(host.open("neighbour"), question()).status == 200
        assert memory(host) < 400
        refused = [connection for connection in connections if _answer(connection)]
        assert len(refused) >= 13, "all but those that fit into 64 MB"
        for connection in connections:
            connection.close()
        long = ask(greedy, b"x" * (33 * MEGA))
        many = ask(greedy, json.dumps(question(x=[[]] * 2_000_000)).encode())
    assert [long.status, many.status] == [413, 400]
    assert "longer than 32 MB" in long.error["message"]
    assert "more than 2000000 JSON values" in many.error["message"]


def _answer(connection: http.client.HTTPConnection) -> int | None:
    connection.sock.settimeout(1)
    try:
        return connection.getresponse().status
    except TimeoutError:
        return None
    except OSError:
        return 413  # it was cut while it was still sending


def test_what_is_slow_to_clean_and_long_names_cost_only_who_sends_them(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url) as host:
        greedy, neighbour = host.open("greedy"), host.open("neighbour")
        slow = threading.Thread(target=ask, args=(greedy, question(".ghs_" * 400_000)))
        slow.start()
        assert [ask(neighbour, question()).status for _ in range(3)] == [200] * 3
        assert slow.is_alive(), "what the others did not wait for"
        named = [ask(greedy, question(model="m" * size)).status for size in (200, 201, 8 * MEGA)]
        slow.join()
        host.gateway.close(greedy)
    assert named == [200, 400, 400]
    assert host.journal("greedy").stat().st_size < 10_000


def test_many_requests_of_medium_length_that_are_slow_to_clean_hold_up_nobody_else(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url) as host:
        greedy, neighbour = host.open("greedy"), host.open("neighbour")
        slow = [threading.Thread(target=ask, args=(greedy, question(".ghs_" * 20_000))) for _ in range(16)]
        for each in slow:
            each.start()
        assert [ask(neighbour, question()).status for _ in range(3)] == [200] * 3
        assert sum(each.is_alive() for each in slow) > len(slow) / 2, "what the neighbour did not wait for"
        for each in slow:
            each.join()


def test_sessions_that_keep_the_gateway_reading_leave_room_for_another(tmp_path: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url) as host:
        sessions = [host.open(f"greedy-{number}") for number in range(33)]
        body = json.dumps(question(".ghs_" * 200_000)).encode()
        with contextlib.ExitStack() as stack:
            for session in sessions:
                send(stack.enter_context(contextlib.closing(connect(session))), session, body)
            neighbour = host.open("neighbour")
            assert ask(neighbour, question("Hello? " * 1_000)).status == 200
            assert len(provider.requests) == 1, "the others are still read"
            os.kill(host.gateway.pid or 0, signal.SIGKILL)  # instead of waiting until they are


def test_a_request_with_a_long_head_is_not_passed_on_so_the_provider_cannot_fail_it(tmp_path: Path) -> None:
    many = {f"x_stainless_{letter}": "v" * 8_000 for letter in "abcde"}
    with shared(tmp_path, lambda _: Hangup()) as (provider, host):
        session = host.open()
        replies = [ask(session, question(), **many), ask(session, question(), x_stainless_a="v" * 8_000)]
        made = host.gateway.close(session)
        assert len(provider.requests) == 1, "the short one"
    assert [reply.status for reply in replies] == [431, 502]
    assert "headers are longer than 32 KB" in replies[0].error["message"]
    assert made.requests == 1


def test_a_full_log_takes_no_further_request(tmp_path: Path) -> None:
    with shared(tmp_path, lambda _: Say("Hi.")) as (provider, host):
        session = host.open()
        assert ask(session, question()).status == 200
        host.gateway.close(session)
        (asked,) = host.asked()
        with host.journal().open("a") as file:
            for number in range(2, 18):
                file.write(asked.model_copy(update={"number": number, "digest": "d" * MEGA}).model_dump_json() + "\n")
        session = host.open()
        last = [ask(session, question()) for _ in range(3)]
        size = host.journal().stat().st_size
        made = host.gateway.close(session)
        assert len(provider.requests) == 1
    assert [reply.status for reply in last] == [403] * 3
    assert "as many requests as it allows" in last[2].error["message"]
    assert (made.errors, size < 17 * MEGA) == ({"budget_exceeded:trial_journal": 1}, True)
