"""A trial's GitHub in the hub: its start, the settings of its clients, and its final state without secrets."""

import errno
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.attempt.workflow_runner import EndlessJobError, WorkflowRunner
from scylla_gha.attempt.workflow_steps import WorkflowBox
from scylla_gha.counting import counted
from scylla_gha.errors import SandboxError, ToolError, is_full_disk
from scylla_gha.hub.client import HubProcess, HubRefusalError
from scylla_gha.hub.client_tokens import TokenClient
from scylla_gha.hub.clients import (
    basic_credentials,
    client_environment,
    gh_environment,
    git_environment,
    mcp_environment,
)
from scylla_gha.hub.control import AttachedCell, AttachRequest
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.request_log import answering_mark
from scylla_gha.hub.trial_files import BUNDLE_FILE, REQUESTS_FILE, STATE_FILE
from scylla_gha.model.mode import Mode
from scylla_gha.model.trial import GitHubUse
from scylla_gha.model.variant import AgentResources
from scylla_gha.prepare import PreparedScenario
from scylla_gha.prepare.git_directory import own_commit
from scylla_gha.prepare.tools import cache_root
from scylla_gha.prepare.workspace import Workspace
from scylla_gha.redaction import RedactionSession
from scylla_gha.sandboxes.base import HUB_PORT, HUB_SOCKET, SOCKETS, Sandbox, SandboxMounts
from scylla_gha.store.run_folder import AttemptFolder
from scylla_gha.system.git import run_git

_MAX_PUSHED_BYTES: Final = 256 * 1024 * 1024  # of new objects, unpacked
_GROUP_BYTES: Final = 16 * 1024 * 1024  # of objects that are searched together
_SEARCH_SECONDS: Final = 120.0
_SHOWN_CHARACTERS: Final = 300
GH: Final = "gh"
MCP_TOKEN: Final = "GITHUB_PERSONAL_ACCESS_TOKEN"  # noqa: S105 the variable that GitHub's MCP server reads


def push_failure(bundle: Path, redaction: RedactionSession) -> str | None:
    """Return why a trial's new commits cannot be stored, and remove their bundle; return None if they can.

    Commits must not contain secrets, since a bundle is compressed and cannot be redacted.

    Raises:
        OSError: the disk is full, so that commits cannot be searched.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            failure = _secret_fault(bundle, GitRepository.create(Path(folder) / "all.git"), redaction)
        except ToolError as error:
            if is_full_disk(str(error), Path(folder)):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder) from None
            failure = f"pushed commits that cannot be searched for secrets: {str(error)[-_SHOWN_CHARACTERS:]}"
    if failure:
        bundle.unlink()
    return failure


def _secret_fault(bundle: Path, git: GitRepository, redaction: RedactionSession) -> str | None:
    """Search the trial's new objects for secrets, in groups: one object may have 32 MB, and there may be many."""
    git.run("fetch", "--quiet", str(bundle.resolve()), "+refs/*:refs/*")
    ends, starts = "--glob=refs/end/*", "--glob=refs/start/*"
    names = git.run("rev-list", "--objects", "--no-object-names", ends, "--not", starts)
    rows = [
        line.split()
        for line in git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=names).splitlines()
    ]
    sizes = {sha: int(size) for sha, size in rows}
    if (total := sum(sizes.values())) > _MAX_PUSHED_BYTES:
        return f"pushed {counted(total, 'byte')} to GitHub, more than {_MAX_PUSHED_BYTES}"
    for group in _groups(sizes):
        listed = b"".join(sha + b"\n" for sha in group)
        done = run_git(
            git.path, "cat-file", "--batch", stdin=listed, seconds=_SEARCH_SECONDS, most_bytes=_MAX_PUSHED_BYTES
        )
        if done.code:
            return f"pushed commits that git cannot read: {done.message[-_SHOWN_CHARACTERS:]}"
        if redaction.redactor.redact_bytes(done.stdout)[1]:
            return "pushed text to GitHub that looks like a secret, so the commits are not stored"
    return None


