"""Conditions on the GitHub state at the end of a trial: on queries, on git, and on changes that are not allowed.

Names such as `pr.review_me` are the fixture's names for its objects (`github.yaml`). A revision is a branch, a tag, a
full ref or a commit at the trial's end; with `start:` before it, at its start.
"""

from typing import Annotated, Final, Self

from pydantic import Field, JsonValue, model_validator

from scylla_gha.model import Record, Slug, Text

ObjectName = Annotated[str, Field(pattern=r"^[a-z_]+\.[a-z0-9_-]+$", max_length=120)]
UNCHANGED_ID: Final = "github-unchanged"


class GitHubCount(Record):
    """Number of elements of a selected list."""

    min: Annotated[int | None, Field(ge=0)] = None
    max: Annotated[int | None, Field(ge=0)] = None

    @model_validator(mode="after")
    def _some_limit(self) -> "GitHubCount":
        if self.min is None and self.max is None:
            raise ValueError("the count needs `min` or `max`; give one or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}; swap them")
        return self


class GitHubQuery(Record):
    """Selection from GitHub's state at the trial's end."""

    query: Text = Field(
        description="Kind of the objects: pull_request, issue, ... for one, or pull_requests, issues, ... for all"
    )
    target: ObjectName | None = Field(
        default=None,
        description="Name of the one object in the fixture, e.g. pr.review_me; null: for queries of all objects",
    )
    select: Text = Field(default="@", description="jmespath expression on the result of the query")
    extract: str | None = Field(
        default=None,
        exclude_if=lambda pattern: pattern is None,
        description="Regular expression (RE2); the selection becomes the list of its different matches in the "
        "text or texts, or of its group's matches; null: no extraction",
    )


class StateCondition(GitHubQuery):
    """Condition on a selection. All given conditions must hold; for a deleted object, only `absent` holds."""

    exists: bool = Field(default=False, description="If true, the selection must be neither null nor an empty list")
    absent: bool = Field(
        default=False, description="If true, the selection must be null or an empty list, or its object must be deleted"
    )
    equals: JsonValue = Field(default=None, description="Value that the selection must have, of the same type")
    set_equals: tuple[JsonValue, ...] | None = Field(
        default=None, description="Elements that a selected list must have, in any order, without duplicates; null: any"
    )
    contains: JsonValue = Field(
        default=None, description="Element that a selected list must have, or text that a selected text must contain"
    )
    matches: str | None = Field(
        default=None, description="Regular expression (RE2, multiline) that must match in the selected text; null: none"
    )
    count: GitHubCount | None = Field(
        default=None, description="Number of elements that the selected list must have; null: any"
    )
    by: Text | None = Field(
        default=None,
        description="Login of the only user who may have written the selected objects in the trial; null: anybody",
    )
    before: GitHubQuery | None = Field(
        default=None, description="Objects that must all be created after the selected ones; null: none"
    )

    @property
    def has_equals(self) -> bool:
        """True if `equals` is given; null is a value."""
        return "equals" in self.model_fields_set

    @property
    def has_contains(self) -> bool:
        """True if `contains` is given."""
        return "contains" in self.model_fields_set

    @model_validator(mode="after")
    def _some_operator(self) -> "StateCondition":
        others = (
            self.exists,
            self.has_equals,
            self.set_equals is not None,
            self.has_contains,
            self.matches,
            self.count,
            self.by,
            self.before,
        )
        if not (self.absent or any(others)):
            raise ValueError(
                "give at least one of exists, absent, equals, set_equals, contains, matches, count, by and before"
            )
        if self.has_contains and self.contains is None:
            raise ValueError("contains: needs a value; give an element of a list, or a part of a text")
        if self.absent and any(others):
            raise ValueError("`absent` excludes all other conditions; give it alone")
        return self


class FileMatch(Record):
    """Condition on a file at a revision."""

    path: Text
    matches: str | None = Field(
        default=None, description="Regular expression (RE2, multiline) that must match in the file; null: none"
    )
    absent: bool = Field(default=False, description="If true, the file must not exist")

    @model_validator(mode="after")
    def _absent_alone(self) -> "FileMatch":
        if self.absent and self.matches is not None:
            raise ValueError("give at most one of absent and matches")
        return self


