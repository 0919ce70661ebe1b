"""Parts and variations of an experiment: globs over names, and what a command line puts in place of the file."""

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scylla_gha.config import did_you_mean, there_are
from scylla_gha.config.library import Library
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Cell


@dataclass(frozen=True, slots=True)
class CellSelection:
    """A part or a variation of an experiment; what is empty or None is taken from the experiment.

    Args:
        only: globs over cell ids.
        repetitions: of each scenario by each arm.
        epoch: a name under which all trials are new.
        head: a checkout with another version of `config/`. The arms are then the variants that it changes, as they are
            there and as they are here.
        scenarios: globs over scenario ids.
        agents: `name` or `name@version`.
        variants: globs over `tier/sub-test`.
        models: model ids.
        modes: ids of modes.
        budget_usd: budget of the whole experiment.
        best: sub-test that `best of` a tier stands for, by tier; a tier without one has its representative.
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
        """True if the arms may be others than the experiment's."""
        return bool(self.agents or self.variants or self.models or self.modes)

    def apply(self, experiment: Experiment) -> Experiment:
        """Return the experiment with the overridden fields."""
        names = ("scenarios", "agents", "variants", "models", "modes", "repetitions", "budget_usd")
        overrides = {name: getattr(self, name) for name in names}
        without = {"leave_one_out": None} if self.variants else {}
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
    """Return the ids of scenarios that match any of the globs; one with a slash is compared with `<suite>/<id>`.

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
            f"--only {' '.join(only)!r} matches none of {counted(len(cells), 'cell')}; one is {cells[0].id}"
        )
    return chosen
