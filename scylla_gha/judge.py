"""judge: checkpoints and check items of a trial, verified in fresh copies of base plus diff; the score from them.

What is executed here is what the agent wrote. So every command of a check runs in a box of its own, made anew from
the base commit, the diff, and copies of the hidden checks: what one command does to its box, no other sees.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from scylla_gha.errors import FixtureError
from scylla_gha.judges.checks import Ran, verify
from scylla_gha.judges.score import score_categories, score_items, score_trial
from scylla_gha.model.experiment import Limits
from scylla_gha.model.judgment import Judgment, Score, judgment_key
from scylla_gha.model.trial import Attempt, Outcome, Trial
from scylla_gha.proc import Cancel, Streams
from scylla_gha.proc import Limits as ProcessLimits
from scylla_gha.sandboxes.base import Box, Sandbox
from scylla_gha.seeding.ground import Ground
from scylla_gha.seeding.workspace import materialise, scratch
from scylla_gha.store import CellFolder

_MEGA: Final = 1_000_000
_READ_BYTES: Final = 1_000_000  # of a check's output; what is beyond cannot be as expected


@dataclass(frozen=True, slots=True)
class Bench:
    """Where checks run."""

    sandbox: Sandbox
    limits: Limits
    cancel: Cancel


def judge(trial: Trial, ground: Ground, folder: CellFolder, bench: Bench) -> Judgment:
    """Judge the attempt that stands. A fault of the harness is a judgment without a result, never a made-up score."""
    key = judgment_key(trial, ground.folder.judging_digest)
    last = trial.last
    if last.diff is None:
        return Judgment(cell=trial.cell, key=key, trial_key=trial.key, result=_unscored(last))
    patch = folder.attempt(last.number).file("diff.patch")
    try:
        content = patch.read_bytes() if last.diff.files else b""
        with scratch() as root:
            return _judged(trial, key, ground, bench, _apply(ground, content, root))
    except (FixtureError, OSError) as error:
        return Judgment(cell=trial.cell, key=key, trial_key=trial.key, error=str(error)[:1000])


def _apply(ground: Ground, patch: bytes, root: Path) -> Path:
    tree = root / "tree"
    materialise(ground.start, patch, tree)
    return tree


def _judged(trial: Trial, key: str, ground: Ground, bench: Bench, tree: Path) -> Judgment:
    scenario, rubric = ground.folder.scenario, ground.folder.rubric
    assert trial.last.diff is not None  # noqa: S101 the caller looked
    results = verify(
        scenario.checkpoints,
        tree=tree,
        diff=trial.last.diff,
        run=lambda command, seconds: _run_check(command, seconds, ground, bench, tree),
        seconds=scenario.validation.timeout_seconds,
    )
    checks = {result.id: result for result in results}
    changed = bool(trial.last.diff.files)
    items = score_items(rubric, checks, changed=changed)
    return Judgment(
        cell=trial.cell,
        key=key,
        trial_key=trial.key,
        checks=results,
        items=items,
        categories=score_categories(rubric, items),
        result=_by_outcome(score_trial(scenario, rubric, checks, items, changed=changed), trial.last),
    )


def _by_outcome(score: Score, attempt: Attempt) -> Score:
    """A trial that the agent did not complete is a failure, whatever its partial work is worth."""
    if attempt.outcome is Outcome.COMPLETED:
        return score
    return score.model_copy(update={"passed": False, "why": f"{attempt.outcome}: {attempt.reason}"[:300]})


def _unscored(attempt: Attempt) -> Score:
    return Score(score=None, grade=None, passed=False, why=f"{attempt.outcome}: {attempt.reason}"[:300], progress=None)


def _run_check(command: str, seconds: int, ground: Ground, bench: Bench, tree: Path) -> Ran:
    with scratch() as root:
        box = _box(ground, tree, root, command)
        streams = Streams(root / "stdout", root / "stderr")
        limits = ProcessLimits(seconds, bench.limits.file_mb * _MEGA)
        # Opened before: the command may remove its output files, or put a pipe in their place.
        with streams.stdout.open("x+b") as out, streams.stderr.open("x+b") as err:
            ended = bench.sandbox.run(("/bin/sh", "-c", command), box, streams, limits, bench.cancel)
            if ended.cancelled:
                raise KeyboardInterrupt
            stdout, cut = _read(out)
            return Ran(ended.code, ended.seconds, ended.timed_out, stdout, _read(err)[0], cut)


def _box(ground: Ground, tree: Path, root: Path, command: str) -> Box:
    """Lay the folders of a check in `root`; the pristine base only where it can be wanted."""
    work, home, base, checks = (root / name for name in ("workspace", "home", "base", "checks"))
    home.mkdir()
    shutil.copytree(tree, work, symlinks=True)
    if ground.folder.checks.is_dir():
        shutil.copytree(ground.folder.checks, checks, ignore=shutil.ignore_patterns("__pycache__"))
    if checks.exists() or "BASE" in command:
        materialise(ground.start, b"", base)
    return Box(work, home, ground.path, {"CHECKS": str(checks), "BASE": str(base)})


def _read(file: BinaryIO) -> tuple[str, bool]:
    content = file.read(_READ_BYTES + 1)
    return content[:_READ_BYTES].decode(errors="replace"), len(content) > _READ_BYTES
