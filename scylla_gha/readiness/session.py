"""Steps of the command `readiness`: make the suite, estimate, ask for consent, run, and write the report."""

import datetime
import json
import shutil
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from scylla_gha.agents import AGENTS, find_agent
from scylla_gha.config.library import Library
from scylla_gha.counting import counted
from scylla_gha.errors import RefusedError, ScyllaError, ToolError
from scylla_gha.evaluate.context import RunOptions
from scylla_gha.evaluate.model_access import RecordingOptions
from scylla_gha.evaluate.report_run import render_report
from scylla_gha.evaluate.run_experiment import approve_run, open_run, require_complete_report, store_plan
from scylla_gha.images import SandboxPool, select_sandbox
from scylla_gha.model import one_line
from scylla_gha.model.experiment import SandboxWish, agent_name
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Plan
from scylla_gha.model.readiness import REPORT_FILE, Dimension, MadeSuite, ReadinessReport
from scylla_gha.model.report import Report as RunReport
from scylla_gha.model.trial import Outcome, Trajectory, Trial
from scylla_gha.plan import PlanRequest
from scylla_gha.plan.checks import require_known_models
from scylla_gha.plan.estimate import prior_tokens
from scylla_gha.plan.selection import CellSelection
from scylla_gha.providers import missing_key, missing_key_text, provider_environment, provider_name
from scylla_gha.readiness.make_suite import SuiteWish, make_suite
from scylla_gha.readiness.material import repository_of
from scylla_gha.readiness.run import Measurement, measure, unavailable_report
from scylla_gha.readiness.side_budget import SideBudget
from scylla_gha.readiness.suite import SUITE, SuiteSettings, suite_experiment, write_experiment
from scylla_gha.report.branch_readme import badge_svg, readiness_badge
from scylla_gha.report.page.readiness_answer import unavailable_page
from scylla_gha.report.readiness_text import readiness_markdown
from scylla_gha.store import read_record, write_record, write_text
from scylla_gha.store.run_folder import RunFolder

_NOTHING: Final = RecordingOptions()
_SHOWN: Final = 160
Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ReadinessRequest:
    """Options of the command."""

    folder: Path
    has_twins: bool
    budget: float | None
    dimensions: tuple[Dimension, ...]
    anchors: int
    head: str | None
    setup: str | None
    tests: tuple[str, ...]
    model: str
    agent: str
    sandbox: SandboxWish
    seed: int
    closed_book: bool
    yes: bool
    allow_exposed_keys: bool
    jobs: int
    runs: Path

    @property
    def run(self) -> RunFolder:
        """The folder of the run."""
        return RunFolder(self.runs.resolve() / (f"{SUITE}-why" if self.has_twins else SUITE))

    @property
    def uses_model(self) -> bool:
        """True if the agent asks a model."""
        name, _ = agent_name(self.agent)
        return name in AGENTS and AGENTS[name].uses_model


def measure_readiness(request: ReadinessRequest, report: Report) -> tuple[ReadinessReport, ScyllaError | None]:
    """Measure a repository; return the report, and the error with which the command is to end.

    Raises:
        FixtureError: the folder is no repository with code in a known language.
        RefusedError: nobody confirmed, or the estimate is above the budget.
    """
    measurement = _made(request, report)
    try:
        _require_key(request)
        how = RunOptions(request.jobs)
        planned = PlanRequest(SUITE, measurement.library, CellSelection(), request.run)
        settings = open_run(planned, _NOTHING, how)
    except ToolError as error:
        return _unavailable(request, measurement, error)
    if not settings.plan.cells:
        return _unavailable(request, measurement, ToolError("no dimension has enough anchors"))
    report(_sessions_line(settings.plan, measurement, request))
    if request.uses_model:
        budget = _budget(request, measurement.written)
        report(budget.line(settings.plan.estimate.usd))
        budget.require(settings.plan.estimate.usd)
    approve_run(settings, CellSelection(), _NOTHING, yes=request.yes, exposed=request.allow_exposed_keys)
    plan = store_plan(settings, planned)
    context, result, whole = measure(measurement, settings, _NOTHING, plan, report)
    write_files(result, request.run)
    try:
        require_complete_report(context, whole, CellSelection())
    except ScyllaError as error:
        return result, error
    return result, None


def _made(request: ReadinessRequest, report: Report) -> Measurement:
    """Make the suite in the run's folder."""
    checkout = repository_of(request.folder)
    _hide_runs(request.runs)
    installed = find_agent(request.agent, install=False)
    library = Library.here(checkout.root)
    if request.uses_model:
        require_known_models([request.model], library.models(), "--model")
    settings = SuiteSettings(request.agent, request.model, request.budget, request.sandbox, request.seed)
    chosen = select_sandbox(suite_experiment(settings), [installed.agent], library)
    settings = SuiteSettings(request.agent, request.model, request.budget, chosen, request.seed)
    wish = SuiteWish(
        checkout, request.dimensions, request.anchors, request.seed, request.setup, request.head, request.has_twins,
        request.tests,
    )  # fmt: skip
    folder = request.run.root / "suite"
    suite = make_suite(wish, settings, SandboxPool(chosen, library), folder, report)
    write_experiment(folder, replace(settings, budget_usd=_budget(request, suite).usd))
    return Measurement(folder, suite, request.run, checkout.root.name, request.closed_book)


