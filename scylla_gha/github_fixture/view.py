"""Differences between a repository's state and the state of its fixture."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scylla_gha.errors import GitHubError
from scylla_gha.github.client import GitHubRepository
from scylla_gha.github.graphql import GraphQLRequest
from scylla_gha.github_fixture.accounts import FixtureAccounts
from scylla_gha.github_fixture.canonical import (
    Canonical,
    StateDifference,
    canonical_digest,
    canonical_state,
    differences,
)
from scylla_gha.github_fixture.dialect import Dialect
from scylla_gha.github_fixture.identify import FixtureObjects, objects_of_repository
from scylla_gha.github_fixture.reference import FixtureReference
from scylla_gha.github_fixture.snapshot import RateLimitSnapshot, RepositorySnapshot
from scylla_gha.github_fixture.state_query import read_whole_state
from scylla_gha.lenient_json import parse_json

OBJECTS_MARK = "objects"  # refs/scylla/objects: a commit whose message has the ids of objects by key


@dataclass(frozen=True)
class FixtureView:
    """One reading of a repository. `canonical` is in the fixture's words."""

    reference: FixtureReference
    state: RepositorySnapshot
    objects: FixtureObjects
    dialect: Dialect
    canonical: Canonical
    limit: RateLimitSnapshot

    @functools.cached_property
    def differences(self) -> list[StateDifference]:
        """Differences from the fixture."""
        return differences(self.reference.canonical, self.canonical)

    @property
    def is_equal(self) -> bool:
        """True if the state is that of the fixture."""
        return canonical_digest(self.canonical) == canonical_digest(self.reference.canonical)

    @property
    def numbers(self) -> dict[str, int]:
        """Numbers by key; of what is not there yet those of the fixture."""
        own = {key: subject.number for key, subject in self.objects.subjects.items()}
        return self.reference.numbers | own

    @property
    def noted(self) -> dict[str, str]:
        """Ids by key that were noted when objects were created."""
        return noted_ids(self.state)

    def differs(self, name: str, *fields: str) -> bool:
        """Return whether an object that both have differs in one of some fields."""
        wanted, actual = self.reference.canonical.get(name), self.canonical.get(name)
        if wanted is None or actual is None:
            return False
        return any(wanted[field] != actual[field] for field in fields)

    def spoken(self, name: str, field: str) -> str:
        """Return a text of the fixture in the words of this repository."""
        return self.dialect.spoken(self.reference.canonical[name][field], self.numbers)


def noted_ids(state: RepositorySnapshot) -> dict[str, str]:
    """Return the ids by key that a repository's own note has; nothing if there is none that can be read."""
    mark = state.mark(OBJECTS_MARK)
    try:
        ids = parse_json(mark.message) if mark else {}
    except ValueError:
        return {}
    return {str(key): str(id_) for key, id_ in ids.items()} if isinstance(ids, dict) else {}


def read_state(client: GitHubRepository) -> tuple[RepositorySnapshot, RateLimitSnapshot]:
    """Read the whole state of a repository.

    Raises:
        GitHubError: it cannot be read.
    """

    def ask(document: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        request = GraphQLRequest(document, "read the state of the fixture", "contents: read", variables)
        answer = client.graphql(request)
        if answer.errors:
            reasons = "; ".join(error.message for error in answer.errors)
            raise GitHubError(f"{client.repository}: cannot {request.what}: {reasons}")
        return answer.data

    owner, name = client.repository.split("/")
    answer = read_whole_state(ask, owner, name)
    limit = RateLimitSnapshot.model_validate(answer["rateLimit"])
    return RepositorySnapshot.model_validate(answer["repository"]), limit


def view_of(
    reference: FixtureReference, accounts: FixtureAccounts, known: Mapping[str, str], *, by_id_only: bool = False
) -> FixtureView:
    """Read a repository, and find the fixture's objects in it.

    Args:
        reference: the wanted state.
        accounts: of the repository.
        known: ids by key of what was created since the ids were noted.
        by_id_only: find objects by known ids alone, since an agent may have written markers, names and notes.
    """
    state, limit = read_state(accounts.admin)
    ids = dict(known) if by_id_only else noted_ids(state) | dict(known)
    objects = objects_of_repository(state, reference.objects, ids, by_id_only=by_id_only)
    keys = {subject.number: key for key, subject in objects.subjects.items()}
    dialect = Dialect(accounts.repository, accounts.users(), keys, accounts.pool.accounts)
    return FixtureView(reference, state, objects, dialect, canonical_state(state, objects, dialect), limit)
