"""Prove a scenario: its checks accept right solutions, reject wrong ones, and give the same verdict twice.

The proof rejects a task that is solved in the start state, a fixture that cannot be built, and a check that cannot fail
or that accepts only the reference solution. The no-op must fail and break no guard, the reference solution must make
every checkpoint hold, each wrong solution must fail, and each other right solution must pass. No judge is asked: the
proof assumes that judges find all required items met. If only judges can tell that a solution is wrong, a line in it
such as `# unmet: F2` names the items: the solution must pass if they are met, fail if not, and is counted separately.
The no-op and the reference solution are tried twice, to show that task and checks are stable, and wrong patches are
judged twice.

With GitHub state, there is a reference solution for each mode in which the task is possible. It works with the tools of
its mode only; the other solutions use the tools of the mode `baseline`.
"""

import functools
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import Field

from scylla_gha.agents import AGENTS
from scylla_gha.attempt import run_attempt
from scylla_gha.attempt.equip import AgentRunner
from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder, is_only_one, oracle_modes, unmet_items
from scylla_gha.hub.client import HubProcess
from scylla_gha.images import SandboxPool
from scylla_gha.judge import JudgingContext, judge_trial
from scylla_gha.judge.checks import NO_END
from scylla_gha.judge.score import AgreedItem, Consensus, score_items, score_trial
from scylla_gha.mining.languages import error_line
from scylla_gha.model import Record
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.github_requests import CallCounts
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.mode import DEFAULT_MODE
from scylla_gha.model.plan import Arm
from scylla_gha.model.trial import Attempt, Outcome, Trial
from scylla_gha.model.variant import AgentResources
from scylla_gha.prepare import PreparedScenario, prepare_scenario, prepare_workspace
from scylla_gha.prepare.tools import cache_root
from scylla_gha.prepare.workspace import own_agent_files, scratch
from scylla_gha.sandboxes.base import SandboxTarget
from scylla_gha.store.run_folder import CellFolder
from scylla_gha.system.process import Cancel
from scylla_gha.variants import arm_resources

_ORACLE = "solution"
_LEAST_WRONG: Final = 2

_ACCEPTED: Final = (
    "passes, so the checks cannot tell it from a right solution; if only judges can, name the required items in a line "
    "such as '# unmet: F2'"
)
_ACCEPTED_WITH: Final = "passes even if judges find {items} unmet; require an item that the solution does not meet"
_TWICE: Final = (1, 1)  # an entry for each run: how often the run is judged
_JUDGED_TWICE: Final = (2,)
_ONCE: Final = (1,)


class SolutionTrial(Record):
    """A tested solution: `nop`, `solution`, `solution/MODE`, `right/NAME` or `wrong/NAME`."""

    name: str
    passed: bool
    fault: str | None = Field(
        default=None, description="Difference between this verdict and the verdict that the proof needs; null: none"
    )
    seconds: float = Field(
        default=0.0, ge=0, description="Time in seconds of all tests of the solution, judging included"
    )
    judged: tuple[str, ...] = Field(
        default=(),
        description="Ids of required items that judges must find unmet, since all checks accept the solution",
    )
    calls: CallCounts = Field(default={}, description="Number of API operations in the first test, by category")


