"""Repositories on github.com for the cells of a shard, leased and reset in a separate step, before agents work.

Only that step has the administrator's token. It writes `lanes/<cell>.json`, which contains no secret.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scylla_gha.attempt.github_com import LaneSource
from scylla_gha.config.library import Library
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, ScyllaError
from scylla_gha.github_com import fixture_environment
from scylla_gha.github_com.leases import default_holder
from scylla_gha.github_com.trial_lane import (
    LanePool,
    LeaseTerms,
    TrialLane,
    free_lane,
    lane_record,
    lanes_folder,
    lease_lane,
)
from scylla_gha.github_com.view import FixtureReference, make_reference
from scylla_gha.hub.fixture import StartCommit
from scylla_gha.model.github_fixture import RepositoryPool
from scylla_gha.model.plan import Cell, Plan
from scylla_gha.plan.github_com import identity_of, require_lane_tokens
from scylla_gha.prepare.start_state import own_files_commit
from scylla_gha.prepare.tools import cache_root
from scylla_gha.providers import provider_environment
from scylla_gha.store import read_record, write_record
from scylla_gha.store.run_folder import RunFolder
from scylla_gha.system.process import Cancel

Report = Callable[[str], None]
_JOB_MINUTES: Final = 360  # GitHub's time limit of a job


def lease_lanes(plan: Plan, folder: RunFolder, library: Library, environ: Mapping[str, str], report: Report) -> int:
    """Lease and reset a repository for each cell of a shard that works on github.com; return their number.

    Args:
        plan: plan of only the shard's cells.
        folder: folder of the run, for the records.
        library: library of scenarios and repositories.
        environ: environment with the administrator's token.
        report: called with a line for each repository.

    Raises:
        ConfigError: tokens are missing, or a pool has fewer repositories than the shard has cells.
        ScyllaError: a repository cannot be leased or reset; those before it are freed.
    """
    lanes_folder(folder.root).mkdir(parents=True, exist_ok=True)
    if plan.experiment.github == "hub":
        return 0
    require_lane_tokens(plan, library, environ, leased=False)
    cells = _cells_by_fixture(plan, library)
    for fixture, listed in cells.items():
        repositories = library.repositories().fixtures[fixture].repositories
        if len(listed) > len(repositories):
            raise ConfigError(
                f"{fixture}: {counted(len(listed), 'cell')} of this shard need a repository each, but "
                f"the pool has {len(repositories)}; add repositories, or plan fewer cells"
            )
    try:
        for fixture, listed in cells.items():
            for cell in listed:
                lane = _lease(cell, library, _pool(library, fixture, environ, report))
                write_record(lane_record(folder.root, cell.id), lane)
                report(f"{cell.id}: {lane.repository} matches the fixture, and is leased until {lane.expires}")
    except ScyllaError:
        free_lanes(plan, folder, library, environ, report)
        raise
    return sum(map(len, cells.values()))


def free_lanes(plan: Plan, folder: RunFolder, library: Library, environ: Mapping[str, str], report: Report) -> None:
    """Free the repositories of a shard's cells; report those that cannot be freed, whose leases expire."""
    for fixture, cells in _cells_by_fixture(plan, library).items():
        for cell in cells:
            lane = read_record(lane_record(folder.root, cell.id), TrialLane)
            if lane is None:
                continue
            try:
                pool = _pool(library, fixture, environ, report)
                with fixture_reference(library, fixture, pool.pool) as reference:
                    free_lane(pool, reference, lane)
                report(f"{lane.repository}: freed")
            except ScyllaError as error:
                report(f"{lane.repository}: its lease ends at {lane.expires}: {error}")


def require_tokens(plan: Plan, library: Library, folder: RunFolder) -> None:
    """Check that the environment has the tokens for the first trial on github.com.

    Raises:
        ConfigError: tokens are missing; the message names all.
    """
    leased = lanes_folder(folder.root).is_dir()
    require_lane_tokens(plan, library, fixture_environment(provider_environment()), leased=leased)


def lane_source(library: Library, folder: RunFolder, cell: Cell, fixture: str, cancel: Cancel) -> LaneSource:
    """Return the repositories of a fixture for a cell's trial, with the tokens of the environment."""
    environ = fixture_environment(provider_environment())
    pool = _pool(library, fixture, environ, lambda _: None)
    record = lane_record(folder.root, cell.id)
    return LaneSource(pool, record, LeaseTerms(f"{default_holder(environ)}/{cell.id}", cancel.wait))


def _cells_by_fixture(plan: Plan, library: Library) -> dict[str, list[Cell]]:
    cells: dict[str, list[Cell]] = {}
    for cell in plan.cells:
        source = library.scenario(cell.scenario).scenario.source.fixture
        if source is not None and library.scenario(cell.scenario).github is not None:
            cells.setdefault(source, []).append(cell)
    return cells


def _pool(library: Library, fixture: str, environ: Mapping[str, str], report: Report) -> LanePool:
    return LanePool(fixture, library.repositories().fixtures[fixture], environ, report)


@contextmanager
def fixture_reference(library: Library, fixture: str, pool: RepositoryPool) -> Iterator[FixtureReference]:
    """Build the state that a fixture declares, for the accounts of its repositories."""
    folder = library.fixture(fixture).resolve()
    with tempfile.TemporaryDirectory(prefix="fixture-") as scratch:
        own_files = own_files_commit(folder, cache_root())
        start = StartCommit(*own_files) if own_files else None
        yield make_reference(fixture, folder, Path(scratch), start, pool.shared_accounts())


def _lease(cell: Cell, library: Library, pool: LanePool) -> TrialLane:
    identity = identity_of(library.scenario(cell.scenario))
    with fixture_reference(library, pool.fixture, pool.pool) as reference:
        terms = LeaseTerms(f"{default_holder(pool.environ)}/{cell.id}", time.sleep)
        return lease_lane(pool, reference, terms, _JOB_MINUTES, identity)
