"""A trial's GitHub on github.com: a leased repository, the settings of its clients, and its final state."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from scylla_gha.attempt.github import (
    GH,
    MCP_TOKEN,
    TrialHub,
    UsedHub,
    config_folder,
    git_identity,
    github_servers,
    push_failure,
)
from scylla_gha.egress_proxy import is_loopback
from scylla_gha.errors import ConfigError, FixtureError, ScyllaError
from scylla_gha.github_com import token_variable
from scylla_gha.github_com.trial_lane import (
    LanePool,
    LaneTrial,
    LeaseTerms,
    TrialLane,
    free_lane,
    lane_prompt,
    lease_lane,
)
from scylla_gha.github_com.view import FixtureReference, make_reference
from scylla_gha.hub.clients import gh_environment, git_environment, mcp_environment, public_git_environment
from scylla_gha.hub.fixture import StartCommit
from scylla_gha.hub.trial_files import BUNDLE_FILE, STATE_FILE
from scylla_gha.model.mode import Mode
from scylla_gha.model.variant import AgentResources
from scylla_gha.prepare import PreparedScenario
from scylla_gha.prepare.git_directory import own_commit
from scylla_gha.prepare.workspace import Workspace
from scylla_gha.redaction import RedactionSession
from scylla_gha.sandboxes.base import Sandbox, SandboxMounts
from scylla_gha.store import read_record
from scylla_gha.store.run_folder import AttemptFolder
from scylla_gha.system.git import run_git

HOSTS: Final = (
    "github.com",
    "api.github.com",
    "uploads.github.com",
    "objects.githubusercontent.com",
    "release-assets.githubusercontent.com",
)
_RESERVE_MINUTES: Final = 20  # of a lease, in addition to the trial's time limit: for reset, read-back and pauses
_SITE: Final = "https://github.com"


@dataclass(frozen=True, slots=True)
class LaneSource:
    """Source of a cell's repository on github.com.

    Attributes:
        pool: repositories and accounts of the scenario's fixture.
        record: file with the lane that an earlier step may have leased for the cell.
        terms: terms of the lease if the trial itself leases the lane.
    """

    pool: LanePool
    record: Path
    terms: LeaseTerms


@dataclass(frozen=True, slots=True)
class TrialRepository:
    """A leased repository, which the agent uses as one of the fixture's users."""

    trial: LaneTrial

    @property
    def hosts(self) -> tuple[str, ...]:
        """Hosts that the agent may reach in addition to the scenario's hosts."""
        return HOSTS

    @property
    def secrets(self) -> tuple[str, ...]:
        """The agent's token."""
        return (self.trial.token,)

    @property
    def _port(self) -> int | None:
        """Port of a server on this machine that replaces github.com; None if github.com itself is used."""
        address = urlsplit(self.trial.pool.environ.get("GITHUB_SERVER_URL", "").strip())
        return address.port if is_loopback(address.hostname or "") else None

    def prompted(self, prepared: PreparedScenario) -> PreparedScenario:
        """Return the scenario with this repository's name, numbers and logins in its prompt."""
        file = prepared.folder.path / prepared.folder.scenario.task.prompt_file
        prompt = lane_prompt(file.read_text(encoding="utf-8"), self.trial.start)
        return replace(prepared, folder=replace(prepared.folder, prompt=prompt))

    def adopt(self, workspace: Workspace) -> None:
        """Make this repository the `origin` of the workspace's clone."""
        url = f"{_SITE}/{self.trial.lane.repository}.git"
        done = run_git(workspace.repo / ".git", "config", "remote.origin.url", url)
        if done.code:
            raise FixtureError(f"the clone's origin cannot be set: {done.message}")

    def with_servers(self, resources: AgentResources) -> AgentResources:
        """Return the resources with MCP servers of GitHub that have the agent's token."""
        token, port = self.trial.token, self._port
        local = {} if port is None else {**mcp_environment(port, token), "NO_PROXY": "", "no_proxy": ""}
        return github_servers(resources, {MCP_TOKEN: token, **local})

    def environment(self, sandbox: Sandbox, mounts: SandboxMounts, mode: Mode) -> Mapping[str, str]:  # noqa: ARG002
        """Write the settings of git, and of gh if the mode has it, into HOME; return the clients' environment.

        The environment has the variables of git, gh and the mode, with paths of the host.
        """
        config = config_folder(mounts)
        token, port = self.trial.token, self._port
        local = {} if port is None else _stand_in(port, self.trial.lane.repository)
        git = public_git_environment(token, config) if port is None else git_environment(port, token, config)
        return {
            **({**gh_environment(None, token, config), **local} if GH in mode.programs else {}),
            **git,
            **git_identity(self.trial.name, f"{self.trial.login}@users.noreply.github.com"),
            **{name: text.replace("{token}", token) for name, text in mode.env.items()},
        }

    @contextmanager
    def closing(self, folder: AttemptFolder, redaction: RedactionSession) -> Iterator[UsedHub]:
        """Read the repository back at the end of the block, and store its final state without secrets.

        Raises:
            FixtureError: it cannot be read back, so the trial cannot be judged.
        """
        used = UsedHub()
        try:
            yield used
        finally:
            try:
                self.trial.write_files(folder.root)
            except ScyllaError as error:
                raise FixtureError(
                    f"{self.trial.lane.repository}: the final state of the trial cannot be read: {error}"
                ) from None
            finally:
                redaction.file(folder.file(STATE_FILE))
            bundle = folder.file(BUNDLE_FILE)
            if bundle.exists():
                used.failure = push_failure(bundle, redaction)


