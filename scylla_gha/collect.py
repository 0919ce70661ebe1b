"""collect: the records of a run's cells become rows, and what is missing is named."""

from collections.abc import Iterator

from scylla_gha.config.library import Library
from scylla_gha.judges.court import court_digest
from scylla_gha.model.judgment import Judgment, judgment_key
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.result import Result
from scylla_gha.model.scenario import Scenario
from scylla_gha.model.trial import Outcome, Trial
from scylla_gha.store import CellFolder, RunFolder, read_record, write_lines


def collect(plan: Plan, folder: RunFolder, library: Library) -> None:
    """Write `results.jsonl`: one row for every planned cell with a trial under the planned key.

    Raises:
        ConfigError: a stored record is not what it must be.
    """
    write_lines(folder.results, _rows(plan, folder, library, court_digest(plan.experiment.judges, library.roots)))


def _rows(plan: Plan, folder: RunFolder, library: Library, court: str) -> Iterator[Result]:
    for cell in plan.cells:
        place = folder.cell(cell.id)
        trial = read_record(place.trial, Trial)
        if trial is not None and trial.key == cell.key:
            scenario = library.scenario(cell.scenario)
            yield _row(plan, cell, trial, _judgment(place, trial, scenario.judging_digest, court), scenario.scenario)


def _judgment(place: CellFolder, trial: Trial, judging_digest: str, court: str) -> Judgment | None:
    """The judgment of this trial by the checks, the rubric and the judges of today; an older one is none."""
    judgment = read_record(place.judgment, Judgment)
    return judgment if judgment and judgment.key == judgment_key(trial, judging_digest, court) else None


def _row(plan: Plan, cell: Cell, trial: Trial, judgment: Judgment | None, scenario: Scenario) -> Result:
    arm = plan.arm(cell.arm)
    last = trial.last
    outcome, reason = _outcome(trial, judgment)
    measures = outcome.measures_agent
    score = judgment.result if measures and judgment else None
    usage = trial.usage
    unscored = [item for item in judgment.items if item.value is None] if judgment else []
    return Result(
        experiment=plan.experiment.id, cell=cell.id, key=cell.key, epoch=plan.epoch,
        scenario=cell.scenario, category=scenario.category, size=scenario.size, difficulty=scenario.difficulty,
        arm=cell.arm, agent=arm.agent, agent_version=last.agent_version or arm.version, model=arm.model,
        variant=arm.variant.id if arm.variant else None, repetition=cell.repetition,
        outcome=outcome, reason=reason, measures_agent=measures, judged=score is not None,
        passed=score.passed if score else None,
        score=score.score if score else None,
        grade=score.grade if score else None,
        progress=score.progress if score else None,
        items_na=len(unscored), items_unjudged=sum(1 for item in unscored if item.by == "judge"),
        broken_guards=len(score.broken) if score else 0,
        attempts=len(trial.attempts), seconds=last.seconds, turns=last.turns,
        tool_calls=sum(last.tool_calls.values()), failed_tool_calls=last.failed_tool_calls,
        **usage.model_dump(), judge_usd=judgment.usage.usd if judgment else 0.0,
        delivered=last.delivery.proved if last.delivery else None,
        delivery_unverified="; ".join(last.delivery.unverified) or None if last.delivery else None,
        files_changed=len(last.diff.files) if last.diff else None,
        lines_changed=last.diff.added + last.diff.deleted if last.diff else None,
        base_commit=last.base_commit, workspace_digest=last.workspace_digest, sandbox=trial.sandbox,
    )  # fmt: skip


def _outcome(trial: Trial, judgment: Judgment | None) -> tuple[Outcome, str]:
    if trial.outcome.measures_agent and judgment and judgment.error:
        return Outcome.JUDGE_ERROR, judgment.error
    return trial.outcome, trial.last.reason
