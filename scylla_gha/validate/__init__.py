"""Validate a library: its configuration, its scenarios, and the proofs of scenarios.

A proof is recorded under a digest of its inputs: the scenario's files (which pin the fixture), the GitHub state of the
fixture and the modes, the toolkit's code, the sandbox with its image, and the system whose programs the checks start.
The code of packages that only plan, call models or read results cannot change a proof, and is not in the digest.
"""

import datetime
import functools
import hashlib
import json
import platform
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Final

import scylla_gha
from scylla_gha.agents import find_agents
from scylla_gha.config import did_you_mean, load_yaml
from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder, changed_lines, check_variants
from scylla_gha.config.tiers import resolve_mode
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, ScenarioInvalidError, ScyllaError
from scylla_gha.hub.client import HubProcess
from scylla_gha.images import SandboxPool
from scylla_gha.model import digest
from scylla_gha.model.github_fixture import FIXTURE_FILE, GitHubFixture
from scylla_gha.model.scenario import size_of
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.checks import model_notes, safety_net_notes
from scylla_gha.prepare.start_state import changed_fixture, start_state
from scylla_gha.prepare.tools import cache_root
from scylla_gha.report.document import Table, lines_of
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.store import write_text
from scylla_gha.system.future_wait import wait_for_any
from scylla_gha.validate.scenario import ScenarioProof, stop, validate_scenario

_SIGNAL_SECONDS: Final = 0.5  # interval at which the main thread can notice a signal
Report = Callable[[str], None]
_WITHOUT_EFFECT: Final = frozenset(
    {
        "aggregate",
        "analysis",
        "cli",
        "collect",
        "compare",
        "egress_proxy",
        "gateway",
        "github_api",
        "interop",
        "mining",
        "evaluate",
        "onboarding",
        "plan",
        "providers",
        "publish",
        "readiness",
        "report",
        "results_branch",
        "stats",
    }
)
_SYSTEM: Final = Path("/etc/os-release")
_JUDGED = "+n: wrong solutions that all checks accept; they fail if judges find the items unmet that their files name"
_NOTE = "r, w: read and write operations of the mode's oracle on GitHub; g: its git commands that reached GitHub"


def validate_experiment(library: Library, name: str, note: Report) -> None:
    """Check an experiment (an id, or a file) and everything to which it refers; `note` prints notes on its models.

    Raises:
        ConfigError: the experiment is invalid.
    """
    experiment = library.experiment(name)
    plan = plan_cells(experiment, library, find_agents(experiment, install=False))
    today = datetime.datetime.now(datetime.UTC).date()
    for text in (*safety_net_notes(plan), *model_notes(plan, library, today)):
        note(f"note: {name}: {text}")


def validate_file(library: Library, path: Path, note: Report) -> None:
    """Check a file: a mode if it is in `config/modes/`, otherwise an experiment.

    Raises:
        ConfigError: the file is invalid.
    """
    if path.resolve().parent.parts[-2:] == ("config", "modes"):
        resolve_mode(path, library.roots)
    else:
        validate_experiment(library, str(path), note)


def validate_configuration(library: Library, note: Report) -> None:
    """Check models, prices, inventories, modes, variants, repositories on github.com, and all experiments.

    Raises:
        ConfigError: a file is invalid; the message has all faults.
    """
    checks: list[Callable[[], object]] = [library.models]
    checks += [functools.partial(library.price_list, prices) for prices in library.price_list_names()]
    checks += [functools.partial(library.mode, name) for name in library.mode_names()]
    checks += [library.inventories, lambda: check_variants(library.variants().values())]
    checks.append(functools.partial(_check_repositories, library))
    checks += [functools.partial(validate_experiment, library, name, note) for name in library.experiment_names()]
    _raise_faults(checks)


def _check_repositories(library: Library) -> None:
    """Check that the fixtures and users in the list of repositories on github.com exist."""
    path = library.repositories_file()
    pools = library.repositories().fixtures if path.is_file() else {}
    for name, pool in pools.items():
        users = load_yaml(library.fixture(name) / FIXTURE_FILE, GitHubFixture).users
        for user in pool.accounts:
            if user not in users:
                hint = did_you_mean(user, list(users))
                raise ConfigError(f"{path}: fixtures.{name}.accounts: {user!r} is not a user of the fixture{hint}")


def validate_scenarios(library: Library, names: Sequence[str]) -> None:
    """Check the files of scenarios, without running checks or solutions.

    Raises:
        ConfigError: a file is invalid; the message has all faults.
    """
    _raise_faults([functools.partial(_check_scenario, library, name) for name in names])


