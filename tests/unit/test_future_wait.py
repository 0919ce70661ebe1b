"""Signals that come while the main thread waits for a future."""

import os
import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from scylla_gha.future_wait import postponed_signals, wait_for_any


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_a_signal_is_raised_after_the_last_step() -> None:
    before, steps = signal.getsignal(signal.SIGINT), list[str]()

    def work() -> None:
        with postponed_signals():
            interrupt()
            steps.append("after the signal")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert (steps, signal.getsignal(signal.SIGINT)) == (["after the signal"], before)


def test_an_interrupted_wait_leaves_the_future_usable() -> None:
    future = Future[int]()
    timer = threading.Timer(0.05, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        wait_for_any([future], 0.3)
    timer.join()
    future.set_result(3)
    assert wait_for_any([future], 0) == ({future}, set())


def test_without_a_result_the_wait_ends_in_time() -> None:
    future = Future[int]()
    assert wait_for_any([future], 0.01) == (set(), {future})


def test_another_thread_leaves_the_handlers_as_they_are() -> None:
    before = signal.getsignal(signal.SIGTERM)

    def inside() -> object:
        with postponed_signals():
            return signal.getsignal(signal.SIGTERM)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(inside).result() is before
