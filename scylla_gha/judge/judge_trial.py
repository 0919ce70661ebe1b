"""Judging of a trial: checks run in fresh copies of base plus diff, the panel answers, code computes the score.

Checks execute what the agent wrote. So every command of a check runs in a new sandbox, made from the base commit, the
diff, and copies of the hidden checks: no command sees what another one did.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from scylla_gha.config.keys import judgment_key
from scylla_gha.errors import FixtureError, SandboxError, ToolError
from scylla_gha.gateway.log import TrafficSummary
from scylla_gha.judge.blind import BlindInput, JudgeEvidence, blind_input, list_tree
from scylla_gha.judge.checks import CommandRun, verify_checkpoints
from scylla_gha.judge.consensus import Consensus
from scylla_gha.judge.panel_session import PanelResult, PanelSession
from scylla_gha.judge.score import fail_unscored, failed_checks, score_categories, score_items, score_trial
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.judgment import CheckResult, Judgment, Score
from scylla_gha.model.record import FileDigest
from scylla_gha.model.trial import Attempt, DiffStat, Outcome, Trajectory, Trial
from scylla_gha.prepare.scenario import PreparedScenario
from scylla_gha.prepare.workspace import materialise_diff, scratch
from scylla_gha.process import Cancel, LimitHit, ProcessLimits, ProcessStreams
from scylla_gha.sandboxes.base import SandboxMounts, SandboxTarget
from scylla_gha.store.digests import digest_mismatch, file_digest
from scylla_gha.store.records import read_record
from scylla_gha.store.run_folder import JUDGE_TRAFFIC, CellFolder

_READ_BYTES: Final = 1_000_000  # of a check's output; what is beyond cannot be as expected


@dataclass(frozen=True, slots=True)
class JudgingContext:
    """Where checks run, and the panel that judges the other items; `panel_digest` is a part of the judgment's key.

    The sandbox has no sockets: code that an agent wrote reaches no network.
    """

    place: SandboxTarget
    limits: TrialLimits
    cancel: Cancel
    panel: PanelSession | None = None
    panel_digest: str = ""


def judge_trial(trial: Trial, prepared: PreparedScenario, folder: CellFolder, context: JudgingContext) -> Judgment:
    """Judge the last attempt. A fault of the harness gives a judgment without a result, never an invented score."""
    key = judgment_key(trial, prepared.folder.judging_digest, context.panel_digest, context.place.digest)
    last = trial.last
    if last.diff is None:
        return Judgment(cell=trial.cell, key=key, trial_key=trial.key, result=_unscored(last))
    try:
        content = _patch(last, folder)
        with scratch() as root:
            case = _Case(trial, key, prepared, folder, content, _apply(prepared, content, root))
            return _judged(case, context)
    except (FixtureError, ToolError, OSError) as error:
        return Judgment(cell=trial.cell, key=key, trial_key=trial.key, error=str(error)[:1000])


def _patch(attempt: Attempt, folder: CellFolder) -> bytes:
    """Return the stored patch; raise FixtureError if it is not what the agent left."""
    if attempt.diff is None or not attempt.diff.files:
        return b""
    path = folder.attempt(attempt.number).file("diff.patch")
    content = path.read_bytes()
    _require_digest(path, FileDigest(sha256=attempt.diff.sha256, size=len(content)))
    return content


def _require_digest(path: Path, seal: FileDigest | None) -> None:
    if why := digest_mismatch(path, seal):
        raise FixtureError(f"{why}; restore it, or remove the cell's folder to run it again")


@dataclass(frozen=True, slots=True)
class JudgedChange:
    """A change of the start state: its counts, the patch, and the last message about it."""

    diff: DiffStat
    patch: bytes
    said: str | None


def judged_change(trial: Trial, folder: CellFolder) -> JudgedChange | None:
    """Return what the last attempt left; None if it left nothing to ask judges about."""
    attempt = folder.attempt(trial.last.number)
    if trial.last.diff is None or not trial.last.diff.files:
        return None
    path = attempt.file("trajectory.json")
    _require_digest(path, trial.last.files.get(path.name))
    trajectory = read_record(path, Trajectory)
    return JudgedChange(trial.last.diff, _patch(trial.last, folder), trajectory.final_message if trajectory else None)


def judge_evidence(
    answer: JudgedChange, prepared: PreparedScenario, context: JudgingContext, checks: tuple[CheckResult, ...] = ()
) -> BlindInput:
    """Assemble the evidence that judges are shown. Run the checks unless an earlier judgment has their results.

    Raises:
        FixtureError: the patch does not apply to the start state.
        ToolError: a check cannot be run.
    """
    with scratch() as root:
        tree = _apply(prepared, answer.patch, root)
        return _blind(answer, tree, prepared, checks or _verify(answer.diff, tree, prepared, context))


def _apply(prepared: PreparedScenario, patch: bytes, root: Path) -> Path:
    tree = root / "tree"
    materialise_diff(prepared.start, patch, tree)
    return tree


@dataclass(frozen=True, slots=True)
class _Case:
    """A trial under judgment: what it left, as a patch and as a tree of base plus patch."""

    trial: Trial
    key: str
    ground: PreparedScenario
    folder: CellFolder
    patch: bytes
    tree: Path

    @property
    def changed(self) -> bool:
        """Return whether the agent changed anything."""
        return bool(self.trial.last.diff and self.trial.last.diff.files)


def _judged(case: _Case, context: JudgingContext) -> Judgment:
    trial, scenario, rubric = case.trial, case.ground.folder.scenario, case.ground.folder.rubric
    assert trial.last.diff is not None  # noqa: S101 the caller looked
    results = _verify(trial.last.diff, case.tree, case.ground, context)
    checks = {result.id: result for result in results}
    has_failed = trial.last.outcome is not Outcome.COMPLETED or bool(failed_checks(scenario, checks))
    panel_result = _ask_panel(case, context, results, decided=has_failed)
    items = score_items(rubric, checks, changed=case.changed, panel=panel_result.agreed if panel_result else None)
    judgment = Judgment(cell=trial.cell, key=case.key, trial_key=trial.key, checks=results, items=items)
    if panel_result:
        paid = {"usage": panel_result.account.usage, "unadjusted": panel_result.account.unadjusted}
        paid["subscription"] = panel_result.subscription
        judgment = judgment.model_copy(update={"answers": panel_result.answers, "files": _log_digest(case), **paid})
    if panel_result and panel_result.agreed.error:
        why = "unjudged" if panel_result.was_reached else "error"
        failure = _by_outcome(fail_unscored(scenario, checks, items, panel_result.agreed), trial.last)
        return judgment.model_copy(update={why: panel_result.agreed.error, "result": failure if has_failed else None})
    panel = panel_result.agreed if panel_result else None
    result = score_trial(scenario, rubric, checks, items, changed=case.changed, panel=panel)
    update = {"categories": score_categories(rubric, items), "result": _by_outcome(result, trial.last)}
    return judgment.model_copy(update=update)


def _log_digest(case: _Case) -> dict[str, FileDigest]:
    """Return the digest of the panel's request log, if the panel was asked."""
    attempt = case.folder.attempt(case.trial.last.number)
    path = attempt.file(JUDGE_TRAFFIC)
    return {f"{attempt.root.name}/{path.name}": file_digest(path)} if path.is_file() else {}


