"""Proof of a scenario: its checks accept right solutions, reject wrong ones, and give the same verdict twice.

The proof rejects a task that is solved in the fixture already, a fixture that cannot be built, and a check that cannot
fail or that accepts only the reference solution. The no-op must fail and break no guard, the reference solution must
make every checkpoint hold, each wrong solution must fail, and each other right solution must pass. All but the other
right solutions are judged twice, to show that the checks are stable.

A proof can be recorded under a digest of everything that it depends on: the scenario's files (which pin the fixture),
the toolkit's code that prepares, runs and judges, the sandbox with its image, and the system whose programs the checks
start. All code counts except the packages named here, which only plan, reach models, or read results.
"""

import functools
import hashlib
import platform
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import scylla_gha
from scylla_gha.agents import AGENTS
from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.hub.client import HubProcess
from scylla_gha.images import SandboxPool
from scylla_gha.judge.judge_trial import JudgingContext, judge_trial
from scylla_gha.model import digest
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Arm
from scylla_gha.model.trial import Attempt, Outcome, Trial
from scylla_gha.prepare.scenario import PreparedScenario, prepare_scenario, prepare_workspace
from scylla_gha.prepare.tools import cache_root
from scylla_gha.prepare.workspace import scratch
from scylla_gha.process import Cancel
from scylla_gha.run import run_attempt
from scylla_gha.run.equip import AgentRunner
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store.records import write_text
from scylla_gha.store.run_folder import CellFolder

_LEAST_WRONG: Final = 2
_WITHOUT_EFFECT: Final = frozenset({
    "aggregate", "analysis", "cli", "collect", "compare", "egress_proxy", "gateway", "github", "interop", "onboarding",
    "plan", "providers", "publish", "report", "results_branch", "stats",
})  # fmt: skip
_SYSTEM: Final = Path("/etc/os-release")

Verdict = tuple[bool, str | None]  # whether a solution passes, and what is wrong with that


@dataclass(frozen=True, slots=True)
class ScenarioProof:
    """Solutions that were tried on a scenario, as (name, passed, what is wrong with that)."""

    scenario: str
    tried: tuple[tuple[str, bool, str | None], ...]

    @property
    def faults(self) -> list[str]:
        """Messages about verdicts that are wrong."""
        return [f"{self.scenario}: {name}: {fault}" for name, _, fault in self.tried if fault]


def validate_scenario(
    folder: ScenarioFolder, library: Library, sandboxes: SandboxPool | None = None, executor: Executor | None = None
) -> ScenarioProof:
    """Try all solutions of a scenario.

    Args:
        folder: the scenario.
        library: has its fixture.
        sandboxes: in which its checks run; None: on the host.
        executor: tries several solutions at once; None: one after another.

    Raises:
        FixtureError: the start state is not the pinned one.
        ToolError: a tool or the image is not available.
    """
    target = (sandboxes or SandboxPool("host", library)).target(folder.scenario.tools)
    context = JudgingContext(target, TrialLimits(), _cancel())
    prepared = prepare_scenario(folder, library, cache_root())
    with HubProcess.start() if folder.github else nullcontext() as hub:
        return ScenarioProof(folder.scenario.id, _try_all(_SolutionTests(prepared, context, hub), executor))


def _try_all(tests: "_SolutionTests", executor: Executor | None) -> tuple[tuple[str, bool, str | None], ...]:
    folder = tests.prepared.folder
    trials: list[tuple[str, Callable[[], Verdict]]] = [
        ("nop", tests.no_op),
        ("solution", tests.reference),
        *((f"right/{patch.stem}", partial(tests.right, patch)) for patch in folder.right),
        *((f"wrong/{patch.stem}", partial(tests.wrong, patch)) for patch in folder.wrong),
    ]
    verdicts = (executor.map if executor else map)(lambda trial: trial[1](), trials)
    tried = [(name, *verdict) for (name, _), verdict in zip(trials, verdicts, strict=True)]
    if len(folder.wrong) < _LEAST_WRONG:
        tried.append(("wrong", False, f"{len(folder.wrong)} of at least {_LEAST_WRONG} wrong solutions kept; add some"))
    return tuple(tried)


@functools.cache
def _cancel() -> Cancel:
    """Make the flag in the process that proves: a fork would share the pipe of one that is made on import."""
    return Cancel()


def stop() -> None:
    """End all proofs, in any thread."""
    _cancel().set()


