"""The gateway on a Unix socket: from the host, and from a container that has no network."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.sandboxes.base import GATEWAY_SOCKET, GATEWAY_URL, socket_folder
from tests.support.docker_runner import DockerRunner
from tests.support.gateway import EACH, KEY, OverSocket, hosted, question, until
from tests.support.provider import Say, serve

ASK = """
import json, os, urllib.error, urllib.request
request = urllib.request.Request(os.environ["URL"] + "/v1/messages", os.environ["BODY"].encode(),
                                 {"x-api-key": os.environ["TOKEN"], "content-type": "application/json"})
try:
    print(urllib.request.urlopen(request, timeout=20).read().decode())
except OSError as error:
    print("failed", type(error).__name__)
"""


@pytest.fixture
def place() -> Iterator[Path]:
    with socket_folder() as folder:
        yield folder / GATEWAY_SOCKET


def test_both_sessions_lead_to_the_same_sessions(tmp_path: Path, place: Path) -> None:
    with serve(lambda _: Say("Hi.")) as provider, hosted(tmp_path, provider.url) as host:
        session = host.open(socket=place)
        connection = OverSocket(place)
        connection.request("POST", "/v1/messages", json.dumps(question()), {"x-api-key": session.token})
        answer = connection.getresponse()
        assert (answer.status, b"Hi." in answer.read()) == (200, True)
        connection.close()
        made = host.gateway.close(session)
    assert (made.requests, made.usage.usd, provider.keys) == (1, pytest.approx(EACH), [KEY])
    assert place.parent.parent.stat().st_mode & 0o777 == 0o700, "only this user of the host gets to it"


def test_the_socket_is_there_again_after_a_crash(tmp_path: Path, place: Path) -> None:
    with hosted(tmp_path) as host:
        host.open(socket=place)
        os.kill(host.gateway.pid or 0, signal.SIGKILL)
        until(lambda: not host.gateway.alive)
        host.open("another", socket=place)
        connection = OverSocket(place)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        connection.close()


def test_a_socket_that_cannot_be_is_told_and_its_session_is_not_open(tmp_path: Path) -> None:
    with hosted(tmp_path) as host:
        with pytest.raises(ToolError, match=r"cell: the gateway does not open a session .*no/x: a socket cannot"):
            host.open(socket=tmp_path / "no/x")
        assert not host.journal().exists()


def test_a_container_without_network_reaches_the_gateway_and_nothing_else(runner: DockerRunner, place: Path) -> None:
    runner.sockets = place.parent
    with serve(lambda _: Say("Hi.")) as provider, hosted(runner.folder, provider.url) as host:
        session = host.open(socket=place)
        body = json.dumps(question())
        seen = runner.run(("python3", "-c", ASK), URL=GATEWAY_URL, TOKEN=session.token, BODY=body)
        beside = runner.run(("python3", "-c", ASK), URL=provider.url, TOKEN=session.token, BODY=body)
        made = host.gateway.close(session)
    assert '"Hi."' in seen.out
    assert beside.out == "failed URLError\n"
    assert (made.requests, provider.keys) == (1, [KEY])


WATCH = """
import os, time, urllib.request
seen = []
while seen != ["there", "gone", "there"]:
    try:
        urllib.request.urlopen(os.environ["URL"], timeout=20).read()
        now = "there"
    except OSError:
        now = "gone"
    if seen[-1:] != [now]:
        seen.append(now)
        print(now, flush=True)
    time.sleep(0.05)
"""


def test_a_gateway_that_is_started_again_is_found_by_who_is_in_the_box_already(
    runner: DockerRunner, place: Path
) -> None:
    runner.sockets = place.parent

    def crash() -> None:
        until(lambda: (runner.folder / "stdout").exists() and (runner.folder / "stdout").read_text())
        os.kill(host.gateway.pid or 0, signal.SIGKILL)
        until(lambda: (runner.folder / "stdout").read_text() == "there\ngone\n")
        host.open("another", socket=place)

    with hosted(runner.folder) as host:
        host.open(socket=place)
        thread = threading.Thread(target=crash)
        thread.start()
        seen = runner.run(("python3", "-c", WATCH), 60, URL=GATEWAY_URL)
        thread.join()
    assert seen.out == "there\ngone\nthere\n"


def test_a_box_without_sockets_has_nothing_at_the_gateways_address(runner: DockerRunner) -> None:
    assert runner.run(("python3", "-c", ASK), URL=GATEWAY_URL, TOKEN="x", BODY="{}").out == "failed URLError\n"
