"""What one job of a workflow run is to do: its cells of the stored plan, with its part of the budgets."""

from dataclasses import dataclass

from scylla_gha.cli.options import many_records, stored_plan
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Plan
from scylla_gha.model.shards import Packing, Shard
from scylla_gha.packing import account_for
from scylla_gha.shelves import Shelves, stored_packing
from scylla_gha.store import RunFolder


@dataclass(frozen=True, slots=True)
class Assignment:
    """A shard; `plan` is of its cells alone, in the order in which they are to be started."""

    plan: Plan
    packing: Packing
    shard: Shard


@many_records()
def assignment(folder: RunFolder, number: int) -> Assignment:
    """Read what a shard is.

    Raises:
        ConfigError: there is no plan, no packing, or no such shard in it; or the packing is of another plan.
    """
    whole = stored_plan(folder)
    packing = stored_packing(folder)
    account_for(packing, whole)
    shard = next((each for each in packing.shards if each.number == number), None)
    if shard is None:
        last = len(packing.shards) - 1
        has = f"has the shards 0 to {last}" if packing.shards else "has no shard: all rows were taken over"
        raise ConfigError(f"--shard {number}: {Shelves(folder.root).packing} {has}")
    return Assignment(_part(whole, shard), packing, shard)


def _part(whole: Plan, shard: Shard) -> Plan:
    """The plan of a shard's cells and their arms."""
    cells = {cell.id: cell for cell in whole.cells}
    mine = tuple(cells[name] for name in shard.cells)
    used = {cell.arm for cell in mine}
    budgets = {"budget_usd": shard.budget_usd, "role_budget_usd": shard.role_budget_usd}
    return whole.model_copy(update={
        "cells": mine,
        "arms": tuple(arm for arm in whole.arms if arm.id in used),
        "experiment": whole.experiment.model_copy(update=budgets),
    })  # fmt: skip