def _groups(sizes: Mapping[bytes, int]) -> Iterator[list[bytes]]:
    """Divide objects into groups of at most `_GROUP_BYTES`; a larger object is a group by itself."""
    group, left = list[bytes](), _GROUP_BYTES
    for sha, size in sizes.items():
        if group and size > left:
            yield group
            group, left = [], _GROUP_BYTES
        group.append(sha)
        left -= size
    if group:
        yield group


def github_servers(
    resources: AgentResources, env: Mapping[str, str], hosts: tuple[str, ...] | None = None
) -> AgentResources:
    """Return the resources with other settings of GitHub's MCP servers, which are recognised by their token variable.

    Args:
        resources: resources of the variant.
        env: variables to add to their environment.
        hosts: hosts that they may reach; None: the hosts that the variant declares.
    """
    servers = {
        name: server.model_copy(
            update={"env": {**server.env, **env}, "hosts": server.hosts if hosts is None else hosts}
        )
        if MCP_TOKEN in server.env
        else server
        for name, server in resources.mcp_servers.items()
    }
    return resources.model_copy(update={"mcp_servers": servers})


def git_identity(name: str, email: str) -> dict[str, str]:
    """Return the variables by which git names the author and the committer."""
    values = {"NAME": name, "EMAIL": email}
    return {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in values.items()}


def config_folder(mounts: SandboxMounts) -> Path:
    """Return the folder of settings in HOME, which is made if it is missing."""
    folder = mounts.home / ".config"  # where gh looks by itself
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass(slots=True)
class UsedHub:
    """Use of GitHub by an attempt that has ended.

    Attributes:
        counts: counts of requests and writes; None if it had no GitHub.
        failure: why its GitHub cannot be stored, as an act of the agent ("pushed ..."); None if it can be stored.
    """

    counts: GitHubUse | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class TrialHub:
    """A cell's GitHub in the hub, which the agent uses as one of the fixture's users."""

    hub: HubProcess
    attached: AttachedCell
    identity: str
    folder: Path
    runner: WorkflowRunner

    @property
    def hosts(self) -> tuple[str, ...]:
        """No hosts: the agent reaches the hub without the network."""
        return ()

    @property
    def secrets(self) -> tuple[str, ...]:
        """The user's tokens; git's token also in the form in which git sends it."""
        tokens = self.attached.client_tokens[self.identity]
        return (*tokens.values(), basic_credentials(tokens["git"]))

    def prompted(self, prepared: PreparedScenario) -> PreparedScenario:
        """Return the scenario unchanged, since the hub has the names and numbers of the fixture."""
        return prepared

    def adopt(self, workspace: Workspace) -> None:
        """Leave the workspace's clone unchanged, since the hub has the repository's name in the fixture."""

    @contextmanager
    def closing(self, folder: AttemptFolder, redaction: RedactionSession) -> Iterator[UsedHub]:
        """Detach the cell at the end of the block, and store its final state without secrets.

        If the hub lives and the state cannot be stored, the cause is what the agent wrote and pushed, so that is the
        agent's failure.

        Raises:
            SandboxError: the hub died in the middle of the trial, and the trial's state is lost; or the engine lost the
                container of a workflow. If the hub died in two attempts in a row while it answered a request of this
                trial, that is the agent's failure instead.
        """
        used = UsedHub()
        try:
            yield used
        finally:
            try:
                try:
                    self.runner.finish()
                finally:
                    traffic = self.hub.detach(self.attached, folder.root).traffic
                content = json.loads(folder.file(STATE_FILE).read_bytes())
                # GitHub itself, which runs workflows, writes as actor 0.
                writes = sum(1 for entry in content["journal"] if entry["actor"])
                used.counts = GitHubUse(**traffic.model_dump(), writes=writes)
                if content["start"]["refs"] != content["end"]["refs"]:
                    used.failure = push_failure(folder.file(BUNDLE_FILE), redaction)
            except (HubRefusalError, EndlessJobError) as error:
                used.failure = f"left GitHub in a state that cannot be stored: {error}"
            except ToolError as error:
                before = AttemptFolder(folder.root.with_name(f"attempt-{folder.number - 1}"))
                if not all(answering_mark(attempt.file(REQUESTS_FILE)).exists() for attempt in (folder, before)):
                    raise SandboxError(str(error)) from None
                used.failure = "twice in a row, GitHub's process died while it answered a request of this trial"
            finally:
                shutil.rmtree(self.folder, ignore_errors=True)
                for name in (REQUESTS_FILE, STATE_FILE):
                    redaction.file(folder.file(name))

    def _token(self, client: TokenClient) -> str:
        """Return the token for one kind of client."""
        return self.attached.client_tokens[self.identity][client]

    @property
    def _port(self) -> int:
        """Port on loopback, as the agent sees it."""
        return HUB_PORT if self.attached.port is None else self.attached.port

    def with_servers(self, resources: AgentResources) -> AgentResources:
        """Return the resources with MCP servers of GitHub that use only the trial's GitHub."""
        env = {**mcp_environment(self._port, self._token("mcp")), "NO_PROXY": "", "no_proxy": ""}
        return github_servers(resources, env, hosts=())

    def environment(self, sandbox: Sandbox, mounts: SandboxMounts, mode: Mode) -> Mapping[str, str]:
        """Write the settings of git, and of gh if the mode has it, into HOME; return the clients' environment.

        The environment has the variables of git, gh and the mode, with paths of the host.
        """
        config = config_folder(mounts)
        socket = str(self.attached.socket) if sandbox.has_network else f"{SOCKETS}/{HUB_SOCKET}"
        user = self.attached.bindings[f"user.{self.identity}"]
        return {
            **(gh_environment(socket, self._token("gh"), config) if GH in mode.programs else {}),
            **git_environment(self._port, self._token("git"), config),
            **git_identity(str(user["name"]), f"{user['id']}+{user['login']}@users.noreply.github.com"),
            **client_environment(mode.env, socket, self._port, self._token("program")),
        }


