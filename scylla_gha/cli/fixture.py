"""Commands that make a fixture's GitHub state: on github.com (`fixture`) and on this machine (`hub`)."""

import contextlib
import json
import signal
import tempfile
import time
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
    from scylla_gha.attempt.workflow_steps import WorkflowBox
    from scylla_gha.github_com.commands import FixtureSession
    from scylla_gha.hub.client import HubProcess
    from scylla_gha.hub.control import AttachedCell, AttachRequest
    from scylla_gha.model.github_fixture import RepositoryPool
    from scylla_gha.model.plan import Plan
    from scylla_gha.store.run_folder import RunFolder

_SHOWN: Final = 20
_Command = Callable[..., None]
_lane = click.option(
    "--lane",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Number of the worker; lane i has repository i modulo the number of repositories.",
)
_holder = click.option(
    "--holder", metavar="NAME", help="Name in the lease (default: the run in Actions, or user@host)."
)
_lease = click.option(
    "--lease",
    "minutes",
    type=click.IntRange(1, 1440),
    metavar="MINUTES",
    help="Lease the repository for this number of minutes, or extend the lease (default: no lease).",
)
_PAUSE_SECONDS: Final = 0.2
_PUSHES: Final = ("admin", "maintain", "write")


@click.group(cls=options.CommandGroup)
def fixture() -> None:
    """Seed, reset and check repositories on github.com that have a fixture's state.

    Only marked repositories that config/github-fixtures.yaml lists are changed. The token of a
    fixture's user is read from SCYLLA_FIXTURE_TOKEN_<USER>.

    \b
    scylla-gha fixture status loanbook --lane 1
    """  # noqa: D301


def _common(command: _Command) -> _Command:
    """Add the parameters of all commands: fixture, lane, holder and --json."""
    for decorate in (options.as_json, _holder, _lane, click.argument("fixture")):
        command = decorate(command)
    return command


@fixture.command()
@_common
@_lease
def seed(fixture: str, lane: int, holder: str | None, minutes: int | None, *, as_json: bool) -> None:
    """Create the state of FIXTURE in an empty, marked repository, or finish an earlier seed.

    \b
    scylla-gha fixture seed loanbook --lane 1
    """  # noqa: D301
    with _session(fixture, lane, holder, is_new=True) as session:
        _print(session.converge(minutes, is_new=True), as_json=as_json)


@fixture.command()
@_common
@_lease
@click.option(
    "--agent",
    metavar="USER",
    help="User of the fixture whose token trials get; pending reviews of this user are removed (default: they stay).",
)
def reset(
    fixture: str, lane: int, holder: str | None, minutes: int | None, agent: str | None, *, as_json: bool
) -> None:
    """Reset a repository to the state of FIXTURE, and verify the state by a digest.

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
        command, use = ("reset", "repairs it") if facts["seeded"] else ("seed", "continues an earlier seed")
        raise GateError(
            f"{facts['repository']}: differs from the fixture; "
            f"`scylla-gha fixture {command} {fixture} --lane {lane}` {use}"
        )


@fixture.command()
@_common
@click.option("--dry-run", is_flag=True, help="List the objects to remove, and remove nothing.")
def cleanup(fixture: str, lane: int, holder: str | None, *, as_json: bool, dry_run: bool) -> None:
    """Remove objects that FIXTURE does not have, such as branches and issues of trials, and free the lease.

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
@options.shard
@options.runs
def lease(experiment: str, number: int, runs: Path) -> None:
    """Lease and reset a repository for each cell of a shard of EXPERIMENT, before its agents start.

    This command needs the administrator's token; `scylla-gha cell` does not, and finds the repositories in
    runs/EXPERIMENT/lanes/. Each lease expires after six hours.

    \b
    scylla-gha fixture lease github-live --shard 0
    """  # noqa: D301
    from scylla_gha.evaluate.lanes import lease_lanes

    cells, folder, environ = _shard_cells(experiment, number, runs)
    leased = lease_lanes(cells, folder, options.library(), environ, options.report)
    click.echo(f"leased and reset: {counted(leased, 'repository', 'repositories')}")


@fixture.command()
@options.experiment
@options.shard
@options.runs
def free(experiment: str, number: int, runs: Path) -> None:
    """Free the repositories that `fixture lease` has leased for a shard of EXPERIMENT.

    \b
    scylla-gha fixture free github-live --shard 0
    """  # noqa: D301
    from scylla_gha.evaluate.lanes import free_lanes

    cells, folder, environ = _shard_cells(experiment, number, runs)
    free_lanes(cells, folder, options.library(), environ, options.report)


