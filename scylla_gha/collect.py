"""collect: the records of a run's cells become rows, and what is missing is named."""

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scylla_gha.config.library import Library, ScenarioFolder
from scylla_gha.errors import ConfigError
from scylla_gha.gateway.journal import account
from scylla_gha.intake.artifacts import Door, Limits
from scylla_gha.intake.gather import absent, gather, room
from scylla_gha.judges.blind import read_wording
from scylla_gha.judges.court import court_digest
from scylla_gha.judges.panel import Judge
from scylla_gha.judges.probes import again_key, has_known_answers, known_key
from scylla_gha.judges.score import score_alone
from scylla_gha.model.intake import Intake
from scylla_gha.model.judgment import Judgment, judging_digest, judgment_key
from scylla_gha.model.plan import Cell, Plan, Unstarted
from scylla_gha.model.probe import Probe
from scylla_gha.model.result import Result
from scylla_gha.model.trial import NO_USAGE, Outcome, Trial, Usage
from scylla_gha.seals import breach
from scylla_gha.shelves import Shelves, stored_packing
from scylla_gha.store import (
    JUDGE_TRAFFIC,
    CellFolder,
    RunFolder,
    atomic,
    find_judgment,
    read_lines,
    read_record,
    traffic_of,
    write_lines,
    write_record,
)

_SEALED: Final = ("traffic.jsonl", "diff.patch")  # what a row says was read from them
_MOST_ATTEMPTS: Final = 10
# Columns of a row that an attempt has under the same name.
_AS_IT_IS: Final = (
    "started_at", "seconds", "first_byte_seconds", "tool_seconds", "characters", "requests", "repeated_requests",
    "turns", "failed_tool_calls", "base_commit", "workspace_digest",
)  # fmt: skip


def collect(plan: Plan, folder: RunFolder, library: Library) -> None:
    """Write `results.jsonl`: one row for every planned cell with a trial under the planned key; and `controls.jsonl`.

    Raises:
        ConfigError: a stored record is not what it must be, or the rows are imported.
    """
    if plan.imported:
        raise ConfigError(f"{folder.root}: its rows are imported, and there is nothing to collect; run `scylla-gha "
                          "import` again to read them anew")  # fmt: skip
    experiment = plan.experiment
    court = court_digest(experiment.judges, library.roots, experiment.model_settings.judge)
    broken: dict[str, str] = {}
    write_lines(folder.results, _rows(plan, folder, library, court, broken))
    folder.refused.unlink(missing_ok=True)
    if broken:
        write_record(folder.refused, Intake(artifacts=0, rows=len(plan.cells) - len(broken), missing=broken))
    probes = list(_probes(plan, folder, library))
    if probes or folder.controls.exists():
        write_lines(folder.controls, probes)


def rows(plan: Plan, folder: RunFolder, library: Library) -> Iterator[Result]:
    """One row for every planned cell with a trial under the planned key, by what is stored of it now.

    Raises:
        ConfigError: a stored record is not what it must be.
    """
    experiment = plan.experiment
    court = court_digest(experiment.judges, library.roots, experiment.model_settings.judge)
    return _rows(plan, folder, library, court, {})


def collect_from(
    plan: Plan, folder: RunFolder, source: Path, attempt: int | None = None, *, prefix: str = "", since: int = 1
) -> Intake:
    """Write `results.jsonl` of rows that other machines sent, `unstarted.json`, and `refused.json`.

    Args:
        plan: of the experiment.
        folder: of its run, with `shards.json`, and `reused.jsonl` where rows were taken over.
        source: a folder for each artifact, or the files of the only one; nothing is believed before it is checked.
        attempt: at this run; None: of any.
        prefix: before the names of artifacts.
        since: attempt at which the wave was planned; artifacts of earlier ones are passed over.

    Raises:
        ConfigError: there is no `shards.json`, it is of another plan, or a reused row is none.
    """
    packing = stored_packing(folder)
    limits = Limits()
    door = Door(plan, packing, attempt, limits, prefix, since)
    found = gather(source, door, room(packing, attempt or _MOST_ATTEMPTS, limits))
    reused = {row.cell: row for row in _reused(plan, folder) if row.cell not in found.rows}
    missing = dict(absent(packing, found, frozenset(reused)))
    with atomic(folder.results) as temporary, temporary.open("wb") as file:
        for cell in plan.cells:
            if cell.id in found.rows:
                file.write(found.rows[cell.id].text)
            elif cell.id in reused:
                file.write(reused[cell.id].model_dump_json().encode() + b"\n")
    waiting = dict.fromkeys(packing.left, f"left for the next wave of {packing.campaign}")
    _note({**waiting, **found.unstarted}, folder)
    made = Intake(artifacts=found.artifacts, rows=len(found.rows), reused=len(reused), missing=missing,
                  refused=tuple(found.refused), superseded=found.superseded)  # fmt: skip
    write_record(folder.refused, made)
    return made


