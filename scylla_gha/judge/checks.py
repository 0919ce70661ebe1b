"""Checkpoints: conditions that code verifies, each with evidence.

Checks execute the agent's code. So every command runs in a new sandbox with the base commit, the diff, and a copy
of the hidden checks: no command sees the effects of another one.
"""

import functools
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from scylla_gha.conditions import is_match
from scylla_gha.counting import counted, first_of
from scylla_gha.errors import FixtureError, SandboxError
from scylla_gha.judge.github_checks import git_fault, state_verdicts, unchanged_fault
from scylla_gha.judge.github_trial import GoneError, TrialGitHub
from scylla_gha.mining.languages import error_line
from scylla_gha.model.github_condition import AllowedChange, Checkout
from scylla_gha.model.judgment import CheckResult, CheckRole
from scylla_gha.model.scenario import AnswerCondition, Checkpoint, DiffCondition, Rubric, Scenario, UseCondition
from scylla_gha.model.trial import DiffStat, Uses
from scylla_gha.path_patterns import PathPatterns
from scylla_gha.prepare import PreparedScenario
from scylla_gha.prepare.workspace import materialise_diff, scratch
from scylla_gha.sandboxes.base import SandboxMounts, SandboxTarget
from scylla_gha.system.process import Cancel, LimitHit, ProcessLimits, ProcessStreams

NO_END: Final = "did not end within its limit"
_EVIDENCE_CHARS: Final = 600
_LISTED_PATHS: Final = 5
_READ_BYTES: Final = 1_000_000  # size of a check's output; a longer output never meets an expectation


@dataclass(frozen=True, slots=True)
class CommandRun:
    """Result of a check's command; `cut` is True if the end of `stdout` is missing."""

    code: int
    seconds: float
    timed_out: bool
    stdout: str
    stderr: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class SessionEvidence:
    """The agent's final message, and its uses of resources (None: unknown), which checkpoints may be about."""

    answer: str = ""
    uses: Uses | None = None


NO_SESSION: Final = SessionEvidence()
Fill = Callable[[Path], object]  # makes the folder in which a command works
RunCheck = Callable[[str, int, Checkout | None], CommandRun]  # arguments: command, seconds, revision to work in


def verify_checkpoints(  # noqa: PLR0913 the evidence of all kinds of checkpoints
    checkpoints: Iterable[Checkpoint],
    *,
    tree: Path,
    diff: DiffStat,
    run: RunCheck,
    seconds: int,
    session: SessionEvidence = NO_SESSION,
    github: TrialGitHub | None = None,
    may_change: tuple[AllowedChange, ...] = (),
) -> tuple[CheckResult, ...]:
    """Verify all checkpoints; run each distinct command once.

    Args:
        checkpoints: the checkpoints of the scenario.
        tree: folder of base plus diff, from which nothing is executed here.
        diff: counts of the agent's change.
        run: runs a command in a fresh copy of the tree, or of a revision of the trial's GitHub.
        seconds: time limit of a check that does not set its own.
        session: the agent's final message, and what it used.
        github: the trial's GitHub; None: the scenario has none.
        may_change: allowed changes on GitHub.

    Raises:
        FixtureError: a checkpoint is about GitHub, but the trial has no GitHub; or it is about uses, which are unknown.
    """
    once = functools.cache(run)
    points = tuple(checkpoints)
    results = _verify_github(points, github, may_change)
    results |= {point.id: _answer(point, point.answer, session.answer) for point in points if point.answer is not None}
    results |= {point.id: _uses(point, point.uses, session.uses) for point in points if point.uses is not None}
    return tuple(results.get(point.id) or _verify(point, tree, diff, once, seconds) for point in points)


def describe_checks(results: Iterable[CheckResult], scenario: Scenario, rubric: Rubric) -> tuple[CheckResult, ...]:
    """Return the results with each check's sentence and role, so that a stored judgment explains itself."""
    points = {point.id: point for point in scenario.checkpoints}
    return tuple(
        result.model_copy(update={"what": points[result.id].what, "role": _role(points[result.id], rubric)})
        for result in results
    )


def _role(checkpoint: Checkpoint, rubric: Rubric) -> CheckRole:
    if checkpoint.required:
        return "guard" if checkpoint.guard else "required"
    if any(checkpoint.id in item.checks for item in rubric.items):
        return "scored"
    return "condition" if any(item.applies_if == checkpoint.id for item in rubric.items) else "progress"


def _verify_github(
    points: tuple[Checkpoint, ...], github: TrialGitHub | None, may_change: tuple[AllowedChange, ...]
) -> dict[str, CheckResult]:
    """Return the results of the checkpoints on GitHub, by id."""
    own = [point for point in points if point.unchanged or point.github is not None or point.git is not None]
    if own and github is None:
        raise FixtureError(f"{own[0].id}: needs the GitHub state at the end of a trial, but there is none")
    if not own or github is None:
        return {}
    conditions = {point.id: point.github for point in own if point.github is not None}
    verdicts = dict(zip(conditions, state_verdicts(list(conditions.values()), github), strict=True))
    results = {}
    for point in own:
        if point.github is not None:
            fault, evidence = verdicts[point.id].fault, f"as expected: {verdicts[point.id].evidence}"
        elif point.git is not None:
            fault, evidence = git_fault(point.git, github), "as expected"
        else:
            fault, evidence = unchanged_fault(may_change, github), "everything else is unchanged"
        results[point.id] = _result(point, fault is None, fault or evidence)
    return results


