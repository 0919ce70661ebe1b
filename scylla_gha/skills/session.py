"""Steps of the command `skill`: check, write suites, print what will be run and its cost, run, and report.

Each part of the measurement is an experiment of its own, in a folder of its own below the output folder. It is run by
the code of `evaluate`, so that trials and judgments are reused by their keys, and budgets and resuming are the same.
"""

import math
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from scylla_gha.agents import find_agents
from scylla_gha.config.library import Library
from scylla_gha.counting import counted, dollars
from scylla_gha.errors import BudgetError, RefusedError, ScyllaError
from scylla_gha.evaluate.context import RunOptions, RunSettings
from scylla_gha.evaluate.model_access import (
    RecordingOptions,
    confirm_amount,
    due_work,
    require_safe_sandbox,
    spent_usd,
)
from scylla_gha.evaluate.report_run import render_report
from scylla_gha.evaluate.run_experiment import evaluate_cells, open_run, require_complete_report, store_plan
from scylla_gha.images import most_isolated
from scylla_gha.model.experiment import SandboxWish, agent_name
from scylla_gha.model.plan import CostRange, Plan
from scylla_gha.plan import PlanRequest, make_plan, minutes_text, past_costs, usd_text, wall_minutes
from scylla_gha.plan.checks import require_known_models
from scylla_gha.plan.estimate import estimate_cells
from scylla_gha.plan.selection import CellSelection
from scylla_gha.providers import missing_key, provider_environment, provider_name
from scylla_gha.report.document import Section
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.skills.find import RUNS_MARK
from scylla_gha.skills.report import SkillsCheck
from scylla_gha.store import write_text
from scylla_gha.store.run_folder import RunFolder, lock_run

NO_KEY: Final = "no key: triggers and evals were not run"
_LEAST_USD: Final = 1e-6
_NOTHING: Final = RecordingOptions()
Kind = Literal["triggers", "evals"]
KINDS: Final[tuple[Kind, ...]] = ("triggers", "evals")  # the cheapest first
Print = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SkillRequest:
    """Options of the command.

    Attributes:
        root: folder that was checked.
        out: folder of all runs.
        library: configuration of the current project and of the toolkit.
        kinds: parts to run.
        judges: models of the panel.
        base: branch, tag or hash of the last version; empty: the merge base in a pull request, else none.
        against: what the skill is compared with: `none`, `base`, or both.
        distractors: `repo`: all other skills in the folder are installed too; `none`: no other; else their folder.
        evals: ids of the evals to run; empty: all.
        trigger_repetitions: of each query.
        trigger_turns: answers of the model after which a query counts as not triggered.
        queries: parts of the texts of the queries to run; empty: all.
        strict: a skill whose SKILL.md was read without the Skill tool does not count as triggered.
    """

    root: Path
    out: Path
    library: Library
    kinds: tuple[Kind, ...]
    model: str
    agent: str
    judges: tuple[str, ...]
    repetitions: int
    base: str
    against: tuple[str, ...]
    distractors: str
    evals: tuple[str, ...]
    trigger_repetitions: int
    trigger_turns: int
    queries: tuple[str, ...]
    strict: bool
    budget_usd: float
    sandbox: SandboxWish
    jobs: int
    yes: bool
    allow_exposed_keys: bool

    def run(self, experiment: str) -> RunFolder:
        """Return the folder of an experiment's run."""
        return RunFolder(self.out.resolve() / experiment)

    def make_out(self) -> None:
        """Make the folder of all runs, whose files stay out of the user's commits."""
        if not self.out.exists():
            write_text(self.out / ".gitignore", RUNS_MARK)

    def clean_suite(self, experiment: str) -> Path:
        """Return the empty folder of an experiment's configuration, which no other command uses until this one ends."""
        folder = self.run(experiment).root / "suite"
        lock_run(folder)
        for path in folder.iterdir():
            shutil.rmtree(path)
        return folder


@dataclass(frozen=True, slots=True)
class PartReport:
    """Answer of one part.

    Attributes:
        sentences: for the end of the command's output.
        sections: with the details.
        data: the same, for JSON.
        is_worse: the skill does worse than its last version or than no skill.
    """

    sentences: tuple[str, ...]
    sections: tuple[Section, ...] = ()
    data: dict[str, Any] = field(default_factory=dict)
    is_worse: bool = False


