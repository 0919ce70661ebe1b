"""Render the pages of `scylla-gha view --serve`: the runs of a folder, a run's cells, and running trials."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from scylla_gha.counting import counted, dollars, head_and_tail
from scylla_gha.model.trial import Step
from scylla_gha.report.page.html import html
from scylla_gha.report.trial import value_text

CellState = Literal["waiting", "working", "judging", "passed", "failed", "unjudged", "excluded", "unreadable"]
_DONE: Final[frozenset[CellState]] = frozenset({"passed", "failed", "unjudged", "excluded"})
_REFRESH_SECONDS: Final = 2
_MOST_TEXT: Final = 3_000  # characters of a text in a running trial


@dataclass(frozen=True, slots=True)
class CellProgress:
    """State of a planned cell according to the records on disk."""

    cell: str
    state: CellState


@dataclass(frozen=True, slots=True)
class LiveMessage:
    """A step of a conversation: its number, its source, and its texts with labels."""

    number: int
    source: str
    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RunProgress:
    """State of a run: its cells, whether a command works in its folder, and whether its report page exists."""

    name: str
    cells: tuple[CellProgress, ...]
    is_running: bool
    has_page: bool

    @property
    def done(self) -> int:
        """Number of cells that need no more work."""
        return sum(cell.state in _DONE for cell in self.cells)

    @property
    def summary(self) -> str:
        """Number of cells in each state, as text."""
        states = Counter(cell.state for cell in self.cells)
        parts = ", ".join(f"{count} {state}" for state, count in states.most_common())
        return f"{self.done} of {counted(len(self.cells), 'cell')} done{f': {parts}' if parts else ''}"


@dataclass(frozen=True, slots=True)
class LiveTrial:
    """Newest part of a trial's conversation, and the cost of its requests so far.

    Attributes:
        cell: id of the trial's cell.
        task: text of the task; None: the agent has not started.
        steps: number of all steps so far.
        newest: the last steps, oldest first.
        requests: number of requests to models so far.
        usd: cost of these requests in USD; None: unknown.
        is_running: whether the agent still works.
    """

    cell: str
    task: str | None
    steps: int
    newest: Sequence[Step]
    requests: int
    usd: float | None
    is_running: bool

    @property
    def summary(self) -> str:
        """State of the agent, number of steps and requests, and their cost, as text."""
        state = "The agent is working" if self.is_running else "The agent is not working"
        cost = f"{counted(self.requests, 'request')}, {dollars(self.usd)}"
        return f"{state}: {counted(self.steps, 'step')}, {cost} so far."

    def messages(self) -> Iterator[LiveMessage]:
        """Yield the newest steps, latest first, with their texts: message, tool calls and results."""
        for back, step in enumerate(reversed(self.newest)):
            yield LiveMessage(self.steps - back, step.source, tuple(_texts(step)))


def _texts(step: Step) -> Iterator[tuple[str, str]]:
    """Yield labels and shortened texts of a step."""
    if step.text.strip():
        yield "", head_and_tail(step.text, _MOST_TEXT)
    for call in step.tool_calls:
        values = call.arguments.items() if isinstance(call.arguments, dict) else [("input", call.arguments)]
        yield from ((f"{call.name}, {name}", head_and_tail(value_text(value), _MOST_TEXT)) for name, value in values)
        if call.result is not None:
            yield (
                f"{call.name} failed" if call.failed else f"{call.name}, result",
                head_and_tail(call.result, _MOST_TEXT),
            )


def live_page(trial: LiveTrial) -> str:
    """Return the page of a running trial."""
    refresh = _REFRESH_SECONDS if trial.is_running else 0
    return html("live.html.j2", trial=trial, refresh=refresh)


def runs_page(runs: Sequence[RunProgress]) -> str:
    """Return the page that lists runs."""
    return _page("Runs", runs, ())


def run_progress_page(run: RunProgress) -> str:
    """Return the progress page of a run, with the state of each cell."""
    return _page(run.name, (run,), run.cells)


def _page(title: str, runs: Sequence[RunProgress], cells: Sequence[CellProgress]) -> str:
    refresh = _REFRESH_SECONDS if any(run.is_running for run in runs) else 0
    return html("runs.html.j2", title=title, runs=runs, cells=cells, refresh=refresh)
