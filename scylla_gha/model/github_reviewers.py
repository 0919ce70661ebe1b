"""Scripted reviewers of a fixture: people who review pull requests while a trial runs, by rules in the fixture."""

import re
from typing import Annotated, Literal

import pathspec
from pydantic import AfterValidator, Field, model_validator

from scylla_gha.model import Record, Text
from scylla_gha.model.github_history import UserName


def _is_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


def _is_pattern(text: str) -> str:
    try:
        pathspec.GitIgnoreSpec.from_lines([text])
    except ValueError as error:
        raise ValueError(f"{text!r} is not a gitignore pattern: {error}") from None
    return text


Expression = Annotated[Text, AfterValidator(_is_expression)]
PathPattern = Annotated[Text, AfterValidator(_is_pattern)]


class ReviewedPulls(Record):
    """Pull requests to review, of the open ones that are no drafts and not the reviewer's own. All given must hold."""

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
    """State of a pull request in which a review is written. All that is given must hold."""

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
        """True if it always holds."""
        return not (self.requested or self.pushed or self.replied or self.files)


class ScriptedThread(Record):
    """Thread of a scripted review, at the first line of the diff that matches.

    Without such a line it is on the first file that matches; without such a file its text is added to the review's.
    """

    path: PathPattern = Field(description="gitignore-style pattern of a file that the pull request changes")
    line: Expression | None = Field(
        default=None, description="Regular expression of the line to comment on; null: the whole file"
    )
    body: Text


class ScriptedReminder(Record):
    """Comment that is written when the head has moved, but the next review is not due; once for each head."""

    body: Text
    times: int = Field(default=3, ge=1, le=20, description="Maximum number of comments per pull request")


class ScriptedReview(Record):
    """Review that somebody writes in a trial as soon as `when` holds, once for each pull request."""

    when: ReviewTrigger = ReviewTrigger()
    unless: tuple[HeadFile, ...] = Field(
        default=(),
        description="Files that make the review unnecessary: if all match when it is due, the next review "
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
            raise ValueError(f"GitHub refuses {self.event} without words; give body or threads")
        return self


class ScriptedReviewer(Record):
    """Person who reviews pull requests in a trial: each pull request gets each review once, in this order."""

    reviewer: UserName
    pulls: ReviewedPulls = ReviewedPulls()
    reviews: Annotated[tuple[ScriptedReview, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _later_reviews_wait(self) -> "ScriptedReviewer":
        if any(review.when.is_empty for review in self.reviews[1:]):
            raise ValueError("reviews: each but the first needs `when`, or it would follow the one before at once")
        return self
