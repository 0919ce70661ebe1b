"""Progress on standard error: cells done, USD against budget, time left. A bar in a terminal, lines elsewhere."""

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
    """A counter of cells that several threads may advance."""

    def __init__(self, total: int, budget_usd: float | None) -> None:
        self._total = total
        self._budget = budget_usd
        self._done = self._passed = 0
        self._usd: float | None = 0.0
        self._started = self._told = time.monotonic()
        self._lock = threading.Lock()
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        """Show the bar, where there is a terminal."""
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(TextColumn("{task.description}"), BarColumn(), console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._line(), total=self._total)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        """Take the bar away and say how it stands."""
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
            elif time.monotonic() - self._told >= _EVERY_SECONDS:
                self._told = time.monotonic()
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


class Pulse:
    """Says what goes on, and again that it still does, while one step takes its time."""

    def __init__(self, tell: Callable[[str], None], every_seconds: float = _EVERY_SECONDS) -> None:
        self._tell = tell
        self._every = every_seconds
        self._said = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def say(self, text: str) -> None:
        """A step begins, or has ended."""
        self._said = time.monotonic()
        self._tell(text)

    def _beat(self) -> None:
        pause = self._every
        while not self._ended.wait(pause):
            self._tell(f"  ... {_duration(time.monotonic() - self._said)}")
            pause = min(2 * pause, _LONGEST_PAUSE)

    def __enter__(self) -> "Pulse":
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        """End."""
        self._ended.set()
        self._thread.join()