def _verify(checkpoint: Checkpoint, tree: Path, diff: DiffStat, run: RunCheck, seconds: int) -> CheckResult:
    if checkpoint.file is not None:
        return _file(checkpoint, tree / checkpoint.file)
    if checkpoint.changes is not None:
        fault = _changes_fault(checkpoint.changes, diff)
        changed = f"{counted(len(diff.files), 'file')}, {counted(diff.added + diff.deleted, 'line')}"
        return _result(checkpoint, fault is None, fault or changed)
    try:
        ran = run(checkpoint.run or "", checkpoint.timeout_seconds or seconds, checkpoint.checkout)
    except GoneError as error:
        return _result(checkpoint, False, str(error))
    return _command(checkpoint, ran)


def _result(checkpoint: Checkpoint, holds: bool, evidence: str) -> CheckResult:
    return CheckResult(id=checkpoint.id, holds=holds, value=float(holds), evidence=evidence)


def _answer(checkpoint: Checkpoint, condition: AnswerCondition, answer: str) -> CheckResult:
    missing = [pattern for pattern in condition.matches if not is_match(pattern, answer)]
    forbidden = [pattern for pattern in condition.never_matches if is_match(pattern, answer)]
    fault = "the agent said nothing" if not answer.strip() else ""
    fault = fault or "; ".join(
        [f"does not match {pattern!r}" for pattern in missing] + [f"matches {pattern!r}" for pattern in forbidden]
    )
    return _result(checkpoint, not fault, f"final message: {fault[:_EVIDENCE_CHARS] or 'as expected'}")


def _uses(checkpoint: Checkpoint, condition: UseCondition, uses: Uses | None) -> CheckResult:
    if uses is None:
        raise FixtureError(f"{checkpoint.id}: it is unknown what the agent used: the gateway saw no whole session")
    used = {name for name, count in uses.counts.items() if count} | uses.turns.keys()
    used = used | set(uses.read) if condition.counts_reading else used - set(uses.read)
    fault = "; ".join(
        [f"{name} was not used" for name in condition.all if name not in used]
        + [f"{name} was used" for name in condition.none if name in used]
    )
    evidence = f"used: {first_of(sorted(used), _LISTED_PATHS)}" if used else "nothing was used"
    return _result(checkpoint, not fault, (fault or evidence)[:_EVIDENCE_CHARS])


def _file(checkpoint: Checkpoint, path: Path) -> CheckResult:
    exists = path.is_file() and not path.is_symlink()
    if checkpoint.absent or not exists:
        present = path.exists() or path.is_symlink()
        state = "exists" if exists else "is not a regular file" if present else "does not exist"
        return _result(checkpoint, checkpoint.absent and not present, f"{checkpoint.file} {state}")
    if checkpoint.matches is None:
        return _result(checkpoint, True, f"{checkpoint.file} exists")
    with path.open("rb") as file:
        text, cut = _read(file)
    if cut:
        return _result(checkpoint, False, f"{checkpoint.file} has more than {_READ_BYTES:,} bytes, the maximum")
    match = is_match(checkpoint.matches, text)
    return _result(
        checkpoint, match, f"{checkpoint.file} {'matches' if match else 'does not match'} {checkpoint.matches!r}"
    )


def _changes_fault(changes: DiffCondition, diff: DiffStat) -> str | None:
    """Return the reason why the diff does not meet the condition, or None."""
    lines = diff.added + diff.deleted
    if not diff.files:
        return "nothing was changed"
    if changes.max_files is not None and len(diff.files) > changes.max_files:
        files = first_of(diff.files, _LISTED_PATHS)
        return f"{counted(len(diff.files), 'file')} changed, more than {changes.max_files}: {files}"
    if changes.max_lines is not None and lines > changes.max_lines:
        return f"{counted(lines, 'line')} changed, more than {changes.max_lines}"
    only = PathPatterns(changes.only)
    outside = [path for path in diff.files if changes.only and not only.match(path)]
    if outside:
        return f"changed outside of {', '.join(changes.only)}: {first_of(outside, _LISTED_PATHS)}"
    never = PathPatterns(changes.never)
    forbidden = [path for path in diff.files if never.match(path)]
    return f"changed, but must not change: {first_of(forbidden, _LISTED_PATHS)}" if forbidden else None


def _command(checkpoint: Checkpoint, ran: CommandRun) -> CheckResult:
    fault, value = _command_fault(checkpoint, ran)
    parts = (_own_lines(ran.stdout.strip(), checkpoint.stdout_matches), ran.stderr.strip())
    output = "\n".join(_excerpt(part) for part in parts if part)
    evidence = f"{fault or 'as expected'}{': ' if output else ''}{output}"
    holds = fault is None
    value = value if value is not None else float(holds)
    return CheckResult(id=checkpoint.id, holds=holds, value=value, evidence=evidence, seconds=round(ran.seconds, 3))


