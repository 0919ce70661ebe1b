"""The supervisor as a process of its own, outside any container."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scylla_gha.sandboxes.docker import supervisor
from scylla_gha.sandboxes.docker.supervisor import FullDisks


class Kept:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def tell(self, line: str) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        print(line, file=self.process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@contextmanager
def kept() -> Iterator[Kept]:
    argv = [sys.executable, "-I", supervisor.__file__]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Kept(process)
        assert process.stdin
        process.stdin.close()
        assert process.wait(20) == 0, "it ends with its input"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_it_forwards_both_ways_until_both_have_ended(tmp_path: Path) -> None:
    port, path = free_port(), tmp_path / "s"

    def echo(server: socket.socket) -> None:
        with server.accept()[0] as one:
            while data := one.recv(4096):
                one.sendall(data.upper())

    with socket.socket(socket.AF_UNIX) as server, kept() as one:
        server.bind(str(path))
        server.listen()
        threading.Thread(target=echo, args=(server,)).start()
        assert one.tell(json.dumps({"forward": [[port, str(path)]], "disks": [str(tmp_path)]})) == {"listening": 1}
        with socket.create_connection(("127.0.0.1", port), 20) as client:
            client.sendall(b"hello" * 50_000)
            client.shutdown(socket.SHUT_WR)
            received = b"".join(iter(lambda: client.recv(65536), b""))
    assert received == b"HELLO" * 50_000


def test_a_socket_that_is_not_there_is_a_closed_connection(tmp_path: Path) -> None:
    port = free_port()
    with kept() as one:
        one.tell(json.dumps({"forward": [[port, str(tmp_path / "none")]]}))
        with socket.create_connection(("127.0.0.1", port), 20) as client:
            assert client.recv(10) == b""


def test_it_tells_what_was_hit(tmp_path: Path) -> None:
    with kept() as one:
        assert one.tell(json.dumps({"disks": [str(tmp_path)]})) == {"listening": 0}
        told = one.tell("hits")
        assert set(told) == {"others", "memory", "processes", "disk"}
        assert told["disk"] == []
        assert told["others"] > 0


def test_a_full_disk_is_remembered() -> None:
    disks = FullDisks(["/proc"])  # has no room, ever
    disks.check()
    assert disks.full == {"/proc"}
