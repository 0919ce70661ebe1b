"""The proof of a scenario: what must fail fails, what must pass passes, and the same again.

Gate against the task that is solved in the fixture already, the fixture that cannot build, and the check that cannot
fail or that only knows the reference solution: the no-op fails and breaks no guard, the reference solution makes every
checkpoint hold, each wrong solution fails, each other right solution passes, and a second time the verdicts are the
same. The other right solutions are judged once: the runs of the rest show whether the checks are stable.
"""

import functools
import hashlib
import platform
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import scylla_gha
from scylla_gha.agents import AGENTS
from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.images.sandbox_pool import SandboxPool
from scylla_gha.judge.judge_trial import JudgingContext, judge_trial
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Arm
from scylla_gha.model.record import digest
from scylla_gha.model.trial import Attempt, Outcome, Trial
from scylla_gha.prepare.scenario import PreparedScenario, prepare_scenario, prepare_workspace
from scylla_gha.prepare.tools import cache_root
from scylla_gha.prepare.workspace import scratch
from scylla_gha.process import Cancel
from scylla_gha.run.attempt import AgentRunner, run_attempt
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store.run_folder import CellFolder

_LEAST_WRONG: Final = 2

Verdict = tuple[bool, str | None]  # whether it passes, and what is wrong with that


@dataclass(frozen=True, slots=True)
class ScenarioProof:
    """What was tried on a scenario, as (name, passed, what is wrong with that)."""

    scenario: str
    tried: tuple[tuple[str, bool, str | None], ...]

    @property
    def faults(self) -> list[str]:
        """What does not hold."""
        return [f"{self.scenario}: {name}: {fault}" for name, _, fault in self.tried if fault]


def validate_scenario(
    folder: ScenarioFolder, library: Library, boxes: SandboxPool | None = None, lanes: Executor | None = None
) -> ScenarioProof:
    """Execute the scenario's proof, in boxes or on the host.

    Args:
        folder: the scenario.
        library: where its fixture is.
        boxes: where its checks run; None is the host.
        lanes: where the solutions are tried at the same time; None tries them one after another.

    Raises:
        FixtureError: the start state is not the pinned one.
        ToolError: a tool or the image cannot be had.
    """
    place = (boxes or SandboxPool("host", library)).place(folder.scenario.tools)
    stand = _Stand(prepare_scenario(folder, library, cache_root()), JudgingContext(place, TrialLimits(), _cancel()))
    trials: list[tuple[str, Callable[[], Verdict]]] = [
        ("nop", partial(_nop, stand)),
        ("solution", partial(_solution, stand)),
        *((f"right/{patch.stem}", partial(_right, stand, patch)) for patch in folder.right),
        *((f"wrong/{patch.stem}", partial(_wrong, stand, patch)) for patch in folder.wrong),
    ]
    verdicts = (lanes.map if lanes else map)(lambda trial: trial[1](), trials)
    tried = [(name, *verdict) for (name, _), verdict in zip(trials, verdicts, strict=True)]
    if len(folder.wrong) < _LEAST_WRONG:
        tried.append(("wrong", False, f"{len(folder.wrong)} of at least {_LEAST_WRONG} wrong solutions kept; add some"))
    return ScenarioProof(folder.scenario.id, tuple(tried))


@functools.cache
def _cancel() -> Cancel:
    """Make the flag in the process that proves: a fork would share the pipe of one that is made on import."""
    return Cancel()


def stop() -> None:
    """End what is being proved, in any thread."""
    _cancel().set()


@dataclass(frozen=True, slots=True)
class _Stand:
    """What is tried on, and where."""

    ground: PreparedScenario
    bench: JudgingContext


def _nop(stand: _Stand) -> Verdict:
    _, judgment, fault = _twice(stand, "nop", stand.ground.folder.solution)
    broken = judgment.result.broken if judgment and judgment.result else ()
    solved = judgment is not None and _is_solved(stand.ground, judgment)
    if not fault and solved:
        fault = "all that is required of a solution holds on the base, so the task is solved in the fixture already"
    if not fault and broken:
        fault = f"these guards do not hold on the base: {', '.join(_evidence(judgment, broken))}"
    return solved, fault


def _is_solved(ground: PreparedScenario, judgment: Judgment) -> bool:
    """Whether a trial that changes nothing fails for no other reason than that."""
    holds = {check.id: check.holds for check in judgment.checks}
    asked = [c for c in ground.folder.scenario.checkpoints if c.required and not c.guard and c.changes is None]
    return all(holds[checkpoint.id] for checkpoint in asked)


def _solution(stand: _Stand) -> Verdict:
    passed, judgment, fault = _twice(stand, "oracle", stand.ground.folder.solution)
    failing = [check.id for check in judgment.checks if not check.holds] if judgment else []
    expected_absent = {item.applies_if for item in stand.ground.folder.rubric.items if item.applies_if}
    failing = [name for name in failing if name not in expected_absent]
    if not fault and (failing or not passed):
        fault = f"does not pass whole: {_told(judgment, failing)}"
    return passed, fault


