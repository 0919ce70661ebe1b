"""A repository's state as read by GraphQL: typed records, and the query that is generated from their fields."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from scylla_gha.github_api.responses import GHOST

Ask = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Selection:
    """Part of the query after a field's name: its arguments, and the fields of its answer."""

    text: str


@dataclass(frozen=True, slots=True)
class PagedList:
    """List that is read in pages.

    Attributes:
        size: entries per page.
        entry: fields of an entry to ask for; empty if the entries are records.
        field: GraphQL field with its first arguments; empty: the record's field.
    """

    size: int
    entry: str = ""
    field: str = ""


def _login(actor: Any) -> str:  # noqa: ANN401 an actor, or null for a deleted account
    return actor["login"] if actor else GHOST


_LOGIN: Final = Selection("{ login }")
_REF: Final = "prefix name target { oid ... on Commit { message } }"
_BY_TIME: Final = "orderBy: {field: CREATED_AT, direction: ASC}, "
Login = Annotated[str, BeforeValidator(_login), _LOGIN]
OptionalLogin = Annotated[str | None, BeforeValidator(lambda actor: actor["login"] if actor else None), _LOGIN]
Names = Annotated[tuple[str, ...], BeforeValidator(lambda nodes: tuple(node["name"] for node in nodes))]
Logins = Annotated[tuple[str, ...], BeforeValidator(lambda nodes: tuple(node["login"] for node in nodes))]
Oid = Annotated[str, BeforeValidator(lambda node: node["oid"] if node else ""), Selection("{ oid }")]
Title = Annotated[str | None, BeforeValidator(lambda node: node["title"] if node else None), Selection("{ title }")]


class StateSnapshot(BaseModel):
    """Base of the records. `graphql_type` names the GraphQL type of a record that has lists."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)
    graphql_type: ClassVar[str] = ""


class RefSnapshot(StateSnapshot):
    """Branch, tag or other reference by its full name; `message` is its commit's message."""

    name: str
    oid: str
    message: str = ""

    @model_validator(mode="before")
    @classmethod
    def _from_node(cls, node: dict[str, Any]) -> dict[str, Any]:
        target = node["target"]
        return {"name": node["prefix"] + node["name"], "oid": target["oid"], "message": target.get("message") or ""}


class AccountSnapshot(StateSnapshot):
    """Account that can be assigned to issues and pull requests."""

    id: str
    login: str


class LabelSnapshot(StateSnapshot):
    """Label of the repository."""

    id: str
    name: str
    color: str
    description: str | None


class MilestoneSnapshot(StateSnapshot):
    """Milestone of the repository."""

    id: str
    number: int
    title: str
    description: str | None
    state: Literal["OPEN", "CLOSED"]
    due_on: datetime.datetime | None


class TextSnapshot(StateSnapshot):
    """Text that somebody wrote."""

    id: str
    database_id: int
    body: str
    author: Login
    created_at: datetime.datetime


class SubjectSnapshot(TextSnapshot):
    """Issue or pull request."""

    number: int
    title: str
    url: str
    state: Literal["OPEN", "CLOSED", "MERGED"]
    locked: bool
    labels: Annotated[Names, PagedList(20, "name")]
    assignees: Annotated[Logins, PagedList(10, "login")]
    milestone: Title
    comments: Annotated[tuple[TextSnapshot, ...], PagedList(40)]


class IssueSnapshot(SubjectSnapshot):
    """Issue; `duplicate_of` is the number of the issue that it duplicates."""

    graphql_type = "Issue"
    state_reason: Annotated[str | None, Selection("(enableDuplicate: true)")]
    duplicate_of: Annotated[
        int | None, BeforeValidator(lambda node: node["number"] if node else None), Selection("{ number }")
    ]


class SubmittedReview(TextSnapshot):
    """Review of a pull request."""

    state: str
    commit: Oid

    @property
    def is_bare(self) -> bool:
        """True if it has no text and no verdict, so GitHub's page shows only its threads."""
        return self.state == "COMMENTED" and not self.body.strip()


class ThreadCommentSnapshot(TextSnapshot):
    """Comment in a review thread; `review` is the id of its review."""

    original_commit: Oid
    review: Annotated[str, BeforeValidator(lambda node: node["id"] if node else ""), Selection("{ id }")] = Field(
        alias="pullRequestReview"
    )


