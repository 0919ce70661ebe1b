"""Result rows as columns of numbers (NaN: unknown), their means by scenario and arm, and the arms that are compared.

Arms are compared in families: arms with the baseline, arms with the same arm in the baseline's mode, adjacent tiers,
models with each other. A family is declared by the plan and not by the outcome, and its p values are adjusted for its
size.
"""

import itertools
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import numpy as np

from scylla_gha.model.analysis import FAMILIES
from scylla_gha.model.result import Result
from scylla_gha.stats.arrays import Bools, Floats, Ints

COLUMNS: Final = (
    "passed", "score", "progress", "threshold", "points", "points_max", "guards", "broken_guards", "attempts",
    "seconds", "first_byte_seconds", "generation_seconds", "tool_seconds", "usd", "judge_usd", "input_tokens",
    "output_tokens", "cache_read_tokens", "cache_write_tokens", "total_tokens", "requests", "repeated_requests",
    "turns", "tool_calls", "failed_tool_calls", "changes", "human_usd",
)  # fmt: skip
TOKENS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
COMPONENTS: Final = ("system_prompt", "tool_schemas", "tool_input", "tool_output", "conversation")
TREATMENT: Final = ("prompt", "skills", "agents", "mcp", "tools")  # parts of a treatment
_numbers: Final = attrgetter(*COLUMNS)
_NO_COMPONENTS: Final = (math.nan,) * len(COMPONENTS)
_NO_NAMES: Final[Mapping[str, str]] = {}
_NO_TREATMENT: Final = (math.nan,) * len(TREATMENT)
BASELINE: Final = FAMILIES["baseline"]
TIERS: Final = FAMILIES["tiers"]
MODELS: Final = FAMILIES["models"]
MODES: Final = FAMILIES["modes"]
MOST_MODELS: Final = 20  # have 190 pairs; with more, no p survives Holm


@dataclass(frozen=True, slots=True)
class ScenarioFacts:
    """Facts about a scenario that its rows state."""

    category: str
    difficulty: str
    size: str


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of an experiment. Arms and scenarios are indices of `arms` and `scenarios`.

    Attributes:
        arms: in the order of the plan, including those without a row.
        scenarios: sorted.
        arm: index of each row's arm, shape (n,).
        scenario: index of each row's scenario, shape (n,).
        repetition: shape (n,).
        judged: whether the row is in the rates, shape (n,).
        measures: whether the row measures the agent, judged or not, shape (n,).
        cells: ids.
        columns: numbers by name, each of shape (n,).
        about: of each scenario.
        variants: of each arm, if it has one.
        tools: calls by tool of each arm, in judged rows.
        scores: by judge, each of shape (n,).
        outcomes: of each row.
        judged_rows: indices of each arm's judged rows, computed from the rest.
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
    about: dict[str, ScenarioFacts]
    variants: dict[str, str | None]
    tools: dict[str, Counter[str]]
    scores: dict[str, Floats]
    outcomes: tuple[str, ...]
    judged_rows: tuple[Ints, ...] = ()

    def __post_init__(self) -> None:
        """Compute each arm's judged rows once."""
        rows = np.flatnonzero(self.judged)
        rows = rows[np.argsort(self.arm[rows], kind="stable")]
        ends = np.searchsorted(self.arm[rows], np.arange(len(self.arms) + 1))
        parts = tuple(rows[ends[at] : ends[at + 1]].astype(np.int64) for at in range(len(self.arms)))
        object.__setattr__(self, "judged_rows", parts)

    @property
    def tokens(self) -> Floats:
        """Tokens of all kinds of each row; the given total if a row does not tell the kinds apart."""
        parts = np.sum([self.columns[part] for part in TOKENS], axis=0)
        return np.where(np.isnan(parts), self.columns["total_tokens"], parts)

    def rows_of(self, arm: int) -> Ints:
        """Return the indices of an arm's judged rows."""
        return self.judged_rows[arm]


def build_frame(
    rows: Iterable[Result], arms: Iterable[str] = (), planned_variants: Mapping[str, str] = _NO_NAMES
) -> Frame:
    """Convert rows to columns, one at a time, so that they need not all be in memory as records.

    Args:
        rows: of one experiment.
        arms: the planned ones, in their order; arms that only rows name follow.
        planned_variants: by arm; else an arm without any row would be missing in its tier, and nobody would see it.
    """
    arm_index, scenario_index = {name: at for at, name in enumerate(arms)}, dict[str, int]()
    ids, numbers = array("q"), array("d")  # row after row
    cells, outcomes = list[str](), list[str]()
    about = dict[str, ScenarioFacts]()
    variants: dict[str, str | None] = {arm: name for arm, name in planned_variants.items() if arm in arm_index}
    tools: dict[str, Counter[str]] = defaultdict(Counter)
    scores: dict[str, array[float]] = {}
    for row in rows:
        arm = arm_index.setdefault(row.arm, len(arm_index))
        scenario = scenario_index.setdefault(row.scenario, len(scenario_index))
        ids.extend((arm, scenario, row.repetition, row.judged, row.measures_agent))
        numbers.extend([math.nan if value is None else value for value in _numbers(row)])
        numbers.extend([row.characters.get(name, 0) for name in COMPONENTS] if row.characters else _NO_COMPONENTS)
        parts = row.treatment_tokens
        numbers.extend([parts.get(name, 0) for name in TREATMENT] if parts else _NO_TREATMENT)
        about.setdefault(row.scenario, ScenarioFacts(row.category, row.difficulty, row.size))
        variants.setdefault(row.arm, row.variant)
        if row.judged:
            tools[row.arm].update(row.tools)
        for judge, score in row.judge_scores.items():
            column = scores.setdefault(judge, array("d"))
            column.extend([math.nan] * (len(cells) - len(column)))
            column.append(math.nan if score is None else score)
        cells.append(row.cell)
        outcomes.append(row.outcome.value)
    names = sorted(scenario_index)
    sorted_index = np.zeros(len(names), dtype=np.int64)
    sorted_index[[scenario_index[name] for name in names]] = np.arange(len(names))
    table = np.array(ids, dtype=np.int64).reshape(len(cells), 5).T.copy()
    return Frame(
        arms=tuple(arm_index), scenarios=tuple(names), arm=table[0], scenario=sorted_index[table[1]],
        repetition=table[2], judged=table[3].astype(np.bool_), measures=table[4].astype(np.bool_), cells=tuple(cells),
        columns=_columns(numbers, len(cells)), about=about, variants=variants, tools=dict(tools),
        outcomes=tuple(outcomes),
        scores={judge: np.pad(np.array(scores[judge]), (0, len(cells) - len(scores[judge])), constant_values=np.nan)
                for judge in sorted(scores)},
    )  # fmt: skip


