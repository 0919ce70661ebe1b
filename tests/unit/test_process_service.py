"""Servers of the harness: told one line, answer with one, end when stopped."""

import sys
import time

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.system import process

ECHO = "import sys; print(sys.stdin.readline().strip().upper(), flush=True); sys.stdin.read()"


def started(script: str) -> process.Service:
    return process.Service([sys.executable, "-c", script], env={})


def test_it_is_told_answers_and_ends() -> None:
    service = started(ECHO)
    assert service.converse(b"hello", 20) == "HELLO"
    assert service.alive
    service.stop(5)
    service.stop(5)
    assert not service.alive


def test_one_that_does_not_start_says_why() -> None:
    service = started("raise SystemExit('no such port')")
    assert service.converse(b"hello", 20) == ""
    service.stop(0)
    assert service.message == "no such port"
    with pytest.raises(ToolError, match="cannot be started"):
        process.Service(["/no/such/program"], env={})


def test_a_line_to_one_that_has_ended_is_not_answered() -> None:
    service = started("raise SystemExit('no such port')")
    while service.alive:
        time.sleep(0.01)
    assert service.converse(b"hello", 20) == ""
    service.stop(0)
    assert service.message == "no such port"


def test_silence_and_deafness_have_an_end() -> None:
    service = started("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)")
    assert service.converse(b"hello", 0.5) == ""
    began = time.monotonic()
    service.stop(0.2)
    assert time.monotonic() - began < 60
    assert not service.alive