class ScenarioProof(Record):
    """Proof of a scenario: the trials of its solutions, and the modes in which its task is impossible."""

    scenario: str
    not_possible: dict[str, str] = Field(
        default={}, description="Reasons why the task cannot be done in a mode, by mode"
    )
    has_github: bool = False
    agent_files: tuple[str, ...] = Field(default=(), description="Files for agents in the start state")
    trials: tuple[SolutionTrial, ...]

    @property
    def faults(self) -> list[str]:
        """Messages about solutions whose verdict is not the expected one."""
        return [f"{self.scenario}: {trial.name}: {trial.fault}" for trial in self.trials if trial.fault]

    @property
    def tried(self) -> tuple[tuple[str, bool, str | None], ...]:
        """Name, verdict and fault of each solution."""
        return tuple((trial.name, trial.passed, trial.fault) for trial in self.trials)

    @property
    def verdicts(self) -> str:
        """All verdicts in a line."""
        return ", ".join(f"{trial.name} {_verdict(trial)}" for trial in self.trials)

    @property
    def oracles(self) -> Mapping[str, SolutionTrial]:
        """Trials of the reference solutions, by mode."""
        return {
            DEFAULT_MODE if trial.name == _ORACLE else trial.name.removeprefix(f"{_ORACLE}/"): trial
            for trial in self.trials
            if trial.name.partition("/")[0] == _ORACLE
        }

    @property
    def wrong(self) -> tuple[SolutionTrial, ...]:
        """Trials of the wrong solutions."""
        return tuple(trial for trial in self.trials if trial.name.startswith("wrong/"))

    @property
    def rejected(self) -> int:
        """Number of wrong solutions that the checks reject."""
        return sum(not trial.passed and not trial.fault and not trial.judged for trial in self.wrong)

    @property
    def left_to_judges(self) -> int:
        """Number of wrong solutions that the checks accept and that fail only if judges find an item unmet."""
        return sum(bool(trial.judged) and not trial.fault for trial in self.wrong)

    @property
    def seconds(self) -> float:
        """Sum of the times of all trials."""
        return sum(trial.seconds for trial in self.trials)


def _verdict(trial: SolutionTrial) -> str:
    if trial.judged:
        return f"fails if judges find {', '.join(trial.judged)} unmet"
    return "passes" if trial.passed else "fails"


def validate_scenario(
    folder: ScenarioFolder,
    library: Library,
    sandboxes: SandboxPool | None = None,
    executor: Executor | None = None,
    hub: HubProcess | None = None,
) -> ScenarioProof:
    """Try all solutions of a scenario.

    Args:
        folder: the scenario.
        library: library with the scenario's fixture and the modes.
        sandboxes: sandbox in which solutions and checks run; None: the host.
        executor: executor that tries solutions concurrently; None: one after another.
        hub: hub that serves GitHub in the trials; None: start one if it is needed.

    Raises:
        FixtureError: the start state differs from the pinned one.
        ToolError: a tool or the image is not available.
    """
    pool = sandboxes or SandboxPool("host", library)
    context = JudgingContext(pool.target(folder.scenario.tools), TrialLimits(), _cancel())
    prepared = prepare_scenario(folder, library, cache_root())
    modes = oracle_modes(folder.path) if folder.github else [DEFAULT_MODE]
    toolsets = {mode: _toolset(folder, mode, library, pool) for mode in modes}
    with HubProcess.start() if folder.github and hub is None else nullcontext(hub) as serving:
        trials = _try_all(_SolutionTests(prepared, context, serving, toolsets), executor)
    github = folder.scenario.github
    return ScenarioProof(
        scenario=folder.scenario.id,
        has_github=github is not None,
        trials=trials,
        not_possible=github.not_possible if github else {},
        agent_files=own_agent_files(prepared.start),
    )


@dataclass(frozen=True, slots=True)
class _Toolset:
    """Tools of a mode: the oracle's arm, its sandbox, and its resources."""

    arm: Arm
    target: SandboxTarget
    resources: AgentResources


def _toolset(folder: ScenarioFolder, mode: str, library: Library, sandboxes: SandboxPool) -> _Toolset:
    """Return the tools of a mode; a scenario without GitHub has none."""
    arm = Arm(id="oracle", agent="oracle", version="1", mode=library.mode(mode) if folder.github else None)
    return _Toolset(arm, sandboxes.target(folder.scenario.tools, arm), arm_resources(arm, library.roots))


def _try_all(tests: "_SolutionTests", executor: Executor | None) -> tuple[SolutionTrial, ...]:
    folder = tests.prepared.folder
    others = [mode for mode in tests.toolsets if mode != DEFAULT_MODE]
    trials: list[Callable[[], SolutionTrial]] = [
        tests.no_op,
        partial(tests.reference, DEFAULT_MODE),
        *(partial(tests.reference, mode) for mode in others),
        *(partial(tests.right, patch) for patch in folder.right),
        *(partial(tests.wrong, patch) for patch in folder.wrong),
    ]
    tried = list((executor.map if executor else map)(_timed, trials))
    if len(folder.wrong) < _LEAST_WRONG and not any(map(is_only_one, folder.wrong)):
        fault = (
            f"wrong solutions: {len(folder.wrong)}, and at least {_LEAST_WRONG} are needed; add some, or give the "
            "reason why there can be no other in a line '# only: REASON' of the only one"
        )
        tried.append(SolutionTrial(name="wrong", passed=False, fault=fault))
    return tuple(tried)


