"""Checkpoints: conditions that code verifies, each with evidence."""

import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pathspec

from scylla_gha.counting import counted
from scylla_gha.model.judgment import CheckResult
from scylla_gha.model.scenario import Checkpoint, DiffCondition
from scylla_gha.model.trial import DiffStat

_EVIDENCE_CHARS: Final = 600


@dataclass(frozen=True, slots=True)
class CommandRun:
    """Result of a check's command; `cut` is true if the end of `stdout` is missing."""

    code: int
    seconds: float
    timed_out: bool
    stdout: str
    stderr: str
    cut: bool = False


RunCheck = Callable[[str, int], CommandRun]  # command, seconds


def verify_checkpoints(
    checkpoints: Iterable[Checkpoint], *, tree: Path, diff: DiffStat, run: RunCheck, seconds: int
) -> tuple[CheckResult, ...]:
    """Verify all checkpoints; run each distinct command once.

    Args:
        checkpoints: the scenario's.
        tree: base plus diff; nothing of it is executed here.
        diff: what the agent changed.
        run: runs a command in a fresh copy of the tree.
        seconds: the limit of a check that has none of its own.
    """
    once = functools.cache(run)
    return tuple(_verify(checkpoint, tree, diff, once, seconds) for checkpoint in checkpoints)


def _verify(checkpoint: Checkpoint, tree: Path, diff: DiffStat, run: RunCheck, seconds: int) -> CheckResult:
    if checkpoint.file is not None:
        return _file(checkpoint, tree / checkpoint.file)
    if checkpoint.changes is not None:
        fault = _changes_fault(checkpoint.changes, diff)
        changed = f"{counted(len(diff.files), 'file')}, {counted(diff.added + diff.deleted, 'line')}"
        return _result(checkpoint, fault is None, fault or changed)
    return _command(checkpoint, run(checkpoint.run or "", checkpoint.timeout_seconds or seconds))


def _result(checkpoint: Checkpoint, holds: bool, evidence: str) -> CheckResult:
    return CheckResult(id=checkpoint.id, holds=holds, value=float(holds), evidence=evidence)


def _file(checkpoint: Checkpoint, path: Path) -> CheckResult:
    exists = path.is_file() and not path.is_symlink()
    if checkpoint.absent or not exists:
        present = path.exists() or path.is_symlink()
        state = "exists" if exists else "is no regular file" if present else "does not exist"
        return _result(checkpoint, checkpoint.absent and not present, f"{checkpoint.file} {state}")
    if checkpoint.matches is None:
        return _result(checkpoint, True, f"{checkpoint.file} exists")
    match = re.search(checkpoint.matches, path.read_text(errors="replace"), re.MULTILINE)
    verb = "matches" if match else "does not match"
    return _result(checkpoint, bool(match), f"{checkpoint.file} {verb} {checkpoint.matches!r}")


def _changes_fault(changes: DiffCondition, diff: DiffStat) -> str | None:
    """Return why the diff does not meet the condition, or None."""
    lines = diff.added + diff.deleted
    if not diff.files:
        return "nothing was changed"
    if changes.max_files is not None and len(diff.files) > changes.max_files:
        return f"{counted(len(diff.files), 'file')} changed, more than {changes.max_files}: {_listed(diff.files)}"
    if changes.max_lines is not None and lines > changes.max_lines:
        return f"{counted(lines, 'line')} changed, more than {changes.max_lines}"
    only = pathspec.GitIgnoreSpec.from_lines(changes.only)
    outside = [path for path in diff.files if changes.only and not only.match_file(path)]
    if outside:
        return f"changed outside of {', '.join(changes.only)}: {_listed(outside)}"
    never = pathspec.GitIgnoreSpec.from_lines(changes.never)
    forbidden = [path for path in diff.files if never.match_file(path)]
    return f"changed, though it must not be: {_listed(forbidden)}" if forbidden else None


def _listed(paths: Iterable[str]) -> str:
    some = list(paths)
    return ", ".join(some[:5]) + (f" and {len(some) - 5} more" if len(some) > 5 else "")  # noqa: PLR2004


def _command(checkpoint: Checkpoint, ran: CommandRun) -> CheckResult:
    fault, value = _command_fault(checkpoint, ran)
    output = "\n".join(part.strip()[-_EVIDENCE_CHARS:] for part in (ran.stdout, ran.stderr) if part.strip())
    evidence = f"{fault or 'as expected'}{': ' if output else ''}{output}"
    holds = fault is None
    value = value if value is not None else float(holds)
    return CheckResult(id=checkpoint.id, holds=holds, value=value, evidence=evidence, seconds=round(ran.seconds, 3))


def _command_fault(checkpoint: Checkpoint, ran: CommandRun) -> tuple[str | None, float | None]:
    """Why the command is not as expected, or None; and the fraction of a graduated check."""
    if ran.timed_out:
        return f"no end within its limit ({ran.seconds:.0f} s)", 0.0
    value = _fraction(ran.stdout) if checkpoint.graduated and not ran.cut else None
    if ran.code != checkpoint.exit:
        return f"exit code {ran.code}, not {checkpoint.exit}", value
    if checkpoint.graduated:
        return (None if value == 1 else "not all of it holds" if value is not None else "printed no k/n"), value or 0.0
    if checkpoint.stdout is not None and (ran.cut or ran.stdout != checkpoint.stdout):
        return f"printed {ran.stdout[:200]!r}, not {checkpoint.stdout!r}", None
    if checkpoint.stdout_matches and (ran.cut or not re.search(checkpoint.stdout_matches, ran.stdout, re.MULTILINE)):
        return f"the output {'is cut, so it ' if ran.cut else ''}does not match {checkpoint.stdout_matches!r}", None
    return None, None


def _fraction(stdout: str) -> float | None:
    """Return `k/n` on the last line as a number in 0..1, or None."""
    last = stdout.strip().rpartition("\n")[2].strip()
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", last)
    if not match or not int(match[2]) or int(match[1]) > int(match[2]):
        return None
    return int(match[1]) / int(match[2])
