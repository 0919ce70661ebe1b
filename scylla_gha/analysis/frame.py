"""Result rows as columns of numbers (NaN: unknown), their means by scenario and arm, and the arms that are compared.

A family of comparisons has arms and the baseline, arms and the same arm in the baseline's mode, adjacent tiers, or
pairs of models. The plan declares the family before the outcome is known, and p values are adjusted for its
size.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from scylla_gha.analysis import NO_NAMES, TOKENS, RowTable, ScenarioFacts
from scylla_gha.model.analysis import FAMILIES
from scylla_gha.model.result import Result
from scylla_gha.stats.arrays import Bools, Floats, Ints

BASELINE: Final = FAMILIES["baseline"]
TIERS: Final = FAMILIES["tiers"]
MODELS: Final = FAMILIES["models"]
MODES: Final = FAMILIES["modes"]
MOST_MODELS: Final = 20  # they have 190 pairs; with more, no p value survives Holm's adjustment


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of an experiment. Arms and scenarios are indices of `arms` and `scenarios`.

    Attributes:
        arms: arms in the plan's order, including those without a row.
        scenarios: sorted scenario ids.
        arm: index of each row's arm, shape (n,).
        scenario: index of each row's scenario, shape (n,).
        repetition: number of each row's repetition, shape (n,).
        judged: whether each row counts in the rates, shape (n,).
        measures: whether each row measures the agent, judged or not, shape (n,).
        cells: cell id of each row.
        columns: numbers by name, each of shape (n,).
        about: facts about each scenario.
        variants: variant of each arm, if it has one.
        tools: number of calls by arm and tool, in judged rows.
        scores: scores by judge, each of shape (n,).
        outcomes: outcome of each row.
        judged_rows: indices of each arm's judged rows, computed from the other attributes.
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
        """Tokens of all kinds of each row; the stated total if the kinds are unknown."""
        parts = np.sum([self.columns[part] for part in TOKENS], axis=0)
        return np.where(np.isnan(parts), self.columns["total_tokens"], parts)

    def rows_of(self, arm: int) -> Ints:
        """Return the indices of an arm's judged rows."""
        return self.judged_rows[arm]


def frame_of(table: RowTable) -> Frame:
    """Return the columns of a table as arrays that share its memory; afterwards no row can be added."""
    names = sorted(table.scenarios)
    sorted_index = np.zeros(len(names), dtype=np.int64)
    sorted_index[[table.scenarios[name] for name in names]] = np.arange(len(names))
    rows = len(table.cells)
    return Frame(
        arms=tuple(table.arms),
        scenarios=tuple(names),
        arm=np.asarray(table.arm),
        scenario=sorted_index[np.asarray(table.scenario)],
        repetition=np.asarray(table.repetition),
        judged=np.asarray(table.judged).astype(np.bool_),
        measures=np.asarray(table.measures).astype(np.bool_),
        cells=tuple(table.cells),
        columns={name: np.asarray(column) for name, column in table.columns.items()},
        about=table.about,
        variants=table.variants,
        tools=table.tools,
        scores={
            judge: np.pad(np.array(table.scores[judge]), (0, rows - len(table.scores[judge])), constant_values=np.nan)
            for judge in sorted(table.scores)
        },
        outcomes=tuple(table.outcomes),
    )


def build_frame(
    rows: Iterable[Result], arms: Iterable[str] = (), planned_variants: Mapping[str, str] = NO_NAMES
) -> Frame:
    """Convert rows to columns; `arms` and `planned_variants` as in `RowTable`."""
    table = RowTable(arms, planned_variants)
    for row in rows:
        table.add(row)
    return frame_of(table)


@dataclass(frozen=True, slots=True)
class Groups:
    """One column over judged rows by arm and scenario: counts of known values, means, and sums of squared deviations.

    Each array has the shape (arms, scenarios); the mean is NaN if a group has no known value.
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
    """Pair other arms with the baseline, or given arms with their own; empty if the baseline is not an arm."""
    index = {arm: at for at, arm in enumerate(frame.arms)}
    wanted = pairs or {arm: baseline for arm in index if arm != baseline}
    return [
        Pairing(arm, other, (index[arm],), (index[other],))
        for arm, other in wanted.items()
        if arm in index and other in index
    ]


def arms_by_tier(frame: Frame) -> dict[str, tuple[int, ...]]:
    """Group arms by the tier in their variant's name (T0 in T0/00-empty); arms without a tier are left out."""
    tiers: dict[str, list[int]] = defaultdict(list)
    for at, arm in enumerate(frame.arms):
        tier, slash, _ = (frame.variants.get(arm) or "").partition("/")
        if tier and slash:
            tiers[tier].append(at)
    return {tier: tuple(tiers[tier]) for tier in sorted(tiers)}


def tier_pairings(frame: Frame) -> list[Pairing]:
    """Pair each tier with the one before it; a tier's sub-tests have equal weights."""
    tiers = arms_by_tier(frame)
    return [Pairing(later, earlier, tiers[later], tiers[earlier]) for earlier, later in itertools.pairwise(tiers)]


def model_pairings(
    frame: Frame, model_of: Mapping[str, str | None], mode_of: Mapping[str, str] = NO_NAMES
) -> list[Pairing]:
    """Pair the models with each other over the settings that both have; empty if there are too many models.

    A setting is a variant and a mode. If several arms have the same model and setting, no single arm stands for the
    model, so the setting is left out.
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
