"""Conditions on the GitHub state that a trial leaves: on a query, on git, and on what must not have changed.

Names such as `pr.review_me` are the fixture's names of its objects (`github.yaml`). A revision is a branch, a tag, a
full ref or a commit at the trial's end; with `start:` before it, at its start.
"""

from typing import Annotated, Final

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
            raise ValueError("give min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")
        return self


class GitHubQuery(Record):
    """Selection from GitHub's state at the trial's end."""

    query: Annotated[Text, Field(description="What to look at: pull_request, issue, ... or all: pull_requests, ...")]
    target: Annotated[
        ObjectName | None, Field(description="The fixture's name of the one object, e.g. pr.review_me")
    ] = None
    select: Annotated[Text, Field(description="jmespath expression on the query's result")] = "@"
    extract: Annotated[
        str | None,
        Field(
            description="Regular expression (RE2); selected are then its different matches in the text or texts, or "
            "those of its group",
            exclude_if=lambda pattern: pattern is None,
        ),
    ] = None


class StateCondition(GitHubQuery):
    """Condition on a selection. All that is given must hold; what the agent deleted makes it false."""

    exists: Annotated[bool, Field(description="It is neither null nor an empty list")] = False
    absent: Annotated[bool, Field(description="It is null or an empty list, or its object was deleted")] = False
    equals: Annotated[JsonValue, Field(description="The value, whose type must be the selection's")] = None
    set_equals: Annotated[
        tuple[JsonValue, ...] | None, Field(description="The elements of a list in any order, without doubles")
    ] = None
    contains: Annotated[JsonValue, Field(description="An element of a list, or a part of a text")] = None
    matches: Annotated[str | None, Field(description="Regular expression (RE2) found in a text (multiline)")] = None
    count: Annotated[GitHubCount | None, Field(description="Number of elements of a list")] = None
    by: Annotated[
        Text | None, Field(description="Login of the only user who wrote the selected objects in the trial")
    ] = None
    before: Annotated[
        GitHubQuery | None, Field(description="Objects that were all created after the selected ones")
    ] = None

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
        others = (self.exists, self.has_equals, self.set_equals is not None, self.has_contains, self.matches,
                  self.count, self.by, self.before)  # fmt: skip
        if not (self.absent or any(others)):
            raise ValueError(
                "give at least one of exists, absent, equals, set_equals, contains, matches, count, by and before"
            )
        if self.has_contains and self.contains is None:
            raise ValueError("contains: has no value; give an element of a list, or a part of a text")
        if self.absent and any(others):
            raise ValueError("what is absent meets no other condition; give absent alone")
        return self


class FileMatch(Record):
    """Condition on a file at a revision."""

    path: Text
    matches: Annotated[str | None, Field(description="Regular expression (RE2) found in it (multiline)")] = None
    absent: Annotated[bool, Field(description="There must be no such file")] = False

    @model_validator(mode="after")
    def _absent_alone(self) -> "FileMatch":
        if self.absent and self.matches is not None:
            raise ValueError("what is absent cannot match")
        return self


class GitCondition(Record):
    """Condition on a branch or another revision of a repository at the trial's end. All that is given must hold."""

    repository: Annotated[ObjectName | None, Field(description="Needed if the fixture has several")] = None
    ref: Annotated[Text | None, Field(description="The revision; none: the default branch")] = None
    pull: Annotated[
        ObjectName | None, Field(description="A pull request of the fixture, whose head is the revision")
    ] = None
    contains_commit: Annotated[Text | None, Field(description="Revision that it is, or that is its ancestor")] = None
    tree_equals: Annotated[Text | None, Field(description="Revision or tree with the same files")] = None
    file_matches: FileMatch | None = None
    touches_only: Annotated[
        tuple[str, ...], Field(description="gitignore-style patterns of all files that differ from `since`")
    ] = ()
    since: Annotated[Text | None, Field(description="Revision for touches_only; none: the same one at the start")] = (
        None
    )
    not_forced: Annotated[bool, Field(description="The branch was not rewound or deleted in the trial")] = False

    @model_validator(mode="after")
    def _some_operator(self) -> "GitCondition":
        operators = (self.contains_commit, self.tree_equals, self.file_matches, self.touches_only, self.not_forced)
        if not any(operators):
            raise ValueError(
                "give at least one of contains_commit, tree_equals, file_matches, touches_only and not_forced"
            )
        if self.ref is not None and self.pull is not None:
            raise ValueError("give at most one of ref and pull")
        if self.since is not None and not self.touches_only:
            raise ValueError("since belongs to touches_only")
        return self


class Checkout(Record):
    """Revision of a repository that a check's command finds in its working directory, with its history."""

    repository: Annotated[ObjectName | None, Field(description="Needed if the fixture has several")] = None
    ref: Annotated[Text | None, Field(description="The revision; none: the default branch")] = None
    pull: Annotated[ObjectName | None, Field(description="A pull request of the fixture, whose head it is")] = None

    @model_validator(mode="after")
    def _one_revision(self) -> "Checkout":
        if self.ref is not None and self.pull is not None:
            raise ValueError("give at most one of ref and pull")
        return self


class AllowedChange(Record):
    """Change of GitHub's state that a scenario's agent may make; all else must be equal to the start."""

    target: Annotated[ObjectName | None, Field(description="An object of the fixture")] = None
    fields: Annotated[tuple[str, ...], Field(description="Its fields that may differ; none: all, and deletion")] = ()
    created: Annotated[str | None, Field(description="Kind of which new objects may exist, e.g. issues")] = None
    refs: Annotated[tuple[str, ...], Field(description="Patterns of branches and tags, e.g. refs/heads/fix/*")] = ()
    repository: Annotated[ObjectName | None, Field(description="Of created and refs; none: any repository")] = None

    @model_validator(mode="after")
    def _one_kind(self) -> "AllowedChange":
        if [self.target, self.created, self.refs or None].count(None) != 2:  # noqa: PLR2004
            raise ValueError("give exactly one of target, created and refs")
        if self.fields and self.target is None:
            raise ValueError("fields belong to target")
        if self.repository is not None and self.target is not None:
            raise ValueError("repository belongs to created and refs")
        return self


class GitHubStart(Record):
    """GitHub state of a scenario: the `github.yaml` of its fixture, and who the agent is there."""

    identity: Annotated[Text, Field(description="Login or name of the fixture's user that the agent acts as")]
    may_change: Annotated[
        tuple[AllowedChange, ...], Field(description="What may change; all else must be equal to the start")
    ] = ()
    not_possible: Annotated[
        dict[Slug, Text],
        Field(description="Why the task cannot be done in a mode, by its id; else solution/<mode>.sh is its oracle"),
    ] = {}
    hub_only: Annotated[
        Text | None,
        Field(
            description="Why the task cannot be done on github.com; null: it can", exclude_if=lambda why: why is None
        ),
    ] = None
