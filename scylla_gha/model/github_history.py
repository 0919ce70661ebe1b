"""Steps of a fixture's GitHub history: commits, issues, pull requests with reviews, releases, and workflow runs."""

import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from scylla_gha.model import Record, Text

Key = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=60)]
UserName = Annotated[str, Field(description="Name of a user in `users`")]
UtcTime = Annotated[AwareDatetime, AfterValidator(lambda time: time.astimezone(datetime.UTC))]
ThreadSide = Literal["LEFT", "RIGHT"]
Conclusion = Literal[
    "success", "failure", "cancelled", "skipped", "neutral", "timed_out", "action_required", "startup_failure"
]


class FixtureCommit(Record):
    """Commit that is pushed to a branch. A branch that does not exist begins at `start`."""

    key: Key | None = None
    branch: Text
    start: Text | None = Field(
        default=None, description="Branch, tag or `commit.KEY` at which a new branch begins; null: the default branch"
    )
    author: UserName
    message: Text
    files: dict[str, str | None] = Field(default={}, description="New text of files, by path; null deletes the file")
    copies: dict[str, str] = Field(
        default={}, description="Files to copy from the folder `github/`: path in the commit -> path there"
    )
    merge: Text | None = Field(
        default=None, description="Branch or `commit.KEY` that becomes the second parent; null: none"
    )


class FixtureRef(Record):
    """Branch or tag at an existing commit."""

    name: Text
    target: Text = Field(description="Branch, tag or `commit.KEY` as the target of the new ref")
    by: UserName
    message: str | None = Field(default=None, description="Message of an annotated tag; null: a lightweight tag")


class FixtureComment(Record):
    """Comment, or a reply in a thread."""

    key: Key | None = None
    author: UserName
    body: Text


class FixtureIssue(Record):
    """Issue with its comments and its closing."""

    key: Key | None = None
    title: Text
    author: UserName
    body: str | None = None
    labels: tuple[str, ...] = ()
    assignees: tuple[UserName, ...] = ()
    milestone: str | None = Field(default=None, description="Title of the issue's milestone; null: none")
    comments: tuple[FixtureComment, ...] = ()
    closed: "FixtureClosing | None" = None


class FixtureClosing(Record):
    """Closing of an issue or pull request. Inside the issue or pull request, `target` is null."""

    by: UserName
    target: Text | None = Field(
        default=None,
        description="Issue or pull request to close, as `issue.KEY` or `pr.KEY`; null: the issue or pull request that "
        "contains this closing",
    )
    reason: Literal["completed", "not_planned", "duplicate"] = "completed"
    duplicate_of: str | None = Field(
        default=None, description="Issue that this one duplicates, as `issue.KEY`; only with the reason duplicate"
    )


class FixtureThread(Record):
    """Review thread on lines of a file; if `line` is null, on the whole file."""

    key: Key | None = None
    path: Text
    line: Annotated[int | None, Field(ge=1)] = None
    start_line: Annotated[int | None, Field(ge=1)] = None
    side: ThreadSide = "RIGHT"
    body: Text
    replies: tuple[FixtureComment, ...] = ()
    resolved_by: UserName | None = None


class FixtureReview(Record):
    """Review of a pull request; `target` names the pull request if the review is a separate step."""

    key: Key | None = None
    target: str | None = Field(
        default=None, description="Pull request to review, as `pr.KEY`; null: the one that contains this review"
    )
    author: UserName
    event: Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"] | None = Field(
        "COMMENT", description="Verdict of the review; null: the review is pending"
    )
    body: str = ""
    threads: tuple[FixtureThread, ...] = ()


class FixtureMerge(Record):
    """Merge of a pull request; `target` names the pull request if the merge is a separate step."""

    target: str | None = Field(
        default=None, description="Pull request to merge, as `pr.KEY`; null: the one that contains this merge"
    )
    by: UserName
    method: Literal["merge", "squash", "rebase"] = "merge"
    delete_branch: bool = False


