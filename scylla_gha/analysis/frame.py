"""Rows as columns of numbers, which statistics can take at once. NaN stands for what a row does not know."""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

import numpy as np

from scylla_gha.model.result import Result
from scylla_gha.stats.arrays import Bools, Floats, Ints

COLUMNS: Final = (
    "passed", "score", "progress", "threshold", "points", "points_max", "guards", "broken_guards", "attempts",
    "seconds", "first_byte_seconds", "generation_seconds", "tool_seconds", "usd", "judge_usd", "input_tokens",
    "output_tokens", "cache_read_tokens", "cache_write_tokens", "total_tokens", "requests", "repeated_requests",
    "turns", "tool_calls", "failed_tool_calls", "files_changed", "human_usd",
)  # fmt: skip
TOKENS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
COMPONENTS: Final = ("system_prompt", "tool_schemas", "tool_input", "tool_output", "conversation")
_numbers: Final = attrgetter(*COLUMNS)
_NO_COMPONENTS: Final = (math.nan,) * len(COMPONENTS)


@dataclass(frozen=True, slots=True)
class About:
    """What rows say of their scenario."""

    category: str
    difficulty: str
    size: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of an experiment. Arms and scenarios are told by their place in `arms` and `scenarios`.

    Attributes:
        arms: in the order of the plan, those without a row too.
        scenarios: sorted.
        arm: place of each row's arm, shape (n,).
        scenario: place of each row's scenario, shape (n,).
        repetition: shape (n,).
        judged: whether the row is in the rates, shape (n,).
        measures: whether the row measures the agent, judged or not, shape (n,).
        cells: ids.
        columns: numbers by name, each of shape (n,).
        about: of each scenario.
        variants: of each arm, where it has one.
        tools: calls by tool of each arm, in rows that are judged.
        scores: by judge, each of shape (n,).
        outcomes: of each row.
        places: of each arm's judged rows, found from the rest.
    """

    arms: tuple[str, ...]
    scenarios: tuple[str, ...]
    arm: Ints
    scenario: Ints
    repetition: Ints
    judged: Bools
    measures: Bools
    cells: tuple[str, ...]
    columns: dict[str, Floats]
    about: dict[str, About]
    variants: dict[str, str | None]
    tools: dict[str, Counter[str]]
    scores: dict[str, Floats]
    outcomes: tuple[str, ...]
    places: tuple[Ints, ...] = ()

    def __post_init__(self) -> None:
        """Find each arm's judged rows once."""
        rows = np.flatnonzero(self.judged)
        rows = rows[np.argsort(self.arm[rows], kind="stable")]
        ends = np.searchsorted(self.arm[rows], np.arange(len(self.arms) + 1))
        parts = tuple(rows[ends[at] : ends[at + 1]].astype(np.int64) for at in range(len(self.arms)))
        object.__setattr__(self, "places", parts)

    @property
    def tokens(self) -> Floats:
        """Of all kinds together, of each row; where the kinds are not told apart, their total as it was given."""
        parts = np.sum([self.columns[part] for part in TOKENS], axis=0)
        return np.where(np.isnan(parts), self.columns["total_tokens"], parts)

    def rows_of(self, arm: int) -> Ints:
        """Places of an arm's judged rows."""
        return self.places[arm]


def read(rows: Iterable[Result], arms: Iterable[str] = ()) -> Frame:
    """Bring rows into columns, one at a time, so that they need not all be held as records.

    Args:
        rows: of one experiment.
        arms: those that are planned, in their order; arms that only rows name come after them.
    """
    reader = _Reader({name: place for place, name in enumerate(arms)})
    for row in rows:
        reader.add(row)
    return reader.frame()


@dataclass(slots=True)
class _Reader:
    """The columns while they grow."""

    arms: dict[str, int]
    scenarios: dict[str, int] = field(default_factory=dict)
    arm: "array[int]" = field(default_factory=lambda: array("q"))
    scenario: "array[int]" = field(default_factory=lambda: array("q"))
    repetition: "array[int]" = field(default_factory=lambda: array("q"))
    judged: bytearray = field(default_factory=bytearray)
    measures: bytearray = field(default_factory=bytearray)
    cells: list[str] = field(default_factory=list)
    numbers: "array[float]" = field(default_factory=lambda: array("d"))  # row after row, columns and components
    about: dict[str, About] = field(default_factory=dict)
    variants: dict[str, str | None] = field(default_factory=dict)
    tools: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    scores: "dict[str, array[float]]" = field(default_factory=dict)
    outcomes: list[str] = field(default_factory=list)

    def add(self, row: Result) -> None:
        self.arm.append(self.arms.setdefault(row.arm, len(self.arms)))
        self.scenario.append(self.scenarios.setdefault(row.scenario, len(self.scenarios)))
        self.repetition.append(row.repetition)
        self.judged.append(row.judged)
        self.measures.append(row.measures_agent)
        self.cells.append(row.cell)
        self.outcomes.append(row.outcome.value)
        self.numbers.extend([math.nan if value is None else value for value in _numbers(row)])
        said = row.characters
        self.numbers.extend([said.get(name, 0) for name in COMPONENTS] if said else _NO_COMPONENTS)
        self._add_names(row)

    def _add_names(self, row: Result) -> None:
        if row.scenario not in self.about:
            self.about[row.scenario] = About(row.category, row.difficulty, row.size)
        self.variants.setdefault(row.arm, row.variant)
        if row.judged:
            used = self.tools[row.arm]
            for tool, calls in row.tools.items():
                used[tool] += calls
        for judge, score in row.judge_scores.items():
            known = self.scores.setdefault(judge, array("d"))
            known.extend([math.nan] * (len(self.cells) - 1 - len(known)))
            known.append(math.nan if score is None else score)

    def frame(self) -> Frame:
        names = sorted(self.scenarios)
        place = np.zeros(len(names), dtype=np.int64)
        for new, name in enumerate(names):
            place[self.scenarios[name]] = new
        for known in self.scores.values():
            known.extend([math.nan] * (len(self.cells) - len(known)))
        scenario = _ints(self.scenario)
        return Frame(
            arms=tuple(self.arms), scenarios=tuple(names), arm=_ints(self.arm),
            scenario=place[scenario] if names else scenario, repetition=_ints(self.repetition),
            judged=np.frombuffer(bytes(self.judged), dtype=np.bool_),
            measures=np.frombuffer(bytes(self.measures), dtype=np.bool_), cells=tuple(self.cells),
            columns=self._columns(),
            about=self.about, variants=self.variants, tools=dict(self.tools),
            scores={name: _floats(self.scores[name]) for name in sorted(self.scores)}, outcomes=tuple(self.outcomes),
        )  # fmt: skip

    def _columns(self) -> dict[str, Floats]:
        names = (*COLUMNS, *COMPONENTS)
        table = np.frombuffer(self.numbers, dtype=np.float64).reshape(len(self.cells), len(names))
        return {name: np.ascontiguousarray(table[:, at]) for at, name in enumerate(names)}


def _ints(column: "array[int]") -> Ints:
    return np.array(column, dtype=np.int64)


def _floats(column: "array[float]") -> Floats:
    return np.array(column, dtype=np.float64)
