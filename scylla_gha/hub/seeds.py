"""Seeds: start states of fixtures, made once and cached in a folder, from which each cell is restored in milliseconds.

A cell's repositories borrow the seed's objects, and its state is unpickled from the seed's snapshot. A seed's name is a
digest of all that it is made of: the fixture's files and the hub's own code.
"""

import datetime
import functools
import hashlib
import io
import os
import pickle
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from scylla_gha.errors import FixtureError
from scylla_gha.hub import actions_records, records
from scylla_gha.hub.cell import Blobs, Hub
from scylla_gha.hub.client_tokens import TOKEN_CLIENTS, TokenClient, new_token
from scylla_gha.hub.fixture import StartCommit, build_fixture
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.records import RepositoryRecord
from scylla_gha.hub.scripted_reviewers import ReviewScript
from scylla_gha.hub.state import HubState
from scylla_gha.hub.trial_files import exported_state
from scylla_gha.model.github_fixture import FIXTURE_FILE, FIXTURE_FOLDER, FixtureRateLimit, ScriptedReviewer

_SNAPSHOT, _FACTS = "snapshot.pickle", "seed.json"
_CODE: Final = Path(__file__).parent


@dataclass(frozen=True)
class HubSeed:
    """Start state of a fixture.

    Attributes:
        folder: its repositories and blobs, which are never written to.
        snapshot: of its state.
        facts: `names` and `bindings` of the fixture (see `FixtureWorld`), `logins` by user, `scripted_reviewers`, and
            `rate_limit`.
        exported: its state as `trial_files.exported_state` gives it.
    """

    folder: Path
    snapshot: bytes
    facts: Mapping[str, Any]
    exported: Mapping[str, Any]

    @property
    def rate_limit(self) -> FixtureRateLimit | None:
        """The refusals that the fixture asks for."""
        rule = self.facts["rate_limit"]
        return None if rule is None else FixtureRateLimit(**rule)

    @property
    def review_script(self) -> ReviewScript:
        """A script of its own for a cell, of the fixture's scripted reviewers."""
        reviewers = tuple(ScriptedReviewer.model_validate(reviewer, strict=False)
                          for reviewer in self.facts["scripted_reviewers"])  # fmt: skip
        return ReviewScript(reviewers, self.facts["names"])

    def restore(self, folder: Path) -> Hub:
        """Make a cell's hub in a folder that does not exist yet.

        Each user gets new tokens: one for all clients, and one for each client alone.
        """
        state = HubState.restored(self.snapshot)
        for repository in state.where(RepositoryRecord):
            name = f"repositories/{repository.id}.git"
            GitRepository.create(folder / name, borrowed=self.folder / name)
        tokens: dict[str, int] = {}
        clients: dict[str, TokenClient] = {}
        for user in self.facts["logins"]:
            own = {new_token(client): client for client in TOKEN_CLIENTS}
            tokens |= dict.fromkeys((new_token(), *own), self.facts["names"][f"user.{user}"])
            clients |= own
        return Hub(folder, state, Blobs(folder / "blobs", self.folder / "blobs"), tokens, clients)


def find_seed(fixture: Path, cache: Path, start: StartCommit | None = None) -> HubSeed:
    """Return the seed of a fixture's folder, made if it is not in the cache.

    Raises:
        ConfigError: the fixture is invalid.
        FixtureError: the cached seed cannot be read.
    """
    return _find_seed(fixture.resolve(), cache.resolve(), start, seed_digest(fixture, start))


@functools.lru_cache(maxsize=64)
def _find_seed(fixture: Path, cache: Path, start: StartCommit | None, digest: str) -> HubSeed:
    folder = cache / "hub-seeds" / digest
    if not (folder / _FACTS).exists():
        _make(fixture, folder, start)
    return _read(folder)


def seed_digest(fixture: Path, start: StartCommit | None) -> str:
    """Return the SHA-256 of all that a seed is made of."""
    digest = hashlib.sha256(f"{start.sha if start else None} {_code_digest()}\n".encode())
    for path in _files(fixture):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(fixture)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def _files(fixture: Path) -> Iterator[Path]:
    yield from (path for path in (fixture / FIXTURE_FILE,) if path.is_file())
    yield from sorted(path for path in (fixture / FIXTURE_FOLDER).rglob("*") if path.is_file())


@functools.cache
def _code_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(_CODE.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _make(fixture: Path, folder: Path, start: StartCommit | None) -> None:
    """Build a seed beside its place and move it there, unless another process was faster."""
    new = folder.with_name(f"{folder.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    new.mkdir(parents=True)
    try:
        world = build_fixture(fixture, new, start)
        for repository in world.hub.state.where(RepositoryRecord):
            git = world.hub.git(repository)
            git.run("repack", "-adq")
            git.run("pack-refs", "--all")
        rule = world.fixture.rate_limit
        facts = {
            "names": world.names,
            "bindings": world.bindings,
            "logins": {name: user.login for name, user in world.fixture.users.items()},
            "scripted_reviewers": [reviewer.model_dump() for reviewer in world.scripted_reviewers],
            "rate_limit": None if rule is None else rule.model_dump(),
        }
        (new / _SNAPSHOT).write_bytes(world.hub.state.snapshot())
        (new / _FACTS).write_bytes(orjson.dumps(facts))
        if not folder.exists():
            new.replace(folder)
    except OSError:
        if not (folder / _FACTS).exists():
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _read(folder: Path) -> HubSeed:
    try:
        snapshot = (folder / _SNAPSHOT).read_bytes()
        facts = orjson.loads((folder / _FACTS).read_bytes())
        state = HubState()
        state.clock, state.next_id, state.tables = _RecordsOnly(io.BytesIO(snapshot)).load()
    except (OSError, ValueError, pickle.UnpicklingError, EOFError) as error:
        raise FixtureError(f"{folder}: this seed cannot be read: {error}; remove the folder") from None
    hub = Hub(folder, state, Blobs(folder / "blobs"))
    return HubSeed(folder, snapshot, facts, exported_state(hub))


class _RecordsOnly(pickle.Unpickler):
    """Reader of snapshots that makes records and times alone, since a cache may be written by others."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 the base's signature
        """Return a record's class or one of `datetime`."""
        for source in (records, actions_records):
            if module == source.__name__ and name.endswith("Record") and hasattr(source, name):
                return getattr(source, name)
        if module == "datetime" and name in ("datetime", "timezone", "timedelta"):
            return getattr(datetime, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not a record")
