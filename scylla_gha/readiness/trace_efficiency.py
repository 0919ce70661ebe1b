"""Efficiency of a trial: the tokens that a question's own files have, against those that the agent read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from scylla_gha.model.trial import Trajectory
from scylla_gha.store import read_record

CHARACTERS_PER_TOKEN: Final = 4
_GENEROSITY: Final = 3  # times the chain's own files may be read without loss
_WRITING: Final = {"Write", "Edit", "MultiEdit", "NotebookEdit"}


def efficiency_of(key: Mapping[str, object], attempt_folder: Path) -> float | None:
    """Return min(1, 3 x tokens of the chain's files / tokens read), from the attempt's `trajectory.json`.

    It counts only if some of the chain was named, which the caller knows. None: there is no trajectory.

    Args:
        key: the known answer of the part "efficiency": `tokens` of the chain's files.
        attempt_folder: the folder of the attempt that is scored.
    """
    trajectory = read_record(attempt_folder / "trajectory.json", Trajectory)
    if trajectory is None:
        return None
    tokens = tokens_read(trajectory)
    own = key["tokens"]
    assert isinstance(own, int | float)  # noqa: S101 the generator writes it
    return min(1.0, _GENEROSITY * own / tokens) if tokens else 1.0


def tokens_read(trajectory: Trajectory) -> float:
    """Return the tokens of all results of tools that read, at four characters each."""
    calls = (call for step in trajectory.steps for call in step.tool_calls if call.name not in _WRITING)
    return sum(len(call.result or "") for call in calls) / CHARACTERS_PER_TOKEN