def _timed(test: Callable[[], SolutionTrial]) -> SolutionTrial:
    started = time.monotonic()
    trial = test()
    return trial.model_copy(update={"seconds": round(time.monotonic() - started, 2)})


@functools.cache
def _cancel() -> Cancel:
    """Return the flag that ends all proofs; it is made on first use, since forked processes would share its pipe."""
    return Cancel()


def stop() -> None:
    """End all running proofs in all threads."""
    _cancel().set()


@dataclass(frozen=True, slots=True)
class _SolutionTests:
    """Tests of solutions on a prepared scenario."""

    prepared: PreparedScenario
    context: JudgingContext
    hub: HubProcess | None
    toolsets: dict[str, _Toolset]  # by mode

    def no_op(self) -> SolutionTrial:
        folder = self.prepared.folder
        judgment, attempt, fault = self._try("nop", folder.solution, _TWICE)
        holds = {check.id: check.holds for check in judgment.checks} if judgment else {}
        goals = [c.id for c in folder.scenario.checkpoints if c.required and not c.guard and c.changes is None]
        solved = judgment is not None and all(holds[goal] for goal in goals)
        broken = judgment.result.broken if judgment and judgment.result else ()
        if not fault and solved:
            fault = "every required check already passes in the start state, before any change"
        if not fault and broken:
            fault = f"these guards already fail in the start state: {', '.join(_evidence(judgment, broken))}"
        return SolutionTrial(name="nop", passed=solved, fault=fault, calls=_calls(attempt))

    def reference(self, mode: str) -> SolutionTrial:
        folder = self.prepared.folder
        runs = _TWICE if mode == DEFAULT_MODE else _ONCE
        judgment, attempt, fault = self._try("oracle", folder.oracle(mode), runs, mode)
        passed = _passes(judgment, folder)
        absent = {item.applies_if for item in folder.rubric.items if item.applies_if}
        failing = (
            [check.id for check in judgment.checks if not check.holds and check.id not in absent] if judgment else []
        )
        if not fault and (failing or not passed):
            fault = f"does not pass: {_reasons(judgment, failing)}"
        name = "solution" if mode == DEFAULT_MODE else f"solution/{mode}"
        return SolutionTrial(name=name, passed=passed, fault=fault, calls=_calls(attempt))

    def wrong(self, patch: Path) -> SolutionTrial:
        folder = self.prepared.folder
        runs = _ONCE if folder.github else _JUDGED_TWICE  # with GitHub, each judging takes seconds
        judgment, attempt, fault = self._try("oracle", patch, runs)
        unmet = unmet_items(patch)
        accepted, passed = _passes(judgment, folder), _passes(judgment, folder, unmet)
        if not fault and passed:
            fault = _ACCEPTED_WITH.format(items=", ".join(unmet)) if unmet else _ACCEPTED
        elif not fault and unmet and not accepted:
            fault = (
                "is already refused by the checks; remove its line '# unmet:', which is for solutions that only judges "
                "can refuse"
            )
        name = f"wrong/{patch.stem}"
        return SolutionTrial(name=name, passed=passed, fault=fault, judged=unmet, calls=_calls(attempt))

    def right(self, patch: Path) -> SolutionTrial:
        judgment, attempt, fault = self._try("oracle", patch, _ONCE)
        passed = _passes(judgment, self.prepared.folder)
        if judgment and not fault and not passed:
            required = {check.id for check in self.prepared.folder.scenario.checkpoints if check.required}
            failing = [check.id for check in judgment.checks if not check.holds and check.id in required]
            fault = f"fails, so the checks refuse a right solution: {_reasons(judgment, failing)}"
        return SolutionTrial(name=f"right/{patch.stem}", passed=passed, fault=fault, calls=_calls(attempt))

    def _try(
        self, agent: str, patch: Path, runs: tuple[int, ...], mode: str = DEFAULT_MODE
    ) -> tuple[Judgment | None, Attempt, str | None]:
        """Return the first judgment (None if a try has no result), the first attempt, and the tries' fault, if any."""
        outcomes: list[tuple[Attempt, list[Judgment]]] = []
        for times in runs:
            if not any(_reached_limit(judgment) for _, judged in outcomes for judgment in judged):
                outcomes.append(self._run_and_judge(agent, patch, self.toolsets[mode], times))
        first = outcomes[0][0]
        judgments = [judgment for _, judged in outcomes for judgment in judged]
        for attempt, _ in outcomes:
            if attempt.outcome is not Outcome.COMPLETED:
                return None, first, f"{attempt.outcome}: {attempt.reason}"
        if unjudged := next((judgment for judgment in judgments if judgment.result is None), None):
            return None, first, f"cannot be judged: {unjudged.error}"
        checks = [[(check.id, check.holds, check.value) for check in judgment.checks] for judgment in judgments]
        changed = [before[0] for before, after in zip(checks[0], checks[-1], strict=True) if before != after]
        return judgments[0], first, f"two tries had different results: {', '.join(changed)}" if changed else None

    def _run_and_judge(self, agent: str, patch: Path, tools: _Toolset, times: int) -> tuple[Attempt, list[Judgment]]:
        """Run a solution once, and judge it `times` times."""
        prepared, context = self.prepared, self.context
        arm = tools.arm.model_copy(update={"id": agent, "agent": agent})
        runner = AgentRunner(
            arm,
            AGENTS[agent],
            "",
            None,
            tools.target,
            context.limits,
            context.cancel,
            patch,
            tools.resources,
            hub=self.hub,
            checks=context.target,
        )
        with scratch() as root:
            cell = CellFolder(root / "cell")
            workspace = prepare_workspace(prepared, root / "ground")
            attempt = run_attempt(runner, prepared, workspace, cell.attempt(1))
            sandbox = context.target.sandbox.name
            trial = Trial(cell=agent, key=agent, sandbox=sandbox, versions={}, attempts=(attempt,))
            return attempt, [judge_trial(trial, prepared, cell, context) for _ in range(times)]