class ReviewThread(StateSnapshot):
    """Review thread."""

    graphql_type = "PullRequestReviewThread"
    id: str
    path: str
    is_resolved: bool
    is_outdated: bool
    original_line: int | None
    original_start_line: int | None
    diff_side: Literal["LEFT", "RIGHT"]
    subject_type: Literal["LINE", "FILE"]
    resolved_by: OptionalLogin
    comments: Annotated[tuple[ThreadCommentSnapshot, ...], PagedList(20)]


class PullSnapshot(SubjectSnapshot):
    """Pull request. `base_ref_oid` is the tip of the base branch when it was merged or closed.

    `merge_commit` is the number of the merge commit's parents (2: two or more), 0 if there is no merge commit.
    """

    graphql_type = "PullRequest"
    is_draft: bool
    merged: bool
    merged_by: OptionalLogin
    merge_commit: Annotated[
        int,
        BeforeValidator(lambda node: node["parents"]["totalCount"] if node else 0),
        Selection("{ parents(first: 2) { totalCount } }"),
    ]
    head_ref_name: str
    head_ref_oid: str
    base_ref_name: str
    base_ref_oid: str
    review_requests: Annotated[
        tuple[str, ...],
        BeforeValidator(lambda nodes: tuple(_login(node["requestedReviewer"]) for node in nodes)),
        PagedList(15, "requestedReviewer { ... on User { login } ... on Bot { login } }"),
    ]
    reviews: Annotated[tuple[SubmittedReview, ...], PagedList(40)]
    review_threads: Annotated[tuple[ReviewThread, ...], PagedList(40)]


class AssetSnapshot(StateSnapshot):
    """File of a release."""

    id: str
    name: str
    size: int
    content_type: str


class ReleaseSnapshot(StateSnapshot):
    """Release; `description` is its text."""

    graphql_type = "Release"
    id: str
    database_id: int
    tag_name: str
    name: str | None
    description: str | None
    is_draft: bool
    is_prerelease: bool
    author: Login
    created_at: datetime.datetime
    release_assets: Annotated[tuple[AssetSnapshot, ...], PagedList(20)]


class ProtectionSnapshot(StateSnapshot):
    """Rule that protects branches."""

    id: str
    pattern: str
    allows_deletions: bool
    allows_force_pushes: bool
    dismisses_stale_reviews: bool
    is_admin_enforced: bool
    requires_approving_reviews: bool
    required_approving_review_count: int | None
    requires_status_checks: bool
    required_status_check_contexts: tuple[str, ...]
    requires_code_owner_reviews: bool
    requires_conversation_resolution: bool
    requires_linear_history: bool
    requires_strict_status_checks: bool


class RepositorySnapshot(StateSnapshot):
    """The whole state of a repository; `marks` are the refs below refs/scylla/."""

    graphql_type = "Repository"
    id: str
    name_with_owner: str
    name: str
    description: str | None
    homepage_url: str | None
    is_archived: bool
    is_empty: bool
    has_issues_enabled: bool
    has_projects_enabled: bool
    has_wiki_enabled: bool
    has_discussions_enabled: bool
    merge_commit_allowed: bool
    squash_merge_allowed: bool
    rebase_merge_allowed: bool
    auto_merge_allowed: bool
    delete_branch_on_merge: bool
    viewer_can_administer: bool
    default_branch_ref: Annotated[
        str | None, BeforeValidator(lambda node: node["name"] if node else None), Selection("{ name }")
    ]
    heads: Annotated[tuple[RefSnapshot, ...], PagedList(100, _REF, 'refs(refPrefix: "refs/heads/", ')]
    tags: Annotated[tuple[RefSnapshot, ...], PagedList(100, _REF, 'refs(refPrefix: "refs/tags/", ')]
    marks: Annotated[tuple[RefSnapshot, ...], PagedList(50, _REF, 'refs(refPrefix: "refs/scylla/", ')]
    repository_topics: Annotated[
        tuple[str, ...],
        BeforeValidator(lambda nodes: tuple(node["topic"]["name"] for node in nodes)),
        PagedList(30, "topic { name }"),
    ]
    assignable_users: Annotated[tuple[AccountSnapshot, ...], PagedList(50)]
    labels: Annotated[tuple[LabelSnapshot, ...], PagedList(100)]
    milestones: Annotated[tuple[MilestoneSnapshot, ...], PagedList(50)]
    issues: Annotated[tuple[IssueSnapshot, ...], PagedList(60, field=f"issues({_BY_TIME}")]
    pull_requests: Annotated[tuple[PullSnapshot, ...], PagedList(40, field=f"pullRequests({_BY_TIME}")]
    releases: Annotated[tuple[ReleaseSnapshot, ...], PagedList(30)]
    branch_protection_rules: Annotated[tuple[ProtectionSnapshot, ...], PagedList(30)]

    @property
    def refs(self) -> dict[str, str]:
        """SHAs of branches and tags, by full name."""
        return {ref.name: ref.oid for ref in (*self.heads, *self.tags)}

    def mark(self, name: str) -> RefSnapshot | None:
        """Return the ref refs/scylla/<name>, or None if it does not exist."""
        return next((ref for ref in self.marks if ref.name == f"refs/scylla/{name}"), None)


