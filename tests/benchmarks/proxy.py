"""Time that the proxy adds to a download of 50 MB: `python -m tests.benchmarks.proxy`. The server is another one."""

import http.client
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from scylla_gha.egress_proxy import EgressPolicy
from scylla_gha.gateway.client import GatewayProcess, SessionHandle
from scylla_gha.gateway.settings import GatewaySettings, Session
from tests.support.network import credentials, site, tunnel

SIZE = 50_000_000
ROUNDS = 7
_CHUNK = 1 << 18


def serve() -> None:
    with site() as made:
        print(made.port, flush=True)
        sys.stdin.read()


def drain(answer: http.client.HTTPResponse) -> int:
    return sum(map(len, iter(lambda: answer.read(_CHUNK), b"")))


def direct(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", f"/bytes/{SIZE}")
    return drain(connection.getresponse())


def by_http(session: SessionHandle, name: str) -> int:
    connection = http.client.HTTPConnection(session.url.removeprefix("http://"))
    connection.request("GET", f"http://{name}/bytes/{SIZE}", headers=credentials(session))
    return drain(connection.getresponse())


def by_tunnel(session: SessionHandle, name: str) -> int:
    with tunnel(session, f"{name}:80") as (connection, _):
        connection.sendall(f"GET /bytes/{SIZE} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return drain(answer)


def timed(call: Callable[[], int]) -> float:
    began = time.perf_counter()
    assert call() == SIZE
    return time.perf_counter() - began


def compare(ways: dict[str, Callable[[], int]]) -> None:
    """By turns, so that what else the machine does hits all."""
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, call in ways.items():
            taken[way].append(timed(call))
    for way, seconds in taken.items():
        median = statistics.median(seconds)
        print(f"{way:26} {median * 1000:7.1f} ms, {SIZE / median / 1e6:7.0f} MB/s (n={ROUNDS}, "
              f"{min(seconds) * 1000:.0f} to {max(seconds) * 1000:.0f} ms)")  # fmt: skip


def main() -> None:
    command = [sys.executable, "-m", "tests.benchmarks.proxy", "serve"]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
        tempfile.TemporaryDirectory() as folder,
        GatewayProcess.start(GatewaySettings()) as gateway,
    ):
        assert server.stdout is not None
        port = int(server.stdout.readline())
        name = "plain.example"
        policy = EgressPolicy(local={name: f"127.0.0.1:{port}"})
        session = gateway.open(Session(cell="c", role="agent", journal=Path(folder, "traffic.jsonl"), egress=policy))
        compare({
            "direct": lambda: direct(port),
            "through a tunnel": lambda: by_tunnel(session, name),
            "by http": lambda: by_http(session, name),
        })  # fmt: skip
        server.communicate("")


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
