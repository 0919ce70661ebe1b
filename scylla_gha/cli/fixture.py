"""Commands for repositories on github.com that have a fixture's state: seed, reset, status, cleanup."""

import functools
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from scylla_gha.cli import options
from scylla_gha.config import did_you_mean, there_are
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, GateError
from scylla_gha.publish import actions_output

if TYPE_CHECKING:
    from scylla_gha.github_fixture.commands import FixtureSession
    from scylla_gha.model.github_repositories import RepositoryPool
    from scylla_gha.model.plan import Plan
    from scylla_gha.store.run_folder import RunFolder

_SHOWN: Final = 20
_Command = Callable[..., None]
_lane = click.option("--lane", type=click.IntRange(0), default=0, show_default=True,
                     help="Number of the worker; lane i has the repository i modulo their number.")  # fmt: skip
_holder = click.option(
    "--holder", metavar="NAME", help="Name in the lease (default: the run in Actions, or user@host)."
)
_lease = click.option("--lease", "minutes", type=click.IntRange(1, 1440), metavar="MINUTES",
                      help="Take the repository for so many minutes, or extend that (default: no lease).")  # fmt: skip

_shard = click.option("--shard", "number", type=click.IntRange(0), required=True,
                      help="Number of the shard in shards.json.")  # fmt: skip


@click.group(cls=options.CommandGroup)
def fixture() -> None:
    """Seed, reset and check repositories on github.com that have a fixture's state.

    Only repositories that config/github-fixtures.yaml lists, and that are marked, are ever changed. The token of a
    fixture's user is read from SCYLLA_FIXTURE_TOKEN_<USER>.

    \b
    scylla-gha fixture status loanbook --lane 1
    """  # noqa: D301


def _common(command: _Command) -> _Command:
    """Add what all commands have: the fixture, the lane, the holder, and --json."""
    for decorate in (options.as_json, _holder, _lane, click.argument("fixture")):
        command = decorate(command)
    return command


@fixture.command()
@_common
@_lease
def seed(fixture: str, lane: int, holder: str | None, minutes: int | None, *, as_json: bool) -> None:
    """Create the state of FIXTURE in an empty, marked repository, or finish what was begun.

    \b
    scylla-gha fixture seed loanbook --lane 1
    """  # noqa: D301
    with _session(fixture, lane, holder, is_new=True) as session:
        _print(session.converge(minutes, is_new=True), as_json=as_json)


@fixture.command()
@_common
@_lease
@click.option("--agent", metavar="USER", help="User of the fixture whose token trials have; its reviews that were not "
                                              "submitted are removed (default: they stay).")  # fmt: skip
def reset(
    fixture: str, lane: int, holder: str | None, minutes: int | None, agent: str | None, *, as_json: bool
) -> None:
    """Bring a repository back to the state of FIXTURE, and prove by a digest that it is there.

    \b
    scylla-gha fixture reset loanbook --lane 1 --lease 90
    """  # noqa: D301
    with _session(fixture, lane, holder) as session:
        _print(session.converge(minutes, agent, is_new=False), as_json=as_json)


@fixture.command()
@_common
def status(fixture: str, lane: int, holder: str | None, *, as_json: bool) -> None:
    """Compare a repository with FIXTURE; ends with code 10 if they differ.

    \b
    scylla-gha fixture status loanbook --json
    """  # noqa: D301
    with _session(fixture, lane, holder) as session:
        facts = session.status()
    _print(facts, as_json=as_json)
    if not facts["equal"]:
        command, use = ("reset", "repairs it") if facts["seeded"] else ("seed", "continues a seed that was begun")
        raise GateError(f"{facts['repository']}: differs from the fixture; "
                        f"`scylla-gha fixture {command} {fixture} --lane {lane}` {use}")  # fmt: skip


@fixture.command()
@_common
@click.option("--dry-run", is_flag=True, help="List what would be removed, and remove nothing.")
def cleanup(fixture: str, lane: int, holder: str | None, *, as_json: bool, dry_run: bool) -> None:
    """Remove what FIXTURE does not have, such as branches and issues of trials, and free the lease.

    \b
    scylla-gha fixture cleanup loanbook --dry-run
    """  # noqa: D301
    with _session(fixture, lane, holder) as session:
        facts = session.cleanup(is_dry=dry_run)
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    names = facts["would_remove" if dry_run else "removed"]
    click.echo(f"{facts['repository']}: {'would remove' if dry_run else 'removed'} {counted(len(names), 'object')}")
    for name in names:
        click.echo(f"  {name}")


