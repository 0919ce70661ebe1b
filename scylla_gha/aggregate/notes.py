"""Notes of a report: the edits of a change, and the files for agents that all arms had from the start states."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from scylla_gha.aggregate.row_counts import RowCounts
from scylla_gha.counting import counted
from scylla_gha.model.agent_files import file_changes
from scylla_gha.model.plan import Arm, Plan

_MOST_PATHS: Final = 12
_PREFIX: Final = "agent_files/"


def report_notes(plan: Plan, counts: RowCounts) -> Iterator[str]:
    """Yield the notes of a report."""
    arms = {arm.id: arm for arm in plan.arms}
    if plan.is_of_change:
        for name, against in plan.pairs.items():
            changes = file_changes(_materials(arms[against]), _materials(arms[name]))
            what = "; ".join(f"{word} {_listed(paths)}" for word, paths in changes.items())
            yield f"{name} against {against}: {what or 'other settings'}."
    yield from _start_files(arms, counts)


def _materials(arm: Arm) -> dict[str, str]:
    materials = arm.variant.materials if arm.variant else {}
    return {name.removeprefix(_PREFIX): digest for name, digest in materials.items()}


def _listed(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    return ", ".join(paths[:_MOST_PATHS]) + more


def _start_files(arms: dict[str, Arm], counts: RowCounts) -> Iterator[str]:
    """Yield which files for agents the start states brought into arms that do not say which ones they have."""
    files: dict[str, set[str]] = defaultdict(set)
    for (arm, scenario), paths in counts.agent_files.items():
        variant = arms[arm].variant
        if variant and variant.treatment.agent_files is None:
            for path in paths:
                files[path].add(scenario)
    if files:
        scenarios = set[str]().union(*files.values())
        yield (
            f"Start states brought files for agents into all arms without `agent_files`, in "
            f"{counted(len(scenarios), 'scenario')} of {len(counts.scenarios)}: {_listed(tuple(sorted(files)))}."
        )