class RateLimitSnapshot(StateSnapshot):
    """GitHub's rate limit, in points per hour."""

    limit: int
    remaining: int
    reset_at: datetime.datetime


def _lists(record: type[StateSnapshot]) -> dict[str, tuple[PagedList, type[StateSnapshot]]]:
    """Return the lists of a record by their names in the query, with the type of their entries."""
    return {
        str(field.alias): (part, get_args(field.annotation)[0])
        for field in record.model_fields.values()
        for part in field.metadata
        if isinstance(part, PagedList)
    }


def _selection(record: type[StateSnapshot]) -> str:
    """Return the part of the query that asks for all fields of a record."""
    fields = [
        " ".join([str(field.alias), *(part.text for part in field.metadata if isinstance(part, Selection))])
        for field in record.model_fields.values()
        if not any(isinstance(part, PagedList) for part in field.metadata)
    ]
    return " ".join([*fields, *(_page(name, *paged) for name, paged in _lists(record).items())])


def _page(name: str, paged: PagedList, entry: type[StateSnapshot], after: str = "") -> str:
    page = f"{name}: {paged.field or f'{name}('}first: {paged.size}{after})"
    return f"{page} {{ pageInfo {{ hasNextPage endCursor }} nodes {{ {paged.entry or _selection(entry)} }} }}"


_DOCUMENT: Final = f"""query($owner: String!, $name: String!) {{ rateLimit {{ {_selection(RateLimitSnapshot)} }}
    repository(owner: $owner, name: $name) {{ {_selection(RepositorySnapshot)} }} }}"""


def read_whole_state(ask: Ask, owner: str, name: str) -> tuple[RepositorySnapshot, RateLimitSnapshot]:
    """Read the whole state of a repository, and the remaining rate limit.

    Args:
        ask: sends a GraphQL document with variables, and returns the answer's data.
        owner: owner of the repository.
        name: name of the repository.
    """
    answer = ask(_DOCUMENT, {"owner": owner, "name": name})
    repository = _complete(ask, RepositorySnapshot, answer["repository"])
    return RepositorySnapshot.model_validate(repository), RateLimitSnapshot.model_validate(answer["rateLimit"])


def _complete(ask: Ask, record: type[StateSnapshot], node: Mapping[str, Any]) -> dict[str, Any]:
    """Read all further pages of a node's lists, also in their entries; return the node with plain lists."""
    lists = {}
    for name, (paged, entry) in _lists(record).items():
        page, nodes = node[name], [*node[name]["nodes"]]
        while page["pageInfo"]["hasNextPage"]:
            selection = f"... on {record.graphql_type} {{ {_page(name, paged, entry, ', after: $after')} }}"
            document = f"query($id: ID!, $after: String!) {{ node(id: $id) {{ {selection} }} }}"
            page = ask(document, {"id": node["id"], "after": page["pageInfo"]["endCursor"]})["node"][name]
            nodes += page["nodes"]
        lists[name] = nodes if paged.entry else [_complete(ask, entry, part) for part in nodes]
    return {**node, **lists}