def _verify(diff: DiffStat, tree: Path, prepared: PreparedScenario, context: JudgingContext) -> tuple[CheckResult, ...]:
    scenario = prepared.folder.scenario
    return verify_checkpoints(
        scenario.checkpoints,
        tree=tree,
        diff=diff,
        run=lambda command, seconds: _run_check(command, seconds, prepared, context, tree),
        seconds=scenario.validation.timeout_seconds,
    )


def _ask_panel(
    case: _Case, context: JudgingContext, results: tuple[CheckResult, ...], *, decided: bool
) -> PanelResult | None:
    """Ask the panel; None if there is no panel."""
    if context.panel is None:
        return None
    nobody = PanelResult((), Consensus({}), TrafficSummary())
    answer = judged_change(case.trial, case.folder)
    if answer is None:
        return nobody  # who changed nothing earns nothing, and nobody is paid to say so
    blind = _blind(answer, case.tree, case.ground, results)
    log = case.folder.attempt(case.trial.last.number).file(JUDGE_TRAFFIC)
    try:
        return context.panel.ask(case.trial.cell, log, blind, decided=decided) if blind.items else nobody
    except (ToolError, OSError) as error:  # what the checks found stands
        return PanelResult((), Consensus({}, error=str(error)[:1000]), TrafficSummary())


