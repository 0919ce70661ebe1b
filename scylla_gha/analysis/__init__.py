"""Statistics of result rows: measures of arms, comparisons, verdicts, power, and history.

This module needs no NumPy, since a report with simple intervals is made without it: rows as columns, grouped by arm,
from which a report's counts are made too. `frame` converts the columns for NumPy.
"""

import importlib.util
import math
import os
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from scylla_gha.model.result import Result

# Products of matrices are small here. On a busy machine OpenBLAS's threads wait for each other eight times as long as
# they work; the variable is read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
COLUMNS: Final = (
    "passed",
    "score",
    "progress",
    "threshold",
    "points",
    "points_max",
    "guards",
    "broken_guards",
    "attempts",
    "seconds",
    "first_byte_seconds",
    "generation_seconds",
    "tool_seconds",
    "usd",
    "judge_usd",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "total_tokens",
    "requests",
    "repeated_requests",
    "turns",
    "tool_calls",
    "failed_tool_calls",
    "changes",
    "human_usd",
    "declared",
    "used",
    "first_use",
)
TOKENS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
COMPONENTS: Final = ("system_prompt", "tool_schemas", "tool_input", "tool_output", "conversation")
TREATMENT: Final = ("prompt", "skills", "agents", "mcp", "tools")  # parts of a treatment
# Numbers that reports count and statistics do not use.
EVENTS: Final = (
    "judges_withheld",
    "items_unjudged",
    "delivered",
    "side_requests",
    "side_usd",
    "redactions",
    "blocked_calls",
    "network_refused",
    "unread_calls",
    "unguarded_calls",
    "unseen_calls",
    "short_skills",
    "deferred_tools",
    "loaded_tools",
    "github_gaps",
)
_numbers: Final = attrgetter(*COLUMNS, *EVENTS)
_NAMES: Final = (*COLUMNS, *EVENTS, *COMPONENTS, *(f"treatment_{part}" for part in TREATMENT))
_NO_COMPONENTS: Final = (None,) * len(COMPONENTS)
NO_NAMES: Final[Mapping[str, str]] = {}
_NO_TREATMENT: Final = (None,) * len(TREATMENT)


def has_statistics() -> bool:
    """Return whether the `report` extra is installed."""
    return bool(importlib.util.find_spec("numpy") and importlib.util.find_spec("scipy"))


@dataclass(frozen=True, slots=True)
class ScenarioFacts:
    """Facts about a scenario that its rows state."""

    category: str
    difficulty: str
    size: str


class RowTable:
    """The rows of one experiment, added one at a time, so that not all records are in memory.

    Arms and scenarios have indices in the order in which they appear. `columns` has numbers by name (NaN: unknown),
    and `rows` the indices of each arm's rows.

    Args:
        arms: the planned arms, in their order; arms that only occur in rows follow.
        planned_variants: variants by arm, so that an arm without rows still belongs to its tier.
    """

    def __init__(self, arms: Iterable[str] = (), planned_variants: Mapping[str, str] = NO_NAMES) -> None:
        self.arms = {name: at for at, name in enumerate(arms)}
        self.scenarios: dict[str, int] = {}
        self.arm, self.scenario, self.repetition = array("q"), array("q"), array("q")
        self.judged, self.measures = array("b"), array("b")
        self.columns: dict[str, array[float]] = {name: array("d") for name in _NAMES}
        self.cells: list[str] = []
        self.outcomes: list[str] = []
        self.about: dict[str, ScenarioFacts] = {}
        self.variants: dict[str, str | None] = {arm: of for arm, of in planned_variants.items() if arm in self.arms}
        self.tools: dict[str, Counter[str]] = defaultdict(Counter)  # calls in judged rows, by arm
        self.scores: dict[str, array[float]] = {}  # scores by judge; a column may end before the last row
        self.rows: dict[str, list[int]] = defaultdict(list)

    def add(self, row: Result) -> None:
        """Add a row."""
        self.rows[row.arm].append(len(self.cells))
        self.arm.append(self.arms.setdefault(row.arm, len(self.arms)))
        self.scenario.append(self.scenarios.setdefault(row.scenario, len(self.scenarios)))
        self.repetition.append(row.repetition)
        self.judged.append(row.judged)
        self.measures.append(row.measures_agent)
        parts = [row.characters.get(name, 0) for name in COMPONENTS] if row.characters else _NO_COMPONENTS
        treatment = row.treatment_tokens
        of_treatment = [treatment.get(name, 0) for name in TREATMENT] if treatment else _NO_TREATMENT
        values = (*_numbers(row), *parts, *of_treatment)
        for column, value in zip(self.columns.values(), values, strict=True):
            column.append(math.nan if value is None else value)
        self.about.setdefault(row.scenario, ScenarioFacts(row.category, row.difficulty, row.size))
        self.variants.setdefault(row.arm, row.variant)
        if row.judged:
            self.tools[row.arm].update(row.tools)
        for judge, score in row.judge_scores.items():
            column = self.scores.setdefault(judge, array("d"))
            column.extend([math.nan] * (len(self.cells) - len(column)))
            column.append(math.nan if score is None else score)
        self.cells.append(row.cell)
        self.outcomes.append(row.outcome.value)
