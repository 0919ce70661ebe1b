"""GitHub of one cell: its state, repositories and blobs; and a session, in which a user of it acts."""

import hashlib
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.hub.actions_records import RunRecord
from scylla_gha.hub.client_tokens import TokenClient
from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.git_store import GitRepository, GitSignature
from scylla_gha.hub.rate_usage import RateUsage
from scylla_gha.hub.records import Permission, RepositoryRecord, UserRecord
from scylla_gha.hub.state import HubState

_RANKS: Final[Mapping[str, int]] = {"read": 1, "triage": 2, "write": 3, "maintain": 4, "admin": 5}
NOT_ALLOWED: Final = "Must have push access to repository"


class Blobs:
    """Contents of logs and assets, named by their SHA-256; those of the fixture are only read."""

    def __init__(self, folder: Path, borrowed: Path | None = None) -> None:
        """Use a folder, and one that is read as well."""
        self._folder = folder
        self._borrowed = borrowed

    def add(self, content: bytes) -> str:
        """Store bytes as a blob and return its name."""
        name = hashlib.sha256(content).hexdigest()
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / name).write_bytes(content)
        return name

    def read(self, name: str) -> bytes:
        """Return the blob's bytes."""
        path = self._folder / name
        return path.read_bytes() if self._borrowed is None or path.exists() else (self._borrowed / name).read_bytes()


@dataclass
class Hub:
    """GitHub of one cell; its requests are handled one after another, under `lock`.

    `tokens` are ids of users by token. `token_clients` are the clients of those tokens that were made for one client.
    `runner` is called with each attempt of a workflow's run that is queued or cancelled; None: nothing runs them, and
    pushes start none. `link_key` makes the tokens in addresses that need no credentials.
    """

    folder: Path
    state: HubState
    blobs: Blobs
    tokens: Mapping[str, int] = field(default_factory=dict)
    token_clients: Mapping[str, TokenClient] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    runner: Callable[["HubSession", RunRecord], None] | None = None
    usage: RateUsage = field(default_factory=RateUsage)
    link_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _repositories: dict[int, GitRepository] = field(default_factory=dict)

    def git(self, repository: RepositoryRecord | int) -> GitRepository:
        """Return the git repository of a record."""
        id_ = repository if isinstance(repository, int) else repository.id
        if id_ not in self._repositories:
            self._repositories[id_] = GitRepository(self.git_folder(id_))
        return self._repositories[id_]

    def git_folder(self, id_: int) -> Path:
        """Return the folder of a repository, which is named by its id and not by what anybody wrote."""
        return self.folder / "repositories" / f"{id_}.git"

    def session(self, token: str | None) -> "HubSession":
        """Return the session of a token; None is an anonymous session, which may read what is public.

        Raises:
            HubError: the token is not one of this cell.
        """
        if token is None:
            return HubSession(self, None)
        if token not in self.tokens:
            raise HubError(401, "Bad credentials")
        return HubSession(self, self.state.need(UserRecord, self.tokens[token]))


@dataclass(frozen=True, slots=True)
class HubSession:
    """Session of one user. `viewer` is None for anonymous requests."""

    hub: Hub
    viewer: UserRecord | None

    @property
    def state(self) -> HubState:
        """The records."""
        return self.hub.state

    def git(self, repository: RepositoryRecord | int) -> GitRepository:
        """Return the git repository of a record."""
        return self.hub.git(repository)

    @property
    def user(self) -> UserRecord:
        """The user who acts.

        Raises:
            HubError: nobody is signed in.
        """
        if self.viewer is None:
            raise HubError(401, "Requires authentication")
        return self.viewer

    def permission(self, repository: RepositoryRecord) -> Permission | None:
        """Return what the user may do with a repository; None: not even read it."""
        public: Permission | None = None if repository.private else "read"
        if self.viewer is None:
            return public
        if repository.owner == self.viewer.id:
            return "admin"
        return dict(repository.permissions).get(self.viewer.id, public)

    def may(self, repository: RepositoryRecord, wanted: Permission) -> bool:
        """Return whether the user has a permission, or a higher one."""
        has = self.permission(repository)
        return has is not None and _RANKS[has] >= _RANKS[wanted]

    def require(self, repository: RepositoryRecord, wanted: Permission, message: str = NOT_ALLOWED) -> None:
        """Refuse what the user may not do: 404 for what may not be read, else 403.

        Raises:
            HubError: the user has a lower permission.
        """
        if not self.may(repository, "read"):
            raise not_found()
        if self.viewer is None and wanted != "read":
            raise HubError(401, "Requires authentication")
        if not self.may(repository, wanted):
            raise HubError(403, message)
        if repository.archived and wanted != "read":
            raise HubError(403, "Repository was archived so is read-only.")

    def repository(self, owner: str, name: str) -> RepositoryRecord:
        """Return a repository that the user may read.

        Raises:
            HubError: there is none, or it may not be read.
        """
        repository = self.state.repository(owner, name)
        if repository is None or not self.may(repository, "read"):
            raise not_found()
        return repository

    def signature(self, user: UserRecord | None = None) -> GitSignature:
        """Return how a user signs commits that GitHub makes, at the state's time."""
        who = user or self.user
        email = who.email or f"{who.id}+{who.login}@users.noreply.github.com"
        return GitSignature(who.name or who.login, email, self.state.now())
