"""What is around a process in a box; terminals as a person has them are in test_cli_shell.py."""

import os
import signal
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.process import Cancel, FinishedProcess, ProcessStreams
from scylla_gha.sandboxes.attach import attach_pipes, exit_on_signals, raw


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
