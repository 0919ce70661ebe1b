"""Decision whether a campaign needs a further wave, and the inputs of that wave."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.github.events import DispatchEvent, read_event
from scylla_gha.model.plan import TIME_OVER, Plan, UnstartedCells, WavePacking
from scylla_gha.model.result import Result
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import RunFolder, stored_packing

_CAMPAIGN: Final = re.compile(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)*")
# Of dispatch.yml and regression.yml; GitHub refuses a dispatch with any other.
_INPUTS: Final = {
    "experiment", "only", "repetitions", "budget-usd", "parallelism", "lanes", "minutes", "runs-on", "epoch", "pull",
    "head", "base", "results-branch", "environment", "wave", "campaign", "baseline",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RemainingBudget:
    """Remaining USD of the budget (None: no budget), and the number of trials of unknown cost."""

    usd: float | None
    unknown: int = 0


def read_wave(folder: RunFolder) -> WavePacking:
    """Read the wave that was planned in a run's folder.

    Raises:
        ConfigError: it was not planned in waves, or its campaign's name is not valid in a tag.
    """
    wave = stored_packing(folder)
    if not _CAMPAIGN.fullmatch(wave.campaign) or wave.campaign.endswith(".lock"):
        raise ConfigError(f"campaign {wave.campaign!r} is not valid in a git tag; plan with another --campaign")
    return wave


def pending_cells(folder: RunFolder, wave: WavePacking) -> int:
    """Count the cells that did not fit into this wave or its time; failed cells are for a re-run."""
    unstarted = read_record(folder.unstarted, UnstartedCells)
    late = {cell for cell, why in unstarted.cells.items() if why == TIME_OVER} if unstarted else set()
    return len(late | set(wave.left))


def _own(wave: WavePacking, rows: Iterable[Result]) -> list[Result]:
    """Return the rows that this wave measured itself."""
    taken = set(wave.reused)
    return [row for row in rows if row.cell not in taken]


def remaining_budget(plan: Plan, wave: WavePacking, rows: Iterable[Result]) -> RemainingBudget:
    """Return what this wave leaves of its budget, which is the budget of the next one."""
    budget = plan.experiment.budget_usd
    if budget is None:
        return RemainingBudget(None)
    spent = [None if row.usd is None or row.judge_usd is None else row.usd + row.judge_usd for row in _own(wave, rows)]
    return RemainingBudget(budget - sum(each for each in spent if each is not None), spent.count(None))


def why_stop(
    wave: WavePacking, cells: int, rows: Iterable[Result], left: RemainingBudget, most_waves: int
) -> str | None:
    """Return the reason why no further wave starts for the pending cells; None if one starts."""
    if not cells:
        return "no cell is left"
    if wave.wave >= most_waves:
        return (f"--most-waves allows no more than {counted(wave.wave, 'wave')}, and "
                f"{counted(cells, 'cell is', 'cells are')} left")  # fmt: skip
    if not any(row.measures_agent for row in _own(wave, rows)):
        return f"wave {wave.wave} measured nothing, so another one would not either; its rows state the reasons"
    if left.usd is not None and left.unknown:
        return (f"what {counted(left.unknown, 'trial')} cost is unknown, so the budget cannot be kept; run the "
                "remaining cells by hand")  # fmt: skip
    if left.usd is not None and left.usd <= 0:
        return f"the budget is spent, and {counted(cells, 'cell is', 'cells are')} left; raise it and dispatch by hand"
    return None


def inputs_of(plan: Plan, wave: WavePacking, event: Path | None, usd: float | None) -> dict[str, str]:
    """Return the inputs of the next wave: those of this one, with number, campaign and remaining budget."""
    told = read_event(event, DispatchEvent).inputs if event else None
    given = {name: _text(value) for name, value in (told or {}).items() if name in _INPUTS}
    fixed = {"experiment": plan.experiment.id, "epoch": plan.epoch, "campaign": wave.campaign,
             "wave": str(wave.wave + 1), "budget-usd": "" if usd is None else f"{usd:.4f}"}  # fmt: skip
    every = [*given.items(), *fixed.items()]
    return {name: value for name, value in every if value}


def _text(value: object) -> str:
    """Format an input of a workflow dispatch, which is always text."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""