@fixture.command()
@options.experiment
@_shard
@options.runs
def lease(experiment: str, number: int, runs: Path) -> None:
    """Lease and reset a repository for each cell of a shard of EXPERIMENT, for a job whose agents come later.

    The administrator's token is needed here, and not by `scylla-gha cell`, which finds the repositories by
    runs/EXPERIMENT/lanes/. Each lease ends by itself after six hours.

    \b
    scylla-gha fixture lease github-live --shard 0
    """  # noqa: D301
    from scylla_gha.pipeline.lanes import lease_lanes

    report = functools.partial(click.echo, err=True)
    cells, folder, environ = _shard_cells(experiment, number, runs)
    leased = lease_lanes(cells, folder, options.library(), environ, report)
    click.echo(f"leased and reset: {counted(leased, 'repository', 'repositories')}")


@fixture.command()
@options.experiment
@_shard
@options.runs
def free(experiment: str, number: int, runs: Path) -> None:
    """Free the repositories that `fixture lease` has leased for a shard of EXPERIMENT.

    \b
    scylla-gha fixture free github-live --shard 0
    """  # noqa: D301
    from scylla_gha.pipeline.lanes import free_lanes

    report = functools.partial(click.echo, err=True)
    cells, folder, environ = _shard_cells(experiment, number, runs)
    free_lanes(cells, folder, options.library(), environ, report)


def _shard_cells(experiment: str, number: int, runs: Path) -> tuple["Plan", "RunFolder", dict[str, str]]:
    """Return the plan of a shard, the run's folder, and the environment with all tokens, which Actions hides."""
    from scylla_gha.pipeline.shard_worker import load_shard
    from scylla_gha.plan.build import refuse_changed_fixtures

    folder = options.run_folder(runs, experiment)
    part = load_shard(folder, number).plan
    refuse_changed_fixtures({cell.scenario for cell in part.cells}, options.library())
    return part, folder, actions_output.hidden_fixture_tokens()


@contextmanager
def _session(name: str, lane: int, holder: str | None, *, is_new: bool = False) -> Iterator["FixtureSession"]:
    """Make the wanted state of a fixture, and the clients of a lane's repository; a new one names what it lacks."""
    from scylla_gha.github_fixture.accounts import FixtureAccounts, limits_of, retries_of
    from scylla_gha.github_fixture.commands import FixtureSession
    from scylla_gha.github_fixture.leases import default_holder
    from scylla_gha.github_fixture.reference import make_reference
    from scylla_gha.github_fixture.tokens import fixture_environment
    from scylla_gha.hub.fixture import StartCommit
    from scylla_gha.prepare.start_state import own_files_commit
    from scylla_gha.prepare.tools import cache_root
    from scylla_gha.providers import provider_environment

    library = options.library()
    pool = _pool(library.repositories().fixtures, name)
    folder = library.fixture(name).resolve()
    report = functools.partial(click.echo, err=True)
    repository = pool.repositories[lane % len(pool.repositories)]
    environ = fixture_environment(provider_environment())
    accounts = FixtureAccounts(pool, repository, environ, retries_of(report), limits_of(environ))
    if not is_new:
        accounts.require([pool.admin])
    with tempfile.TemporaryDirectory(prefix="fixture-") as scratch:
        start = own_files_commit(folder, cache_root())
        commit = StartCommit(*start) if start else None
        reference = make_reference(name, folder, Path(scratch), commit, accounts.shared())
        yield FixtureSession(reference, accounts, lane, holder or default_holder(environ), report)
        report(counted(accounts.calls, "API call"))


def _pool(pools: Mapping[str, "RepositoryPool"], name: str) -> "RepositoryPool":
    from scylla_gha.model.github_repositories import REPOSITORIES_FILE

    if name not in pools:
        hint = did_you_mean(name, list(pools)) or there_are(sorted(pools))
        raise ConfigError(f"{REPOSITORIES_FILE}: fixtures: {name!r} is not listed, so none of its repositories may be "
                          f"changed{hint}")  # fmt: skip
    return pools[name]


def _print(facts: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    equal = "matches the fixture" if facts["equal"] else f"differs in {counted(len(facts['differences']), 'field')}"
    click.echo(f"{facts['repository']}: {equal}; digest {facts['digest'][:16]}, wanted {facts['wanted_digest'][:16]}")
    for line in facts["differences"][:_SHOWN]:
        click.echo(f"  {line}")
    if len(facts["differences"]) > _SHOWN:
        click.echo(f"  and {len(facts['differences']) - _SHOWN} more; --json lists all")
    for key, reason in facts["to_recreate"].items():
        click.echo(f"  {key}: can only be recreated: {reason}")
    lease = facts["lease"]
    leased = "not leased" if lease is None else f"leased by {lease['holder']} until {lease['expires']}"
    stale = " (stale)" if lease and lease["stale"] else ""
    left = counted(facts["limit"]["remaining"], "point")
    click.echo(f"{leased}{stale}; {left} of GitHub's limit of {facts['limit']['limit']} left")
    for line in (*facts["residue"], *(f"not seeded: {what}" for what in facts["not_seeded"])):
        click.echo(f"note: {line}")
    if facts.get("created"):
        click.echo(f"created: {', '.join(facts['created'])}")
