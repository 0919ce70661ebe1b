"""`scylla-gha validate`."""

import datetime
import functools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final

import click

from scylla_gha.cli import options
from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder, check_variants
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, ScenarioInvalidError, ScyllaError
from scylla_gha.images.sandbox_pool import SandboxPool, most_isolated
from scylla_gha.model.experiment import SandboxWish
from scylla_gha.model.scenario import size_of
from scylla_gha.pipeline.validate_scenario import (
    ScenarioProof,
    proof_digest,
    record_proof,
    recorded_proof,
    stop,
    validate_scenario,
)
from scylla_gha.plan.build import find_agents
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.notes import model_notes
from scylla_gha.prepare.start_state import changed_fixture

_SIGNAL_SECONDS: Final = 0.5


@click.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True), default=Path())
@click.option(
    "--execute",
    is_flag=True,
    help="Prove each scenario: no-op and wrong solutions fail, right solutions pass.",
)
@options.sandbox("host", "Where that is done; docker proves that the checks hold in the box of trials.")
@options.jobs("solutions")
@click.option(
    "--skip-proved",
    is_flag=True,
    help="With --execute, skip each scenario that was proved here before with the same files, code and sandbox.",
)
def command(path: Path, jobs: int, *, execute: bool, sandbox: SandboxWish, skip_proved: bool) -> None:
    """Check all configuration and the scenarios under PATH (a repository, a suite, a scenario, or an experiment file).

    \b
    scylla-gha validate
    scylla-gha validate scenarios/core/001-hello-world --execute --sandbox auto
    """  # noqa: D301
    if sandbox != "host" and not execute:
        raise click.UsageError("--sandbox says where --execute proves; give both")
    if skip_proved and not execute:
        raise click.UsageError("--skip-proved is for --execute; give both")
    library = options.library()
    place = path.resolve()
    if place.is_file() and place.name != "scenario.yaml":
        _tell([_fault_of(lambda: _experiment(library, str(path)))], f"{path}: valid")
        return
    place = place.parent if place.is_file() else place
    names = [name for name, folder in library.scenarios.items() if place in (folder, *folder.parents)]
    if place in library.roots or not names:
        names = list(library.scenarios)
        _tell([_fault_of(check) for check in _configuration(library)], "configuration: valid")
    _tell(
        [_fault_of(functools.partial(_scenario, library, name)) for name in names],
        f"{counted(len(names), 'scenario')}: valid",
    )
    if execute:
        found = most_isolated(library, "--sandbox {}") if sandbox == "auto" else sandbox
        _execute(library, names, jobs, SandboxPool(found, library), skip_proved=skip_proved)


def _configuration(library: Library) -> Iterator[Callable[[], object]]:
    yield library.models
    for prices in library.price_list_names():
        yield functools.partial(library.price_list, prices)
    yield library.inventories
    yield lambda: check_variants(library.variants().values())
    for name in library.experiment_names():
        yield functools.partial(_experiment, library, name)


def _experiment(library: Library, name: str) -> None:
    experiment = library.experiment(name)
    known = {named: found.info for named, found in find_agents(experiment, install=False).items()}
    made = plan_cells(experiment, library, known)
    for note in model_notes(made, library, datetime.datetime.now(datetime.UTC).date()):
        click.echo(f"note: {name}: {note}", err=True)


def _scenario(library: Library, name: str) -> None:
    folder = library.scenario(name)
    scenario = folder.scenario
    faults = list(_size_faults(folder))
    if scenario.source.fixture:
        fault = changed_fixture(scenario.source, library.fixture(scenario.source.fixture))
        faults += [fault] if fault else []
    if faults:
        raise ConfigError("\n".join(f"{folder.path / 'scenario.yaml'}: {fault}" for fault in faults))


def _size_faults(folder: ScenarioFolder) -> Iterator[str]:
    if not folder.solution.is_file():
        yield f"{folder.solution} is missing; keep the reference solution there as a patch"
        return
    lines = folder.solution.read_bytes().splitlines()
    changed = sum(1 for line in lines if line[:1] in {b"+", b"-"} and line[:4] not in {b"+++ ", b"--- "})
    if size_of(changed) != folder.scenario.size:
        yield f"size: the reference solution changes {counted(changed, 'line')}, which is {size_of(changed)}"


def _fault_of(check: Callable[[], object]) -> str | None:
    try:
        check()
    except ScyllaError as error:
        return str(error)
    return None


def _tell(faults: Sequence[str | None], good: str) -> None:
    found = list(dict.fromkeys(fault for fault in faults if fault))  # each experiment may trip over the same one
    if found:
        raise ConfigError("\n".join(found))
    click.echo(good)


def _execute(library: Library, scenarios: list[str], jobs: int, boxes: SandboxPool, *, skip_proved: bool) -> None:
    boxes.check()
    folders = [library.scenario(name) for name in scenarios]
    keys = {folder.path: proof_digest(folder, boxes) if skip_proved else "" for folder in folders}
    proofs: list[ScenarioProof] = []
    unproved = []
    for folder in folders:
        if skip_proved and (trials := recorded_proof(keys[folder.path])) is not None:
            click.echo(f"ok, proved before: {folder.scenario.id}: {trials}")
        else:
            unproved.append(folder)
    for folder, proof in zip(unproved, _proofs(unproved, library, boxes, jobs), strict=True):
        proofs.append(proof)
        trials = ", ".join(f"{name} {'passes' if passed else 'fails'}" for name, passed, _ in proof.tried)
        click.echo(f"{'ok' if not proof.faults else 'NOT OK'}: {proof.scenario}: {trials}")
        if skip_proved and not proof.faults:
            record_proof(keys[folder.path], trials)
    faults = [fault for proof in proofs for fault in proof.faults]
    if faults:
        raise ScenarioInvalidError("\n".join(faults))


def _proofs(
    folders: Sequence[ScenarioFolder], library: Library, boxes: SandboxPool, jobs: int
) -> Iterator[ScenarioProof]:
    # A thread for each scenario only waits for what it put into the lanes.
    with ThreadPoolExecutor(jobs) as lanes, ThreadPoolExecutor(len(folders) or 1) as waiting:
        try:
            pending = [waiting.submit(validate_scenario, folder, library, boxes, lanes) for folder in folders]
            for future in pending:
                # A wait without end would not notice a signal that another thread received.
                while not future.done():
                    wait([future], timeout=_SIGNAL_SECONDS)
                yield future.result()
        except BaseException:
            stop()
            for pool in (lanes, waiting):
                pool.shutdown(wait=False, cancel_futures=True)
            raise
