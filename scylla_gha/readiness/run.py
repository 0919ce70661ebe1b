"""Measurement of a suite: its sessions and the closed-book control by the code of `evaluate`, and their report."""

import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import scylla_gha
from scylla_gha.config.library import Library
from scylla_gha.errors import ToolError
from scylla_gha.evaluate.context import RunContext, RunSettings
from scylla_gha.evaluate.model_access import RecordingOptions, open_services
from scylla_gha.evaluate.report_run import finish_run
from scylla_gha.evaluate.run_experiment import run_all_cells
from scylla_gha.gateway.log import summarise_traffic
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.model.readiness import (
    DIMENSIONS,
    REPORT_FILE,
    Dimension,
    GuessLevel,
    ItemPart,
    ItemSet,
    MadeSuite,
    ReadinessReport,
    ReadinessScore,
    SuiteFacts,
    TwinEffect,
    scenario_id,
)
from scylla_gha.model.report import Report as RunReport
from scylla_gha.model.trial import Trial
from scylla_gha.readiness.closed_book import ask_closed_book, closed_book_levels, stored_answers
from scylla_gha.readiness.compare_scores import compare_scores
from scylla_gha.readiness.evidence import with_evidence
from scylla_gha.readiness.graders.answers import grade
from scylla_gha.readiness.guessers import guess_levels
from scylla_gha.readiness.observed import failure_line, observed_trials
from scylla_gha.readiness.score import score
from scylla_gha.readiness.suite import items_file
from scylla_gha.store import read_record, write_record
from scylla_gha.store.run_folder import RunFolder

CONTROL: str = "closed-book"
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Measurement:
    """A written suite and the folder of its run.

    Attributes:
        suite: folder of the suite.
        written: record of what it was made of.
        closed_book: the control is asked too.
    """

    suite: Path
    written: MadeSuite
    folder: RunFolder
    repository: str
    closed_book: bool = True

    @property
    def library(self) -> Library:
        """The suite's configuration, with the toolkit's behind it."""
        return Library.here(self.suite)

    def items(self, side: str) -> ItemSet:
        """Read the items of a side.

        Raises:
            ToolError: they are missing.
        """
        items = read_record(items_file(self.suite, side), ItemSet)
        if items is None:
            raise ToolError(f"{items_file(self.suite, side)}: is missing; remove {self.suite} to make the suite anew")
        return items


class TaskProgress:
    """Lines of progress by task, as the sessions of its anchors end."""

    def __init__(self, measurement: Measurement) -> None:
        self._tasks = {
            scenario_id(item.id, facts.side): item.dimension
            for facts in measurement.written.sides
            for item in measurement.items(facts.side).items
        }
        self._names = [name for name in DIMENSIONS if name in self._tasks.values()]
        self._done: dict[Dimension, int] = dict.fromkeys(self._names, 0)
        self._named: set[Dimension] = set()

    def begin(self) -> str:
        """Return the line that names the first task."""
        return self._name(self._names[0])

    def advance(self, cell: Cell, trial: Trial, judgment: Judgment | None) -> Iterator[str]:  # noqa: ARG002 the form that `evaluate` calls
        """Count an ended session; yield its task's name when that is a new one, and how it ended without an answer."""
        task = self._tasks[cell.scenario]
        self._done[task] += 1
        if task not in self._named:
            yield self._name(task)
        number = self._names.index(task) + 1
        if line := failure_line(number, trial):
            yield f"{line}: {cell.scenario}"
        if self._done[task] == self._total(task):
            yield f"C7 task {number}/{len(self._names)}: {DIMENSIONS[task]}: all {self._total(task)} done"

    def _name(self, task: Dimension) -> str:
        self._named.add(task)
        number = self._names.index(task) + 1
        return (f"Running C7 task {number}/{len(self._names)}: {DIMENSIONS[task]} "
                f"({self._done[task]} of {self._total(task)} anchors)...")  # fmt: skip

    def _total(self, task: Dimension) -> int:
        return sum(name == task for name in self._tasks.values())


def measure(
    measurement: Measurement, settings: RunSettings, recording: RecordingOptions, plan: Plan, report: Report
) -> tuple[RunContext, ReadinessReport, RunReport]:
    """Run and judge all sessions, ask the control, and write `readiness.json`, even if the run is interrupted."""
    progress = TaskProgress(measurement)
    try:
        with open_services(settings, recording) as context:
            report(progress.begin())
            run_all_cells(context, progress.advance)
            if measurement.closed_book and context.services.gateway is not None and context.state.halted is None:
                _ask_control(measurement, context, report)
    finally:
        result = scored_report(measurement, plan)
        write_record(measurement.folder.root / REPORT_FILE, result)
        whole = finish_run(plan, measurement.folder, measurement.library)  # its page begins with that record
    return context, result, whole