def _note(unstarted: dict[str, str], folder: RunFolder) -> None:
    if unstarted:
        write_record(folder.unstarted, Unstarted(cells=unstarted))
    else:
        folder.unstarted.unlink(missing_ok=True)


def _reused(plan: Plan, folder: RunFolder) -> Iterator[Result]:
    """The rows that were taken over for planned cells."""
    place = Shelves(folder.root).reused
    if place.exists():
        keys = {cell.id: cell.key for cell in plan.cells}
        yield from (row for row in read_lines(place, Result) if keys.get(row.cell) == row.key)


def _rows(plan: Plan, folder: RunFolder, library: Library, court: str, broken: dict[str, str]) -> Iterator[Result]:
    """The rows; cells whose files are not what their records say have none, and go to `broken`, with the reason."""
    for cell in plan.cells:
        place = folder.cell(cell.id)
        trial = read_record(place.trial, Trial)
        if trial is not None and trial.key == cell.key and not trial.is_older_than(plan.not_before):
            if why := _breach(trial, place):
                broken[cell.id] = why
                continue
            scenario = library.scenario(cell.scenario)
            judged = find_judgment(place, _key(plan, cell, trial, scenario, court))
            judging = judging_digest(scenario.judging_digest, court, plan.check_images.get(cell.scenario))
            yield _row(plan, cell, _Worked(trial, judged, scenario, judging), _judging_usd(place))


def _breach(trial: Trial, place: CellFolder) -> str | None:
    """Why what a row is made of is not what was stored; None: it is."""
    found = [(place.attempt(one.number).file(name), one.files.get(name)) for one in trial.attempts for name in _SEALED]
    judgment = read_record(place.judgment, Judgment)
    found += [(place.root / name, seal) for name, seal in (judgment.files if judgment else {}).items()]
    why = next((why for path, seal in found if (why := breach(path, seal))), None)
    return f"{why}; restore it, or remove the cell's folder to run it again" if why else None


def _key(plan: Plan, cell: Cell, trial: Trial, scenario: ScenarioFolder, court: str) -> str:
    return judgment_key(trial, scenario.judging_digest, court, plan.check_images.get(cell.scenario))


def _judging_usd(place: CellFolder) -> float | None:
    """What all judging of the cell ever cost, by the traffic: also judgments that count no longer, or never did."""
    journals = (attempt.file(JUDGE_TRAFFIC) for attempt in place.attempts())
    return functools.reduce(Usage.plus, (account(path).usage for path in journals), NO_USAGE).usd


@dataclass(frozen=True, slots=True)
class _Worked:
    """What there is of a cell."""

    trial: Trial
    judgment: Judgment | None
    folder: ScenarioFolder
    judging: str


def _row(plan: Plan, cell: Cell, worked: _Worked, judge_usd: float | None) -> Result:
    trial, judgment, scenario = worked.trial, worked.judgment, worked.folder.scenario
    arm, last = plan.arm(cell.arm), trial.last
    outcome, reason = _outcome(trial, judgment)
    measures = outcome.measures_agent
    return Result(
        experiment=plan.experiment.id, cell=cell.id, key=cell.key, epoch=plan.epoch,
        scenario=cell.scenario, category=scenario.category, size=scenario.size, difficulty=scenario.difficulty,
        arm=cell.arm, agent=arm.agent, agent_version=last.agent_version or arm.version, model=arm.model,
        variant=arm.variant.id if arm.variant else None, repetition=cell.repetition,
        outcome=outcome, reason=reason, measures_agent=measures,
        **_verdict(worked, measures=measures), **_effort(trial), **trial.usage.model_dump(), judge_usd=judge_usd,
        judge_unadjusted=" ".join(judgment.unadjusted) if judgment else "",
        subscription=any(attempt.subscription for attempt in trial.attempts)
        or bool(judgment and judgment.subscription),
        replayed=plan.replayed, human_usd=scenario.human_baseline_usd, sandbox=trial.sandbox,
        **(trial.isolation.model_dump() if trial.isolation else {}),
    )  # fmt: skip


