"""Surroundings of a process in a box; terminals as a person has them are in test_cli_cells.py."""

import os
import signal
import socket
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.sandboxes.attach import FdCopy, attach_pipes, copy_fds, exit_on_signals, raw
from scylla_gha.system.process import Cancel, FinishedProcess, ProcessStreams

LONG = bytes(range(256)) * 8192


def never(quiet: bool) -> bool:  # noqa: ARG001 the relay's signature
    return False


def pairs() -> tuple[socket.socket, socket.socket, socket.socket, socket.socket]:
    """A left and a right one, each with the end that the relay has, which never waits."""
    left, mine = socket.socketpair()
    right, other = socket.socketpair()
    for end in (mine, other):
        end.setblocking(False)
    return left, mine, right, other


def test_both_ways_are_moved_at_once_though_nobody_reads_at_first() -> None:
    left, mine, right, other = pairs()
    with left, mine, right, other:
        relaying = threading.Thread(
            target=copy_fds,
            args=((FdCopy(mine.fileno(), other.fileno()), FdCopy(other.fileno(), mine.fileno())), never),
        )
        relaying.start()
        senders = [threading.Thread(target=end.sendall, args=(LONG,)) for end in (left, right)]
        for sender in senders:
            sender.start()
        for end in (left, right):
            received = b""
            while len(received) < len(LONG):
                received += end.recv(1 << 16)
            assert received == LONG
        left.close()
        relaying.join(10)
        assert not relaying.is_alive(), "it ends with one of the two"


def test_it_ends_when_it_is_told_and_says_whether_all_was_quiet() -> None:
    left, mine, right, other = pairs()
    told: list[bool] = []

    def done(quiet: bool) -> bool:
        told.append(quiet)
        return quiet

    with left, mine, right, other:
        left.sendall(b"x")
        copy_fds((FdCopy(mine.fileno(), other.fileno()), FdCopy(other.fileno(), mine.fileno())), done)
        assert right.recv(10) == b"x"
    assert told == [False, True]


@pytest.mark.parametrize("gone", ["reader", "terminal"])
def test_it_ends_where_nobody_is_any_more(gone: str) -> None:
    left, mine, right, other = pairs()
    with left, mine, right, other:
        if gone == "reader":
            right.close()
            left.sendall(b"x")
            copy_fds((FdCopy(mine.fileno(), other.fileno()), FdCopy(other.fileno(), mine.fileno())), never)
            return
        master, slave = os.openpty()
        os.close(slave)
        copy_fds((FdCopy(master, other.fileno()), FdCopy(other.fileno(), master)), never)
        os.close(master)


@pytest.fixture
def terminal() -> Iterator[int]:
    master, slave = os.openpty()
    yield slave
    os.close(slave)
    os.close(master)


def test_a_terminal_is_raw_and_is_put_back_also_where_something_fails(terminal: int) -> None:
    before = termios.tcgetattr(terminal)

    def attend() -> None:
        with raw(terminal):
            assert not termios.tcgetattr(terminal)[3] & (termios.ECHO | termios.ICANON | termios.ISIG)
            raise KeyError

    with pytest.raises(KeyError):
        attend()
    assert termios.tcgetattr(terminal) == before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_asked_to_end_leaves_in_order_and_later_as_before(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    left = []

    def attend() -> None:
        with exit_on_signals():
            try:
                os.kill(os.getpid(), number)
            finally:
                left.append(True)

    with pytest.raises(SystemExit) as caught:
        attend()
    assert caught.value.code == 128 + number
    assert (left, signal.getsignal(number)) == ([True], before)


def test_what_it_says_is_passed_on_while_it_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[str] = []

    def run(streams: ProcessStreams) -> FinishedProcess:
        assert streams.stdin is not None
        assert streams.stdin.read_bytes() == b""
        streams.stdout.write_bytes(b"out \xff\n")
        streams.stderr.write_text("err\n")
        while not seen:
            seen.extend(part for part in [capfd.readouterr().err] if part)
        return FinishedProcess(7, 0.0)

    assert attach_pipes(run, tmp_path, Cancel(), script=False).code == 7
    assert seen == ["err\n"]


def test_where_its_reader_is_gone_it_is_ended(tmp_path: Path) -> None:
    cancel = Cancel()

    def run(_: ProcessStreams) -> FinishedProcess:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        attach_pipes(run, tmp_path, cancel, script=False)
    assert cancel.is_set
