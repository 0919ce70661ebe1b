"""Oracles of a scenario: a reference solution per mode, or the reason why its task cannot be done in that mode.

With GitHub state, `solution/solution.sh` is the oracle of the mode `baseline` and `solution/<mode>.sh` that of any
other one. A scenario has to have them for all modes of the repository that it stands in; a mode of another repository,
such as a user's own beside the scenarios of the toolkit, may be without.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from scylla_gha.config import did_you_mean
from scylla_gha.model.mode import DEFAULT_MODE
from scylla_gha.model.scenario import Scenario

_FOLDER: Final = "solution"


def oracle_file(path: Path, mode: str) -> Path:
    """Return the path of the oracle of a mode in a scenario's folder; the file may be missing."""
    return path / _FOLDER / ("solution.sh" if mode == DEFAULT_MODE else f"{mode}.sh")


def oracle_modes(path: Path) -> list[str]:
    """Return the modes for which a scenario's folder has an oracle, `baseline` first."""
    names = (file.stem for file in (path / _FOLDER).glob("*.sh"))
    modes = (DEFAULT_MODE if name == "solution" else name for name in names)
    return sorted(modes, key=lambda mode: (mode != DEFAULT_MODE, mode))


def oracle_faults(path: Path, scenario: Scenario, roots: Sequence[Path]) -> Iterator[str]:
    """Yield what is wrong with the oracles in a scenario's folder, each with the key to correct."""
    if scenario.github is None:
        return
    reasons, known = scenario.github.not_possible, _modes(roots) | {DEFAULT_MODE}
    oracles = oracle_modes(path)
    yield from (f"github.not_possible.{mode}: there is no such mode{did_you_mean(mode, known)}"
                for mode in reasons if mode not in known)  # fmt: skip
    yield from (f"{oracle_file(path, mode)}: there is no mode {mode!r}{did_you_mean(mode, known)}"
                for mode in oracles if mode not in known)  # fmt: skip
    for mode in sorted(known):
        script = f"solution/{oracle_file(path, mode).name}"
        if mode in reasons and mode in oracles:
            yield f"github.not_possible.{mode}: there is {script} too; remove one of them"
        elif mode != DEFAULT_MODE and mode in _modes(path.parents[2:3]) and mode not in (*reasons, *oracles):
            yield (f"github.not_possible.{mode}: is missing, and so is {script}; write the oracle of this mode, or "
                   "here why its tools cannot do the task; a mode of another repository needs neither")  # fmt: skip


def _modes(roots: Iterable[Path]) -> set[str]:
    return {file.stem for root in roots for file in (root / "config" / "modes").glob("*.yaml")}