def _reached_limit(judgment: Judgment) -> bool:
    """Return whether a check reached its time limit; such a run is not repeated, since it would take as long again."""
    return any(not check.holds and check.evidence.startswith(NO_END) for check in judgment.checks)


def _passes(judgment: Judgment | None, folder: ScenarioFolder, unmet: tuple[str, ...] = ()) -> bool:
    """Return whether a solution passes if judges find all required items met except `unmet`."""
    if judgment is None or judgment.result is None:
        return False
    judged = [item.id for item in folder.rubric.items if item.required and not item.checks]
    if not judged:
        return judgment.result.passed
    panel = Consensus({name: AgreedItem(float(name not in unmet), "assumed") for name in judged})
    checks = {check.id: check for check in judgment.checks}
    items = score_items(folder.rubric, checks, panel=panel)
    return score_trial(folder.scenario, folder.rubric, checks, items, panel=panel).passed


def _calls(attempt: Attempt) -> dict[str, int]:
    return dict(attempt.github.calls) if attempt.github else {}


def _reasons(judgment: Judgment | None, failing: list[str]) -> str:
    return ", ".join(_evidence(judgment, failing)) or "its score is too low"


def _evidence(judgment: Judgment | None, names: Iterable[str]) -> list[str]:
    evidence = {check.id: check.evidence for check in judgment.checks} if judgment else {}
    return [f"{name} ({_brief(evidence[name])})" for name in names]


def _brief(evidence: str) -> str:
    """Return the reason why a check fails, and the most informative line of its output."""
    fault, _, output = evidence.partition(": ")
    line = error_line(output)
    return f"{fault}: {line}"[:200] if line else fault[:200]
