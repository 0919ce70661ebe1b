"""Work in threads, and signals that come while the main thread waits for it."""

import os
import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pytest

from scylla_gha.system.future_wait import postponed_signals, run_at_once, wait_for_any


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


def test_results_have_the_order_of_the_work() -> None:
    second = threading.Event()

    def first() -> int:
        return int(second.wait(10))

    def last() -> int:
        second.set()
        return 2

    assert run_at_once([first, last], 2, pytest.fail) == [1, 2]
    assert run_at_once(list[partial[int]](), 0, pytest.fail) == []


@pytest.mark.parametrize("raise_error", [interrupt, partial(int, "no number")])
def test_an_error_or_a_signal_stops_what_runs_and_leaves_out_what_has_not_begun(raise_error: partial[int]) -> None:
    stopped, begun = threading.Event(), list[int]()

    def work(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise_error()
        assert stopped.wait(10)

    with pytest.raises((KeyboardInterrupt, ValueError)):
        run_at_once([partial(work, number) for number in range(6)], 2, stopped.set)
    assert stopped.is_set()
    assert set(begun) < set(range(6))
