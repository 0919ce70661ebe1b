"""Validation of a library: its configuration, its scenarios, and the proofs of scenarios."""

import datetime
import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from scylla_gha.agents.installed import find_agents
from scylla_gha.config import did_you_mean, load_yaml
from scylla_gha.config.library import Library
from scylla_gha.config.modes import resolve_mode
from scylla_gha.config.scenario_folder import ScenarioFolder, changed_lines, check_variants
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, ScenarioInvalidError, ScyllaError
from scylla_gha.future_wait import wait_for_any
from scylla_gha.hub.client import HubProcess
from scylla_gha.images import SandboxPool
from scylla_gha.model.github_fixture import FIXTURE_FILE, GitHubFixture
from scylla_gha.model.scenario import size_of
from scylla_gha.model.scenario_proof import ScenarioProof
from scylla_gha.pipeline.proof_records import proof_digest, record_proof, recorded_proof
from scylla_gha.pipeline.validate_scenario import stop, validate_scenario
from scylla_gha.plan import plan_cells
from scylla_gha.plan.build import infos_of
from scylla_gha.plan.notes import model_notes
from scylla_gha.prepare.start_state import changed_fixture, start_state
from scylla_gha.prepare.tools import cache_root

_SIGNAL_SECONDS: Final = 0.5
Report = Callable[[str], None]


def validate_experiment(library: Library, name: str, note: Report) -> None:
    """Check an experiment (an id, or a file) and what it names; `note` gets notes on its models.

    Raises:
        ConfigError: it is invalid.
    """
    experiment = library.experiment(name)
    agents = infos_of(find_agents(experiment, install=False))
    plan = plan_cells(experiment, library, agents)
    for text in model_notes(plan, library, datetime.datetime.now(datetime.UTC).date()):
        note(f"note: {name}: {text}")


def validate_file(library: Library, path: Path, note: Report) -> None:
    """Check one file: a mode (`config/modes/<id>.yaml`), or else an experiment.

    Raises:
        ConfigError: it is invalid.
    """
    if path.resolve().parent.parts[-2:] == ("config", "modes"):
        resolve_mode(path, library.roots)
    else:
        validate_experiment(library, str(path), note)


def validate_configuration(library: Library, note: Report) -> None:
    """Check models, prices, inventories, modes, variants and all experiments.

    Raises:
        ConfigError: something is invalid; the message has all faults.
    """
    checks: list[Callable[[], object]] = [library.models]
    checks += [functools.partial(library.price_list, prices) for prices in library.price_list_names()]
    checks += [functools.partial(library.mode, name) for name in library.mode_names()]
    checks += [library.inventories, lambda: check_variants(library.variants().values())]
    checks.append(functools.partial(_check_repositories, library))
    checks += [functools.partial(validate_experiment, library, name, note) for name in library.experiment_names()]
    _raise_faults(checks)


def _check_repositories(library: Library) -> None:
    """Check that the list of repositories on github.com, if there is one, names fixtures and users that exist."""
    path = library.repositories_file()
    pools = library.repositories().fixtures if path.is_file() else {}
    for name, pool in pools.items():
        users = load_yaml(library.fixture(name) / FIXTURE_FILE, GitHubFixture).users
        for user in pool.accounts:
            if user not in users:
                hint = did_you_mean(user, list(users))
                raise ConfigError(f"{path}: fixtures.{name}.accounts: {user!r} is not a user of the fixture{hint}")


def validate_scenarios(library: Library, names: Sequence[str]) -> None:
    """Check the files of scenarios, without executing anything.

    Raises:
        ConfigError: something is invalid; the message has all faults.
    """
    _raise_faults([functools.partial(_check_scenario, library, name) for name in names])


def _raise_faults(checks: Sequence[Callable[[], object]]) -> None:
    faults: dict[str, None] = {}  # in order, and each once: several experiments may have the same fault
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
    """Execute the proofs of scenarios, report each, and return all, those that were proved before included.

    Args:
        library: the scenarios.
        names: ids of the scenarios to prove.
        sandboxes: where checks run.
        jobs: number of solutions at once.
        report: gets a line for each scenario.
        skip_proved: whether scenarios with a recorded proof are skipped, and new proofs are recorded.
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
    """Check that all proofs hold.

    Raises:
        ScenarioInvalidError: one does not.
    """
    if faults := [fault for proof in proofs for fault in proof.faults]:
        raise ScenarioInvalidError("\n".join(faults))


def _proofs(
    folders: Sequence[ScenarioFolder], library: Library, sandboxes: SandboxPool, jobs: int
) -> Iterator[ScenarioProof]:
    # A scenario's thread only waits for its solutions, which the pool of workers tries.
    serving = HubProcess.start() if any(folder.github for folder in folders) else nullcontext()
    with serving as hub, ThreadPoolExecutor(jobs) as workers, ThreadPoolExecutor(len(folders) or 1) as waiting:
        try:
            pending = [
                waiting.submit(validate_scenario, folder, library, sandboxes, workers, hub) for folder in folders
            ]
            for future in pending:
                # A wait without end would not notice a signal that another thread received.
                while not wait_for_any([future], _SIGNAL_SECONDS)[0]:
                    pass
                yield future.result()
        except BaseException:
            stop()
            for pool in (workers, waiting):
                pool.shutdown(wait=False, cancel_futures=True)
            raise


def scenarios_under(library: Library, path: Path) -> tuple[list[str], bool]:
    """Return the scenarios in a folder, and whether that is all of the library: its root, or a folder without any."""
    names = [name for name, folder in library.scenarios.items() if path in (folder, *folder.parents)]
    if path in library.roots or not names:
        return list(library.scenarios), True
    return names, False
