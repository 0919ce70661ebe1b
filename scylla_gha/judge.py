"""judge: checkpoints and check items of a trial, verified in fresh copies of base plus diff; the score from them.

What is executed here is what the agent wrote. So every command of a check runs in a box of its own, made anew from
the base commit, the diff, and copies of the hidden checks: what one command does to its box, no other sees.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from scylla_gha.errors import FixtureError, SandboxError, ToolError
from scylla_gha.gateway.journal import Account
from scylla_gha.judges.blind import BlindInput, Evidence, blind_input, list_tree
from scylla_gha.judges.checks import Ran, verify
from scylla_gha.judges.consensus import Consensus
from scylla_gha.judges.court import Court, Heard
from scylla_gha.judges.score import fail_unscored, failed_checks, score_categories, score_items, score_trial
from scylla_gha.model.experiment import Limits
from scylla_gha.model.judgment import CheckResult, Judgment, Score, judgment_key
from scylla_gha.model.record import Seal
from scylla_gha.model.trial import Attempt, DiffStat, Outcome, Trajectory, Trial
from scylla_gha.proc import Cancel, Hit, Streams
from scylla_gha.proc import Limits as ProcessLimits
from scylla_gha.sandboxes.base import Box, Place
from scylla_gha.seals import breach, seal_of
from scylla_gha.seeding.ground import Ground
from scylla_gha.seeding.workspace import materialise, scratch
from scylla_gha.store import JUDGE_TRAFFIC, CellFolder, read_record

_MEGA: Final = 1_000_000
_READ_BYTES: Final = 1_000_000  # of a check's output; what is beyond cannot be as expected


@dataclass(frozen=True, slots=True)
class Bench:
    """Where checks run, and who judges what no code can decide; `court_digest` stands in the judgment's key.

    The place has no sockets: what an agent wrote reaches nobody.
    """

    place: Place
    limits: Limits
    cancel: Cancel
    court: Court | None = None
    court_digest: str = ""


def judge(trial: Trial, ground: Ground, folder: CellFolder, bench: Bench) -> Judgment:
    """Judge the attempt that stands. A fault of the harness is a judgment without a result, never a made-up score."""
    key = judgment_key(trial, ground.folder.judging_digest, bench.court_digest, bench.place.digest)
    last = trial.last
    if last.diff is None:
        return Judgment(cell=trial.cell, key=key, trial_key=trial.key, result=_unscored(last))
    try:
        content = _patch(last, folder)
        with scratch() as root:
            case = _Case(trial, key, ground, folder, content, _apply(ground, content, root))
            return _judged(case, bench)
    except (FixtureError, ToolError, OSError) as error:
        return Judgment(cell=trial.cell, key=key, trial_key=trial.key, error=str(error)[:1000])


def _patch(attempt: Attempt, folder: CellFolder) -> bytes:
    """The stored patch; FixtureError where it is not what the agent left."""
    if attempt.diff is None or not attempt.diff.files:
        return b""
    path = folder.attempt(attempt.number).file("diff.patch")
    content = path.read_bytes()
    _require(path, Seal(sha256=attempt.diff.sha256, size=len(content)))
    return content


def _require(path: Path, seal: Seal | None) -> None:
    if why := breach(path, seal):
        raise FixtureError(f"{why}; restore it, or remove the cell's folder to run it again")


@dataclass(frozen=True, slots=True)
class Answer:
    """What is judged: a change of the start state, in numbers and as a patch, and the last words about it."""

    diff: DiffStat
    patch: bytes
    said: str | None


def answer_of(trial: Trial, folder: CellFolder) -> Answer | None:
    """What the attempt that stands left; None where it left nothing that judges are asked about."""
    attempt = folder.attempt(trial.last.number)
    if trial.last.diff is None or not trial.last.diff.files:
        return None
    story = attempt.file("trajectory.json")
    _require(story, trial.last.files.get(story.name))
    said = read_record(story, Trajectory)
    return Answer(trial.last.diff, _patch(trial.last, folder), said.final_message if said else None)


def exhibit(answer: Answer, ground: Ground, bench: Bench, checks: tuple[CheckResult, ...] = ()) -> BlindInput:
    """What the judges are shown of an answer. Its checks are run, unless an earlier judgment has them.

    Raises:
        FixtureError: the patch does not apply to the start state.
        ToolError: a check cannot be run.
    """
    with scratch() as root:
        tree = _apply(ground, answer.patch, root)
        return _blind(answer, tree, ground, checks or _verify(answer.diff, tree, ground, bench))


def _apply(ground: Ground, patch: bytes, root: Path) -> Path:
    tree = root / "tree"
    materialise(ground.start, patch, tree)
    return tree


@dataclass(frozen=True, slots=True)
class _Case:
    """A trial that is judged: what it left, as a patch and as a tree of base plus patch."""

    trial: Trial
    key: str
    ground: Ground
    folder: CellFolder
    patch: bytes
    tree: Path

    @property
    def changed(self) -> bool:
        """Whether the agent changed anything."""
        return bool(self.trial.last.diff and self.trial.last.diff.files)


def _judged(case: _Case, bench: Bench) -> Judgment:
    trial, scenario, rubric = case.trial, case.ground.folder.scenario, case.ground.folder.rubric
    assert trial.last.diff is not None  # noqa: S101 the caller looked
    results = _verify(trial.last.diff, case.tree, case.ground, bench)
    checks = {result.id: result for result in results}
    has_failed = trial.last.outcome is not Outcome.COMPLETED or bool(failed_checks(scenario, checks))
    heard = _hear(case, bench, results, decided=has_failed)
    items = score_items(rubric, checks, changed=case.changed, panel=heard.agreed if heard else None)
    judgment = Judgment(cell=trial.cell, key=case.key, trial_key=trial.key, checks=results, items=items)
    if heard:
        paid = {"usage": heard.account.usage, "unadjusted": heard.account.unadjusted}
        paid["subscription"] = heard.subscription
        judgment = judgment.model_copy(update={"answers": heard.answers, "files": _sealed(case), **paid})
    if heard and heard.agreed.error:
        why = "unjudged" if heard.was_reached else "error"
        failure = _by_outcome(fail_unscored(scenario, checks, items, heard.agreed), trial.last)
        return judgment.model_copy(update={why: heard.agreed.error, "result": failure if has_failed else None})
    panel = heard.agreed if heard else None
    result = score_trial(scenario, rubric, checks, items, changed=case.changed, panel=panel)
    update = {"categories": score_categories(rubric, items), "result": _by_outcome(result, trial.last)}
    return judgment.model_copy(update=update)


def _sealed(case: _Case) -> dict[str, Seal]:
    """The journal of what the panel was asked, where it was asked anything."""
    attempt = case.folder.attempt(case.trial.last.number)
    path = attempt.file(JUDGE_TRAFFIC)
    return {f"{attempt.root.name}/{path.name}": seal_of(path)} if path.is_file() else {}


def _verify(diff: DiffStat, tree: Path, ground: Ground, bench: Bench) -> tuple[CheckResult, ...]:
    scenario = ground.folder.scenario
    return verify(
        scenario.checkpoints,
        tree=tree,
        diff=diff,
        run=lambda command, seconds: _run_check(command, seconds, ground, bench, tree),
        seconds=scenario.validation.timeout_seconds,
    )


def _hear(case: _Case, bench: Bench, results: tuple[CheckResult, ...], *, decided: bool) -> Heard | None:
    """Ask the panel, where there is one and something for it to judge; None where there is none."""
    if bench.court is None:
        return None
    nobody = Heard((), Consensus({}), Account())
    answer = answer_of(case.trial, case.folder)
    if answer is None:
        return nobody  # who changed nothing earns nothing, and nobody is paid to say so
    blind = _blind(answer, case.tree, case.ground, results)
    journal = case.folder.attempt(case.trial.last.number).file(JUDGE_TRAFFIC)
    try:
        return bench.court.hear(case.trial.cell, journal, blind, decided=decided) if blind.items else nobody
    except (ToolError, OSError) as error:  # what the checks found stands
        return Heard((), Consensus({}, error=str(error)[:1000]), Account())


def _blind(answer: Answer, tree: Path, ground: Ground, results: tuple[CheckResult, ...]) -> BlindInput:
    folder = ground.folder
    evidence = Evidence(answer.patch, list_tree(tree), results, answer.said)
    texts = (path.read_text(errors="replace") for path in sorted(folder.checks.rglob("*")) if path.is_file())
    return blind_input(folder.prompt, folder.scenario, folder.rubric, evidence, texts)


def _by_outcome(score: Score, attempt: Attempt) -> Score:
    """A trial that the agent did not complete is a failure, whatever its partial work is worth."""
    if attempt.outcome is Outcome.COMPLETED:
        return score
    return score.model_copy(update={"passed": False, "why": f"{attempt.outcome}: {attempt.reason}"[:300]})


def _unscored(attempt: Attempt) -> Score:
    return Score(score=None, grade=None, passed=False, why=f"{attempt.outcome}: {attempt.reason}"[:300], progress=None)


def _run_check(command: str, seconds: int, ground: Ground, bench: Bench, tree: Path) -> Ran:
    with scratch() as root:
        box = _box(ground, tree, root, command, bench.place.image)
        streams = Streams(root / "stdout", root / "stderr")
        limits = ProcessLimits(seconds, bench.limits.file_mb * _MEGA)
        # Opened before: the command may remove its output files, or put a pipe in their place.
        with streams.stdout.open("x+b") as out, streams.stderr.open("x+b") as err:
            ended = bench.place.sandbox.run(("/bin/sh", "-c", command), box, streams, limits, bench.cancel)
            if ended.cancelled:
                raise KeyboardInterrupt
            if Hit.LOST in ended.hits:
                raise SandboxError(f"the box of a check was lost: {ended.note}")
            stdout, cut = _read(out)
            stderr = f"{_read(err)[0]}\n{ended.note if ended.hits else ''}"
            return Ran(ended.code, ended.seconds, ended.timed_out, stdout, stderr, cut)


def _box(ground: Ground, tree: Path, root: Path, command: str, image: str | None) -> Box:
    """Lay the folders of a check in `root`; the pristine base only where it can be wanted."""
    work, home, base, checks = (root / name for name in ("workspace", "home", "base", "checks"))
    home.mkdir()
    shutil.copytree(tree, work, symlinks=True)
    if ground.folder.checks.is_dir():
        shutil.copytree(ground.folder.checks, checks, ignore=shutil.ignore_patterns("__pycache__"))
    if checks.exists() or "BASE" in command:
        materialise(ground.start, b"", base)
    there = tuple(folder for folder in (checks, base) if folder.exists())
    extra = {"CHECKS": str(checks), "BASE": str(base)}
    return Box(work, home, ground.path, extra, read_only=there, image=image, keep=False)


def _read(file: BinaryIO) -> tuple[str, bool]:
    content = file.read(_READ_BYTES + 1)
    return content[:_READ_BYTES].decode(errors="replace"), len(content) > _READ_BYTES
