"""Whether a campaign goes on, and what its next wave is told."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.github.events import DispatchEvent, read_event
from scylla_gha.model.plan import Plan, Unstarted
from scylla_gha.model.result import Result
from scylla_gha.model.shards import TIME_OVER, Packing
from scylla_gha.shelves import stored_packing
from scylla_gha.store import RunFolder, read_record

_CAMPAIGN: Final = re.compile(r"[A-Za-z0-9]+([._-][A-Za-z0-9]+)*")
# Of dispatch.yml and regression.yml; GitHub refuses a dispatch with any other.
_INPUTS: Final = {
    "experiment", "only", "repetitions", "budget-usd", "parallelism", "lanes", "minutes", "runs-on", "epoch", "pull",
    "head", "base", "results-branch", "environment", "wave", "campaign", "baseline",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Remaining:
    """USD of the budget that are left; None: there is no budget. `unknown` counts trials whose cost is not known."""

    usd: float | None
    unknown: int = 0


def read_wave(folder: RunFolder) -> Packing:
    """This wave.

    Raises:
        ConfigError: it was not planned in waves, or its campaign's name can be no tag.
    """
    wave = stored_packing(folder)
    if not _CAMPAIGN.fullmatch(wave.campaign) or wave.campaign.endswith(".lock"):
        raise ConfigError(f"campaign {wave.campaign!r} can be no tag; plan with another --campaign")
    return wave


def pending(folder: RunFolder, wave: Packing) -> int:
    """Cells for which there was no room in this wave, or no time in their job; for what failed is a re-run."""
    unstarted = read_record(folder.unstarted, Unstarted)
    late = {cell for cell, why in unstarted.cells.items() if why == TIME_OVER} if unstarted else set()
    return len(late | set(wave.left))


def _own(wave: Packing, rows: Iterable[Result]) -> list[Result]:
    """Rows that this wave made itself."""
    taken = set(wave.reused)
    return [row for row in rows if row.cell not in taken]


def remaining(plan: Plan, wave: Packing, rows: Iterable[Result]) -> Remaining:
    """What this wave leaves of its budget; the next one's budget is that."""
    budget = plan.experiment.budget_usd
    if budget is None:
        return Remaining(None)
    spent = [None if row.usd is None or row.judge_usd is None else row.usd + row.judge_usd for row in _own(wave, rows)]
    return Remaining(budget - sum(each for each in spent if each is not None), spent.count(None))


def hindrance(wave: Packing, cells: int, rows: Iterable[Result], left: Remaining, most_waves: int) -> str | None:
    """Why no further wave is to be started for so many cells; None where one is."""
    if not cells:
        return "no cell is left"
    if wave.wave >= most_waves:
        return f"{wave.wave} waves are as many as --most-waves allows, and {cells:,} cells are left"
    if not any(row.measures_agent for row in _own(wave, rows)):
        return f"wave {wave.wave} measured nothing, so another one would not either; its rows say why"
    if left.usd is not None and left.unknown:
        return f"what {left.unknown:,} trials cost is unknown, so the budget cannot be held; run what is left by hand"
    if left.usd is not None and left.usd <= 0:
        return f"the budget is spent, and {cells:,} cells are left; raise it and dispatch by hand"
    return None


def inputs_of(plan: Plan, wave: Packing, event: Path | None, usd: float | None) -> dict[str, str]:
    """What the next wave is told: as this one was, with its number, its campaign and what is left of the budget."""
    told = read_event(event, DispatchEvent).inputs if event else None
    given = {name: _text(value) for name, value in (told or {}).items() if name in _INPUTS}
    fixed = {"experiment": plan.experiment.id, "epoch": plan.epoch, "campaign": wave.campaign,
             "wave": str(wave.wave + 1), "budget-usd": "" if usd is None else f"{usd:.4f}"}  # fmt: skip
    every = [*given.items(), *fixed.items()]
    return {name: value for name, value in every if value}


def _text(value: object) -> str:
    """As an input of a dispatch is written; all of them are text."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""
