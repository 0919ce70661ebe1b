"""Refs below refs/scylla/ of a fixture's repository: its mark, the ids of its objects, and its lease.

| ref | content |
|---|---|
| `refs/scylla/fixture` | a commit that names the fixture; its parents are all its commits, so GitHub keeps them |
| `refs/scylla/tags/NAME` | an annotated tag of the fixture, for the same reason |
| `refs/scylla/objects` | a commit whose message lists the ids of objects by key |
| `refs/scylla/lease` | a commit whose message names the holder of the lease and its end |
"""

import datetime
import getpass
import json
import secrets
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from scylla_gha.errors import GitHubError, RefusedError
from scylla_gha.github_api.client import ApiRequest
from scylla_gha.github_api.responses import CommitRef
from scylla_gha.github_com.accounts import FixtureAccounts, site_of
from scylla_gha.github_com.canonical import TOPIC
from scylla_gha.github_com.ref_plan import ANY_OBJECT, ref_updates, send_mutations
from scylla_gha.github_com.snapshot import RepositorySnapshot
from scylla_gha.github_com.view import (
    EMPTY_TREE,
    OBJECTS_MARK,
    FixtureReference,
    FixtureView,
    keep_message,
    read_state,
    recorded_ids,
)
from scylla_gha.lenient_json import parse_json
from scylla_gha.model import Record
from scylla_gha.model.github_fixture import REPOSITORIES_FILE
from scylla_gha.results_branch.clone import GitRemote, remote_from
from scylla_gha.system.git import run_git

LEASE_REF: Final = "refs/scylla/lease"
Clock = Callable[[], datetime.datetime]
KEEP_REF: Final = "refs/scylla/fixture"
_TAGS: Final = "refs/scylla/tags/"
_CONTENTS: Final = "contents: write"
_PUSH_SECONDS: Final = 300.0


class LeasedError(RefusedError):
    """Another holder has leased the repository."""


class FixtureLease(Record):
    """Message of a lease's commit. `expires` is in ISO 8601, UTC; `nonce` makes the commit of each lease unique."""

    holder: str
    lane: int
    expires: str
    nonce: str

    @property
    def end(self) -> datetime.datetime:
        """Time at which the lease ends."""
        return datetime.datetime.fromisoformat(self.expires)

    def __str__(self) -> str:
        """Return holder, lane and end for messages."""
        return f"{self.holder} (lane {self.lane}) until {self.end:%Y-%m-%d %H:%M} UTC"


@dataclass(frozen=True, slots=True)
class HeldLease:
    """Lease of a repository, and the SHA of its commit."""

    lease: FixtureLease
    commit: str

    def is_stale(self, now: datetime.datetime) -> bool:
        """Return whether the lease has ended, so anybody may take it."""
        return self.lease.end <= now


def now_utc() -> datetime.datetime:
    """Return the time of this machine in UTC."""
    return datetime.datetime.now(datetime.UTC)


def default_holder(environ: Mapping[str, str]) -> str:
    """Return the default holder of a lease: in Actions the run with its attempt, otherwise user and host."""
    if run := environ.get("GITHUB_RUN_ID"):
        return f"{environ.get('GITHUB_REPOSITORY', '')}/{run}-{environ.get('GITHUB_RUN_ATTEMPT', '1')}"
    return f"{getpass.getuser()}@{socket.gethostname()}"


def lease_of(state: RepositorySnapshot) -> HeldLease | None:
    """Return the lease of a repository, or None if there is none. An unreadable lease counts as ended."""
    mark = state.mark("lease")
    if mark is None:
        return None
    try:
        return HeldLease(FixtureLease.model_validate(parse_json(mark.message)), mark.oid)
    except (ValidationError, ValueError):
        return HeldLease(FixtureLease(holder="nobody", lane=0, expires="1970-01-01T00:00:00+00:00", nonce=""), mark.oid)


def require_free(state: RepositorySnapshot, holder: str, now: datetime.datetime) -> None:
    """Refuse to work in a repository that another holder has leased.

    Raises:
        LeasedError: another holder's lease has not ended.
    """
    current = lease_of(state)
    if current is not None and current.lease.holder != holder and not current.is_stale(now):
        raise LeasedError(
            f"{state.name_with_owner}: is leased by {current.lease}; wait until then, or take another lane"
        )


def take_lease(
    accounts: FixtureAccounts,
    state: RepositorySnapshot,
    holder: str,
    lane: int,
    minutes: int,
    clock: Clock = now_utc,
) -> FixtureLease:
    """Take the lease of a repository, or extend this holder's lease.

    Raises:
        LeasedError: another holder has the lease, or took it at the same time.
        GitHubError: a request to GitHub failed.
    """
    now = clock()
    require_free(state, holder, now)
    end = (now + datetime.timedelta(minutes=minutes)).replace(microsecond=0)
    lease = FixtureLease(holder=holder, lane=lane, expires=end.isoformat(), nonce=secrets.token_hex(8))
    sha = store_json_commit(accounts, lease.model_dump())
    current = lease_of(state)
    update = ref_updates(state.id, {LEASE_REF: (current.commit if current else None, sha)})
    failed = send_mutations(accounts.admin, [update], "take the lease")
    if failed and not _is_taken(accounts, sha):
        raise LeasedError(
            f"{state.name_with_owner}: another holder took the lease at the same time; try again later, or take "
            f"another lane ({failed[0].error.message})"
        )
    return lease


