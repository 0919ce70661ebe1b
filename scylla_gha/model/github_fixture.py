"""GitHub state of fixtures: `github.yaml`, scripted reviewers, and the repositories on github.com for it.

`history` is a list of steps. They run in order, by the rules of GitHub, so that numbers, ids and times follow from
the file. Later steps can name a step with a `key`, as in `pr.review_me`. Texts may contain `{{ issue.crash.number }}`.
"""

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

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
from scylla_gha.path_patterns import gitignore_fault

FIXTURE_FILE: Final = "github.yaml"
FIXTURE_FOLDER: Final = (
    "github"  # folder with longer files, beside `github.yaml`; neither is a part of the fixture's commit
)
REPOSITORIES_FILE: Final = "github-fixtures.yaml"
RepositoryName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]*[A-Za-z0-9_-]$")]
AccountLogin = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9](-?[A-Za-z0-9])*$", max_length=39)]


def _is_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}; correct it") from None
    return text


def _is_pattern(text: str) -> str:
    if fault := gitignore_fault(text):
        raise ValueError(fault)
    return text


Expression = Annotated[Text, AfterValidator(_is_expression)]
PathPattern = Annotated[Text, AfterValidator(_is_pattern)]


class ReviewedPulls(Record):
    """Open pull requests to review, except drafts and the reviewer's own. All given conditions must hold."""

    pull: str | None = Field(default=None, description="The only pull request to review, as `pr.KEY`; null: any")
    closes: str | None = Field(
        default=None,
        description="Issue that the pull request's text must close by a keyword, as `issue.KEY`; null: any or none",
    )
    author: UserName | None = None
    base: str | None = Field(default=None, description="Branch that the pull request merges into; null: any")


class HeadFile(Record):
    """File at the head of a pull request that the pull request changes."""

    path: PathPattern = Field(description="gitignore-style pattern; at least one matching file must fulfil `matches`")
    matches: Expression = Field(description="Regular expression (multiline) that must match in the file")


class ReviewTrigger(Record):
    """State of a pull request in which a review is written. All given conditions must hold."""

    requested: bool = Field(default=False, description="If true, the reviewer must have been asked for a review")
    pushed: bool = Field(default=False, description="If true, the head must have no review by the reviewer yet")
    replied: bool = Field(
        default=False,
        description="If true, each thread of the reviewer must be resolved or end with a comment of somebody "
        "else; without threads, somebody else must have commented on the pull request after the "
        "review",
    )
    files: tuple[HeadFile, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if the trigger always holds."""
        return not (self.requested or self.pushed or self.replied or self.files)


class ScriptedThread(Record):
    """Thread of a scripted review, at the first line of the diff that matches.

    Without such a line, it is on the first matching file; without such a file, its text is added to the review's text.
    """

    path: PathPattern = Field(description="gitignore-style pattern of a file that the pull request changes")
    line: Expression | None = Field(
        default=None, description="Regular expression of the line to comment on; null: the whole file"
    )
    body: Text


class ScriptedReminder(Record):
    """Comment written once for each new head until the next review is due."""

    body: Text
    times: int = Field(default=3, ge=1, le=20, description="Maximum number of comments per pull request")


class ScriptedReview(Record):
    """Review that somebody writes in a trial as soon as `when` holds, once for each pull request."""

    when: ReviewTrigger = ReviewTrigger()
    unless: tuple[HeadFile, ...] = Field(
        default=(),
        description="Files that make the review unnecessary: if all match when the review is due, the next review "
        "takes its place",
    )
    event: Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"]
    body: Annotated[str, Field(max_length=60_000)] = ""
    threads: tuple[ScriptedThread, ...] = ()
    reminder: ScriptedReminder | None = Field(
        default=None, description="Comment to write while the review is not due; null: none"
    )

    @model_validator(mode="after")
    def _some_words(self) -> "ScriptedReview":
        if self.event != "APPROVE" and not self.body.strip() and not self.threads:
            raise ValueError(f"GitHub refuses {self.event} without a text; give body or threads")
        return self


class ScriptedReviewer(Record):
    """Person who reviews pull requests in a trial: each pull request gets each review once, in this order."""

    reviewer: UserName
    pulls: ReviewedPulls = ReviewedPulls()
    reviews: Annotated[tuple[ScriptedReview, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _later_reviews_wait(self) -> "ScriptedReviewer":
        if any(review.when.is_empty for review in self.reviews[1:]):
            raise ValueError(
                "reviews: all but the first need `when`, otherwise a review would immediately follow another; add it"
            )
        return self


class FixtureUser(Record):
    """Account. `permission` is its role in the repository; null: no role, so it can only read."""

    login: Annotated[str, Field(pattern=r"^[A-Za-z0-9](-?[A-Za-z0-9])*(\[bot\])?$", max_length=39)]
    kind: Literal["User", "Bot", "Organization"] = "User"
    name: str | None = None
    email: str | None = None
    permission: Literal["admin", "maintain", "write", "triage", "read"] | None = "write"


class FixtureRepository(Record):
    """The repository; `owner` is the name of a user or an organization."""

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
    """Refusal of requests: after `after` requests of a user, the next `refuse` requests fail."""

    after: Annotated[int, Field(ge=1)]
    refuse: Annotated[int, Field(ge=1)]
    seconds: int = Field(default=1, ge=1, description="Seconds that the refusal asks the client to wait")
    kind: Literal["primary", "secondary"] = "primary"


class FixtureEntry(Record):
    """One step of the history: exactly one kind of step, and optionally the time at which it begins."""

    at: UtcTime | None = Field(
        default=None, description="Time at which the step begins; null: one second after the previous step"
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
        """Kind and content of the step."""
        return next((name, value) for name, value in self if isinstance(value, Record))

    @model_validator(mode="after")
    def _one_kind(self) -> "FixtureEntry":
        if sum(isinstance(value, Record) for _, value in self) != 1:
            kinds = ", ".join(name for name in type(self).model_fields if name != "at")
            raise ValueError(f"give exactly one of {kinds}")
        return self


class GitHubFixture(Record):
    """GitHub state of a fixture. The default branch begins with a commit of the folder's own files, if any."""

    users: dict[Key, FixtureUser] = Field(min_length=1, description="Accounts, by their names in this file")
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


class RepositoryPool(Record):
    """Repositories of one fixture. A user's token is in the environment variable SCYLLA_FIXTURE_TOKEN_<USER>."""

    repositories: tuple[RepositoryName, ...] = Field(
        min_length=1, description="Repositories on github.com that trials of the fixture use in turn"
    )
    admin: Key = Field(description="Name of the fixture's user who administers and resets the repositories")
    accounts: dict[Key, AccountLogin] = Field(description="Logins on github.com, by the fixture's user")

    @model_validator(mode="after")
    def _consistent(self) -> "RepositoryPool":
        if self.admin not in self.accounts:
            raise ValueError(f"admin: {self.admin} has no account; add it to accounts")
        if len({name.lower() for name in self.repositories}) < len(self.repositories):
            raise ValueError("repositories: a repository is listed twice; remove one")
        return self

    def shared_accounts(self) -> dict[str, str]:
        """Return, for each user, the first user by name who has the same account."""
        first: dict[str, str] = {}
        for user, login in sorted(self.accounts.items()):
            first.setdefault(login.lower(), user)
        return {user: first[login.lower()] for user, login in self.accounts.items()}


class GitHubRepositories(Record):
    """Allow-list: `scylla-gha fixture` changes no other repository."""

    fixtures: dict[str, RepositoryPool] = Field(
        description="Repositories that may be changed, by the name of the folder in `fixtures/`"
    )
