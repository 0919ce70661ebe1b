"""Step `collect`: make rows from the records of a run's cells, and report the cells whose files were changed."""

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.config.keys import canary_key, judging_digest, judgment_key, panel_digest, repeat_key
from scylla_gha.config.library import Library
from scylla_gha.config.materials import read_prompt_texts
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.errors import ConfigError
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.judge.panel import has_known_answers
from scylla_gha.judge.score import score_by_judge
from scylla_gha.model.judgment import Judge, JudgeControl, Judgment
from scylla_gha.model.plan import Arm, Cell, CollectReport, Plan
from scylla_gha.model.result import Result
from scylla_gha.model.safety_net import SafetyNetSummary
from scylla_gha.model.trial import NO_USAGE, Attempt, Outcome, Trial, Usage
from scylla_gha.store import digest_mismatch, read_record, write_lines, write_record
from scylla_gha.store.run_folder import JUDGE_TRAFFIC, CellFolder, RunFolder, find_judgment, traffic_of

_SOURCES: Final = ("traffic.jsonl", "diff.patch", "github.json")  # files of an attempt that a row depends on
# Columns of a row that are fields of an attempt, with the same name.
_SAME_NAMES: Final = (
    "started_at",
    "seconds",
    "first_byte_seconds",
    "tool_seconds",
    "characters",
    "requests",
    "repeated_requests",
    "turns",
    "failed_tool_calls",
    "base_commit",
    "workspace_digest",
    "agent_files",
)


def collect(plan: Plan, folder: RunFolder, library: Library) -> None:
    """Write `results.jsonl`, one row for every planned cell with a trial under its key, and `controls.jsonl`.

    Raises:
        ConfigError: a stored record is invalid, or the rows are imported.
    """
    if plan.imported:
        raise ConfigError(
            f"{folder.root}: its rows are imported, so there is nothing to collect; run `scylla-gha "
            "import` again to read the file again"
        )
    broken: dict[str, str] = {}
    # Rows are made during writing, since the records of a large run do not fit into memory
    write_lines(folder.results, rows(plan, folder, library, broken))
    folder.refused.unlink(missing_ok=True)
    if broken:
        write_record(folder.refused, CollectReport(artifacts=0, rows=len(plan.cells) - len(broken), missing=broken))
    controls = list(_control_rows(plan, folder, library))
    if controls or folder.controls.exists():
        write_lines(folder.controls, controls)


def rows(plan: Plan, folder: RunFolder, library: Library, broken: dict[str, str] | None = None) -> Iterator[Result]:
    """Yield one row for every planned cell with a trial under its key, from the stored records.

    Args:
        plan: plan of the experiment.
        folder: its run folder.
        library: library of the scenarios.
        broken: collects the cells whose files differ from their records, with the reason.

    Raises:
        ConfigError: a stored record is invalid.
    """
    experiment = plan.experiment
    panel = panel_digest(experiment.judges, library.roots, experiment.model_settings.judge)
    for cell in plan.cells:
        cell_folder = folder.cell(cell.id)
        trial = read_record(cell_folder.trial, Trial)
        if trial is not None and trial.key == cell.key and not trial.is_older_than(plan.not_before):
            if why := _changed_file(trial, cell_folder):
                if broken is not None:
                    broken[cell.id] = why
                continue
            scenario, image = library.scenario(cell.scenario), plan.check_images.get(cell.scenario)
            judged = find_judgment(cell_folder, judgment_key(trial, scenario.judging_digest, panel, image))
            judging = judging_digest(scenario.judging_digest, panel, image)
            # The traffic includes the cost of judgments that do not count.
            journals = (attempt.file(JUDGE_TRAFFIC) for attempt in cell_folder.attempts())
            usage = functools.reduce(Usage.plus, (summarise_traffic(path).usage for path in journals), NO_USAGE)
            yield _row(plan, cell, _CellRecords(trial, judged, scenario, judging), usage.usd)


def _changed_file(trial: Trial, cell_folder: CellFolder) -> str | None:
    """Return the reason why files of a row differ from their records, or None."""
    digests = [
        (cell_folder.attempt(attempt.number).file(name), attempt.files.get(name))
        for attempt in trial.attempts
        for name in _SOURCES
    ]
    judgment = read_record(cell_folder.judgment, Judgment)
    digests += [(cell_folder.root / name, digest) for name, digest in (judgment.files if judgment else {}).items()]
    why = next((why for path, digest in digests if (why := digest_mismatch(path, digest))), None)
    return f"{why}; restore it, or remove the cell's folder to run it again" if why else None