AttemptGitHub = TrialHub | TrialRepository


def _stand_in(port: int, repository: str) -> dict[str, str]:
    """Return the environment that makes gh use a server on this machine instead of github.com."""
    proxy = f"http://127.0.0.1:{port}"
    return {
        "GH_HOST": "github.localhost",
        "GH_REPO": f"github.localhost/{repository}",
        "HTTP_PROXY": proxy,
        "http_proxy": proxy,
        "NO_PROXY": "",
        "no_proxy": "",
    }


@contextmanager
def leased_repository(
    source: LaneSource, prepared: PreparedScenario, seconds: float
) -> Iterator[TrialRepository | None]:
    """Lease a repository for the block, reset it and verify it; yield None if the scenario has no GitHub.

    Args:
        source: source of the cell's repository.
        prepared: the scenario.
        seconds: time limit of the trial.

    Raises:
        FixtureError: no repository is free, or it differs from the fixture.
    """
    scenario, fixture = prepared.folder.scenario, prepared.folder.github
    if fixture is None or scenario.github is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="lane-") as scratch:
        lane: TrialLane | None = None
        reference: FixtureReference | None = None
        try:
            try:
                reference = _reference(source, prepared, fixture, Path(scratch))
                identity = named_user(reference, scenario.github.identity)
                lane = _lane(source, reference, identity, seconds)
                trial = LaneTrial(source.pool, reference, lane, identity)
            except ScyllaError as error:
                raise FixtureError(f"{source.pool.fixture}: {error}") from None
            yield TrialRepository(trial)
        finally:
            if lane is not None and reference is not None and source.pool.may_reset:
                with suppress(ScyllaError):  # a lease also ends by itself
                    free_lane(source.pool, reference, lane)


def _reference(source: LaneSource, prepared: PreparedScenario, fixture: Path, scratch: Path) -> FixtureReference:
    commit = own_commit(prepared.start.git_dir, prepared.folder.scenario.source.hash)
    start = StartCommit(commit, prepared.start.git_dir) if commit else None
    return make_reference(source.pool.fixture, fixture, scratch, start, source.pool.pool.shared_accounts())


def named_user(reference: FixtureReference, identity: str) -> str:
    """Return a user's name in the fixture; `identity` is this name or the user's login."""
    users = reference.world.fixture.users
    return next(name for name, user in users.items() if identity in (name, user.login))


def _lane(source: LaneSource, reference: FixtureReference, identity: str, seconds: float) -> TrialLane:
    """Return the cell's lane: lease it if the administrator's token is set, else read what an earlier step leased."""
    if source.pool.may_reset:
        minutes = int(seconds / 60) + _RESERVE_MINUTES
        return lease_lane(source.pool, reference, source.terms, minutes, identity)
    lane = read_record(source.record, TrialLane)
    if lane is None:
        variable = token_variable(source.pool.pool.admin)
        raise ConfigError(
            f"no repository was reset for this cell: {source.record.name} is missing; first run `scylla-gha "
            f"fixture lease`, or set {variable}"
        )
    return lane