@dataclass(frozen=True, slots=True)
class SkillPart:
    """A part of the measurement of one or several skills: an experiment in a suite that is written already.

    Attributes:
        kind: triggers or evals.
        skill: name of the skill, or of the folder with several.
        experiment: id of the experiment, and name of its run's folder.
        suite: folder of its configuration.
        report: makes the answer of the run's folder, when all or some cells are done.
        runs_code: commands of the evals are run.
        cheaper: variants to run if all of them do not fit into the budget; empty: all or nothing.
        first_alone: its first trial runs alone, so that the provider's cache serves the others.
        only: globs of the cells to run, of a suite that always has all evals or queries; empty: all. The report keeps
            the stored cells beside them.
    """

    kind: Kind
    skill: str
    experiment: str
    suite: Path
    report: Callable[[Plan, RunFolder], PartReport]
    runs_code: bool = False
    cheaper: tuple[str, ...] = ()
    first_alone: bool = False
    only: tuple[str, ...] = ()

    def library(self, request: SkillRequest) -> Library:
        """Return its configuration, with that of the project and of the toolkit behind it."""
        return Library((self.suite.resolve(), *request.library.roots))

    def planned(
        self, request: SkillRequest, budget_usd: float | None = None, variants: tuple[str, ...] = ()
    ) -> PlanRequest:
        """Return the request to plan it, with a budget of its own, and with all or some variants."""
        choice = CellSelection(self.only, budget_usd=budget_usd, variants=variants)
        return PlanRequest(self.experiment, self.library(request), choice, request.run(self.experiment))


def cells_of(scenarios: Iterable[str]) -> tuple[str, ...]:
    """Return globs of the cells of scenarios, by their ids."""
    return tuple(f"{scenario}--*" for scenario in scenarios)


# Writes the suites of a part for all skills that have one, and says what is left out of them.
PartMaker = Callable[[SkillRequest, SkillsCheck, Print], Iterator[SkillPart]]


@dataclass(frozen=True, slots=True)
class PartPrice:
    """A part with its settings (None: there is no key) and the cost and minutes of what is not stored yet."""

    part: SkillPart
    plan: Plan
    settings: RunSettings | None
    usd: CostRange
    minutes: CostRange
    trials: int
    variants: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """Line with the work, its cost and its minutes."""
        cells = f"{self.trials} of {counted(len(self.plan.cells), 'trial')}"
        work = cells if self.trials < len(self.plan.cells) else counted(self.trials, "trial")
        return f"{self.part.skill}: {self.part.kind}: {work} to run, {usd_text(self.usd)}, {minutes_text(self.minutes)}"


@dataclass(frozen=True, slots=True)
class SkillsAnswer:
    """Reports of the parts that were run, in their order, and the error that ended the command early."""

    reports: tuple[tuple[SkillPart, PartReport], ...] = ()
    failure: ScyllaError | None = None


def measure_skills(request: SkillRequest, makers: Iterable[PartMaker], check: SkillsCheck, say: Print) -> SkillsAnswer:
    """Run the parts of the measurement of all checked skills, as far as there is a key, consent and budget.

    Args:
        request: options.
        makers: write suites; the cheapest first, since parts beyond the budget are left out.
        check: the checked skills.
        say: prints a line.

    Raises:
        RefusedError: nobody confirmed, or no part fits into the budget.
    """
    if missing := missing_keys(request):
        with tempfile.TemporaryDirectory() as folder:
            unpaid = replace(request, out=Path(folder), sandbox=_any_sandbox(request))
            prices = [_unpaid_price(part, unpaid) for part in _made(unpaid, makers, check, say)]
            if prices:
                _say_prices(prices, unpaid, say)
                say(f"{NO_KEY}; set {missing}")
        return SkillsAnswer()
    if "evals" in request.kinds and (missing := missing_keys(request, request.judges)):
        say(f"no key of the judges: evals were not run; set {missing}, or choose other models by --judges")
        request = replace(request, kinds=tuple(kind for kind in request.kinds if kind != "evals"))
    request.make_out()
    if request.sandbox == "auto":  # once for all parts, so that the reason is printed once
        request = replace(request, sandbox=most_isolated(request.library, "--sandbox {}"))
    parts = _made(request, makers, check, say)
    if not parts:
        return SkillsAnswer()
    prices = _within_budget([_price(part, request) for part in parts], request, say)
    _say_prices(prices, request, say)
    for price in prices:
        _require_sandbox(price, request)
    _confirm(prices, request)
    return _run_parts(prices, request)


