"""Step `judge` for one trial: checks run on base plus diff, the panel answers, code computes the score."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scylla_gha.config.keys import judgment_key
from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.gateway.log import TrafficSummary
from scylla_gha.hub.trial_files import BUNDLE_FILE, STATE_FILE
from scylla_gha.judge.checks import (
    NO_SESSION,
    CommandRun,
    Fill,
    SessionEvidence,
    describe_checks,
    run_check,
    verify_checkpoints,
)
from scylla_gha.judge.github_checks import revision_of
from scylla_gha.judge.github_texts import written_texts
from scylla_gha.judge.github_trial import TrialGitHub, trial_github
from scylla_gha.judge.panel import GatewayPanel, PanelResult
from scylla_gha.judge.prompt import BlindInput, JudgeEvidence, blind_input, list_tree
from scylla_gha.judge.score import Consensus, fail_unscored, failed_checks, score_categories, score_items, score_trial
from scylla_gha.model import FileDigest
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.github_condition import Checkout
from scylla_gha.model.judgment import CheckResult, Judgment, Score
from scylla_gha.model.trial import Attempt, DiffStat, Outcome, Trajectory, Trial
from scylla_gha.prepare import PreparedScenario
from scylla_gha.prepare.workspace import materialise_diff, scratch
from scylla_gha.sandboxes.base import SandboxTarget
from scylla_gha.store import digest_mismatch, file_digest, read_record
from scylla_gha.store.run_folder import JUDGE_TRAFFIC, CellFolder
from scylla_gha.system.process import Cancel, ProcessLimits


@dataclass(frozen=True, slots=True)
class JudgingContext:
    """Target in which checks run, and the panel for the other items; `panel_digest` is part of the judgment's key.

    Checks get no sockets, so code that an agent wrote reaches no network.
    """

    target: SandboxTarget
    limits: TrialLimits
    cancel: Cancel
    panel: GatewayPanel | None = None
    panel_digest: str = ""


def judge_trial(trial: Trial, prepared: PreparedScenario, folder: CellFolder, context: JudgingContext) -> Judgment:
    """Judge the last attempt. After a fault of the harness, the judgment has an error and no result."""
    key = judgment_key(trial, prepared.folder.judging_digest, context.panel_digest, context.target.digest)
    last, judgment = trial.last, Judgment(cell=trial.cell, key=key, trial_key=trial.key)
    if last.diff is None:
        score = Score(score=None, grade=None, passed=False, why=_outcome_reason(last), progress=None)
        return judgment.model_copy(update={"result": score})
    try:
        with scratch() as root, github_state(last, prepared, folder) as github:
            tree = _base_plus_diff(prepared, _patch(last, folder), root)
            started = time.monotonic()
            answer = _answer(last, prepared, folder)
            results = _run_checks(last.diff, tree, prepared, context, github, SessionEvidence(answer, last.uses))
            check_seconds = round(time.monotonic() - started, 3)
            panel = _ask_panel(trial, prepared, folder, context, tree, results, github=github)
            update = {"checks": results, "check_seconds": check_seconds, **_panel_fields(panel, last, folder)}
            changed = bool(last.diff.files or answer or last.stopped or (github and github.journal))
            return judgment.model_copy(update=update | _score_fields(last, prepared, results, panel, changed=changed))
    except (FixtureError, ToolError, OSError) as error:
        return judgment.model_copy(update={"error": str(error)[:1000]})


@contextlib.contextmanager
def github_state(last: Attempt, prepared: PreparedScenario, folder: CellFolder) -> Iterator[TrialGitHub | None]:
    """Read the final state of an attempt's GitHub for the block; yield None if the scenario has no GitHub.

    Raises:
        FixtureError: its files are missing, or were changed.
    """
    if prepared.folder.scenario.github is None:
        yield None
        return
    root = folder.attempt(last.number).root
    for name in (STATE_FILE, BUNDLE_FILE):
        _require_digest(root / name, last.files.get(name))
    with trial_github(root) as github:
        yield github


def _score_fields(
    last: Attempt,
    prepared: PreparedScenario,
    results: tuple[CheckResult, ...],
    panel: PanelResult | None,
    *,
    changed: bool,
) -> dict[str, Any]:
    """Return the items and the result, or an error. A trial that failed in any case has a result without judges."""
    scenario, rubric = prepared.folder.scenario, prepared.folder.rubric
    checks, agreed = {result.id: result for result in results}, panel.agreed if panel else None
    items = score_items(rubric, checks, changed=changed, panel=agreed)
    if panel and panel.agreed.error:
        has_failed = last.outcome is not Outcome.COMPLETED or bool(failed_checks(scenario, checks))
        failure = _fail_incomplete(fail_unscored(scenario, checks, items, panel.agreed), last)
        return {"items": items, "error": panel.agreed.error, "result": failure if has_failed else None}
    result = score_trial(scenario, rubric, checks, items, changed=changed, panel=agreed)
    return {"items": items, "categories": score_categories(rubric, items), "result": _fail_incomplete(result, last)}


def _panel_fields(panel: PanelResult | None, last: Attempt, folder: CellFolder) -> dict[str, Any]:
    if panel is None:
        return {}
    log = folder.attempt(last.number).file(JUDGE_TRAFFIC)
    return {
        "answers": panel.answers,
        "files": {f"{log.parent.name}/{log.name}": file_digest(log)} if log.is_file() else {},
        "usage": panel.account.usage,
        "unadjusted": panel.account.unadjusted,
        "subscription": panel.subscription,
    }


def _fail_incomplete(score: Score, attempt: Attempt) -> Score:
    """Fail a trial that the agent did not complete, whatever the score of its partial work is."""
    if attempt.outcome is Outcome.COMPLETED:
        return score
    return score.model_copy(update={"passed": False, "why": _outcome_reason(attempt)})


def _outcome_reason(attempt: Attempt) -> str:
    return f"{attempt.outcome}: {attempt.reason}"[:300]


def _ask_panel(  # noqa: PLR0913 the panel's evidence
    trial: Trial,
    prepared: PreparedScenario,
    folder: CellFolder,
    context: JudgingContext,
    tree: Path,
    results: tuple[CheckResult, ...],
    *,
    github: TrialGitHub | None,
) -> PanelResult | None:
    """Ask the panel; return None if there is no panel. An unchanged start state is not sent to judges."""
    if context.panel is None:
        return None
    change = judged_change(trial, folder, github, answer=_answer(trial.last, prepared, folder))
    blind = _blind_input(change, tree, prepared, results) if change else None
    if blind is None or not blind.items:
        return PanelResult((), Consensus({}), TrafficSummary())
    log = folder.attempt(trial.last.number).file(JUDGE_TRAFFIC)
    try:
        return context.panel.ask(trial.cell, log, blind)
    except (ToolError, OSError) as error:  # the results of the checks stay valid
        return PanelResult((), Consensus({}, error=str(error)[:1000]), TrafficSummary())


@dataclass(frozen=True, slots=True)
class JudgedChange:
    """An agent's change: counts, patch, the agent's final message, and its texts on GitHub (None: no GitHub)."""

    diff: DiffStat
    patch: bytes
    final_message: str | None
    github_texts: str | None = None


def _answer(last: Attempt, prepared: PreparedScenario, folder: CellFolder) -> str:
    """Return the final message if it is a result of the scenario; otherwise an empty text.

    Raises:
        FixtureError: the stored file was changed.
    """
    return (_final_message(last, folder) or "").strip() if prepared.folder.scenario.answers else ""


def _final_message(last: Attempt, folder: CellFolder) -> str | None:
    path = folder.attempt(last.number).file("trajectory.json")
    _require_digest(path, last.files.get(path.name))
    trajectory = read_record(path, Trajectory)
    return trajectory.final_message if trajectory else None


def judged_change(
    trial: Trial, folder: CellFolder, github: TrialGitHub | None, *, answer: str = ""
) -> JudgedChange | None:
    """Return the last attempt's change for the judges; None if nothing was changed, and there is no `answer` to judge.

    Raises:
        FixtureError: a stored file was changed.
        ToolError: the texts on GitHub cannot be read.
    """
    last = trial.last
    if last.diff is None or not (last.diff.files or answer or (github and github.journal)):
        return None
    texts = written_texts(github) if github else None
    return JudgedChange(last.diff, _patch(last, folder), _final_message(last, folder), texts)


def judge_evidence(
    change: JudgedChange, prepared: PreparedScenario, context: JudgingContext, checks: tuple[CheckResult, ...] = ()
) -> BlindInput:
    """Assemble the judges' evidence. Run the checks unless the results of an earlier judgment are passed.

    Raises:
        FixtureError: the patch does not apply to the start state.
        ToolError: a check cannot be run.
    """
    with scratch() as root:
        tree = _base_plus_diff(prepared, change.patch, root)
        return _blind_input(change, tree, prepared, checks or _run_checks(change.diff, tree, prepared, context))


def _blind_input(
    change: JudgedChange, tree: Path, prepared: PreparedScenario, results: tuple[CheckResult, ...]
) -> BlindInput:
    folder = prepared.folder
    evidence = JudgeEvidence(change.patch, list_tree(tree), results, change.final_message, change.github_texts)
    texts = (path.read_text(errors="replace") for path in sorted(folder.checks.rglob("*")) if path.is_file())
    return blind_input(folder.prompt, folder.scenario, folder.rubric, evidence, texts)


def _patch(attempt: Attempt, folder: CellFolder) -> bytes:
    """Return the stored patch; raise FixtureError if its file was changed."""
    if attempt.diff is None or not attempt.diff.files:
        return b""
    path = folder.attempt(attempt.number).file("diff.patch")
    content = path.read_bytes()
    _require_digest(path, FileDigest(sha256=attempt.diff.sha256, size=len(content)))
    return content


def _require_digest(path: Path, expected: FileDigest | None) -> None:
    if why := digest_mismatch(path, expected):
        raise FixtureError(f"{why}; restore it, or remove the cell's folder to run it again")


def _base_plus_diff(prepared: PreparedScenario, patch: bytes, root: Path) -> Path:
    tree = root / "tree"
    materialise_diff(prepared.start, patch, tree)
    return tree


def _run_checks(
    diff: DiffStat,
    tree: Path,
    prepared: PreparedScenario,
    context: JudgingContext,
    github: TrialGitHub | None = None,
    session: SessionEvidence = NO_SESSION,
) -> tuple[CheckResult, ...]:
    scenario = prepared.folder.scenario

    def run(command: str, seconds: int, checkout: Checkout | None) -> CommandRun:
        fill: Fill = lambda work: shutil.copytree(tree, work, symlinks=True)  # noqa: E731
        if checkout is not None and github is not None:
            repository, commit = revision_of(checkout, github)
            fill = lambda work: github.check_out(repository, commit, work)  # noqa: E731
        limits = ProcessLimits(seconds, context.limits.file_bytes)
        return run_check(command, limits, fill, prepared, context.target, context.cancel)

    results = verify_checkpoints(
        scenario.checkpoints,
        tree=tree,
        diff=diff,
        run=run,
        seconds=scenario.validation.timeout_seconds,
        session=session,
        github=github,
        may_change=scenario.github.may_change if scenario.github else (),
    )
    return describe_checks(results, scenario, prepared.folder.rubric)
