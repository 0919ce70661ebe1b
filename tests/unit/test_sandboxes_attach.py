import os
import socket
import threading

import pytest

from scylla_gha.sandboxes.attach import FdCopy, copy_fds

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
