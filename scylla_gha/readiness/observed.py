"""Judged trials of a suite as the score reads them: the worth of each part, what was opened, and what it cost."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Final

from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell
from scylla_gha.model.readiness import ItemPart, ObservedTrial, ReadinessItem, scenario_id
from scylla_gha.model.trial import Outcome, Trajectory, Trial, Usage
from scylla_gha.readiness.trace_efficiency import efficiency_of
from scylla_gha.store import read_record
from scylla_gha.store.run_folder import AttemptFolder, CellFolder, RunFolder

_OPENING: Final = frozenset({"Read", "NotebookRead"})
_WORKSPACE: Final = "workspace"  # folder of the agent's box
_MINUTE: Final = 60
_COMPLETENESS: Final = "completeness"  # part without which the trace counts nothing


def observed_trials(
    folder: RunFolder, cells: Iterable[Cell], items: Iterable[ReadinessItem], side: str
) -> list[ObservedTrial]:
    """Return the trials of a side's items that are stored under the planned keys.

    Args:
        folder: the run's folder.
        cells: the planned cells.
        items: the side's items.
        side: of the code base; "" for the measured commit.

    Raises:
        ConfigError: a stored record is invalid.
    """
    by_scenario = {scenario_id(item.id, side): item for item in items}
    return [
        trial
        for cell in cells
        if cell.scenario in by_scenario
        and (trial := _observed(folder.cell(cell.id), cell, by_scenario[cell.scenario])) is not None
    ]


def _observed(folder: CellFolder, cell: Cell, item: ReadinessItem) -> ObservedTrial | None:
    trial = read_record(folder.trial, Trial)
    if trial is None or trial.key != cell.key:
        return None
    judgment = read_record(folder.judgment, Judgment)
    attempt = folder.attempt(trial.last.number)
    is_judged = judgment is not None and judgment.trial_key == trial.key and judgment.result is not None
    return ObservedTrial(
        item=item.id,
        repetition=cell.repetition,
        outcome=trial.outcome,
        reason=trial.last.reason,
        parts=dict(_parts(item.parts, judgment, attempt)) if is_judged and judgment is not None else {},
        tokens=_tokens(trial.usage),
        usd=trial.usage.usd,
        seconds=trial.last.seconds,
        calls=sum(trial.last.tool_calls.values()),
        opened=tuple(dict.fromkeys(_opened(attempt, set(item.files)))),
    )


def _parts(parts: Iterable[ItemPart], judgment: Judgment, attempt: AttemptFolder) -> Iterator[tuple[str, float]]:
    values = {check.id: check.value for check in judgment.checks}
    for part in parts:
        if not part.from_trace:
            if part.id in values:
                yield part.id, values[part.id]
            continue
        share = efficiency_of(part.key, attempt.root)
        if share is not None:
            yield part.id, share if values.get(_COMPLETENESS, 0.0) > 0 else 0.0


def _tokens(usage: Usage) -> int | None:
    kinds = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    known = [kind for kind in kinds if kind is not None]
    return sum(known) if known else None


def _opened(attempt: AttemptFolder, known: Collection[str]) -> Iterator[str]:
    """Yield the files that the agent read, in order, as paths of the code base."""
    trajectory = read_record(attempt.file("trajectory.json"), Trajectory)
    calls = (call for step in (trajectory.steps if trajectory else ()) for call in step.tool_calls)
    for call in calls:
        path = call.arguments.get("file_path") if isinstance(call.arguments, dict) else None
        if call.name in _OPENING and isinstance(path, str):
            yield _within(path, known)


def _within(path: str, known: Collection[str]) -> str:
    """Return a path of the agent's box relative to the code base."""
    parts = PurePosixPath(path).parts
    ends = ("/".join(parts[start:]) for start in range(len(parts)))
    below = parts[parts.index(_WORKSPACE) + 1 :] if _WORKSPACE in parts else parts
    return next((end for end in ends if end in known), "/".join(part for part in below if part != "/"))


def failure_line(number: int, trial: Trial) -> str | None:
    """Return a line about a trial that ended without an answer; None if it completed.

    Args:
        number: of the task, 1 to 4.
        trial: the stored trial.
    """
    reasons = {
        Outcome.TIMEOUT: f"timed out ({_limit(trial.last.seconds)} limit)",
        Outcome.REFUSED: "was refused by the model",
        Outcome.AGENT_ERROR: f"failed: {trial.last.reason}",
        Outcome.BUDGET_EXCEEDED: "was stopped by the budget",
    }
    if trial.outcome is Outcome.COMPLETED:
        return None
    words = reasons.get(trial.outcome, f"did not count ({trial.outcome.value}): {trial.last.reason}")
    return f"Task {number} {words}"


def _limit(seconds: float) -> str:
    """Return the time limit that a trial ended at, soon after it: in minutes, or in seconds below one."""
    return f"{seconds // _MINUTE:.0f}m" if seconds >= _MINUTE else f"{seconds // 1:.0f}s"