def _any_sandbox(request: SkillRequest) -> SandboxWish:
    """Return a sandbox for an estimate, after which nothing runs: a choice would print its reason."""
    return "host" if request.sandbox == "auto" else request.sandbox


def _require_sandbox(price: PartPrice, request: SkillRequest) -> None:
    """Check that neither a key nor the user's files are exposed to what is run, unless the user allows it.

    Raises:
        RefusedError: they are.
    """
    sandbox = SANDBOXES[price.plan.sandbox]
    if price.settings is not None:
        require_safe_sandbox(price.settings, _NOTHING, sandbox, allowed=request.allow_exposed_keys)
    if price.part.runs_code and not sandbox.isolates_files and not request.allow_exposed_keys:
        raise RefusedError(
            f"{price.part.skill}: its evals have commands, which would reach all files in the sandbox {sandbox.name}; "
            "use --sandbox docker or bubblewrap, or give --allow-exposed-keys if they may"
        )


def missing_keys(request: SkillRequest, models: Iterable[str] = ()) -> str:
    """Return the variables to set so that models, or else the agent's, can be reached; empty if they can."""
    known, environ = request.library.models(), provider_environment()
    names = request.library.model_ids(tuple(models) or (request.model,)).values()
    require_known_models(names, known, "--model and --judges")
    variables = (missing_key(provider_name(name, known), environ) for name in names)
    return " and ".join(sorted({variable for variable in variables if variable}))


def _made(request: SkillRequest, makers: Iterable[PartMaker], check: SkillsCheck, say: Print) -> list[SkillPart]:
    """Write the suites of all parts, and name what is left out of them."""
    parts = [part for maker in makers for part in maker(request, check, say)]
    if not parts:
        say(f"no {' and no '.join(request.kinds)} to run")
    return parts


def _unpaid_price(part: SkillPart, request: SkillRequest) -> PartPrice:
    """Return the price of all cells of a part; nothing is started or installed."""
    planned = part.planned(request)
    plan = make_plan(planned, find_agents(planned.experiment, install=False), build_images=False)
    minutes = wall_minutes(plan, request.jobs)
    return PartPrice(part, plan, None, plan.estimate.usd, minutes, len(plan.cells))


def _price(part: SkillPart, request: SkillRequest, variants: tuple[str, ...] = ()) -> PartPrice:
    """Return the price of what is not stored yet, for all or some variants.

    Raises:
        RefusedError: the budget is spent, and something is not stored.
    """
    spent = {path.root: _spent(path) for path in _run_folders(request)}
    others = math.fsum(usd for root, usd in spent.items() if root != request.run(part.experiment).root)
    planned = part.planned(request, max(request.budget_usd - others, _LEAST_USD), variants)
    settings = open_run(planned, _NOTHING, RunOptions(request.jobs, first_alone=part.first_alone))
    due, plan = due_work(settings), settings.plan
    if (due.trials or due.judgments) and math.fsum(spent.values()) >= request.budget_usd:
        raise RefusedError(
            f"the runs in {request.out} cost {dollars(math.fsum(spent.values()))}, and the budget is "
            f"{dollars(request.budget_usd)}; raise --budget-usd to go on, or begin another folder with --out"
        )
    estimate = estimate_cells(plan.experiment, settings.library, plan.arms, due, past_costs(settings.folder))
    minutes = wall_minutes(plan.model_copy(update={"estimate": estimate}), request.jobs)
    return PartPrice(part, plan, settings, estimate.usd, minutes, len(due.trials), variants)


def _run_folders(request: SkillRequest) -> list[RunFolder]:
    return [RunFolder(path.parent) for path in sorted(request.out.resolve().glob("skill-*/plan.json"))]


def _spent(folder: RunFolder) -> float:
    return math.fsum(spent_usd(folder).values())