def _own_lines(output: str, pattern: str | None) -> str:
    """Return the lines of a long output with the pattern's last word, since other checkpoints read the output too."""
    words = re.findall(r"[\w-]+", pattern or "")
    if not words or len(output) <= _EVIDENCE_CHARS:
        return output
    word = re.compile(rf"(?<![\w-]){re.escape(words[-1])}(?![\w-])")
    return "\n".join(line for line in output.splitlines() if word.search(line)) or output


def _excerpt(output: str) -> str:
    """Return the end of an output, after the line that names an error if the end does not contain that line."""
    end = output[-_EVIDENCE_CHARS:]
    line = error_line(output)[:_EVIDENCE_CHARS] if len(output) > _EVIDENCE_CHARS else ""
    return end if line in end else f"{line}\n...\n{end}"


def _command_fault(checkpoint: Checkpoint, ran: CommandRun) -> tuple[str | None, float | None]:
    """Return the reason why the command's result is unexpected, or None; and the fraction of a graduated check."""
    if ran.timed_out:
        return f"{NO_END} ({ran.seconds:.0f} s)", 0.0
    value = _fraction(ran.stdout) if checkpoint.graduated and not ran.cut else None
    if ran.code != checkpoint.exit:
        return f"exit code {ran.code}, not {checkpoint.exit}", value
    if checkpoint.graduated:
        return (None if value == 1 else "not all of it holds" if value is not None else "printed no k/n"), value or 0.0
    return _output_fault(checkpoint, ran), None


def _output_fault(checkpoint: Checkpoint, ran: CommandRun) -> str | None:
    cut = "is cut, so it " if ran.cut else ""
    if checkpoint.stdout is not None and (cut or ran.stdout != checkpoint.stdout):
        return f"printed {ran.stdout[:200]!r}, not {checkpoint.stdout!r}"
    pattern, never = checkpoint.stdout_matches, checkpoint.stdout_never_matches
    if pattern and (cut or not is_match(pattern, ran.stdout)):
        return f"the output {cut}does not match {pattern!r}"
    if never and (cut or is_match(never, ran.stdout)):
        return f"the output {cut}{'may match' if cut else 'matches'} {never!r}"
    return None


def _fraction(stdout: str) -> float | None:
    """Return the fraction `k/n` on the last line as a number in 0..1; None if there is none."""
    last = stdout.strip().rpartition("\n")[2].strip()
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", last)
    if not match or not int(match[2]) or int(match[1]) > int(match[2]):
        return None
    return int(match[1]) / int(match[2])


def run_check(
    command: str, limits: ProcessLimits, fill: Fill, prepared: PreparedScenario, target: SandboxTarget, cancel: Cancel
) -> CommandRun:
    """Run a check's command in a new sandbox, in a folder that `fill` makes.

    Raises:
        SandboxError: the sandbox was lost.
        KeyboardInterrupt: the user interrupted.
    """
    with scratch() as root:
        mounts = _check_mounts(command, fill, prepared, root, target)
        streams = ProcessStreams(root / "stdout", root / "stderr")
        # The files are opened first, since the command may replace them by a pipe or remove them.
        with streams.stdout.open("x+b") as out, streams.stderr.open("x+b") as err:
            finished = target.sandbox.run(("/bin/sh", "-c", command), mounts, streams, limits, cancel)
            if finished.cancelled:
                raise KeyboardInterrupt
            if LimitHit.LOST in finished.hits:
                raise SandboxError(f"the sandbox of a check was lost: {finished.note}")
            stdout, cut = _read(out)
            stderr = f"{_read(err)[0]}\n{finished.note if finished.hits else ''}"
            return CommandRun(finished.code, finished.seconds, finished.timed_out, stdout, stderr, cut)


def _check_mounts(
    command: str, fill: Fill, prepared: PreparedScenario, root: Path, target: SandboxTarget
) -> SandboxMounts:
    """Create the folders of a check in `root`; create the unchanged base only if the check may need it."""
    work, home, base, checks = (root / name for name in ("workspace", "home", "base", "checks"))
    home.mkdir()
    fill(work)
    if prepared.folder.checks.is_dir():
        shutil.copytree(prepared.folder.checks, checks, ignore=shutil.ignore_patterns("__pycache__"))
    if checks.exists() or "BASE" in command:
        materialise_diff(prepared.start, b"", base)
    read_only = tuple(folder for folder in (checks, base) if folder.exists())
    sandbox, image = target.sandbox, target.image
    extra = {
        "CHECKS": str(checks),
        "BASE": str(base),
        **prepared.variables(has_own_paths=sandbox.isolates_files),
    }
    path, programs = prepared.path, prepared.programs
    return SandboxMounts(work, home, path, extra, read_only=read_only, image=image, keep=False, programs=programs)


def _read(file: BinaryIO) -> tuple[str, bool]:
    content = file.read(_READ_BYTES + 1)
    return content[:_READ_BYTES].decode(errors="replace"), len(content) > _READ_BYTES
