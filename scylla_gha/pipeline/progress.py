"""Progress on standard error: finished cells, USD, remaining time; as a bar in a terminal, else as lines."""

import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

import click

from scylla_gha.counting import counted

_EVERY_SECONDS: Final = 2.0
_LONGEST_PAUSE: Final = 16.0


class Progress:
    """A counter of finished cells that several threads may advance."""

    def __init__(self, total: int, budget_usd: float | None) -> None:
        self._total = total
        self._budget = budget_usd
        self._done = self._passed = 0
        self._usd: float | None = 0.0
        self._started = self._printed_at = time.monotonic()
        self._lock = threading.Lock()
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        """Show the bar if standard error is a terminal."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(TextColumn("{task.description}"), BarColumn(), console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._line(), total=self._total)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        """Remove the bar and print the last state."""
        if self._bar is not None:
            self._bar.stop()
        click.echo(self._line(), err=True)

    def advance(self, usd: float | None, *, passed: bool) -> None:
        """Count one cell."""
        with self._lock:
            self._done += 1
            self._passed += passed
            self._usd = None if self._usd is None or usd is None else self._usd + usd
            if self._bar is not None:
                self._bar.update(self._bar.tasks[0].id, advance=1, description=self._line())
            elif time.monotonic() - self._printed_at >= _EVERY_SECONDS:
                self._printed_at = time.monotonic()
                click.echo(self._line(), err=True)

    def _line(self) -> str:
        usd = "unknown USD" if self._usd is None else f"${self._usd:.2f}"
        budget = f" of ${self._budget:.2f}" if self._budget else ""
        elapsed = time.monotonic() - self._started
        left = elapsed / self._done * (self._total - self._done) if self._done else None
        when = "" if left is None or self._done == self._total else f", about {_duration(left)} left"
        cells = counted(self._total, "cell")
        return f"{self._done}/{cells}, {self._passed} passed, {usd}{budget}, {_duration(elapsed)}{when}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"  # noqa: PLR2004 two minutes


class ProgressPulse:
    """A printer of steps that repeats the elapsed time while a step is running."""

    def __init__(self, print_line: Callable[[str], None], every_seconds: float = _EVERY_SECONDS) -> None:
        self._print = print_line
        self._interval = every_seconds
        self._step_started = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def say(self, text: str) -> None:
        """Print that a step begins or has ended."""
        self._step_started = time.monotonic()
        self._print(text)

    def _beat(self) -> None:
        pause = self._interval
        while not self._ended.wait(pause):
            self._print(f"  ... {_duration(time.monotonic() - self._step_started)}")
            pause = min(2 * pause, _LONGEST_PAUSE)

    def __enter__(self) -> "ProgressPulse":
        """Start the timer."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        """Stop the timer."""
        self._ended.set()
        self._thread.join()
