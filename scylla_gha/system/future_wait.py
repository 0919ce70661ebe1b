"""Waits for futures in the main thread, so that an exception in a signal handler leaves no lock taken.

A KeyboardInterrupt between the steps of taking a lock would leave it taken, and the future's thread would wait for it
forever.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import FrameType
from typing import Any, Final, TypeVar

T = TypeVar("T")
_POLL_SECONDS: Final = 0.5  # maximum delay before a signal is handled
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def wait_for_any(futures: Iterable[Future[T]], seconds: float) -> tuple[set[Future[T]], set[Future[T]]]:
    """Wait until a future has ended, or for `seconds`; return the ended futures and the others.

    Raises:
        BaseException: a signal came during the wait, and its handler raised this afterwards.
    """
    with postponed_signals():
        ended, left = wait(futures, seconds, FIRST_COMPLETED)
        return ended, left


def run_at_once(functions: Sequence[Callable[[], T]], threads: int, stop: Callable[[], object]) -> list[T]:
    """Run functions in threads, and return their results in the same order.

    If a function or the handler of a signal raises an error, functions that have not begun are cancelled, `stop` is
    called, and the running functions are waited for; then the error is raised.

    Args:
        functions: the functions.
        threads: maximum number of functions that run at the same time.
        stop: function that ends the running functions.
    """
    futures = list[Future[T]]()
    with ThreadPoolExecutor(max(threads, 1)) as pool:
        try:
            with postponed_signals():
                futures += [pool.submit(function) for function in functions]
            left = set(futures)
            while left:
                ended, left = wait_for_any(left, _POLL_SECONDS)
                for future in ended:
                    future.result()
        except BaseException:
            with postponed_signals():
                for future in futures:
                    future.cancel()
                stop()
            raise
    return [future.result() for future in futures]


@contextlib.contextmanager
def postponed_signals() -> Iterator[None]:
    """Call the handlers of INT, TERM and HUP only at the end of the block; do nothing outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received = list[tuple[int, FrameType | None]]()
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    callables: dict[int, Any] = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in callables:
            signal.signal(number, lambda *signalled: received.append(signalled))
        yield
    finally:
        for number, handler in callables.items():
            signal.signal(number, handler)
        for number, frame in received:
            callables[number](number, frame)