def _control_folder(folder: RunFolder) -> Path:
    """Return the folder of the control; its request log counts as that of an attempt."""
    return folder.root / CONTROL / "attempt-1"


def _ask_control(measurement: Measurement, context: RunContext, report: Report) -> None:
    model = next((arm.model for arm in context.settings.plan.arms if arm.model), None)
    if model is None or context.services.gateway is None:
        return
    for facts in measurement.written.sides:
        asked = ask_closed_book(measurement.items(facts.side), context.services.gateway, model,
                                _control_folder(measurement.folder))  # fmt: skip
        for fault in asked.faults[:1]:
            report(f"note: the closed-book control lacks {len(asked.faults)} of its answers: {fault}")


def scored_report(measurement: Measurement, plan: Plan) -> ReadinessReport:
    """Return the report of what is stored of a planned run."""
    arm = plan.arms[0]
    sides = {facts.side: _scored(measurement, plan, facts) for facts in measurement.written.sides}
    base = sides[""]
    twins = tuple(_twin_effect(facts, base, sides[facts.side])
                  for facts in measurement.written.sides if facts.side not in {"", "head"})  # fmt: skip
    head = sides.get("head")
    return _report_of(measurement, plan.experiment.agents[0]).model_copy(update={
        "agent_version": arm.version,
        "model": arm.model,
        "budget_usd": plan.experiment.budget_usd,
        "usd": _usd(measurement.folder),
        "score": base,
        "head": head,
        "comparison": compare_scores(base, head) if head else None,
        "twins": (*twins, *measurement.written.unusable),
    })  # fmt: skip


def unavailable_report(measurement: Measurement, agent: str, model: str | None, reason: str) -> ReadinessReport:
    """Return the report of the static part: what could be asked, and why nobody was."""
    return _report_of(measurement, agent).model_copy(update={"unavailable": reason, "model": model})


def _report_of(measurement: Measurement, agent: str) -> ReadinessReport:
    return ReadinessReport(
        repository=measurement.repository,
        at=datetime.datetime.now(datetime.UTC).replace(microsecond=0),
        toolkit_version=scylla_gha.__version__,
        agent=agent,
        sessions=sum(count for facts in measurement.written.sides for count in facts.planned.values()),
        facts=measurement.written.sides,
    )


def _scored(measurement: Measurement, plan: Plan, facts: SuiteFacts) -> ReadinessScore:
    items = measurement.items(facts.side)
    trials = observed_trials(measurement.folder, plan.cells, items.items, facts.side)
    result = score(items, trials, _levels(measurement, plan, items))
    arm = plan.arms[0]
    subject = " in ".join(filter(None, (arm.model, f"{arm.agent} {arm.version or ''}".strip())))
    return with_evidence(result.model_copy(update={"subject": subject}), items, trials)


def _levels(measurement: Measurement, plan: Plan, items: ItemSet) -> Sequence[GuessLevel]:
    """Return the guessing levels: of simulated guessers, and of the control as far as it was asked."""
    levels, model = guess_levels(items, graded), plan.arms[0].model
    if not measurement.closed_book or model is None:
        return levels
    answers = stored_answers(items, model, _control_folder(measurement.folder))
    control = closed_book_levels(items.items, answers, graded)
    return [
        level.model_copy(update=dict(zip(("closed_book", "asked"), control[level.form], strict=True)))
        if level.form in control else level
        for level in levels
    ]  # fmt: skip


def graded(part: ItemPart, answer: object) -> float:
    """Return the share of a part's points that an answer earns."""
    return float(grade(part.id, part.key, answer))


def _twin_effect(facts: SuiteFacts, base: ReadinessScore, twin: ReadinessScore) -> TwinEffect:
    what, change = facts.notes[0] if facts.notes else facts.side, compare_scores(base, twin, facts.renamed)
    if not change.anchors:
        return TwinEffect(name=facts.side, what=what, missing="n/a: the changed copy has none of the measured anchors")
    return TwinEffect(name=facts.side, what=what, comparison=change)


def _usd(folder: RunFolder) -> float | None:
    """Return the cost of all requests of the run; None if one of them has no known cost."""
    amounts = [summarise_traffic(path).usage.usd for path in folder.journals("traffic.jsonl")]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None