class GitRevision(Record):
    """Branch or another revision of a repository at the trial's end."""

    repository: ObjectName | None = Field(
        default=None, description="Name of the repository in the fixture; null: the only one"
    )
    ref: Text | None = Field(default=None, description="Revision of the repository; null: the default branch")
    pull: ObjectName | None = Field(
        default=None, description="Pull request of the fixture whose head is the revision, instead of `ref`"
    )

    @model_validator(mode="after")
    def _one_revision(self) -> Self:
        if self.ref is not None and self.pull is not None:
            raise ValueError("give at most one of ref and pull")
        return self


class GitCondition(GitRevision):
    """Condition on a branch or another revision of a repository at the trial's end. All given conditions must hold."""

    contains_commit: Text | None = Field(
        default=None, description="Revision that the checked one must equal or descend from; null: none"
    )
    tree_equals: Text | None = Field(
        default=None, description="Revision or tree that must have the same files; null: none"
    )
    file_matches: FileMatch | None = None
    touches_only: tuple[str, ...] = Field(
        default=(), description="gitignore-style patterns; every file that differs from `since` must match one of them"
    )
    since: Text | None = Field(
        default=None, description="Revision with which `touches_only` compares; null: the checked revision at the start"
    )
    not_forced: bool = Field(
        default=False, description="If true, the branch must not be rewound or deleted in the trial"
    )

    @model_validator(mode="after")
    def _some_operator(self) -> "GitCondition":
        operators = (self.contains_commit, self.tree_equals, self.file_matches, self.touches_only, self.not_forced)
        if not any(operators):
            raise ValueError(
                "give at least one of contains_commit, tree_equals, file_matches, touches_only and not_forced"
            )
        if self.since is not None and not self.touches_only:
            raise ValueError("`since` needs `touches_only`; add it, or remove `since`")
        return self


class Checkout(GitRevision):
    """Revision of a repository that a check's command finds in its working directory, with its history."""


class AllowedChange(Record):
    """Change of GitHub's state that a scenario's agent may make; everything else must stay the same."""

    target: ObjectName | None = Field(
        default=None, description="Name of an object of the fixture that may change, e.g. pr.review_me"
    )
    fields: tuple[str, ...] = Field(
        default=(), description="Fields of `target` that may differ; empty: all fields, and it may also be deleted"
    )
    created: str | None = Field(default=None, description="Kind of objects that may be created, e.g. issues")
    refs: tuple[str, ...] = Field(
        default=(), description="Patterns of branches and tags that may change, e.g. refs/heads/fix/*"
    )
    repository: ObjectName | None = Field(
        default=None, description="Repository for `created` and `refs`; null: any repository"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> "AllowedChange":
        if [self.target, self.created, self.refs or None].count(None) != 2:  # noqa: PLR2004
            raise ValueError("give exactly one of target, created and refs")
        if self.fields and self.target is None:
            raise ValueError("`fields` needs `target`; add it, or remove `fields`")
        if self.repository is not None and self.target is not None:
            raise ValueError("`repository` needs `created` or `refs`; add one, or remove `repository`")
        return self


class GitHubStart(Record):
    """Use of a fixture's GitHub state by a scenario: the agent's identity, and the changes that it may make."""

    identity: Text = Field(description="Fixture user as which the agent acts: login or name")
    may_change: tuple[AllowedChange, ...] = Field(
        default=(), description="Changes that the agent may make; everything else must stay the same"
    )
    not_possible: dict[Slug, Text] = Field(
        default={},
        description="Reasons why the task cannot be done in a mode, by the mode's id; any other mode has the "
        "oracle solution/<mode>.sh",
    )
    hub_only: Text | None = Field(
        default=None,
        exclude_if=lambda why: why is None,
        description="Reason why the task cannot be done on github.com; null: it can",
    )