class FixturePullRequest(Record):
    """Pull request with its comments, reviews and end, in the order of the keys here."""

    key: Key | None = None
    head: Text
    base: str | None = Field(default=None, description="Branch to merge into; null: the default branch")
    title: Text
    author: UserName
    body: str | None = None
    draft: bool = False
    labels: tuple[str, ...] = ()
    assignees: tuple[UserName, ...] = ()
    milestone: str | None = Field(default=None, description="Title of the pull request's milestone; null: none")
    reviewers: tuple[UserName, ...] = Field(default=(), description="Users who are asked for a review")
    comments: tuple[FixtureComment, ...] = ()
    reviews: tuple[FixtureReview, ...] = ()
    merged: FixtureMerge | None = None
    closed: FixtureClosing | None = None

    @model_validator(mode="after")
    def _one_end(self) -> "FixturePullRequest":
        if self.merged is not None and self.closed is not None:
            raise ValueError("give at most one of merged and closed: a merge closes the pull request")
        return self


class FixtureCommentOn(FixtureComment):
    """Comment on an earlier issue or pull request, or reply in a thread."""

    target: Text = Field(description="Object of the comment: `issue.KEY`, `pr.KEY` or `thread.KEY`")


class FixtureAsset(Record):
    """File of a release: its text, or the name of a file of the folder `github/`."""

    name: Text
    text: str | None = None
    file: str | None = None
    content_type: str = "application/octet-stream"

    @model_validator(mode="after")
    def _one_content(self) -> "FixtureAsset":
        if (self.text is None) == (self.file is None):
            raise ValueError("give exactly one of text and file")
        return self


class FixtureRelease(Record):
    """Release; unless it is a draft, a missing tag is created at `target`."""

    key: Key | None = None
    tag: Text
    target: str | None = Field(
        default=None, description="Branch at which a missing tag is created; null: the default branch"
    )
    author: UserName
    name: str | None = None
    body: str | None = None
    generate_notes: bool = False
    draft: bool = False
    prerelease: bool = False
    assets: tuple[FixtureAsset, ...] = ()


class FixtureAnnotation(Record):
    """Message on lines of a file."""

    path: Text
    line: Annotated[int, Field(ge=1)]
    level: Literal["notice", "warning", "failure"] = "failure"
    message: Text
    title: str | None = None


class FixtureStep(Record):
    """Step of a job, with its output: a text, or the name of a file of the folder `github/`."""

    name: Text
    conclusion: Conclusion = "success"
    log: str = ""
    log_file: str | None = None
    seconds: int = Field(default=0, ge=0, description="Duration of the step in seconds")

    @model_validator(mode="after")
    def _one_log(self) -> "FixtureStep":
        if self.log and self.log_file is not None:
            raise ValueError("give at most one of log and log_file")
        return self


class FixtureJob(Record):
    """Job of a workflow run."""

    name: Text
    conclusion: Conclusion | None = Field("success", description="Result of the job; null: it is still running")
    wait_seconds: int = Field(
        default=0, ge=0, description="Time in seconds from the start of the attempt to the start of the job"
    )
    steps: tuple[FixtureStep, ...] = ()
    annotations: tuple[FixtureAnnotation, ...] = ()


class FixtureRun(Record):
    """Workflow run on the tip of a branch. Each list of jobs in `attempts` is an attempt."""

    key: Key | None = None
    workflow: Text = Field(description="Path of the workflow's file in the repository")
    branch: Text
    event: Text = "push"
    actor: UserName
    attempts: Annotated[tuple[tuple[FixtureJob, ...], ...], Field(min_length=1)]
    scripted: tuple[Conclusion, ...] = Field(
        default=(), description="Conclusions of the next attempts, if the run is started again"
    )
    dispatched: tuple[Conclusion, ...] = Field(
        default=(), description="Conclusions of the workflow's next runs, if it is started manually"
    )


class FixtureCheck(Record):
    """Check run or commit status that no workflow made."""

    key: Key | None = None
    target: Text = Field(description="Commit of the check, as branch, tag, `commit.KEY` or `pr.KEY`")
    name: Text
    kind: Literal["check_run", "status"] = "check_run"
    conclusion: Conclusion | None = Field("success", description="Result of the check; null: it is still running")
    description: str | None = None
    details_url: str | None = None
    by: UserName


class FixtureProtection(Record):
    """Protection of the branches that match a pattern."""

    pattern: Text
    required_reviews: Annotated[int | None, Field(ge=0, le=6)] = None
    dismiss_stale_reviews: bool = False
    code_owner_reviews: bool = False
    required_checks: tuple[str, ...] = ()
    strict: bool = False
    enforce_admins: bool = False
    allow_force_pushes: bool = False
    allow_deletions: bool = False
    linear_history: bool = False
    conversation_resolution: bool = False