def _raise_faults(checks: Sequence[Callable[[], object]]) -> None:
    faults: dict[str, None] = {}  # distinct and in order, since several experiments may have the same fault
    for check in checks:
        try:
            check()
        except ScyllaError as error:
            faults[str(error)] = None
    if faults:
        raise ConfigError("\n".join(faults))


def _check_scenario(library: Library, name: str) -> None:
    folder = library.scenario(name)
    source = folder.scenario.source
    faults = list(_solution_faults(folder))
    fault = changed_fixture(source, library.fixture(source.fixture)) if source.fixture else None
    if fault:
        faults.append(fault)
    if faults:
        raise ConfigError("\n".join(f"{folder.path / 'scenario.yaml'}: {fault}" for fault in faults))
    if source.fixture and folder.github:
        start_state(source, library.fixture(source.fixture), cache_root())  # GitHub may refuse a step of its history


def _solution_faults(folder: ScenarioFolder) -> Iterator[str]:
    if not folder.solution.is_file():
        kind = "a patch" if folder.github is None else "a shell script"
        yield f"{folder.solution} is missing; keep the reference solution there as {kind}"
        return
    content = folder.solution.read_bytes()
    changed = changed_lines(content) if folder.github is None else len(content.splitlines())
    if size_of(changed) != folder.scenario.size:
        yield f"size: the reference solution changes {counted(changed, 'line')}, which is {size_of(changed)}"


def prove_scenarios(
    library: Library, names: Sequence[str], sandboxes: SandboxPool, jobs: int, report: Report, *, skip_proved: bool
) -> list[ScenarioProof]:
    """Run the proofs of scenarios, report each, and return all, including recorded ones.

    Args:
        library: library with the scenarios.
        names: ids of the scenarios to prove.
        sandboxes: sandbox in which solutions and checks run.
        jobs: number of solutions to try at once.
        report: function that prints a line for each scenario.
        skip_proved: True: use recorded proofs, and record new ones.
    """
    sandboxes.check()
    folders = [library.scenario(name) for name in names]
    keys = {folder.path: proof_digest(folder, sandboxes) if skip_proved else "" for folder in folders}
    proofs: dict[str, ScenarioProof] = {}
    for folder in folders:
        if skip_proved and (text := recorded_proof(keys[folder.path])) is not None:
            proofs[folder.scenario.id] = proof = ScenarioProof.model_validate_json(text)
            report(f"ok, proved before: {folder.scenario.id}: {proof.verdicts}")
    unproved = [folder for folder in folders if folder.scenario.id not in proofs]
    for folder, proof in zip(unproved, _proofs(unproved, library, sandboxes, jobs), strict=True):
        report(f"{'ok' if not proof.faults else 'NOT OK'}: {proof.scenario}: {proof.verdicts}")
        proofs[proof.scenario] = proof
        if skip_proved and not proof.faults:
            record_proof(keys[folder.path], proof.model_dump_json())
    return [proofs[folder.scenario.id] for folder in folders]


def require_proofs(proofs: Sequence[ScenarioProof]) -> None:
    """Raise if a proof does not hold.

    Raises:
        ScenarioInvalidError: a proof has faults; the message has all of them.
    """
    if faults := [fault for proof in proofs for fault in proof.faults]:
        raise ScenarioInvalidError("\n".join(faults))


def _proofs(
    folders: Sequence[ScenarioFolder], library: Library, sandboxes: SandboxPool, jobs: int
) -> Iterator[ScenarioProof]:
    # A scenario's thread only waits for its solutions, which run in the pool `workers`.
    serving = HubProcess.start() if any(folder.github for folder in folders) else nullcontext()
    with serving as hub, ThreadPoolExecutor(jobs) as workers, ThreadPoolExecutor(len(folders) or 1) as waiting:
        try:
            pending = [
                waiting.submit(validate_scenario, folder, library, sandboxes, workers, hub) for folder in folders
            ]
            for future in pending:
                # Wait in intervals: an unlimited wait would not notice a signal that another thread received.
                while not wait_for_any([future], _SIGNAL_SECONDS)[0]:
                    pass
                yield future.result()
        except BaseException:
            stop()
            for pool in (workers, waiting):
                pool.shutdown(wait=False, cancel_futures=True)
            raise


def scenarios_under(library: Library, path: Path) -> tuple[list[str], bool]:
    """Return the scenarios in a folder and False; for a root, or a folder without scenarios, all scenarios and True."""
    names = [name for name, folder in library.scenarios.items() if path in (folder, *folder.parents)]
    if path in library.roots or not names:
        return list(library.scenarios), True
    return names, False