def _blind(
    answer: JudgedChange, tree: Path, prepared: PreparedScenario, results: tuple[CheckResult, ...]
) -> BlindInput:
    folder = prepared.folder
    evidence = JudgeEvidence(answer.patch, list_tree(tree), results, answer.said)
    texts = (path.read_text(errors="replace") for path in sorted(folder.checks.rglob("*")) if path.is_file())
    return blind_input(folder.prompt, folder.scenario, folder.rubric, evidence, texts)


def _by_outcome(score: Score, attempt: Attempt) -> Score:
    """Fail a trial that the agent did not complete, whatever its partial work is worth."""
    if attempt.outcome is Outcome.COMPLETED:
        return score
    return score.model_copy(update={"passed": False, "why": f"{attempt.outcome}: {attempt.reason}"[:300]})


def _unscored(attempt: Attempt) -> Score:
    return Score(score=None, grade=None, passed=False, why=f"{attempt.outcome}: {attempt.reason}"[:300], progress=None)


def _run_check(
    command: str, seconds: int, prepared: PreparedScenario, context: JudgingContext, tree: Path
) -> CommandRun:
    with scratch() as root:
        box = _check_mounts(prepared, tree, root, command, context.place.image)
        streams = ProcessStreams(root / "stdout", root / "stderr")
        limits = ProcessLimits(seconds, context.limits.file_bytes)
        # Opened before: the command may remove its output files, or put a pipe in their place.
        with streams.stdout.open("x+b") as out, streams.stderr.open("x+b") as err:
            ended = context.place.sandbox.run(("/bin/sh", "-c", command), box, streams, limits, context.cancel)
            if ended.cancelled:
                raise KeyboardInterrupt
            if LimitHit.LOST in ended.hits:
                raise SandboxError(f"the box of a check was lost: {ended.note}")
            stdout, cut = _read(out)
            stderr = f"{_read(err)[0]}\n{ended.note if ended.hits else ''}"
            return CommandRun(ended.code, ended.seconds, ended.timed_out, stdout, stderr, cut)


def _check_mounts(prepared: PreparedScenario, tree: Path, root: Path, command: str, image: str | None) -> SandboxMounts:
    """Create the folders of a check in `root`; the pristine base only if the check may need it."""
    work, home, base, checks = (root / name for name in ("workspace", "home", "base", "checks"))
    home.mkdir()
    shutil.copytree(tree, work, symlinks=True)
    if prepared.folder.checks.is_dir():
        shutil.copytree(prepared.folder.checks, checks, ignore=shutil.ignore_patterns("__pycache__"))
    if checks.exists() or "BASE" in command:
        materialise_diff(prepared.start, b"", base)
    read_only = tuple(folder for folder in (checks, base) if folder.exists())
    extra = {"CHECKS": str(checks), "BASE": str(base)}
    return SandboxMounts(work, home, prepared.path, extra, read_only=read_only, image=image, keep=False)


def _read(file: BinaryIO) -> tuple[str, bool]:
    content = file.read(_READ_BYTES + 1)
    return content[:_READ_BYTES].decode(errors="replace"), len(content) > _READ_BYTES