@dataclass(frozen=True, slots=True)
class _CellRecords:
    """The stored records of a cell."""

    trial: Trial
    judgment: Judgment | None
    folder: ScenarioFolder
    judging: str


def _row(plan: Plan, cell: Cell, records: _CellRecords, judge_usd: float | None) -> Result:
    trial, judgment, scenario = records.trial, records.judgment, records.folder.scenario
    arm, last = records.folder.arm(plan.arm(cell.arm)), trial.last
    outcome, reason = trial.outcome, last.reason
    if outcome.measures_agent and judgment and judgment.error and judgment.result is None:
        outcome, reason = Outcome.JUDGE_ERROR, judgment.error
    measures = outcome.measures_agent
    return Result(
        experiment=plan.experiment.id,
        cell=cell.id,
        key=cell.key,
        epoch=plan.epoch,
        scenario=cell.scenario,
        category=scenario.category,
        size=scenario.size,
        difficulty=scenario.difficulty,
        arm=cell.arm,
        agent=arm.agent,
        agent_version=last.agent_version or arm.version,
        model=arm.model,
        variant=arm.variant.id if arm.variant else None,
        mode=arm.mode.id if arm.mode else None,
        repetition=cell.repetition,
        outcome=outcome,
        reason=reason,
        measures_agent=measures,
        **_verdict(records, measures=measures),
        **_effort(trial),
        github_other_clients=_other_clients(arm, last),
        **trial.usage.model_dump(),
        judge_usd=judge_usd,
        judge_unadjusted=" ".join(judgment.unadjusted) if judgment else "",
        subscription=any(attempt.subscription for attempt in trial.attempts)
        or bool(judgment and judgment.subscription),
        replayed=plan.replayed,
        human_usd=scenario.human_baseline_usd,
        sandbox=trial.sandbox,
        github=plan.experiment.github if scenario.github else None,
        **(trial.isolation.model_dump() if trial.isolation else {}),
    )


def _verdict(records: _CellRecords, *, measures: bool) -> dict[str, Any]:
    """Return the columns of the judgment."""
    judgment, rubric = records.judgment, records.folder.rubric
    score = judgment.result if measures and judgment else None
    parts = judgment.categories if score and judgment else ()
    answers = judgment.answers if score and judgment and score.score is not None else ()
    items = judgment.items if judgment else ()
    unscored = [item for item in items if item.value is None]
    return {
        "judged": score is not None,
        "unjudged": judgment.unjudged if judgment and score is None else None,
        "judges_withheld": sum(answer.withheld for answer in answers),
        "judging": records.judging if score is not None else None,
        **{name: getattr(score, name, None) for name in ("passed", "score", "grade", "progress")},
        "threshold": rubric.pass_threshold,
        "points": sum(part.achieved for part in parts) if parts else None,
        "points_max": sum(part.maximum for part in parts) if parts else None,
        "judge_scores": {answer.judge: score_by_judge(rubric, items, answer) for answer in answers},
        "items_na": len(unscored),
        "items_unjudged": sum(item.by == "judge" for item in unscored),
        "checkpoints": len(judgment.checks) if score and judgment else None,
        "checkpoints_passed": sum(check.holds for check in judgment.checks) if score and judgment else None,
        "check_seconds": judgment.check_seconds if judgment else None,
        "guards": sum(point.guard for point in records.folder.scenario.checkpoints),
        "broken_guards": len(score.broken) if score else 0,
    }


def _safety_net(summary: SafetyNetSummary | None) -> dict[str, Any]:
    """Return the columns of the safety net; None: unknown, or there was none."""
    judged = summary if summary and summary.by != "none" else None
    counts = {f"{name}_calls": getattr(judged, name) if judged else None for name in ("unread", "unguarded", "unseen")}
    return {**counts, "blocked_calls": judged.blocked_calls if judged else None, "safety_net": summary and summary.by}


