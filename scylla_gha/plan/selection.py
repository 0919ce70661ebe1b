"""Parts and variations of an experiment: globs over names, and overrides from the command line.

A sub-test may be `best of` a tier, which stored rows choose among the tier's sub-tests with at least ten judged trials:
by the highest mean pass rate over the scenarios that all of them have, then by the lowest mean cost, then by name. The
planned trials are excluded from the choice, so the luck of the chosen sub-test does not raise its own estimate.
"""

import datetime
import fnmatch
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Final

from scylla_gha.config import did_you_mean, there_are
from scylla_gha.config.library import Library
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model.experiment import Experiment, agent_name
from scylla_gha.model.plan import Cell
from scylla_gha.model.result import Result

LEAST_TRIALS: Final = 10  # judged trials of a sub-test
_LEAST_CANDIDATES: Final = 2


@dataclass(frozen=True, slots=True)
class CellSelection:
    """A part or a variation of an experiment; an empty or None field keeps the experiment's own value.

    Args:
        only: globs over cell ids.
        repetitions: number of repetitions of each scenario by each arm.
        epoch: name with which all trials are new.
        head: checkout with another version of `config/`. The arms are then the variants that it changes, each in the
            version there and in the version here.
        scenarios: globs over scenario ids.
        agents: agents as `name` or `name@version`.
        variants: globs over `tier/sub-test`.
        models: ids of models.
        modes: ids of modes.
        budget_usd: budget of the whole experiment.
        best: sub-test for `best of` each tier, by tier; a missing tier uses its representative.
    """

    only: tuple[str, ...] = ()
    repetitions: int | None = None
    epoch: str = ""
    head: Path | None = None
    scenarios: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()
    budget_usd: float | None = None
    best: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_other_arms(self) -> bool:
        """True if the arms may differ from the experiment's."""
        return bool(self.agents or self.variants or self.models or self.modes)

    def apply(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the overridden fields."""
        names = ("scenarios", "agents", "variants", "models", "modes", "repetitions", "budget_usd")
        overrides = {name: getattr(self, name) for name in names}
        without: dict[str, object] = {"leave_one_out": None} if self.variants else {}
        without |= {"agent_models": {}} if self.models else {}
        return experiment.model_copy(update={name: value for name, value in overrides.items() if value} | without)


def select(kind: str, patterns: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return the known names that match any of the globs, in the order of the globs, without duplicates.

    Raises:
        ConfigError: a glob matches none.
    """
    chosen: dict[str, None] = {}
    for pattern in patterns:
        matches = fnmatch.filter(known, pattern)
        if not matches:
            hint = did_you_mean(pattern, known) or there_are(known)
            raise ConfigError(f"{kind}: {pattern!r} matches nothing{hint}")
        chosen.update(dict.fromkeys(matches))
    return list(chosen)


def select_scenarios(patterns: Iterable[str], library: Library) -> list[str]:
    """Return the ids of scenarios that match any of the globs; a glob with a slash is compared with `<suite>/<id>`.

    Raises:
        ConfigError: a glob matches none.
    """
    paths = {f"{folder.parent.name}/{id_}": id_ for id_, folder in library.scenarios.items()}
    chosen: dict[str, None] = {}
    for pattern in patterns:
        names = select("scenarios", [pattern], list(paths) if "/" in pattern else list(library.scenarios))
        chosen.update(dict.fromkeys(paths.get(name, name) for name in names))
    return list(chosen)


def select_cells(cells: Sequence[Cell], only: Sequence[str]) -> list[Cell]:
    """Return the cells whose id matches any of the globs; all cells without a glob.

    Raises:
        ConfigError: no cell matches.
    """
    chosen = [cell for cell in cells if not only or any(fnmatch.fnmatchcase(cell.id, glob) for glob in only)]
    if not chosen:
        raise ConfigError(
            f"--only {' '.join(only)!r} matches none of {counted(len(cells), 'cell')}; an example of an id: "
            f"{cells[0].id}"
        )
    return chosen


def best_sub_tests(rows: Iterable[Result], experiment: Experiment, epoch: str, names: Sequence[str]) -> dict[str, str]:
    """Choose the best sub-test of each tier that has enough rows.

    Args:
        rows: stored rows of all experiments.
        experiment: the experiment; rows of its agents and models count, except its own rows. Rows newer than its first
            row in this epoch do not count either, so that the choice stays the same while these rows are reused.
        epoch: epoch of the plan.
        names: names of all sub-tests, such as `T1/05-github`.

    Returns:
        Sub-tests by tier, without tiers that have too few rows.
    """
    others: list[Result] = []
    begin: datetime.datetime | None = None
    for row in rows:
        if row.experiment != experiment.id:
            others.append(row)
        elif row.epoch == epoch and row.started_at:
            begin = min(begin or row.started_at, row.started_at)
    agents = {agent_name(name)[0] for name in experiment.agents}
    by_tier: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for row in others:
        is_earlier = begin is None or (row.started_at is not None and row.started_at < begin)
        counts = row.judged and row.passed is not None and not row.replayed
        if (
            row.variant in names
            and counts
            and is_earlier
            and row.agent in agents
            and row.model in experiment.all_models
        ):
            by_tier[str(row.variant).partition("/")[0]][str(row.variant)].append(row)
    best = {tier: _best(sub_tests) for tier, sub_tests in sorted(by_tier.items())}
    return {tier: name for tier, name in best.items() if name}


def _best(sub_tests: Mapping[str, Sequence[Result]]) -> str | None:
    """Return the best sub-test; None if fewer than two have enough trials of common scenarios."""
    candidates = {name: rows for name, rows in sub_tests.items() if len(rows) >= LEAST_TRIALS}
    if len(candidates) < _LEAST_CANDIDATES:
        return None
    common = set.intersection(*({row.scenario for row in rows} for rows in candidates.values()))
    if not common:
        return None
    return min(candidates, key=lambda name: (*_rank(candidates[name], common), name))


def _rank(rows: Sequence[Result], scenarios: set[str]) -> tuple[float, float]:
    """Return the negative pass rate and the mean cost in USD; the better of two sub-tests has the lower pair."""
    passed: dict[str, list[bool]] = defaultdict(list)
    usd = []
    for row in rows:
        if row.scenario in scenarios:
            passed[row.scenario].append(bool(row.passed))
            usd += [] if row.usd is None else [row.usd]
    return -fmean(fmean(values) for values in passed.values()), fmean(usd) if usd else float("inf")
