"""Lists of commits, comparisons, and which pull requests a commit is in."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.git_objects import fetch
from scylla_gha.hub.git_store import GitCommit, GitRepository, GitSignature
from scylla_gha.hub.operations.pull_facts import pull_commits
from scylla_gha.hub.operations.repository_facts import user_of
from scylla_gha.hub.operations.revisions import commit_at
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord


@dataclass(frozen=True, slots=True)
class CommitFilter:
    """Filter of a list of commits; people by login or address, times of the committer."""

    path: str | None = None
    author: str | None = None
    committer: str | None = None
    since: datetime.datetime | None = None
    until: datetime.datetime | None = None


def commits_from(
    session: HubSession, repository: RepositoryRecord, start: str, wanted: CommitFilter
) -> list[GitCommit]:
    """Return the commits that a commit contains, itself first."""
    paths = ["--", f":(top,literal){wanted.path.strip('/')}"] if wanted.path else []
    commits = session.git(repository).log(start, *paths)
    tests: list[Callable[[GitCommit], bool]] = []
    if (since := wanted.since) is not None:
        tests.append(lambda commit: commit.committer.date >= since)
    if (until := wanted.until) is not None:
        tests.append(lambda commit: commit.committer.date <= until)
    if (author := wanted.author) is not None:
        tests.append(lambda commit: _is_by(session, commit.author, author))
    if (committer := wanted.committer) is not None:
        tests.append(lambda commit: _is_by(session, commit.committer, committer))
    return [commit for commit in commits if all(test(commit) for test in tests)]


def _is_by(session: HubSession, signature: GitSignature, who: str) -> bool:
    user = user_of(session, signature)
    names = {signature.email.casefold(), *([user.login.casefold()] if user else [])}
    return who.casefold() in names


def pulls_with(session: HubSession, repository: RepositoryRecord, sha: str) -> list[PullRequestRecord]:
    """Return the pull requests that a commit is in, or that were merged by it."""
    pulls = session.state.where(PullRequestRecord, repository=repository.id)
    return [pull for pull in pulls if sha == pull.merge_commit or sha in _shas(session, pull)]


def _shas(session: HubSession, pull: PullRequestRecord) -> set[str]:
    return {commit.sha for commit in pull_commits(session, pull)}


@dataclass(frozen=True, slots=True)
class RevisionComparison:
    """Commits and files of `head` that `base` has not, since their common ancestor."""

    base: str
    head: str
    merge_base: str
    ahead: int
    behind: int
    commits: list[GitCommit] = field(default_factory=list)

    @property
    def status(self) -> str:
        """GitHub's word: diverged, ahead, behind or identical."""
        if self.ahead and self.behind:
            return "diverged"
        return "ahead" if self.ahead else "behind" if self.behind else "identical"


def compare(session: HubSession, repository: RepositoryRecord, base: str, head: str) -> RevisionComparison:
    """Compare two revisions; one of another fork is "owner:branch" or "owner:repository:branch".

    Raises:
        HubError: 404, there is no such revision, or they have no common ancestor.
    """
    git = session.git(repository)
    base_sha, head_sha = (_revision(session, repository, git, name) for name in (base, head))
    ancestor = git.merge_base(base_sha, head_sha)
    if ancestor is None:
        raise HubError(404, f"No common ancestor between {base} and {head}.")
    ahead, behind = git.ahead_behind(head_sha, base_sha)
    return RevisionComparison(base_sha, head_sha, ancestor, ahead, behind, git.commits_between(base_sha, head_sha))


def _revision(session: HubSession, repository: RepositoryRecord, git: GitRepository, name: str) -> str:
    *owners, revision = name.split(":")
    source = repository
    if owners:
        source = _of_network(session, repository, owners)
    sha = commit_at(session, source, revision)
    if sha is None:
        raise not_found()
    if source.id != repository.id:
        fetch(git, session.git(source), sha)
    return sha


def _of_network(session: HubSession, repository: RepositoryRecord, names: list[str]) -> RepositoryRecord:
    """Return the repository of an owner in the same network of forks."""
    owner = session.state.user(names[0])
    owned = session.state.where(RepositoryRecord, owner=owner.id) if owner else []
    network = {repository.id, repository.parent}
    related = [record for record in owned if network & {record.id, record.parent} - {None}]
    related = [record for record in related if len(names) == 1 or record.name.casefold() == names[1].casefold()]
    if not related or not session.may(related[0], "read"):
        raise not_found()
    return related[0]