def _effort(trial: Trial) -> dict[str, Any]:
    """Return the columns of the agent's work and its cost."""
    last = trial.last
    excused = [attempt for attempt in trial.attempts if not attempt.outcome.measures_agent]  # may include the last
    return {
        **{name: getattr(last, name) for name in _SAME_NAMES},
        "attempts": len(trial.attempts),
        "excused_attempts": dict(Counter(attempt.outcome.value for attempt in excused)),
        "excuse": excused[-1].reason if excused else None,
        **_side(trial),
        "generation_seconds": last.generation_seconds if last.requests else None,
        "tool_calls": sum(last.tool_calls.values()),
        "tools": last.tool_calls,
        **_safety_net(last.safety_net),
        "unadjusted": " ".join(last.unadjusted),
        "network_refused": sum(last.network.refused.values()) if last.network else None,
        "delivered": last.delivery.proved if last.delivery else None,
        "delivery_unverified": "; ".join(last.delivery.unverified) or None if last.delivery else None,
        "treatment_tokens": _treatment_tokens(last),
        "short_skills": len(last.delivery.short_skills) if last.delivery else None,
        "deferred_tools": len(last.delivery.deferred_tools) if last.delivery else None,
        "loaded_tools": len(last.delivery.loaded_tools) if last.delivery else None,
        "files_changed": len(last.diff.files) if last.diff else None,
        "lines_changed": last.diff.added + last.diff.deleted if last.diff else None,
        **_github_counts(last),
        **_uses(last),
        "redactions": sum(attempt.redactions for attempt in trial.attempts),
    }


def _uses(attempt: Attempt) -> dict[str, Any]:
    """Return the columns about the use of declared resources; empty if it is unknown."""
    uses = attempt.uses
    if uses is None:
        return {}
    return {
        "uses": uses.counts,
        "first_use": uses.first_turn,
        "uses_by_prompt": uses.by_prompt,
        "skills_read": uses.read,
        "uses_refused": uses.refused,
    }


def _github_counts(attempt: Attempt) -> dict[str, Any]:
    """Return the columns of the attempt's use of GitHub."""
    names = ("requests", "writes", "gaps", "failed", "repeated")
    calls = attempt.github.calls if attempt.github else {}
    return {**{f"github_{name}": getattr(attempt.github, name, None) for name in names}, "github_calls": calls}


def _other_clients(arm: Arm, attempt: Attempt) -> dict[str, int]:
    """Return the requests of clients outside the arm's mode; empty if the mode allows all clients."""
    if arm.mode is None or arm.mode.clients is None or attempt.github is None:
        return {}
    own = {"git", *arm.mode.clients}
    return {name: count for name, count in attempt.github.clients.items() if name not in own}


def _treatment_tokens(attempt: Attempt) -> dict[str, int]:
    """Estimate the tokens of each part of the treatment from its characters, at the attempt's tokens per character."""
    usage, characters = attempt.usage, sum(attempt.characters.values())
    kinds = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    tokens = sum(kind for kind in kinds if kind is not None)
    if attempt.delivery is None or None in kinds or not characters:
        return {}
    return {part: round(size * tokens / characters) for part, size in attempt.delivery.characters.items()}


def _side(trial: Trial) -> dict[str, Any]:
    """Return the columns of requests to models other than the arm's; attempts without requests do not count."""
    asked = [attempt for attempt in trial.attempts if attempt.requests or attempt.usage.usd != 0]
    columns = {name: [getattr(attempt, name) for attempt in asked] for name in ("side_requests", "side_usd")}
    return {name: None if None in values else sum(values) for name, values in columns.items()}


def _control_rows(plan: Plan, folder: RunFolder, library: Library) -> Iterator[JudgeControl]:
    """Yield all judge controls with their cost from the traffic; `stands` marks the controls that the report uses."""
    for path in folder.probes():
        control = read_record(path, JudgeControl)
        if control is not None:
            stands = control.judge in plan.experiment.judges and control.key == _current_key(
                control, plan, folder, library
            )
            yield control.model_copy(update={"usage": summarise_traffic(traffic_of(path)).usage, "stands": stands})


def _current_key(control: JudgeControl, plan: Plan, folder: RunFolder, library: Library) -> str | None:
    """Return the current key of a control, or None if it is no longer planned."""
    judge, prompts = Judge(control.judge), read_prompt_texts(library.roots)
    planned = [cell for cell in plan.cells if control.subject in {cell.id, cell.scenario}]
    if not planned:
        return None
    scenario = library.scenario(control.scenario)
    if control.cell is None:
        return canary_key(judge, prompts, scenario) if has_known_answers(scenario) else None
    trial = read_record(folder.cell(control.cell).trial, Trial)
    if trial is None or trial.key != planned[0].key:
        return None
    return repeat_key(judge, prompts, scenario, trial, control.times)