@dataclass(frozen=True, slots=True)
class _SolutionTests:
    """Tests of solutions on a prepared scenario."""

    prepared: PreparedScenario
    context: JudgingContext
    hub: HubProcess | None

    def no_op(self) -> Verdict:
        folder = self.prepared.folder
        _, judgment, fault = self._try_twice("nop", folder.solution)
        holds = {check.id: check.holds for check in judgment.checks} if judgment else {}
        goals = [c.id for c in folder.scenario.checkpoints if c.required and not c.guard and c.changes is None]
        solved = judgment is not None and all(holds[goal] for goal in goals)
        broken = judgment.result.broken if judgment and judgment.result else ()
        if not fault and solved:
            fault = "all that is required of a solution holds on the base, so the task is solved in the fixture already"
        if not fault and broken:
            fault = f"these guards do not hold on the base: {', '.join(_evidence(judgment, broken))}"
        return solved, fault

    def reference(self) -> Verdict:
        folder = self.prepared.folder
        passed, judgment, fault = self._try_twice("oracle", folder.solution)
        absent = {item.applies_if for item in folder.rubric.items if item.applies_if}
        failing = (
            [check.id for check in judgment.checks if not check.holds and check.id not in absent] if judgment else []
        )
        if not fault and (failing or not passed):
            fault = f"does not pass whole: {_reasons(judgment, failing)}"
        return passed, fault

    def wrong(self, patch: Path) -> Verdict:
        passed, _, fault = self._try_twice("oracle", patch)
        return passed, fault or ("passes, so the checks do not tell it from a right one" if passed else None)

    def right(self, patch: Path) -> Verdict:
        judgment, fault = self._try_once("oracle", patch)
        passed = bool(judgment and judgment.result and judgment.result.passed)
        if fault or passed or judgment is None:
            return passed, fault
        required = {check.id for check in self.prepared.folder.scenario.checkpoints if check.required}
        failing = [check.id for check in judgment.checks if not check.holds and check.id in required]
        return False, f"fails, so the checks refuse a right one: {_reasons(judgment, failing)}"

    def _try_twice(self, agent: str, patch: Path) -> tuple[bool, Judgment | None, str | None]:
        """Return whether the first try passed, its judgment, and what went wrong."""
        judgments: list[Judgment] = []
        for _ in range(2):
            judgment, fault = self._try_once(agent, patch)
            if judgment is None:
                return False, None, fault
            judgments.append(judgment)
        first, second = ([(c.id, c.holds, c.value) for c in judgment.checks] for judgment in judgments)
        changed = [before[0] for before, after in zip(first, second, strict=True) if before != after]
        fault = f"not the same twice: {', '.join(changed)}" if changed else None
        return bool(judgments[0].result and judgments[0].result.passed), judgments[0], fault

    def _try_once(self, agent: str, patch: Path) -> tuple[Judgment | None, str | None]:
        """Return the judgment, or what went wrong."""
        attempt, judgment = self._run_and_judge(agent, patch)
        if attempt.outcome is not Outcome.COMPLETED:
            return None, f"{attempt.outcome}: {attempt.reason}"
        if judgment.result is None:
            return None, f"cannot be judged: {judgment.error}"
        return judgment, None

    def _run_and_judge(self, agent: str, patch: Path) -> tuple[Attempt, Judgment]:
        prepared, context = self.prepared, self.context
        arm = Arm(id=agent, agent=agent, version="1")
        runner = AgentRunner(arm, AGENTS[agent], "", None, context.target, context.limits, context.cancel, patch,
                             hub=self.hub)  # fmt: skip
        with scratch() as root:
            cell = CellFolder(root / "cell")
            workspace = prepare_workspace(prepared, root / "ground")
            attempt = run_attempt(runner, prepared, workspace, cell.attempt(1))
            sandbox = context.target.sandbox.name
            trial = Trial(cell=agent, key=agent, sandbox=sandbox, versions={}, attempts=(attempt,))
            return attempt, judge_trial(trial, prepared, cell, context)


def _reasons(judgment: Judgment | None, failing: list[str]) -> str:
    return ", ".join(_evidence(judgment, failing)) or "its score is too low"


def _evidence(judgment: Judgment | None, names: Iterable[str]) -> list[str]:
    evidence = {check.id: check.evidence for check in judgment.checks} if judgment else {}
    return [f"{name} ({' '.join(evidence[name].split())[:200]})" for name in names]


def proof_digest(folder: ScenarioFolder, sandboxes: SandboxPool) -> str:
    """Compute the digest under which a scenario's proof is recorded.

    Raises:
        ToolError: the sandbox's image cannot be built.
    """
    image = sandboxes.image(folder.scenario.tools, None).digest if SANDBOXES[sandboxes.sandbox].needs_image else ""
    code = ((name, value) for name, value in _file_digests(Path(scylla_gha.__path__[0])) if name.endswith(".py"))
    system = _SYSTEM.read_text(encoding="utf-8") if _SYSTEM.is_file() else ""
    return digest({
        "scenario": dict(_file_digests(folder.path)),
        "code": {name: value for name, value in code if name.split("/", 1)[0] not in _WITHOUT_EFFECT},
        "sandbox": [sandboxes.sandbox, image],
        "system": [platform.python_version(), platform.machine(), system],
    })  # fmt: skip


def recorded_proof(key: str) -> str | None:
    """Return the solutions tried in the proof that is recorded under a digest, in words; None if there is none."""
    file = _proof_file(key)
    return file.read_text(encoding="utf-8") if file.is_file() else None


def record_proof(key: str, trials: str) -> None:
    """Record that a scenario's proof holds; `trials` names the solutions tried."""
    write_text(_proof_file(key), trials)


def _proof_file(key: str) -> Path:
    return cache_root() / "proofs" / re.sub(r"[^0-9a-f]", "", key)


def _file_digests(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            yield path.relative_to(folder).as_posix(), f"{path.stat().st_mode & 0o111:o} {content}"