def _columns(numbers: "array[float]", rows: int) -> dict[str, Floats]:
    names = (*COLUMNS, *COMPONENTS, *(f"treatment_{part}" for part in TREATMENT))
    table = np.array(numbers, dtype=np.float64).reshape(rows, len(names))
    return {name: np.ascontiguousarray(table[:, at]) for at, name in enumerate(names)}


@dataclass(frozen=True, slots=True)
class Groups:
    """One column over judged rows by arm and scenario: counts of known values, means, and squared offsets from them.

    Each of shape (arms, scenarios); the mean is NaN if a group has no known value.
    """

    n: Ints
    mean: Floats
    within: Floats


def grouped(frame: Frame, values: Floats) -> Groups:
    """Group the judged rows whose value is known; `values` has shape (rows,)."""
    known = frame.judged & ~np.isnan(values)
    shape = (len(frame.arms), len(frame.scenarios))
    cells = shape[0] * shape[1]
    index, x = (frame.arm * shape[1] + frame.scenario)[known], values[known]
    n = np.bincount(index, minlength=cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(index, weights=x, minlength=cells) / n
    offset = x - mean[index]
    within = np.bincount(index, weights=offset * offset, minlength=cells)
    return Groups(n.reshape(shape), mean.reshape(shape), within.astype(np.float64).reshape(shape))


def passes_by_repetition(frame: Frame, arm: int) -> Floats:
    """Return whether each judged trial of an arm passed: shape (scenarios, most repetitions), NaN if there is none."""
    rows = frame.rows_of(arm)
    rows = rows[np.lexsort((frame.repetition[rows], frame.scenario[rows]))]
    scenario = frame.scenario[rows]
    counts = np.bincount(scenario, minlength=len(frame.scenarios))
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) if counts.size else counts
    passed = np.full((len(frame.scenarios), int(counts.max(initial=0))), np.nan)
    passed[scenario, np.arange(rows.size) - starts[scenario]] = frame.columns["passed"][rows]
    return passed


@dataclass(frozen=True, slots=True)
class Pairing:
    """Two sides of a comparison: their names, and indices of their arms; a side of several arms is their mean."""

    arm: str
    baseline: str
    first: tuple[int, ...]
    second: tuple[int, ...]


def baseline_pairings(frame: Frame, baseline: str, pairs: Mapping[str, str] | None = None) -> list[Pairing]:
    """Pair every other arm with the baseline, or the given arms with theirs; none without rows of the baseline."""
    index = {arm: at for at, arm in enumerate(frame.arms)}
    wanted = pairs or {arm: baseline for arm in index if arm != baseline}
    return [Pairing(arm, other, (index[arm],), (index[other],))
            for arm, other in wanted.items() if arm in index and other in index]  # fmt: skip


def arms_by_tier(frame: Frame) -> dict[str, tuple[int, ...]]:
    """Group the arms by the tier in their variant's name (T0 of T0/00-empty), tiers sorted; others have none."""
    tiers: dict[str, list[int]] = defaultdict(list)
    for at, arm in enumerate(frame.arms):
        tier, slash, _ = (frame.variants.get(arm) or "").partition("/")
        if tier and slash:
            tiers[tier].append(at)
    return {tier: tuple(tiers[tier]) for tier in sorted(tiers)}


def tier_pairings(frame: Frame) -> list[Pairing]:
    """Pair each tier, its sub-tests with equal weights, with the one before."""
    tiers = arms_by_tier(frame)
    return [Pairing(later, earlier, tiers[later], tiers[earlier]) for earlier, later in itertools.pairwise(tiers)]


def model_pairings(
    frame: Frame, model_of: Mapping[str, str | None], mode_of: Mapping[str, str] = _NO_NAMES
) -> list[Pairing]:
    """Pair the models with each other, over the settings that both have as one arm; none if there are too many models.

    A setting is a variant and a mode. If several arms have one model and setting, nothing tells which of them stands
    for the model, so none does.
    """
    arms: dict[str, dict[tuple[str | None, str | None], list[int]]] = defaultdict(lambda: defaultdict(list))
    for at, arm in enumerate(frame.arms):
        model = model_of.get(arm)
        if model:
            arms[model][frame.variants.get(arm), mode_of.get(arm)].append(at)
    if len(arms) > MOST_MODELS:
        return []
    single = {model: {setting: at[0] for setting, at in arms[model].items() if len(at) == 1} for model in arms}
    pairings = []
    for one, other in itertools.combinations(sorted(arms), 2):
        shared = [setting for setting in single[one] if setting in single[other]]
        if shared:
            sides = (tuple(single[model][setting] for setting in shared) for model in (one, other))
            pairings.append(Pairing(one, other, *sides))
    return pairings
