"""What the toolkit reads of GitHub's answers; all else in them is passed over."""

import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from scylla_gha.model.record import Sha

GHOST = "ghost"  # GitHub's own name for who deleted the account


class Answer(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class User(Answer):
    """Who did something; `type` is `User`, `Bot` or `Organization`."""

    login: str
    type: str = "User"


class Comment(Answer):
    """A comment on an issue or pull request."""

    id: int
    body: str | None = None
    user: User | None = None
    html_url: str

    @property
    def author(self) -> str:
        """The login of who wrote it."""
        return self.user.login if self.user else GHOST


class Repository(Answer):
    """A repository's name."""

    full_name: str


class Head(Answer):
    """The commit that a pull request proposes, and where it lies; the repository is None where it was deleted."""

    sha: Sha
    ref: str
    repo: Repository | None = None


class Base(Answer):
    """The branch that a pull request is for."""

    ref: str
    sha: Sha


class Pull(Answer):
    """A pull request."""

    number: int
    state: str
    head: Head
    base: Base


class Commit(Answer):
    """A commit's name."""

    sha: Sha


class Compared(Answer):
    """Two commits; the answer goes on with all that lies between them."""

    merge_base_commit: Commit


class Permission(Answer):
    """What somebody may do in a repository; of a custom role, `permission` is the one it is built on."""

    permission: str
    role_name: str = ""


class Push(Answer):
    """A change of a branch, by the time at which GitHub got it."""

    after: str
    timestamp: datetime.datetime


class Dispatched(Answer):
    """The run that a dispatch started; 0 and empty where the server does not tell, as older ones do not."""

    workflow_run_id: int = 0
    html_url: str = ""


class Run(Answer):
    """A workflow's run."""

    id: int
    html_url: str
    event: str = ""
    conclusion: str | None = None
    head_sha: Sha
    head_branch: str | None = None
    head_repository: Repository | None = None
    run_attempt: int = 1
    created_at: datetime.datetime | None = None


class Issue(Answer):
    """An issue."""

    number: int
    state: Literal["open", "closed"]
    body: str | None = None
    user: User | None = None
    html_url: str

    @property
    def author(self) -> str:
        """The login of who wrote it."""
        return self.user.login if self.user else GHOST


class CheckRun(Answer):
    """A check run."""

    id: int
    external_id: str | None = None
    html_url: str | None = None


class Target(Answer):
    """What a reference points to: a commit, or a tag's own object."""

    sha: Sha
    type: str = "commit"


class Ref(Answer):
    """A branch or tag."""

    ref: str
    object: Target


class Anything(Answer):
    """An answer of which nothing is read."""