def proof_digest(folder: ScenarioFolder, sandboxes: SandboxPool) -> str:
    """Compute the digest under which a scenario's proof is recorded.

    Raises:
        ToolError: the sandbox's image cannot be built.
    """
    image = sandboxes.image(folder.scenario.tools, None).digest if SANDBOXES[sandboxes.sandbox].needs_image else ""
    code = ((name, value) for name, value in _file_digests(Path(scylla_gha.__path__[0])) if name.endswith(".py"))
    modes = {name: sandboxes.library.mode(name).digest for name in sandboxes.library.mode_names()}
    return digest(
        {
            **({"github": [folder.task_digest, modes]} if folder.github else {}),
            "scenario": dict(_file_digests(folder.path)),
            "code": {name: value for name, value in code if name.split("/", 1)[0] not in _WITHOUT_EFFECT},
            "sandbox": [sandboxes.sandbox, image],
            "system": system_facts(),
        }
    )


def system_facts() -> list[str]:
    """Return Python's version, the machine and the operating system, whose programs checks and servers start."""
    system = _SYSTEM.read_text(encoding="utf-8") if _SYSTEM.is_file() else ""
    return [platform.python_version(), platform.machine(), system]


def recorded_proof(key: str) -> str | None:
    """Return the text of the proof that is recorded under a digest; None if none is recorded."""
    file = _proof_file(key)
    return file.read_text(encoding="utf-8") if file.is_file() else None


def record_proof(key: str, text: str) -> None:
    """Record the text of a proof that holds under a digest."""
    write_text(_proof_file(key), text)


def _proof_file(key: str) -> Path:
    return cache_root() / "proofs" / re.sub(r"[^0-9a-f]", "", key)


def _file_digests(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            yield path.relative_to(folder).as_posix(), f"{path.stat().st_mode & 0o111:o} {content}"


def proof_table(proofs: Sequence[ScenarioProof]) -> Iterator[str]:
    """Yield a line for each start state with files for agents, and a table of the scenarios with GitHub."""
    for proof in proofs:
        if proof.agent_files:
            yield (
                f"{proof.scenario}: its start state has files for agents, which each variant without `agent_files` "
                f"gets: {', '.join(proof.agent_files)}"
            )
    proofs = [proof for proof in proofs if proof.has_github]
    modes = sorted({mode for proof in proofs for mode in (*proof.oracles, *proof.not_possible)})
    if not proofs:
        return
    headings = ("scenario", "", *modes, "wrong rejected", "seconds")
    rows = [
        (
            proof.scenario,
            "NOT OK" if proof.faults else "ok",
            *(_mode(proof, mode) for mode in modes),
            _rejected(proof),
            f"{proof.seconds:.1f}",
        )
        for proof in proofs
    ]
    yield from lines_of(Table(headings, rows))
    yield _NOTE
    if any(proof.left_to_judges for proof in proofs):
        yield _JUDGED


def proofs_json(proofs: Sequence[ScenarioProof]) -> str:
    """Return the proofs as JSON."""
    return json.dumps([_fields(proof) for proof in proofs], indent=2)


def _fields(proof: ScenarioProof) -> dict[str, object]:
    return {
        "scenario": proof.scenario,
        "ok": not proof.faults,
        "faults": proof.faults,
        "modes": {
            mode: {"passed": trial.passed, **_operations(trial.calls), "calls": trial.calls}
            for mode, trial in proof.oracles.items()
        }
        if proof.has_github
        else {},
        "not_possible": proof.not_possible,
        "agent_files": list(proof.agent_files),
        "wrong_rejected": proof.rejected,
        "wrong_left_to_judges": proof.left_to_judges,
        "wrong": len(proof.wrong),
        "seconds": round(proof.seconds, 2),
        "trials": [trial.model_dump(mode="json") for trial in proof.trials],
    }


def _rejected(proof: ScenarioProof) -> str:
    judged = f"+{proof.left_to_judges} " if proof.left_to_judges else ""
    return f"{proof.rejected} {judged}of {len(proof.wrong)}"


def _mode(proof: ScenarioProof, mode: str) -> str:
    trial = proof.oracles.get(mode)
    if trial is None:
        return "not possible" if mode in proof.not_possible else "no oracle"
    operations = _operations(trial.calls)
    counts = f"{operations['reads']}r {operations['writes']}w {operations['git']}g"
    return counts if trial.passed else f"fails ({counts})"


def _operations(calls: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers of reads and writes through the API, and of git operations."""
    by_api = {call: count for call, count in calls.items() if not call.startswith("git.")}
    return {
        "reads": sum(count for call, count in by_api.items() if call.endswith(".read")),
        "writes": sum(count for call, count in by_api.items() if call.endswith(".write")),
        "git": sum(calls.values()) - sum(by_api.values()),
    }
