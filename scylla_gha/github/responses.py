"""GitHub's responses, as far as the toolkit reads them; all other fields are ignored."""

import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from scylla_gha.model.record import Sha

GHOST = "ghost"  # GitHub's own name for the author of a deleted account


class GitHubResponse(BaseModel):
    """A response, or a part of one."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class User(GitHubResponse):
    """An account; `type` is `User`, `Bot` or `Organization`."""

    login: str
    type: str = "User"


class Authored(GitHubResponse):
    """Text that an account wrote."""

    body: str | None = None
    user: User | None = None
    html_url: str

    @property
    def author(self) -> str:
        """Login of the author."""
        return self.user.login if self.user else GHOST


class Comment(Authored):
    """A comment on an issue or pull request."""

    id: int


class Issue(Authored):
    """An issue."""

    number: int
    state: Literal["open", "closed"]


class Repository(GitHubResponse):
    """A repository's name."""

    full_name: str


class Head(GitHubResponse):
    """The commit that a pull request proposes; the repository is None if it was deleted."""

    sha: Sha
    ref: str
    repo: Repository | None = None


class Base(GitHubResponse):
    """The branch that a pull request is for."""

    ref: str
    sha: Sha


class PullRequest(GitHubResponse):
    """A pull request."""

    number: int
    state: str
    head: Head
    base: Base


class CommitRef(GitHubResponse):
    """A commit's name."""

    sha: Sha


class CommitComparison(GitHubResponse):
    """A comparison of two commits."""

    merge_base_commit: CommitRef


class Permission(GitHubResponse):
    """An account's permission in a repository; for a custom role, the permission that the role is based on."""

    permission: str


class Push(GitHubResponse):
    """A change of a branch, with the time at which GitHub received it."""

    after: str
    timestamp: datetime.datetime


class Dispatched(GitHubResponse):
    """The run that a dispatch started; 0 and empty if the server does not report it, as older ones do not."""

    workflow_run_id: int = 0
    html_url: str = ""


class WorkflowRun(GitHubResponse):
    """A run of a workflow."""

    id: int
    html_url: str
    event: str = ""
    conclusion: str | None = None
    head_sha: Sha
    head_branch: str | None = None
    head_repository: Repository | None = None
    run_attempt: int = 1
    created_at: datetime.datetime | None = None


class CheckRun(GitHubResponse):
    """A check run."""

    id: int
    external_id: str | None = None
    html_url: str | None = None


class RefTarget(GitHubResponse):
    """The object that a reference points to: a commit, or the object of an annotated tag."""

    sha: Sha
    type: str = "commit"


class Ref(GitHubResponse):
    """A branch or tag."""

    ref: str
    object: RefTarget


class AnyResponse(GitHubResponse):
    """A response of which nothing is read."""
