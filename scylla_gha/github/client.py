"""A repository as GitHub's REST API tells of it: merged pull requests, commits, and which came from which."""

import logging
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import takewhile
from typing import Final, TypeVar

from github import Auth, Github
from github.Commit import Commit as ApiCommit
from github.GithubException import GithubException
from github.PaginatedList import PaginatedList
from github.PullRequest import PullRequest

from scylla_gha.errors import GitHubError
from scylla_gha.github.access import Access
from scylla_gha.github.faults import explained, nonsense
from scylla_gha.github.patience import Patience, PatientRetry
from scylla_gha.github.reverts import Commit, Pull

for _name in ("github", "urllib3"):  # they log each retry to standard error, where the toolkit says itself what matters
    logging.getLogger(_name).setLevel(logging.ERROR)

_PAGE: Final = 100  # GitHub's most
_PAUSE: Final = 0.1  # seconds between requests: below its 900 a minute
_NO_SUCH_COMMIT: Final = (404, 422)
_GHOST: Final = "ghost"  # GitHub's own name for who deleted the account

T = TypeVar("T")
Made = TypeVar("Made")


class Client:
    """One repository, to read. All of it raises GitHubError, saying what to do, where GitHub gives no good answer."""

    def __init__(self, access: Access, repository: str, patience: Patience, timeout: int = 20) -> None:
        self._access, self._wanted = access, repository
        self._github = Github(
            auth=Auth.Token(access.token) if access.token else None, base_url=access.api, timeout=timeout,
            per_page=_PAGE, seconds_between_requests=_PAUSE, retry=PatientRetry.within(patience),
        )  # fmt: skip
        with explained(access, repository):
            self._repository = self._github.get_repo(repository)
            self.name, self.base = self._repository.full_name, self._repository.default_branch
        if not self.name or not self.base:
            raise GitHubError(nonsense(access))

    def merged(self, since: datetime) -> Iterator[Pull]:
        """The pull requests merged into the default branch since then, each once.

        They are read by their last change, latest first, since none can have been merged after it. One that somebody
        changes in the seconds between two pages may be missed.
        """
        pages = self._repository.get_pulls("closed", "updated", "desc", self.base)
        seen: set[int] = set()
        told = self._each(pages, lambda each: (each.updated_at or since, _pull(each)))
        for _, pull in takewhile(lambda one: one[0] >= since, told):
            if pull is not None and pull.merged_at >= since and pull.number not in seen:
                seen.add(pull.number)
                yield pull

    def commits(self, since: datetime, until: datetime) -> Iterator[Commit]:
        """The default branch's commits of that time, by when they were committed."""
        return self._each(self._repository.get_commits(self.base, since=since, until=until), _commit)

    def pull_of(self, sha: str) -> Pull | None:
        """The first pull request that brought a commit to the default branch; None where none did."""
        pages = PaginatedList(PullRequest, self._repository.requester, f"{self._repository.url}/commits/{sha}/pulls")
        with explained(self._access, self._wanted):
            try:
                told = [_pull(each) for each in pages if each.base.ref == self.base]
            except GithubException as error:
                if error.status in _NO_SUCH_COMMIT:
                    return None
                raise
        return min(filter(None, told), key=lambda pull: pull.merged_at, default=None)

    def _each(self, pages: Iterable[T], make: Callable[[T], Made]) -> Iterator[Made]:
        with explained(self._access, self._wanted):
            for each in pages:
                yield make(each)


def _pull(told: PullRequest) -> Pull | None:
    """What a list says of a pull request, with no request of its own; None where it was closed without a merge."""
    if told.merged_at is None:
        return None
    return Pull(
        number=told.number,
        merged_at=told.merged_at,
        sha=told.merge_commit_sha or None,
        title=told.title,
        body=told.body or "",
        author=told.user.login if told.user else _GHOST,
        labels=frozenset(label.name for label in told.labels),
    )


def _commit(told: ApiCommit) -> Commit:
    return Commit(told.sha, told.commit.committer.date, told.commit.message)
