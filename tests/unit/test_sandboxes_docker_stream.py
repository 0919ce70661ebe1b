"""Streams of a process in a container, with a socket in place of the engine."""

import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scylla_gha.sandboxes.docker.exec_process import StreamPump
from scylla_gha.system.process import Cancel

OUT, ERR = 1, 2


def frame(to: int, content: bytes) -> bytes:
    return bytes([to, 0, 0, 0]) + len(content).to_bytes(4, "big") + content


class Pumped:
    """A pump, the far end of its socket, and its outputs."""

    def __init__(self, running: Callable[[], bool] = lambda: True, limit: int = 1000) -> None:
        self.near, self.far = socket.socketpair()
        self.out, self.err = io.BytesIO(), io.BytesIO()
        self.running = running
        self.pump = StreamPump(self.near, (self.out, self.err), limit, self.ask)

    def ask(self) -> bool:
        return self.running()

    def run(self, seconds: float = 60, stdin: Path | None = None, cancel: Cancel | None = None) -> str:
        with self.pump.started(stdin):
            return self.pump.wait(time.monotonic() + seconds, cancel)


@pytest.fixture
def pumped() -> Iterator[Pumped]:
    made = Pumped()
    with made.near, made.far:
        yield made


@pytest.mark.parametrize("piece", [1, 9, 1000])
def test_frames_are_separated_however_they_arrive(pumped: Pumped, piece: int) -> None:
    data = frame(OUT, b"one") + frame(ERR, b"two") + frame(OUT, b"") + frame(OUT, b"three")

    def send() -> None:
        for start in range(0, len(data), piece):
            pumped.far.sendall(data[start : start + piece])
        pumped.far.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send)
    thread.start()
    assert pumped.run() == "ended"
    thread.join()
    assert (pumped.out.getvalue(), pumped.err.getvalue()) == (b"onethree", b"two")


def test_each_output_is_cut_at_its_limit() -> None:
    pumped = Pumped(limit=4)
    with pumped.near, pumped.far:
        pumped.far.sendall(frame(OUT, b"1234") + frame(ERR, b"12") + frame(ERR, b"3456"))
        assert pumped.run() == "output"
    assert (pumped.out.getvalue(), pumped.err.getvalue()) == (b"1234", b"1234")


def test_an_output_of_just_the_limit_is_whole() -> None:
    pumped = Pumped(limit=4)
    with pumped.near, pumped.far:
        pumped.far.sendall(frame(OUT, b"1234"))
        pumped.far.shutdown(socket.SHUT_WR)
        assert pumped.run() == "ended"


def test_the_first_line_and_all_of_the_input_are_sent_and_then_its_end(pumped: Pumped, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"0123456789" * 100_000)
    received = bytearray()

    def read_all() -> None:
        while data := pumped.far.recv(4096):
            received.extend(data)
        pumped.far.sendall(frame(OUT, b"done"))
        pumped.far.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=read_all)
    thread.start()
    assert pumped.run(stdin=tmp_path / "in") == "ended"
    thread.join()
    assert bytes(received) == b"\n" + b"0123456789" * 100_000
    assert pumped.out.getvalue() == b"done"


def test_an_input_that_is_not_read_does_not_hold_the_harness(tmp_path: Path) -> None:
    pumped = Pumped(running=lambda: False)
    (tmp_path / "in").write_bytes(bytes(10_000_000))
    with pumped.near, pumped.far:
        assert pumped.run(stdin=tmp_path / "in") == "ended"


def test_a_time_limit_and_a_cancel_end_the_wait(pumped: Pumped) -> None:
    cancel = Cancel()
    with pumped.pump.started(None):
        assert pumped.pump.wait(time.monotonic() + 0.1, cancel) == "timed_out"
        cancel.set()
        assert pumped.pump.wait(time.monotonic() + 60, cancel) == "cancelled"
        pumped.pump.drain(time.monotonic() + 0.1)
        pumped.far.sendall(frame(OUT, b"last"))
        pumped.far.shutdown(socket.SHUT_WR)
        pumped.pump.drain(time.monotonic() + 60)
        assert pumped.out.getvalue() == b"last"


def test_output_that_comes_while_the_engine_is_asked_is_not_lost(pumped: Pumped) -> None:
    def running() -> bool:
        pumped.far.sendall(frame(OUT, b"the ver"))
        threading.Timer(0.1, pumped.far.sendall, (frame(OUT, b"dict"),)).start()
        return False

    pumped.running = running
    with pumped.pump.started(None):
        assert pumped.pump.wait(time.monotonic() + 60, None) == "ended"
        assert pumped.out.getvalue() == b"the verdict"
        pumped.pump.drain(time.monotonic() + 60)
        assert pumped.out.getvalue() == b"the verdict" * 2


def test_a_child_that_goes_on_writing_is_not_read_for_ever(pumped: Pumped) -> None:
    stop = threading.Event()

    def write() -> None:
        while not stop.wait(0.05):
            pumped.far.sendall(frame(OUT, b"on and "))

    writer = threading.Thread(target=write)
    pumped.running = lambda: False
    with pumped.pump.started(None):
        writer.start()
        assert pumped.pump.wait(time.monotonic() + 60, None) == "ended"
        stop.set()
        writer.join()


@pytest.mark.parametrize(("runs", "end"), [(False, "ended"), (True, "timed_out")])
def test_a_harness_that_was_stopped_beyond_the_limit_asks_whether_the_process_ended(
    pumped: Pumped, runs: bool, end: str
) -> None:
    pumped.running = lambda: runs
    assert pumped.run(seconds=-1) == end


def test_an_output_file_that_cannot_be_written_is_an_error(pumped: Pumped) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        pumped.pump = StreamPump(pumped.near, (full, pumped.err), 9, lambda: True)
        pumped.far.sendall(frame(OUT, b"x"))
        with pytest.raises(OSError, match="No space left"):
            pumped.run()
