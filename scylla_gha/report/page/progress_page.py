"""Pages of `scylla-gha view --serve`: the runs of a folder, and the cells of one run while it goes on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from scylla_gha.counting import counted
from scylla_gha.report.page.html import html

CellState = Literal["waiting", "working", "judging", "passed", "failed", "unjudged", "excluded", "unreadable"]
_DONE: Final[frozenset[CellState]] = frozenset({"passed", "failed", "unjudged", "excluded"})
_REFRESH_SECONDS: Final = 2


@dataclass(frozen=True, slots=True)
class CellProgress:
    """State of one planned cell, as the records on disk tell it."""

    cell: str
    state: CellState


@dataclass(frozen=True, slots=True)
class RunProgress:
    """State of one run: its cells, whether a command works in its folder, and whether it has a page."""

    name: str
    cells: tuple[CellProgress, ...]
    is_running: bool
    has_page: bool

    @property
    def done(self) -> int:
        """Number of cells on which nothing is left to do."""
        return sum(cell.state in _DONE for cell in self.cells)

    @property
    def summary(self) -> str:
        """Number of cells in each state."""
        states = Counter(cell.state for cell in self.cells)
        parts = ", ".join(f"{count} {state}" for state, count in states.most_common())
        return f"{self.done} of {counted(len(self.cells), 'cell')} done{f': {parts}' if parts else ''}"


def runs_page(runs: Sequence[RunProgress]) -> str:
    """Return the list of runs."""
    return _page("Runs", runs, ())


def run_progress_page(run: RunProgress) -> str:
    """Return the progress of one run, with the state of each cell."""
    return _page(run.name, (run,), run.cells)


def _page(title: str, runs: Sequence[RunProgress], cells: Sequence[CellProgress]) -> str:
    refresh = _REFRESH_SECONDS if any(run.is_running for run in runs) else 0
    return html("runs.html.j2", title=title, runs=runs, cells=cells, refresh=refresh)