def open_github(
    hub: HubProcess | None,
    prepared: PreparedScenario,
    sockets: Path | None,
    folder: AttemptFolder,
    sandbox: Sandbox,
    box: WorkflowBox,
) -> TrialHub | None:
    """Serve the start state of a scenario's GitHub, and run its workflows; return None if it has no GitHub.

    Args:
        hub: process of the hub; None: no scenario of the run has GitHub state.
        prepared: the scenario.
        sockets: folder for the cell's socket.
        folder: folder of the attempt, which gets the request log.
        sandbox: sandbox of the agent; if it shares the host's network, git needs a port there.
        box: sandbox in which workflows run.

    Raises:
        FixtureError: GitHub would refuse a step of the fixture.
        ToolError: the hub does not start, or does not answer.
    """
    scenario, fixture = prepared.folder.scenario, prepared.folder.github
    if hub is None or fixture is None or scenario.github is None or sockets is None:
        return None
    folder.root.mkdir(parents=True, exist_ok=True)
    start = own_commit(prepared.start.git_dir, scenario.source.hash)
    request = AttachRequest(
        cell=f"{folder.root.parent.name}-{uuid.uuid4().hex[:12]}",
        fixture=fixture,
        start=start,
        start_git_dir=prepared.start.git_dir if start else None,
        cache=cache_root(),
        folder=sockets.with_name("hub"),
        socket=sockets / HUB_SOCKET,
        log=folder.file(REQUESTS_FILE),
        loopback=sandbox.has_network,
        runner=True,
    )
    attached = hub.attach(request)
    names = {
        scenario.github.identity,
        *(name for name, login in attached.logins.items() if login == scenario.github.identity),
    }
    identity = next(name for name in attached.tokens if name in names)
    runner = WorkflowRunner(hub, attached, request.folder / "repositories", box)
    runner.start()
    return TrialHub(hub, attached, identity, request.folder, runner)
