"""Command that serves the GitHub of a fixture on this machine."""

import contextlib
import json
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from scylla_gha.cli import options
from scylla_gha.errors import ConfigError

if TYPE_CHECKING:
    from scylla_gha.hub.client import HubProcess
    from scylla_gha.hub.control import AttachedCell, AttachRequest
    from scylla_gha.run.workflow_steps import WorkflowBox

_PAUSE_SECONDS: Final = 0.2
_PUSHES: Final = ("admin", "maintain", "write")


@click.group(cls=options.CommandGroup)
def hub() -> None:
    """Serve the GitHub of a fixture on this machine.

    \b
    scylla-gha hub serve loanbook
    """  # noqa: D301


@hub.command()
@click.argument("fixture")
@click.option("--user", help="Name or login of the fixture's user whose token is printed "
                             "(default: author, or the first person who can push).")  # fmt: skip
@click.option("--files", type=click.Path(path_type=Path, file_okay=False),
              help="Folder for github.json and github.bundle, written at the end (default: none).")  # fmt: skip
@click.option("--faults", "plan", type=click.Path(path_type=Path, dir_okay=False, exists=True),
              help="YAML file of faults to inject into answers (default: none).")  # fmt: skip
@click.option("--workflows", type=click.Choice(["auto", "docker", "bubblewrap", "host", "none"]), default="auto",
              show_default=True, help="Sandbox in which workflows run; auto is bubblewrap if it works here, else none, "
                                      "and then pushes start no runs.")  # fmt: skip
@options.as_json
def serve(
    fixture: str, user: str | None, files: Path | None, plan: Path | None, workflows: str, *, as_json: bool
) -> None:
    """Serve the GitHub of FIXTURE, a name in fixtures/ or a folder with github.yaml, until it is interrupted.

    The first lines on standard output are commands for a shell. In a shell that has run them, gh and git use this
    GitHub as github.com. Nothing is changed outside of a temporary folder.

    \b
    scylla-gha hub serve loanbook > hub.env &
    while [ ! -s hub.env ] && kill -0 $!; do sleep 0.1; done
    . ./hub.env; gh pr list --repo northgate-library/loanbook
    """  # noqa: D301
    from scylla_gha.config import load_yaml
    from scylla_gha.hub.client import HubProcess
    from scylla_gha.hub.faults import refuse_impossible_faults
    from scylla_gha.model.github_faults import GitHubFaultPlan
    from scylla_gha.model.github_fixture import FIXTURE_FILE

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
            _print(cell, chosen, Path(name), as_json=as_json)
            _wait(process)
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
        cell="served", fixture=folder.resolve(), start=commit, start_git_dir=git_dir, cache=cache,
        folder=scratch / "hub", socket=scratch / "hub.sock", log=None, loopback=True,
    )  # fmt: skip


def _workflow_box(name: str) -> "WorkflowBox | None":
    """Return the sandbox in which workflows run; None: they do not.

    Raises:
        SandboxError: it cannot be used on this machine.
    """
    from scylla_gha.images import SandboxPool
    from scylla_gha.model.tools import Tools
    from scylla_gha.prepare.tools import cache_root, search_path
    from scylla_gha.run.workflow_steps import WorkflowBox
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
    """Run workflows meanwhile; what runs at the end is cancelled."""
    from scylla_gha.run.workflow_runner import WorkflowRunner

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
    """Return the user `author`, or else the first person who can push."""
    from scylla_gha.hub.fixture import read_fixture

    if "author" in cell.tokens:
        return "author"
    users = read_fixture(folder).users.items()
    people = (name for name, user in users if user.kind == "User" and user.permission in _PUSHES)
    return next(people, next(iter(cell.tokens)))


def _print(cell: "AttachedCell", user: str, folder: Path, *, as_json: bool) -> None:
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


def _wait(process: "HubProcess") -> None:
    while process.alive:
        time.sleep(_PAUSE_SECONDS)
