"""Repositories for fixtures on a served hub, which stands for github.com: empty, marked, with accounts of their own."""

import atexit
import contextlib
import functools
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.github_api.client import RetryPolicy
from scylla_gha.github_com import token_variable
from scylla_gha.github_com.accounts import FixtureAccounts, limits_of
from scylla_gha.github_com.converge import ConvergedRun, Convergence
from scylla_gha.github_com.view import FixtureReference, make_reference
from scylla_gha.hub.cell import Blobs, Hub
from scylla_gha.hub.fixture import StartCommit, read_fixture
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.records import Permission, RepositoryRecord, UserRecord
from scylla_gha.hub.state import HubState
from scylla_gha.hub.trial_files import REQUESTS_FILE
from scylla_gha.model.github_fixture import RepositoryPool
from tests.support.hub_server import ServedHub, serving_hub

_FOLDERS = contextlib.ExitStack()
atexit.register(_FOLDERS.close)
SMALL = Path(__file__).with_name("hub_fixture")


def _ignore(_: object) -> None:
    """Neither report nor wait."""


@dataclass
class FixtureSite:
    """A served hub with an empty, marked repository for a fixture, and its wanted state."""

    served: ServedHub
    reference: FixtureReference
    pool: RepositoryPool
    environ: dict[str, str]

    @property
    def accounts(self) -> FixtureAccounts:
        """New clients, which wait for nothing."""
        retries = RetryPolicy(_ignore, seconds=30.0, sleep=_ignore)
        return FixtureAccounts(self.pool, self.pool.repositories[0], self.environ, retries, limits_of(self.environ))

    def converge(self, accounts: FixtureAccounts | None = None) -> ConvergedRun:
        """Bring the repository to the fixture's state."""
        return Convergence(self.reference, accounts or self.accounts, _ignore).run()

    def requests(self) -> list[str]:
        """The operations that were asked for so far."""
        lines = (self.served.folder / REQUESTS_FILE).read_text().splitlines()
        return [json.loads(line)["operation"] for line in lines]


def empty_site(
    folder: Path, fixture: Path, name: str, repositories: Sequence[str], *, renames: bool
) -> tuple[Hub, RepositoryPool]:
    """A hub with empty, marked repositories; with `renames` accounts have other logins than in the fixture."""
    described = read_fixture(fixture)
    state = HubState()
    users, accounts = {}, {}
    for user, account in described.users.items():
        login = f"acct-{user}" if renames and account.kind == "User" else account.login
        record = UserRecord(
            id=state.new_id(), created_at=state.now(), login=login, name=account.name, kind=account.kind
        )
        users[user] = state.create(0, record)
        accounts[user] = login.removesuffix("[bot]")
    owners = {record.login: record for record in users.values()}
    hub = Hub(folder, state, Blobs(folder / "blobs"), {login: user.id for login, user in owners.items()})
    granted: list[tuple[int, Permission]] = [
        (users[user].id, account.permission) for user, account in described.users.items() if account.permission
    ]
    for full_name in repositories:
        owner, repository_name = full_name.split("/")
        if owner not in owners:
            new = UserRecord(id=state.new_id(), created_at=state.now(), login=owner, kind="Organization")
            owners[owner] = state.create(0, new)
        now = state.now()
        repository = RepositoryRecord(
            id=state.new_id(), created_at=now, updated_at=now, pushed_at=now, owner=owners[owner].id,
            name=repository_name, permissions=tuple(granted), topics=("scylla-fixture",),
            description=f"scylla-fixture: {name}",
        )  # fmt: skip
        state.create(0, repository)
        GitRepository.create(hub.git_folder(repository.id)).run("symbolic-ref", "HEAD", "refs/heads/main")
    admin = next(
        user for user, account in described.users.items() if account.permission == "admin" and account.kind == "User"
    )
    return hub, RepositoryPool(repositories=tuple(repositories), admin=admin, accounts=accounts)


@functools.cache
def reference_of(fixture: Path, start: StartCommit | None) -> FixtureReference:
    """The wanted state of a fixture, made once a process."""
    folder = _FOLDERS.enter_context(tempfile.TemporaryDirectory(prefix="scylla-reference-"))
    return make_reference("demo", fixture, Path(folder), start, {})


@contextmanager
def fixture_site(
    folder: Path, fixture: Path = SMALL, *, repository: str = "pool/demo-0", renames: bool = True,
    start: StartCommit | None = None,
) -> Iterator[FixtureSite]:  # fmt: skip
    """Serve an empty repository for a fixture."""
    hub, pool = empty_site(folder / "hub", fixture, "demo", [repository], renames=renames)
    described = read_fixture(fixture).users
    with serving_hub(hub, folder / "served") as served:
        address = f"http://127.0.0.1:{served.port}"
        tokens = {token_variable(user): pool.accounts[user] for user in described}
        bots = {token_variable(user): account.login for user, account in described.items() if account.kind == "Bot"}
        environ = {"GITHUB_API_URL": f"{address}/api/v3", "GITHUB_SERVER_URL": address, **tokens, **bots}
        yield FixtureSite(served, reference_of(fixture, start), pool, environ)
