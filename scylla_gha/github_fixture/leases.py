"""Leases: one worker at a time has a repository, until a time. GitHub creates a ref once, so one of two wins."""

import datetime
import getpass
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError

from scylla_gha.errors import RefusedError
from scylla_gha.github_fixture.accounts import FixtureAccounts
from scylla_gha.github_fixture.marks import write_note
from scylla_gha.github_fixture.mutations import ref_updates, send_mutations
from scylla_gha.github_fixture.snapshot import RepositorySnapshot
from scylla_gha.github_fixture.view import read_state
from scylla_gha.lenient_json import parse_json
from scylla_gha.model import Record

LEASE_REF: Final = "refs/scylla/lease"
Clock = Callable[[], datetime.datetime]


class LeasedError(RefusedError):
    """Another one has the repository."""


class FixtureLease(Record):
    """Message of a lease's commit. `expires` is in ISO 8601, UTC; `nonce` makes each lease a commit of its own."""

    holder: str
    lane: int
    expires: str
    nonce: str

    @property
    def end(self) -> datetime.datetime:
        """Time until which it holds."""
        return datetime.datetime.fromisoformat(self.expires)

    def __str__(self) -> str:
        """Return holder, lane and end in words."""
        return f"{self.holder} (lane {self.lane}) until {self.end:%Y-%m-%d %H:%M} UTC"


@dataclass(frozen=True, slots=True)
class HeldLease:
    """Lease of a repository, and its commit."""

    lease: FixtureLease
    commit: str

    def is_stale(self, now: datetime.datetime) -> bool:
        """Return whether anybody may take it."""
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
    """Return the lease of a repository; None without one. A ref that says nothing is a stale one of nobody."""
    mark = state.mark("lease")
    if mark is None:
        return None
    try:
        return HeldLease(FixtureLease.model_validate(parse_json(mark.message)), mark.oid)
    except (ValidationError, ValueError):
        return HeldLease(FixtureLease(holder="nobody", lane=0, expires="1970-01-01T00:00:00+00:00", nonce=""), mark.oid)


def require_free(state: RepositorySnapshot, holder: str, now: datetime.datetime) -> None:
    """Refuse to work in a repository that another one has.

    Raises:
        LeasedError: its lease is another's, and has not ended.
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
    """Take the lease of a repository, or extend the own one.

    Raises:
        LeasedError: another one has it, or was faster.
        GitHubError: GitHub cannot be asked.
    """
    now = clock()
    require_free(state, holder, now)
    end = (now + datetime.timedelta(minutes=minutes)).replace(microsecond=0)
    lease = FixtureLease(holder=holder, lane=lane, expires=end.isoformat(), nonce=secrets.token_hex(8))
    sha = write_note(accounts, lease.model_dump())
    current = lease_of(state)
    update = ref_updates(state.id, {LEASE_REF: (current.commit if current else None, sha)})
    failed = send_mutations(accounts.admin, [update], "take the lease")
    if failed and not _is_taken(accounts, sha):
        raise LeasedError(f"{state.name_with_owner}: the lease was taken by another one at the same time; try again "
                           f"later, or take another lane ({failed[0].error.message})")  # fmt: skip
    return lease


def _is_taken(accounts: FixtureAccounts, sha: str) -> bool:
    """Return whether an earlier attempt, whose answer was lost, has set the ref."""
    current = lease_of(read_state(accounts.admin)[0])
    return current is not None and current.commit == sha


def free_lease(accounts: FixtureAccounts, state: RepositorySnapshot, current: HeldLease) -> None:
    """End a lease, unless somebody has taken it meanwhile."""
    send_mutations(accounts.admin, [ref_updates(state.id, {LEASE_REF: (current.commit, None)})], "free the lease")