def _wrong(stand: _Stand, patch: Path) -> Verdict:
    passed, _, fault = _twice(stand, "oracle", patch)
    return passed, fault or ("passes, so the checks do not tell it from a right one" if passed else None)


def _right(stand: _Stand, patch: Path) -> Verdict:
    judgment, fault = _once(stand, "oracle", patch)
    passed = bool(judgment and judgment.result and judgment.result.passed)
    if fault or passed or judgment is None:
        return passed, fault
    required = {check.id for check in stand.ground.folder.scenario.checkpoints if check.required}
    failing = [check.id for check in judgment.checks if not check.holds and check.id in required]
    return False, f"fails, so the checks refuse a right one: {_told(judgment, failing)}"


def _told(judgment: Judgment | None, failing: list[str]) -> str:
    return ", ".join(_evidence(judgment, failing)) or "its score is too low"


def _evidence(judgment: Judgment | None, names: Iterator[str] | tuple[str, ...] | list[str]) -> list[str]:
    found = {check.id: check.evidence for check in judgment.checks} if judgment else {}
    return [f"{name} ({' '.join(found[name].split())[:200]})" for name in names]


def _twice(stand: _Stand, agent: str, patch: Path) -> tuple[bool, Judgment | None, str | None]:
    """Try it two times; the verdict, the first judgment, and what went wrong in the trying."""
    judgments: list[Judgment] = []
    for _ in range(2):
        judgment, failed = _once(stand, agent, patch)
        if judgment is None:
            return False, None, failed
        judgments.append(judgment)
    first, second = ([(c.id, c.holds, c.value) for c in each.checks] for each in judgments)
    changed = [before[0] for before, after in zip(first, second, strict=True) if before != after]
    fault = f"not the same twice: {', '.join(changed)}" if changed else None
    return bool(judgments[0].result and judgments[0].result.passed), judgments[0], fault


def _once(stand: _Stand, agent: str, patch: Path) -> tuple[Judgment | None, str | None]:
    """The judgment, or what went wrong in the trying."""
    attempt, judgment = _try(stand, agent, patch)
    if attempt.outcome is not Outcome.COMPLETED:
        return None, f"{attempt.outcome}: {attempt.reason}"
    if judgment.result is None:
        return None, f"cannot be judged: {judgment.error}"
    return judgment, None


def _try(stand: _Stand, agent: str, patch: Path) -> tuple[Attempt, Judgment]:
    ground, bench = stand.ground, stand.bench
    arm = Arm(id=agent, agent=agent, version="1")
    runner = AgentRunner(arm, AGENTS[agent], "", None, bench.target, bench.limits, bench.cancel, patch)
    with scratch() as root:
        cell = CellFolder(root / "cell")
        attempt = run_attempt(runner, ground, prepare_workspace(ground, root / "ground"), cell.attempt(1))
        trial = Trial(cell=agent, key=agent, sandbox=bench.target.sandbox.name, versions={}, attempts=(attempt,))
        return attempt, judge_trial(trial, ground, cell, bench)


_WITHOUT_EFFECT: Final = frozenset({
    "aggregate", "analysis", "cli", "collect", "compare", "egress_proxy", "gateway", "github", "interop", "onboarding",
    "plan", "providers", "publish", "report", "results_branch", "stats",
})  # fmt: skip
_SYSTEM: Final = Path("/etc/os-release")


def proof_digest(folder: ScenarioFolder, boxes: SandboxPool) -> str:
    """Compute the digest under which a scenario's proof is recorded.

    Raises:
        ToolError: the sandbox's image cannot be made.
    """
    image = boxes.digest(folder.scenario.tools, None) if SANDBOXES[boxes.sandbox].needs_image else ""
    system = _SYSTEM.read_text(encoding="utf-8") if _SYSTEM.is_file() else ""
    return digest({
        "scenario": dict(_file_digests(folder.path)),
        "code": dict(_code_digests()),
        "sandbox": [boxes.sandbox, image],
        "system": [platform.python_version(), platform.machine(), system],
    })  # fmt: skip


def recorded_proof(key: str) -> str | None:
    """Return what was tried in the proof that is recorded under a digest, in words; None if there is none."""
    file = _record(key)
    return file.read_text(encoding="utf-8") if file.is_file() else None


def record_proof(key: str, trials: str) -> None:
    """Record that a scenario's proof holds; `trials` is what was tried, in words."""
    file = _record(key)
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".tmp")
    unfinished.write_text(trials, encoding="utf-8")
    unfinished.replace(file)


def _record(key: str) -> Path:
    return cache_root() / "proofs" / re.sub(r"[^0-9a-f]", "", key)


def _code_digests() -> Iterator[tuple[str, str]]:
    package = Path(scylla_gha.__path__[0])
    for name, value in _file_digests(package):
        if name.endswith(".py") and name.split("/", 1)[0] not in _WITHOUT_EFFECT:
            yield name, value


def _file_digests(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            yield path.relative_to(folder).as_posix(), f"{path.stat().st_mode & 0o111:o} {content}"