def _shard_cells(experiment: str, number: int, runs: Path) -> tuple["Plan", "RunFolder", dict[str, str]]:
    """Return the plan of a shard, the run's folder, and the environment with all tokens, hidden in Actions' log."""
    from scylla_gha.evaluate.shard_worker import load_shard
    from scylla_gha.plan import refuse_changed_fixtures

    folder = options.run_folder(runs, experiment)
    part = load_shard(folder, number).plan
    refuse_changed_fixtures({cell.scenario for cell in part.cells}, options.library())
    return part, folder, actions_output.hidden_fixture_tokens()


@contextmanager
def _session(name: str, lane: int, holder: str | None, *, is_new: bool = False) -> Iterator["FixtureSession"]:
    """Provide a session on a lane's repository: the fixture's state and one client for each account.

    With `is_new`, tokens are not required in advance.
    """
    from scylla_gha.evaluate.lanes import fixture_reference
    from scylla_gha.github_com import fixture_environment
    from scylla_gha.github_com.accounts import FixtureAccounts, limits_of, retries_of
    from scylla_gha.github_com.commands import FixtureSession
    from scylla_gha.github_com.leases import default_holder
    from scylla_gha.providers import provider_environment

    library = options.library()
    pool = _pool(library.repositories().fixtures, name)
    repository = pool.repositories[lane % len(pool.repositories)]
    environ = fixture_environment(provider_environment())
    accounts = FixtureAccounts(pool, repository, environ, retries_of(options.report), limits_of(environ))
    if not is_new:
        accounts.require([pool.admin])
    with fixture_reference(library, name, pool) as reference:
        yield FixtureSession(reference, accounts, lane, holder or default_holder(environ), options.report)
        options.report(counted(accounts.calls, "API call"))


def _pool(pools: Mapping[str, "RepositoryPool"], name: str) -> "RepositoryPool":
    from scylla_gha.model.github_fixture import REPOSITORIES_FILE

    if name not in pools:
        hint = did_you_mean(name, list(pools)) or there_are(sorted(pools))
        raise ConfigError(
            f"{REPOSITORIES_FILE}: fixtures: {name!r} is not listed, so none of its repositories may be changed{hint}"
        )
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


@click.group(cls=options.CommandGroup)
def hub() -> None:
    """Serve the GitHub of a fixture on this machine.

    \b
    scylla-gha hub serve loanbook
    """  # noqa: D301


@hub.command()
@click.argument("fixture")
@click.option(
    "--user",
    help="Name or login of the fixture's user for the printed token "
    "(default: author, or the first person who can push).",
)
@click.option(
    "--files",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for github.json and github.bundle, written at the end (default: none).",
)
@click.option(
    "--faults",
    "plan",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="YAML file of faults to inject into answers (default: none).",
)
@click.option(
    "--workflows",
    type=click.Choice(["auto", "docker", "bubblewrap", "host", "none"]),
    default="auto",
    show_default=True,
    help="Sandbox in which workflows run; auto is bubblewrap if it works here, otherwise none, "
    "and then pushes start no runs.",
)
@options.as_json
def serve(
    fixture: str, user: str | None, files: Path | None, plan: Path | None, workflows: str, *, as_json: bool
) -> None:
    """Serve the GitHub of FIXTURE, a name in fixtures/ or a folder with github.yaml, until it is interrupted.

    The first lines on standard output are shell commands. In a shell that has run them, gh and git use this
    GitHub as github.com. Nothing is changed outside of a temporary folder.

    \b
    scylla-gha hub serve loanbook > hub.env &
    while [ ! -s hub.env ] && kill -0 $!; do sleep 0.1; done
    . ./hub.env; gh pr list --repo northgate-library/loanbook
    """  # noqa: D301
    from scylla_gha.config import load_yaml
    from scylla_gha.hub.client import HubProcess
    from scylla_gha.hub.faults import refuse_impossible_faults
    from scylla_gha.model.github_fixture import FIXTURE_FILE
    from scylla_gha.model.github_requests import GitHubFaultPlan

    faults = load_yaml(plan, GitHubFaultPlan).faults if plan else ()
    refuse_impossible_faults(faults)
    is_folder = (Path(fixture) / FIXTURE_FILE).is_file()
    folder = Path(fixture).resolve() if is_folder else options.library().fixture(fixture)
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell starts jobs in the background without SIGINT
        signal.signal(number, signal.default_int_handler)
    box = _workflow_box(workflows)
    with tempfile.TemporaryDirectory(prefix="hub-") as name, HubProcess.start() as process:
        request = _request(folder, Path(name)).model_copy(update={"faults": faults, "runner": box is not None})
        cell = process.attach(request)
        chosen = _chosen(folder, cell, user)
        with _running_workflows(process, cell, request.folder, box), contextlib.suppress(KeyboardInterrupt):
            _print_hub(cell, chosen, Path(name), as_json=as_json)
            while process.alive:
                time.sleep(_PAUSE_SECONDS)
        if files is not None and not process.is_lost(cell):
            files.mkdir(parents=True, exist_ok=True)
            process.detach(cell, files)
            click.echo(f"wrote {files}", err=True)


