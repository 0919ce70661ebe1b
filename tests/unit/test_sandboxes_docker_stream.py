import io
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.process import Cancel
from scylla_gha.sandboxes.docker.exec_process import OutputFiles, StreamPump

OUT, ERR = 1, 2


def frame(to: int, content: bytes) -> bytes:
    return bytes([to, 0, 0, 0]) + len(content).to_bytes(4, "big") + content


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def outputs(most: int = 1000) -> tuple[OutputFiles, io.BytesIO, io.BytesIO]:
    out, err = io.BytesIO(), io.BytesIO()
    return OutputFiles(out, err, most), out, err


@pytest.mark.parametrize("piece", [1, 3, 8, 9, 1000])
def test_frames_come_apart_in_any_pieces(piece: int) -> None:
    taken, out, err = outputs()
    data = frame(OUT, b"one") + frame(ERR, b"two") + frame(OUT, b"") + frame(OUT, b"three")
    for start in range(0, len(data), piece):
        taken.write(data[start : start + piece])
    assert (out.getvalue(), err.getvalue(), taken.cut) == (b"onethree", b"two", False)


def test_each_output_is_cut_at_its_size() -> None:
    taken, out, err = outputs(4)
    taken.write(frame(OUT, b"1234") + frame(ERR, b"12"))
    assert not taken.cut
    taken.write(frame(OUT, b"5") + frame(ERR, b"3456"))
    assert (out.getvalue(), err.getvalue(), taken.cut) == (b"1234", b"1234", True)


def test_the_start_and_the_whole_input_are_sent_and_then_its_end(
    pair: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    ours, theirs = pair
    (tmp_path / "in").write_bytes(b"0123456789" * 100_000)
    received = bytearray()

    def other() -> None:
        while data := theirs.recv(4096):
            received.extend(data)
        theirs.sendall(frame(OUT, b"done"))
        theirs.close()

    thread = threading.Thread(target=other)
    thread.start()
    taken, out, _ = outputs()
    assert StreamPump(ours, taken, lambda: True, None).run(tmp_path / "in", time.monotonic() + 60) == "ended"
    thread.join()
    assert bytes(received) == b"\n" + b"0123456789" * 100_000
    assert out.getvalue() == b"done"


def test_an_end_that_only_the_engine_knows_of_is_seen(pair: tuple[socket.socket, socket.socket]) -> None:
    assert StreamPump(pair[0], outputs()[0], lambda: False, None).run(None, time.monotonic() + 60) == "ended"


def test_the_time_the_cancel_and_the_cut_end_it(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    assert StreamPump(ours, outputs()[0], lambda: True, None).run(None, time.monotonic() + 0.1) == "timed_out"
    cancel = Cancel()
    cancel.set()
    assert StreamPump(ours, outputs()[0], lambda: True, cancel).run(None, time.monotonic() + 60) == "cancelled"
    theirs.sendall(frame(OUT, b"12345"))
    assert StreamPump(ours, outputs(4)[0], lambda: True, None).run(None, time.monotonic() + 60) == "output"


def test_after_the_limit_it_drains_until_the_end_or_the_next_limit(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    taken, out, _ = outputs()
    assert not StreamPump(ours, taken, lambda: True, None).drain(time.monotonic() + 0.1)
    assert StreamPump(ours, taken, lambda: False, None).drain(time.monotonic() + 60)
    theirs.sendall(frame(OUT, b"last"))
    theirs.close()
    assert StreamPump(ours, taken, lambda: True, None).drain(time.monotonic() + 60)
    assert out.getvalue() == b"last"


def test_what_is_said_while_the_engine_is_asked_is_not_lost(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair

    def running() -> bool:
        theirs.sendall(frame(OUT, b"the ver"))
        threading.Timer(0.1, theirs.sendall, (frame(OUT, b"dict"),)).start()
        return False

    taken, out, _ = outputs()
    assert StreamPump(ours, taken, running, None).run(None, time.monotonic() + 60) == "ended"
    assert out.getvalue() == b"the verdict"
    assert StreamPump(ours, taken, running, None).drain(time.monotonic() + 60)
    assert out.getvalue() == b"the verdict" * 2


def test_a_child_that_goes_on_talking_is_not_listened_to_for_ever(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    stop = threading.Event()

    def talk() -> None:
        while not stop.wait(0.05):
            theirs.sendall(frame(OUT, b"on and "))

    talker = threading.Thread(target=talk)

    def running() -> bool:
        talker.start()
        return False

    assert StreamPump(ours, outputs()[0], running, None).run(None, time.monotonic() + 60) == "ended"
    stop.set()
    talker.join()


@pytest.mark.parametrize(("runs", "end"), [(False, "ended"), (True, "timed_out")])
def test_who_was_stopped_beyond_the_limit_asks_whether_it_ended_before_ruling(
    pair: tuple[socket.socket, socket.socket], runs: bool, end: str
) -> None:
    ours, theirs = pair
    theirs.sendall(frame(OUT, b"done"))
    taken, out, _ = outputs()
    pump = StreamPump(ours, taken, lambda: runs, None)
    assert pump.run(None, time.monotonic() - 1) == end
    assert out.getvalue() == (b"" if runs else b"done")