def _is_taken(accounts: FixtureAccounts, sha: str) -> bool:
    """Return whether the lease's ref was set by an earlier attempt whose answer was lost."""
    current = lease_of(read_state(accounts.admin)[0])
    return current is not None and current.commit == sha


def free_lease(accounts: FixtureAccounts, state: RepositorySnapshot, current: HeldLease) -> None:
    """End a lease, unless another holder has taken it meanwhile."""
    send_mutations(accounts.admin, [ref_updates(state.id, {LEASE_REF: (current.commit, None)})], "free the lease")


def require_mark(state: RepositorySnapshot, fixture: str) -> None:
    """Refuse a repository that is not marked as one of this fixture.

    A new repository is marked by the topic and a description that names the fixture. Afterwards the mark is a ref,
    since trials may change topics and description.

    Raises:
        RefusedError: the repository has no mark or another fixture's, or the account does not administer it.
    """
    name, label = state.name_with_owner, keep_message(fixture).strip()
    mark = state.mark("fixture")
    if mark is not None and mark.message.strip() != label:
        raise RefusedError(
            f"{name}: is marked as {mark.message.strip()!r}, not as a repository of the fixture {fixture}; "
            f"correct {REPOSITORIES_FILE}"
        )
    is_described = (state.description or "").strip() == label
    if mark is None and not (TOPIC in state.repository_topics and is_described):
        raise RefusedError(
            f"{name}: is not marked as a repository of {fixture}; use an empty repository, and give it the topic "
            f"{TOPIC} and the description {label!r}"
        )
    if mark is None and (state.issues or state.pull_requests or len(state.heads) > 1):
        raise RefusedError(
            f"{name}: was never seeded, but has issues, pull requests or branches; use an empty repository"
        )
    if not state.viewer_can_administer:
        raise RefusedError(f"{name}: the administrator's account does not have the role admin; give it that role")


def push_commits(reference: FixtureReference, accounts: FixtureAccounts, state: RepositorySnapshot) -> bool:
    """Push the commits of a fixture unless the repository has them; return whether they were pushed.

    Raises:
        GitHubError: git push failed twice.
    """
    mark = state.mark("fixture")
    if mark is not None and mark.oid == reference.keep:
        return False
    refs = {KEEP_REF: reference.keep}
    refs |= {_TAGS + ref.name.removeprefix("refs/tags/"): ref.oid for ref in reference.state.tags if not ref.message}
    default = f"refs/heads/{reference.state.default_branch_ref}"
    refs |= {default: reference.state.refs[default]} if state.is_empty else {}
    access = accounts.access(accounts.pool.admin)
    environ = {**accounts.environ, "GITHUB_TOKEN": access.token or ""}
    remote = remote_from(f"{site_of(accounts.environ)}/{accounts.repository}.git", environ)
    specs = [f"+{sha}:{name}" for name, sha in refs.items()]
    message = _push(reference.folder, remote, specs)
    if message is not None:  # try again: if only the answer was lost, the second push changes nothing
        message = _push(reference.folder, remote, specs)
    if message is not None:
        raise GitHubError(
            f"{accounts.repository}: git push failed: {message}; {access.name} needs the permission "
            f"`{_CONTENTS}`, and `workflows: write` if the fixture has workflows"
        )
    return True


def _push(source: Path, remote: GitRemote, specs: Sequence[str]) -> str | None:
    """Push objects of a git directory; return git's message if it fails."""
    with tempfile.TemporaryDirectory(prefix="scylla-push-") as folder:
        git = Path(folder) / "push.git"
        git.mkdir()
        run_git(git, "init", "--quiet", "--bare", "--template=")
        (git / "objects/info").mkdir(exist_ok=True, parents=True)
        (git / "objects/info/alternates").write_text(f"{source.resolve()}/objects\n")
        done = run_git(git, "push", "--quiet", remote.url, *specs, env=remote.env, seconds=_PUSH_SECONDS)
    return done.message if done.code else None


def record_object_ids(view: FixtureView, accounts: FixtureAccounts) -> None:
    """Store the ids of the fixture's objects in the repository, if they have changed."""
    ids = view.objects.ids()
    if ids == recorded_ids(view.state):
        return
    sha = store_json_commit(accounts, ids)
    mark = view.state.mark(OBJECTS_MARK)
    update = ref_updates(view.state.id, {f"refs/scylla/{OBJECTS_MARK}": (mark.oid if mark else ANY_OBJECT, sha)})
    failed = send_mutations(accounts.admin, [update], "store the ids of objects")
    if failed:
        reason = failed[0].error.message
        raise GitHubError(f"{accounts.repository}: cannot store the ids of objects: {reason}; try again")


def store_json_commit(accounts: FixtureAccounts, content: Mapping[str, object]) -> str:
    """Store JSON as the message of a commit without files; return the commit's SHA."""
    message = json.dumps(content, sort_keys=True, indent=0)
    body = {"message": message, "tree": EMPTY_TREE, "parents": []}
    return accounts.admin.read(
        ApiRequest("POST", "/git/commits", "store data in a commit", _CONTENTS, body=body), CommitRef
    ).sha