def _request(folder: Path, scratch: Path) -> "AttachRequest":
    from scylla_gha.hub.control import AttachRequest
    from scylla_gha.prepare.start_state import own_files_commit
    from scylla_gha.prepare.tools import cache_root

    cache = cache_root()
    commit, git_dir = own_files_commit(folder, cache) or (None, None)
    return AttachRequest(
        cell="served",
        fixture=folder.resolve(),
        start=commit,
        start_git_dir=git_dir,
        cache=cache,
        folder=scratch / "hub",
        socket=scratch / "hub.sock",
        log=None,
        loopback=True,
    )


def _workflow_box(name: str) -> "WorkflowBox | None":
    """Return the sandbox in which workflows run; None if they do not run.

    Raises:
        SandboxError: the sandbox cannot be used on this machine.
    """
    from scylla_gha.attempt.workflow_steps import WorkflowBox
    from scylla_gha.images import SandboxPool
    from scylla_gha.model.sandbox import Tools
    from scylla_gha.prepare.tools import cache_root, search_path
    from scylla_gha.sandboxes import SANDBOXES

    if name == "auto":
        reason = SANDBOXES["bubblewrap"].missing_reason()
        if reason is not None:
            click.echo(f"workflows do not run: {reason}; --workflows none hides this message", err=True)
        name = "bubblewrap" if reason is None else "none"
    for kind in SANDBOXES:
        if kind == name:
            SANDBOXES[kind].check()
            target = SandboxPool(SANDBOXES[kind].name, options.library()).target(Tools())
            return WorkflowBox(target, search_path(Tools(), cache_root()))
    return None


@contextlib.contextmanager
def _running_workflows(
    process: "HubProcess", cell: "AttachedCell", folder: Path, box: "WorkflowBox | None"
) -> Iterator[None]:
    """Run workflows during the block; at its end, cancel those that are still running."""
    from scylla_gha.attempt.workflow_runner import WorkflowRunner

    if box is None:
        yield
        return
    runner = WorkflowRunner(process, cell, folder / "repositories", box)
    runner.start()
    try:
        yield
    finally:
        if not process.is_lost(cell):
            runner.finish(0.0)


def _chosen(folder: Path, cell: "AttachedCell", user: str | None) -> str:
    if user is None:
        return _default_user(folder, cell)
    for name, login in cell.logins.items():
        if user == name or user.lower() == login.lower():
            return name
    raise ConfigError(f"--user: there is no user {user!r}; the fixture has {', '.join(cell.tokens)}")


def _default_user(folder: Path, cell: "AttachedCell") -> str:
    """Return the user `author`, or otherwise the first person who can push."""
    from scylla_gha.hub.fixture import read_fixture

    if "author" in cell.tokens:
        return "author"
    users = read_fixture(folder).users.items()
    people = (name for name, user in users if user.kind == "User" and user.permission in _PUSHES)
    return next(people, next(iter(cell.tokens)))


def _print_hub(cell: "AttachedCell", user: str, folder: Path, *, as_json: bool) -> None:
    from scylla_gha.hub.clients import gh_environment, git_environment, shell_exports

    port, for_git = cell.port or 0, cell.client_tokens[user]["git"]
    environment = gh_environment(cell.socket, cell.tokens[user], folder) | git_environment(port, for_git, folder)
    environment["GITHUB_API_URL"] = f"http://127.0.0.1:{port}/api/v3"
    if as_json:
        facts = cell.model_dump(mode="json") | {"user": user, "environment": environment}
        click.echo(json.dumps(facts, indent=2))
        return
    repository = cell.bindings["repo.main"]["full_name"]
    click.echo(f"# GitHub with {repository}, as {cell.logins[user]}; it ends with Ctrl-C")
    click.echo(shell_exports(environment), nl=False)
