"""Read a repository's state, build the wanted state of its fixture, and compare them."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, FixtureError, GitHubError
from scylla_gha.github_api.client import GitHubRepository, GraphQLRequest
from scylla_gha.github_com.accounts import FixtureAccounts
from scylla_gha.github_com.canonical import (
    Canonical,
    StateDifference,
    canonical_digest,
    canonical_state,
    differences,
)
from scylla_gha.github_com.identify import Dialect, FixtureObjects, objects_of_fixture, objects_of_repository
from scylla_gha.github_com.snapshot import (
    RateLimitSnapshot,
    ReleaseSnapshot,
    RepositorySnapshot,
    TextSnapshot,
    read_whole_state,
)
from scylla_gha.hub.actions_records import CheckRecord, RunRecord
from scylla_gha.hub.fixture import StartCommit, build_fixture
from scylla_gha.hub.fixture_world import FixtureWorld
from scylla_gha.hub.git_objects import write_commit, write_tree
from scylla_gha.hub.git_store import GitSignature
from scylla_gha.hub.graphql.execute import answer
from scylla_gha.hub.records import ReleaseRecord, ReviewRecord
from scylla_gha.lenient_json import parse_json

EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
OBJECTS_MARK = "objects"  # refs/scylla/objects: a commit whose message lists the ids of objects by key


@dataclass(frozen=True)
class FixtureReference:
    """Wanted state of a fixture.

    Attributes:
        name: name of the fixture.
        state: state of a repository that was just seeded from the fixture.
        keep: a commit that names the fixture; its parents are all commits that the state needs.
        folder: git directory with all git objects.
        not_seeded: descriptions of the fixture's objects that cannot be created on github.com.
    """

    name: str
    state: RepositorySnapshot
    objects: FixtureObjects
    dialect: Dialect
    canonical: Canonical
    keep: str
    folder: Path
    not_seeded: tuple[str, ...]
    world: FixtureWorld

    @property
    def numbers(self) -> dict[str, int]:
        """Numbers of issues and pull requests by key."""
        return {key: subject.number for key, subject in self.objects.subjects.items()}

    def asset(self, tag: str, name: str) -> bytes:
        """Return the content of a release's file."""
        hub = self.world.hub
        releases = hub.state.where(ReleaseRecord, tag=tag)
        blobs = [asset.blob for release in releases for asset in release.assets if asset.name == name]
        return hub.blobs.read(blobs[0])

    def user(self, login: str) -> str:
        """Return the fixture's name for the user with this login in the fixture."""
        return self.dialect.user(login)

    def authors(self) -> set[str]:
        """Return the users who wrote or merged an object of the fixture."""
        authored = [node for group in self.objects.groups for node in group.values()]
        logins = {node.author for node in authored if isinstance(node, TextSnapshot | ReleaseSnapshot)}
        logins |= {pull.merged_by for pull in self.objects.pulls.values() if pull.merged_by}
        return {self.user(login) for login in logins}

    def self_reviews(self) -> list[str]:
        """Return the reviews with a verdict whose author uses the same account as the pull request's author."""
        return [
            name
            for name, review in self.objects.reviews.items()
            if review.state != "COMMENTED"
            and self.canonical[name]["author"] == self.canonical[name.split("/")[0]]["author"]
        ]

    def people(self) -> set[str]:
        """Return the users who wrote or merged an object, are assigned to one, or were asked for a review."""
        subjects = self.objects.subjects.values()
        asked = (login for pull in self.objects.pulls.values() for login in pull.review_requests)
        assigned = (login for subject in subjects for login in subject.assignees)
        return self.authors() | {self.user(login) for login in (*assigned, *asked)}