def _verdict(worked: _Worked, *, measures: bool) -> dict[str, Any]:
    """The columns of what the trial was found to be worth."""
    judgment, rubric = worked.judgment, worked.folder.rubric
    score = judgment.result if measures and judgment else None
    parts = judgment.categories if score and judgment else ()
    answers = judgment.answers if score and judgment and score.score is not None else ()
    items = judgment.items if judgment else ()
    unscored = [item for item in items if item.value is None]
    return {
        "judged": score is not None,
        "unjudged": judgment.unjudged if judgment and score is None else None,
        "judging": worked.judging if score is not None else None,
        **{name: getattr(score, name, None) for name in ("passed", "score", "grade", "progress")},
        "threshold": rubric.pass_threshold,
        "points": sum(part.achieved for part in parts) if parts else None,
        "points_max": sum(part.maximum for part in parts) if parts else None,
        "judge_scores": {answer.judge: score_alone(rubric, items, answer) for answer in answers},
        "items_na": len(unscored), "items_unjudged": sum(item.by == "judge" for item in unscored),
        "guards": sum(point.guard for point in worked.folder.scenario.checkpoints),
        "broken_guards": len(score.broken) if score else 0,
    }  # fmt: skip


def _effort(trial: Trial) -> dict[str, Any]:
    """The columns of what the agent did, and what it took."""
    last = trial.last
    return {
        **{name: getattr(last, name) for name in _AS_IT_IS},
        "attempts": len(trial.attempts), **_excuses(trial), **_side(trial),
        "generation_seconds": last.generation_seconds if last.requests else None,
        "tool_calls": sum(last.tool_calls.values()), "tools": last.tool_calls,
        "blocked_calls": len(last.safety_net.blocked) if last.safety_net else None,
        "unread_calls": last.safety_net.unread if last.safety_net else None,
        "unguarded_calls": last.safety_net.unguarded if last.safety_net else None,
        "unadjusted": " ".join(last.unadjusted),
        "network_refused": sum(last.network.refused.values()) if last.network else None,
        "delivered": last.delivery.proved if last.delivery else None,
        "delivery_unverified": "; ".join(last.delivery.unverified) or None if last.delivery else None,
        "files_changed": len(last.diff.files) if last.diff else None,
        "lines_changed": last.diff.added + last.diff.deleted if last.diff else None,
        "redactions": sum(attempt.redactions for attempt in trial.attempts),
    }  # fmt: skip


def _side(trial: Trial) -> dict[str, Any]:
    """The columns of requests to other models than the arm's; an attempt that reached no model had none."""
    asked = [attempt for attempt in trial.attempts if attempt.requests or attempt.usage.usd != 0]
    return {name: _sum([getattr(attempt, name) for attempt in asked]) for name in ("side_requests", "side_usd")}


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _excuses(trial: Trial) -> dict[str, Any]:
    """The columns of attempts that do not count, the last one included."""
    excused = [attempt for attempt in trial.attempts if not attempt.outcome.measures_agent]
    return {
        "excused_attempts": dict(Counter(attempt.outcome.value for attempt in excused)),
        "excuse": excused[-1].reason if excused else None,
    }


def _outcome(trial: Trial, judgment: Judgment | None) -> tuple[Outcome, str]:
    if trial.outcome.measures_agent and judgment and judgment.error and judgment.result is None:
        return Outcome.JUDGE_ERROR, judgment.error
    return trial.outcome, trial.last.reason


def _probes(plan: Plan, folder: RunFolder, library: Library) -> Iterator[Probe]:
    """All controls, with what they cost by their traffic, whether or not the report is by what they controlled."""
    for path in folder.probes():
        probe = read_record(path, Probe)
        if probe is not None:
            stands = probe.judge in plan.experiment.judges and probe.key == _key_today(probe, plan, folder, library)
            yield probe.model_copy(update={"usage": account(traffic_of(path)).usage, "stands": stands})


def _key_today(probe: Probe, plan: Plan, folder: RunFolder, library: Library) -> str | None:
    """The key that the same control has by the judges' words, the rubric and the trials of today."""
    judge, wording = Judge(probe.judge), read_wording(library.roots)
    planned = [cell for cell in plan.cells if probe.subject in {cell.id, cell.scenario}]
    if not planned:
        return None
    scenario = library.scenario(probe.scenario)
    if probe.cell is None:
        return known_key(judge, wording, scenario) if has_known_answers(scenario) else None
    trial = read_record(folder.cell(probe.cell).trial, Trial)
    if trial is None or trial.key != planned[0].key:
        return None
    return again_key(judge, wording, scenario, trial, probe.times)
