"""GitHub's responses, and the events in the runner's event file, with only the fields that the toolkit reads.

Names and texts in them are untrusted.
"""

import datetime
from pathlib import Path
from typing import Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.model import Sha

GHOST: Final = "ghost"  # GitHub's login for deleted accounts
_MAX_EVENT_BYTES: Final = 8 << 20


class GitHubResponse(BaseModel):
    """Base of responses and their parts."""

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


class NamedRepository(Repository):
    """A repository's name and default branch."""

    default_branch: str


class Head(GitHubResponse):
    """The commit that a pull request proposes; the repository is None if it was deleted."""

    sha: Sha
    ref: str
    repo: Repository | None = None


class Base(GitHubResponse):
    """Branch into which a pull request would be merged."""

    ref: str
    sha: Sha


class PullRequest(GitHubResponse):
    """A pull request."""

    number: int
    state: str
    head: Head
    base: Base


class CommitRef(GitHubResponse):
    """A commit's SHA."""

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


class Pushes(RootModel[tuple[Push, ...]]):
    """The latest pushes to a branch."""


class Dispatched(GitHubResponse):
    """The run that a dispatch started; 0 and "" if the server is too old to report it."""

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


class PublishedAsset(GitHubResponse):
    """File of a release; `digest` is `sha256:` and the hexadecimal digest."""

    id: int
    name: str
    digest: str | None = None


class PublishedRelease(GitHubResponse):
    """Release with its target, its files, and the upload address for files."""

    target_commitish: str = ""
    upload_url: str = ""
    assets: tuple[PublishedAsset, ...] = ()


class AnyResponse(GitHubResponse):
    """A response without the fields, for requests whose answer does not matter."""


class NewComment(GitHubResponse):
    """The comment in an event."""

    id: int
    body: str | None = None
    user: User
    created_at: datetime.datetime


class IssueThread(GitHubResponse):
    """The issue of a comment; `pull_request` is set if it is a pull request."""

    number: int
    pull_request: dict[str, object] | None = None


class CommentEvent(GitHubResponse):
    """An event of `issue_comment`."""

    action: str
    comment: NewComment
    issue: IssueThread
    repository: NamedRepository


class PullEvent(GitHubResponse):
    """An event of `pull_request`."""

    pull_request: PullRequest
    repository: NamedRepository


class Artifact(GitHubResponse):
    """An artifact of a workflow run."""

    id: int
    name: str
    expired: bool


class WorkflowRunEvent(GitHubResponse):
    """An event of `workflow_run`."""

    workflow_run: WorkflowRun


class DispatchEvent(GitHubResponse):
    """An event of `workflow_dispatch`; other events have no inputs."""

    inputs: dict[str, object] | None = None
    repository: NamedRepository | None = None


E = TypeVar("E", bound=GitHubResponse)


def read_event(path: Path, kind: type[E]) -> E:
    """Read an event file.

    Raises:
        ConfigError: the file is missing, too large, or has another event.
    """
    try:
        if path.stat().st_size > _MAX_EVENT_BYTES:
            raise ConfigError(f"{path}: not a GitHub event: larger than {_MAX_EVENT_BYTES >> 20} MiB")
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"{path}: event file not found; in a job of Actions, GITHUB_EVENT_PATH names it") from None
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ConfigError(f"{path}: not a {kind.__name__}: {where}; does another trigger start this job?") from None