def _within_budget(prices: Sequence[PartPrice], request: SkillRequest, say: Print) -> list[PartPrice]:
    """Return the parts whose likely costs fit into the budget together, in their order.

    Raises:
        RefusedError: not even one does.
    """
    left = request.budget_usd - sum(_spent(folder) for folder in _run_folders(request))
    chosen, faults = list[PartPrice](), list[str]()
    for whole in prices:
        price, usd = whole, whole.usd.likely
        if (usd is None or usd > left) and whole.part.cheaper:
            price = _price(whole.part, request, whole.part.cheaper)
            usd = price.usd.likely
        if usd is not None and usd <= max(left, 0):
            if price is not whole:
                say(f"{price.part.skill}: trials without the skill are not run: they do not fit into the budget")
            chosen.append(price)
            left -= usd
            continue
        what = f"{price.part.skill}: {price.part.kind}: likely {dollars(usd)}"
        option = "--trigger-repetitions" if price.part.kind == "triggers" else "--repetitions"
        faults.append(f"{what}, and {dollars(left)} of the budget are left; raise --budget-usd, or lower {option}")
    for fault in faults if chosen else faults[1:]:
        say(f"not run: {fault}")
    if not chosen:
        raise RefusedError(f"not run: {faults[0]}")
    return chosen


def _say_prices(prices: Sequence[PartPrice], request: SkillRequest, say: Print) -> None:
    for price in prices:
        say(price.line)
    usd = _total([price.usd for price in prices])
    minutes = _total([price.minutes for price in prices])
    say(f"estimate: {usd_text(usd)} of a budget of {dollars(request.budget_usd)}; {minutes_text(minutes)}")
    if usd.likely is not None and usd.likely > request.budget_usd:
        say(
            f"note: the budget is likely too small for all of it; what does not fit is left out, the cheapest is run "
            f"first; --budget-usd {math.ceil(usd.likely)} is likely enough"
        )


def _total(ranges: Sequence[CostRange]) -> CostRange:
    def added(values: list[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return math.fsum(known) if len(known) == len(values) else None

    low, likely, high = (added([getattr(amount, end) for amount in ranges]) for end in ("low", "likely", "high"))
    return CostRange(low=low, likely=likely, high=high)


def _confirm(prices: Sequence[PartPrice], request: SkillRequest) -> None:
    trials = sum(price.trials for price in prices)
    if not trials or all(price.usd.likely == 0 for price in prices):
        return
    usd = _total([price.usd for price in prices]).likely
    likely = min(usd, request.budget_usd) if usd is not None else None
    confirm_amount(
        f"{counted(trials, 'trial')} to run with paid models: spend up to {dollars(request.budget_usd)} "
        f"(likely {dollars(likely)})?",
        yes=request.yes,
    )


def _run_parts(prices: Sequence[PartPrice], request: SkillRequest) -> SkillsAnswer:
    """Run the parts in their order; after a part that a budget or an interruption ends, no other is begun."""
    reports: list[tuple[SkillPart, PartReport]] = []
    failure: ScyllaError | None = None
    for price in prices:
        try:
            # What the parts before it spent is known now.
            settings = price.settings if price is prices[0] else _price(price.part, request, price.variants).settings
            if settings is None:
                raise AssertionError("a part without a key is not run")
            report, fault = _run_part(price.part, settings, request)
        except RefusedError as error:
            return SkillsAnswer(tuple(reports), failure or error)
        reports.append((price.part, report))
        failure = failure or fault
        if isinstance(fault, BudgetError):
            break
    return SkillsAnswer(tuple(reports), failure)


def _run_part(part: SkillPart, settings: RunSettings, request: SkillRequest) -> tuple[PartReport, ScyllaError | None]:
    """Run a part, complete or not; return its report, and why it is not complete."""
    plan, fault = store_plan(settings, part.planned(request)), None
    context, whole = evaluate_cells(settings, _NOTHING, plan)
    try:
        require_complete_report(context, whole, CellSelection(part.only))
    except ScyllaError as error:
        fault = error
    report = part.report(plan, settings.folder)
    render_report(whole, settings.folder, plan)  # again, since its page begins with the answer
    return report, fault


def newest_agent(library: Library, name: str) -> str:
    """Return an agent's name with the newest version that the toolkit has measured; the name alone if there is none."""
    own, version = agent_name(name)
    versions = [inventory.version for inventory in library.inventories() if inventory.agent == own]
    newest = max(versions, key=lambda text: [int(part) for part in text.split(".") if part.isdigit()], default=None)
    return name if version or newest is None else f"{own}@{newest}"