def make_reference(
    name: str, fixture: Path, scratch: Path, start: StartCommit | None, shared: Mapping[str, str]
) -> FixtureReference:
    """Build the wanted state from a fixture's folder.

    Args:
        name: name of the fixture.
        fixture: its folder.
        scratch: an empty folder that must exist as long as the result is used.
        start: the commit of the fixture's files.
        shared: maps a user's name to the name of the user whose account it shares; see `FixtureAccounts`.

    Raises:
        ConfigError: the fixture is invalid, or has no GitHub state.
    """
    world = build_fixture(fixture, scratch / "reference", start)

    def ask(document: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        body = answer(world.owner, {"query": document, "variables": variables}).body
        if "errors" in body:
            raise FixtureError(f"{fixture}: its state cannot be read: {body['errors'][0]['message']}")
        data: Mapping[str, Any] = body["data"]
        return data

    owner, repository = world.hub.state.full_name(world.repository).split("/")
    state, _ = read_whole_state(ask, owner, repository)
    if state.is_empty:
        raise ConfigError(f"{fixture}: the fixture has no commit, so nothing can be pushed; add a file or a commit")
    objects = objects_of_fixture(state, world.names)
    users = {
        user.login.lower().removesuffix("[bot]"): shared.get(key, key) for key, user in world.fixture.users.items()
    }
    keys = {subject.number: key for key, subject in objects.subjects.items()}
    dialect = Dialect(f"{owner}/{repository}", users, keys, has_markers=False)
    canonical = canonical_state(state, objects, dialect)
    keep = _write_keeper(world, name, state)
    folder = world.hub.git_folder(world.repository_id)
    return FixtureReference(name, state, objects, dialect, canonical, keep, folder, tuple(_not_seeded(world)), world)


def _write_keeper(world: FixtureWorld, name: str, state: RepositorySnapshot) -> str:
    """Store a commit that keeps all others reachable, and return its SHA; equal fixtures get equal commits."""
    git = world.git
    pulls = state.pull_requests
    commits = {git.commit_of(sha) for sha in state.refs.values()}
    commits |= {sha for pull in pulls for sha in (pull.head_ref_oid, pull.base_ref_oid)}
    commits |= {review.commit for pull in pulls for review in pull.reviews}
    commits |= {line.original_commit for pull in pulls for thread in pull.review_threads for line in thread.comments}
    parents = sorted(sha for sha in commits if sha)
    date = max(git.commit(sha).committer.date for sha in parents)  # no commit is older than its parent
    keeper = GitSignature("scylla-gha", "scylla-gha@users.noreply.github.com", date)
    return write_commit(git, write_tree(git, None, []), parents, keep_message(name), keeper, keeper)


def keep_message(name: str) -> str:
    """Return the message of the commit that marks a repository as belonging to a fixture."""
    return f"scylla-fixture: {name}\n"


def _not_seeded(world: FixtureWorld) -> Iterator[str]:
    state = world.hub.state
    if runs := state.where(RunRecord):
        yield f"{counted(len(runs), 'run')} of workflows: github.com runs workflows itself"
    if checks := state.where(CheckRecord, run=None):
        yield f"{counted(len(checks), 'check')} that no workflow created"
    if reviewers := world.fixture.scripted_reviewers:
        yield f"{counted(len(reviewers), 'scripted reviewer')}: nobody reviews on github.com during a trial"
    if world.fixture.rate_limit is not None:
        yield "rate_limit: github.com has its own limits"
    if pending := state.where(ReviewRecord, state="PENDING"):
        yield f"{counted(len(pending), 'review')} not submitted: only the author would see it"


@dataclass(frozen=True)
class FixtureView:
    """One reading of a repository. `canonical` uses the fixture's names."""

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
        """True if the state equals the fixture's."""
        return canonical_digest(self.canonical) == canonical_digest(self.reference.canonical)

    @property
    def numbers(self) -> dict[str, int]:
        """Numbers by key; a missing object has its number in the fixture."""
        actual = {key: subject.number for key, subject in self.objects.subjects.items()}
        return self.reference.numbers | actual

    def differs(self, name: str, *fields: str) -> bool:
        """Return whether an object exists and differs from the fixture's in one of these fields."""
        wanted, actual = self.reference.canonical.get(name), self.canonical.get(name)
        if wanted is None or actual is None:
            return False
        return any(wanted[field] != actual[field] for field in fields)

    def localized(self, name: str, field: str) -> str:
        """Return a fixture text with this repository's numbers, logins and name."""
        return self.dialect.fill_placeholders(self.reference.canonical[name][field], self.numbers)


def recorded_ids(state: RepositorySnapshot) -> dict[str, str]:
    """Return the ids by key that are stored in a repository; empty if none can be read."""
    mark = state.mark(OBJECTS_MARK)
    try:
        ids = parse_json(mark.message) if mark else {}
    except ValueError:
        return {}
    return {str(key): str(id_) for key, id_ in ids.items()} if isinstance(ids, dict) else {}


def read_state(client: GitHubRepository) -> tuple[RepositorySnapshot, RateLimitSnapshot]:
    """Read the whole state of a repository.

    Raises:
        GitHubError: the state cannot be read.
    """

    def ask(document: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        request = GraphQLRequest(document, "read the state of the fixture", "contents: read", variables)
        answer = client.graphql(request)
        if answer.errors:
            reasons = "; ".join(error.message for error in answer.errors)
            raise GitHubError(f"{client.repository}: cannot {request.what}: {reasons}")
        return answer.data

    owner, name = client.repository.split("/")
    return read_whole_state(ask, owner, name)


def view_of(
    reference: FixtureReference, accounts: FixtureAccounts, known: Mapping[str, str], *, by_id_only: bool = False
) -> FixtureView:
    """Read a repository, and find the fixture's objects in it.

    Args:
        reference: the wanted state.
        accounts: accounts of the repository.
        known: ids by key of objects that were created since the ids were stored.
        by_id_only: find objects only by known ids, since an agent can write markers, names and stored ids.
    """
    state, limit = read_state(accounts.admin)
    ids = dict(known) if by_id_only else recorded_ids(state) | dict(known)
    objects = objects_of_repository(state, reference.objects, ids, by_id_only=by_id_only)
    keys = {subject.number: key for key, subject in objects.subjects.items()}
    dialect = Dialect(accounts.repository, accounts.users(), keys, accounts.pool.accounts)
    return FixtureView(reference, state, objects, dialect, canonical_state(state, objects, dialect), limit)