def _budget(request: ReadinessRequest, suite: MadeSuite) -> SideBudget:
    return SideBudget(request.budget, [facts.side for facts in suite.sides], request.anchors)


def _require_key(request: ReadinessRequest) -> None:
    if not request.uses_model:
        return
    provider = provider_name(request.model, Library.here(request.folder).models())
    if variable := missing_key(provider, provider_environment()):
        raise ToolError(missing_key_text([request.agent], [request.model], provider, variable))


def _hide_runs(runs: Path) -> None:
    """Keep a new folder of runs out of the user's commits."""
    if not runs.exists():
        write_text(runs / ".gitignore", "*\n")


def _sessions_line(plan: Plan, measurement: Measurement, request: ReadinessRequest) -> str:
    """Return how many sessions there will be, and their tokens by the toolkit's prior."""
    sessions = len(plan.cells)
    text = f"C7 readiness: {counted(sessions, 'session')}"
    if not request.uses_model:
        return f"{text} without a model"
    tokens = sessions * prior_tokens("small")
    items = (item for facts in measurement.written.sides for item in measurement.items(facts.side).items)
    asked = sum(not item.has_shell for item in items) if request.closed_book else 0
    control = f", and {counted(asked, 'request')} of the closed-book control" if asked else ""
    return (f"{text} of {request.agent} with {request.model}{control}; about {tokens / 1e6:.1f} million tokens, "
            "most of them read from the cache")  # fmt: skip


def _unavailable(
    request: ReadinessRequest, measurement: Measurement, error: ToolError
) -> tuple[ReadinessReport, ScyllaError | None]:
    """Return the static part of the report, with the reason why no agent was asked."""
    model = request.model if request.uses_model else None
    result = unavailable_report(measurement, request.agent, model, str(error))
    write_record(request.run.root / REPORT_FILE, result)
    write_files(result, request.run)
    _write_page(result, request.run)
    return result, error


def write_files(report: ReadinessReport, folder: RunFolder) -> None:
    """Write the renderings of a report beside its run's page: Markdown, and badge."""
    shown = readiness_badge(report, datetime.datetime.now(datetime.UTC).date())
    write_text(folder.root / "readiness.md", readiness_markdown(report))
    write_text(folder.root / "readiness-badge.svg", badge_svg(shown))
    write_record(folder.root / "readiness-badge.json", shown)


def _write_page(report: ReadinessReport, folder: RunFolder) -> None:
    """Write the page of a measurement for which no agent was asked now; trials of an earlier one stay in it."""
    earlier = read_record(folder.report("json"), RunReport)
    if earlier is None:
        write_text(folder.report("html"), unavailable_page(report))
    else:
        render_report(earlier, folder)


def keep_suite(request: ReadinessRequest, report: Report) -> Iterator[Path]:
    """Copy the generated scenarios into the repository, and yield their folders; nothing is overwritten.

    Raises:
        RefusedError: the repository has a suite of that name.
        ToolError: there is no scenario to keep.
    """
    measurement = _made(request, report)
    if not any(facts.planned for facts in measurement.written.sides):
        raise ToolError("no dimension has enough anchors, so there is no scenario to keep")
    root = repository_of(request.folder).root
    parts = [
        Path("scenarios") / SUITE,
        Path("config/experiments") / f"{SUITE}.yaml",
        *(path.relative_to(measurement.suite) for path in sorted((measurement.suite / "fixtures").glob("*.bundle"))),
    ]
    existing = [part for part in parts if (root / part).exists()]
    if existing:
        raise RefusedError(f"{root / existing[0]}: exists already; remove or rename it, then keep the suite")
    for part in parts:
        source, target = measurement.suite / part, root / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.is_file():
            shutil.copyfile(source, target)
    report(f"now run in {root}: scylla-gha validate scenarios/{SUITE} --execute")
    yield from sorted((root / "scenarios" / SUITE).iterdir())


def trace_lines(request: ReadinessRequest) -> Iterator[str]:
    """Yield how each session ended, what its parts are worth, and its tool calls, as --verbose prints them."""
    plan = read_record(request.run.plan, Plan)
    for cell in plan.cells if plan else ():
        folder = request.run.cell(cell.id)
        trial = read_record(folder.trial, Trial)
        if trial is None or trial.key != cell.key:
            yield f"{cell.scenario}: did not run"
            continue
        yield f"{cell.scenario}: {one_line(_ending(trial, read_record(folder.judgment, Judgment)))}"
        trajectory = read_record(folder.attempt(trial.last.number).file("trajectory.json"), Trajectory)
        for call in (call for step in (trajectory.steps if trajectory else ()) for call in step.tool_calls):
            state = " (failed)" if call.failed else ""
            arguments = textwrap.shorten(one_line(json.dumps(call.arguments)), _SHOWN, placeholder=" ...")
            yield f"  {one_line(call.name)} {arguments}{state}"


def _ending(trial: Trial, judgment: Judgment | None) -> str:
    """Return how a session ended, its time, and the worth of each part that was graded."""
    reason = f" ({trial.last.reason})" if trial.outcome is not Outcome.COMPLETED else ""
    checks = judgment.checks if judgment is not None and judgment.trial_key == trial.key else ()
    parts = ", ".join(f"{check.id} {check.value:.2f}" for check in checks)
    return "; ".join(filter(None, (f"{trial.outcome.value}{reason}", f"{trial.last.seconds:.0f} s", parts)))
