"""Workspaces of trials: removed when these end, or kept beside the attempt's records for a person to look at."""

import contextlib
import os
import shutil
import stat
from pathlib import Path
from typing import Final, Literal

from scylla_gha.model.judgment import Judgment
from scylla_gha.model.trial import Attempt, Outcome, Trial
from scylla_gha.redaction.redactor import Redactor
from scylla_gha.redaction.sweep import Sweep
from scylla_gha.store import AttemptFolder, CellFolder

Keep = Literal["none", "failed", "all"]
_FOLDER: Final = "workspace"
_GIT: Final = ".git"
_TAMED: Final = "dot-git"


def keep_workspace(attempt: Attempt, workspace: Path, folder: AttemptFolder, redactor: Redactor) -> Attempt:
    """Copy what the agent left, without secrets, and without what is no file, folder or link.

    A folder `.git` becomes `dot-git`: git obeys the settings in it, so the agent, once somebody looks around there.
    """
    place = folder.file(_FOLDER)
    shutil.rmtree(place, ignore_errors=True)
    # What the agent took its own rights to, or nested too deep, is left out.
    with contextlib.suppress(shutil.Error, RecursionError):
        shutil.copytree(workspace, place, symlinks=True, ignore=_special)
    for parent, folders, files in os.walk(place, topdown=False):
        if _GIT in folders or _GIT in files:
            Path(parent, _GIT).rename(Path(parent, _TAMED))
    sweep = Sweep(redactor)
    sweep.folder(place)
    return attempt.model_copy(update={"redactions": attempt.redactions + sweep.found})


def drop_workspaces(trial: Trial, judgment: Judgment | None, cell: CellFolder) -> None:
    """Remove those of a trial that succeeded: completed, and passed unless it was not judged."""
    failed = judgment is not None and (judgment.result is None or not judgment.result.passed)
    if trial.outcome is Outcome.COMPLETED and not failed:
        for attempt in cell.attempts():
            shutil.rmtree(attempt.file(_FOLDER), ignore_errors=True)


def _special(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if not _is_plain(Path(folder, name))}


def _is_plain(path: Path) -> bool:
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
