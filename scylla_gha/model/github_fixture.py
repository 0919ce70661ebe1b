"""GitHub state that a fixture starts with: `github.yaml` in the fixture's folder.

`history` is a list of steps. They are done in order, by the rules of GitHub, so that numbers, ids and times follow from
the file. A step that has a `key` can be named later, as in `pr.review_me`. Texts may hold `{{ issue.crash.number }}`.
"""

from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from scylla_gha.model import Record, Text
from scylla_gha.model.github_history import (
    FixtureCheck,
    FixtureClosing,
    FixtureCommentOn,
    FixtureCommit,
    FixtureIssue,
    FixtureMerge,
    FixtureProtection,
    FixturePullRequest,
    FixtureRef,
    FixtureRelease,
    FixtureReview,
    FixtureRun,
    Key,
    UserName,
    UtcTime,
)
from scylla_gha.model.github_reviewers import ScriptedReviewer

FIXTURE_FILE: Final = "github.yaml"
FIXTURE_FOLDER: Final = "github"  # beside it, with longer files; neither is a part of the fixture's commit


class FixtureUser(Record):
    """Account. `permission` is its role in the repository; null is none, so that it can only read."""

    login: Annotated[str, Field(pattern=r"^[A-Za-z0-9](-?[A-Za-z0-9])*(\[bot\])?$", max_length=39)]
    kind: Literal["User", "Bot", "Organization"] = "User"
    name: str | None = None
    email: str | None = None
    permission: Literal["admin", "maintain", "write", "triage", "read"] | None = "write"


class FixtureRepository(Record):
    """The repository; `owner` is the name of a user, which may be an organization."""

    owner: UserName
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=100)]
    description: str | None = None
    homepage: str | None = None
    topics: tuple[str, ...] = ()
    private: bool = False
    default_branch: str = "main"
    has_issues: bool = True
    has_projects: bool = True
    has_wiki: bool = True
    allow_merge_commit: bool = True
    allow_squash_merge: bool = True
    allow_rebase_merge: bool = True
    allow_auto_merge: bool = False
    delete_branch_on_merge: bool = False


class FixtureLabel(Record):
    """Label of the repository."""

    name: Text
    color: Annotated[str, Field(pattern=r"^[0-9a-f]{6}$")] = "ededed"
    description: str | None = None


class FixtureMilestone(Record):
    """Milestone of the repository."""

    title: Text
    description: str | None = None
    due_on: UtcTime | None = None
    closed: bool = False


class FixtureRateLimit(Record):
    """Refusal of requests: after `after` requests of a user, the next `refuse` ones."""

    after: Annotated[int, Field(ge=1)]
    refuse: Annotated[int, Field(ge=1)]
    seconds: int = Field(default=1, ge=1, description="Seconds that a refused client is told to wait")
    kind: Literal["primary", "secondary"] = "primary"


class FixtureEntry(Record):
    """One step of the history: exactly one kind of step, and optionally the time at which it begins."""

    at: UtcTime | None = Field(
        default=None, description="Time at which the step begins; null: a second after the step before"
    )
    commit: FixtureCommit | None = None
    branch: FixtureRef | None = None
    tag: FixtureRef | None = None
    delete_branch: FixtureRef | None = None
    issue: FixtureIssue | None = None
    pull: FixturePullRequest | None = None
    comment: FixtureCommentOn | None = None
    review: FixtureReview | None = None
    merge: FixtureMerge | None = None
    close: FixtureClosing | None = None
    release: FixtureRelease | None = None
    run: FixtureRun | None = None
    check: FixtureCheck | None = None
    protect: FixtureProtection | None = None

    @property
    def step(self) -> tuple[str, Record]:
        """The kind of the step, and what it does."""
        return next((name, value) for name, value in self if isinstance(value, Record))

    @model_validator(mode="after")
    def _one_kind(self) -> "FixtureEntry":
        if sum(isinstance(value, Record) for _, value in self) != 1:
            kinds = ", ".join(name for name in type(self).model_fields if name != "at")
            raise ValueError(f"give exactly one of {kinds}")
        return self


class GitHubFixture(Record):
    """GitHub state of a fixture. The folder's own commit, if it has files, is the first one of the default branch."""

    users: dict[Key, FixtureUser] = Field(
        min_length=1, description="Accounts, by the names that this file uses for them"
    )
    repository: FixtureRepository
    begin: UtcTime = Field(description="Time of the first write; each write takes one second")
    now: UtcTime | None = Field(default=None, description="Time at which a trial begins; null: the end of the history")
    labels: tuple[FixtureLabel, ...] = ()
    milestones: tuple[FixtureMilestone, ...] = ()
    history: tuple[FixtureEntry, ...] = ()
    scripted_reviewers: tuple[ScriptedReviewer, ...] = Field(
        default=(), description="People who review pull requests while a trial runs"
    )
    rate_limit: FixtureRateLimit | None = Field(
        default=None, description="Refusal of requests after a number of them; null: none"
    )
