"""All records of one cell, for `show`; apart from `report`, so that the command starts fast."""

from scylla_gha.gateway.log import read_traffic
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.trial import Attempt, Trajectory, Trial
from scylla_gha.report.trial_parts import AttemptRecord, CellRecord
from scylla_gha.store.find_cell import CellRef
from scylla_gha.store.records import read_record, require_digest
from scylla_gha.store.run_folder import JUDGE_TRAFFIC, AttemptFolder


def stored_cell(cell_ref: CellRef) -> CellRecord:
    """Read all records of a cell.

    Raises:
        ConfigError: a record is invalid, or a file was changed after it was recorded.
    """
    plan = read_record(cell_ref.run.plan, Plan)
    planned = {cell.id: cell for cell in plan.cells} if plan else {}
    cell = read_record(cell_ref.folder.cell, Cell) or planned.get(cell_ref.id)
    arms = {arm.id: arm for arm in plan.arms} if plan else {}
    trial = read_record(cell_ref.folder.trial, Trial)
    return CellRecord(
        experiment=cell_ref.run.root.name,
        id=cell_ref.id,
        cell=cell,
        arm=arms.get(cell.arm) if cell else None,
        trial=trial,
        judgment=read_record(cell_ref.folder.judgment, Judgment),
        works=tuple(_stored_attempt(folder, trial) for folder in cell_ref.folder.attempts()),
    )


def _stored_attempt(folder: AttemptFolder, trial: Trial | None) -> AttemptRecord:
    attempts = {attempt.number: attempt for attempt in trial.attempts} if trial else {}
    attempt = read_record(folder.file("attempt.json"), Attempt) or attempts.get(folder.number)
    for name in ("diff.patch", "trajectory.json", "traffic.jsonl"):
        require_digest(folder.file(name), attempt.files.get(name) if attempt else None)
    patch = folder.file("diff.patch")
    return AttemptRecord(
        number=folder.number,
        attempt=attempt,
        trajectory=read_record(folder.file("trajectory.json"), Trajectory),
        patch=patch.read_text(encoding="utf-8", errors="replace") if patch.is_file() else None,
        traffic=tuple(read_traffic(folder.file("traffic.jsonl"))),
        judge_traffic=tuple(read_traffic(folder.file(JUDGE_TRAFFIC))),
    )
