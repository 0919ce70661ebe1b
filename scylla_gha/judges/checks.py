"""Checkpoints: verified by code, each with the evidence of what was seen."""

import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pathspec

from scylla_gha.model.judgment import CheckResult
from scylla_gha.model.scenario import Changes, Checkpoint
from scylla_gha.model.trial import DiffStat

_EVIDENCE_CHARS: Final = 600


@dataclass(frozen=True, slots=True)
class Ran:
    """How a check's command ended; `stdout` may be cut at its end, and `cut` says so."""

    code: int
    seconds: float
    timed_out: bool
    stdout: str
    stderr: str
    cut: bool = False


RunCheck = Callable[[str, int], Ran]  # command, seconds


def verify(
    checkpoints: Iterable[Checkpoint], *, tree: Path, diff: DiffStat, run: RunCheck, seconds: int
) -> tuple[CheckResult, ...]:
    """Verify all checkpoints, each distinct command once.

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
        return _result(
            checkpoint, fault is None, fault or f"{len(diff.files)} files, {diff.added + diff.deleted} lines"
        )
    return _command(checkpoint, run(checkpoint.run or "", checkpoint.timeout_seconds or seconds))


def _result(checkpoint: Checkpoint, holds: bool, evidence: str) -> CheckResult:
    return CheckResult(id=checkpoint.id, holds=holds, value=float(holds), evidence=evidence)


def _file(checkpoint: Checkpoint, path: Path) -> CheckResult:
    exists = path.is_file() and not path.is_symlink()
    if checkpoint.absent or not exists:
        present = path.exists() or path.is_symlink()
        there = "exists" if exists else "is no regular file" if present else "does not exist"
        return _result(checkpoint, checkpoint.absent and not present, f"{checkpoint.file} {there}")
    if checkpoint.matches is None:
        return _result(checkpoint, True, f"{checkpoint.file} exists")
    found = re.search(checkpoint.matches, path.read_text(errors="replace"), re.MULTILINE)
    verb = "matches" if found else "does not match"
    return _result(checkpoint, bool(found), f"{checkpoint.file} {verb} {checkpoint.matches!r}")


def _changes_fault(changes: Changes, diff: DiffStat) -> str | None:
    """Why the diff is not as it must be, or None."""
    lines = diff.added + diff.deleted
    if not diff.files:
        return "nothing was changed"
    if changes.max_files is not None and len(diff.files) > changes.max_files:
        return f"{len(diff.files)} files changed, more than {changes.max_files}: {_listed(diff.files)}"
    if changes.max_lines is not None and lines > changes.max_lines:
        return f"{lines} lines changed, more than {changes.max_lines}"
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


def _command(checkpoint: Checkpoint, ran: Ran) -> CheckResult:
    fault, value = _command_fault(checkpoint, ran)
    said = "\n".join(part.strip()[-_EVIDENCE_CHARS:] for part in (ran.stdout, ran.stderr) if part.strip())
    evidence = f"{fault or 'as expected'}{': ' if said else ''}{said}"
    holds = fault is None
    value = value if value is not None else float(holds)
    return CheckResult(id=checkpoint.id, holds=holds, value=value, evidence=evidence, seconds=round(ran.seconds, 3))


def _command_fault(checkpoint: Checkpoint, ran: Ran) -> tuple[str | None, float | None]:
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
    """`k/n` on the last line, as a number in 0..1."""
    last = stdout.strip().rpartition("\n")[2].strip()
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", last)
    if not found or not int(found[2]) or int(found[1]) > int(found[2]):
        return None
    return int(found[1]) / int(found[2])
