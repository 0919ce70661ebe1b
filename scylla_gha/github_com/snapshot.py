"""A repository's state as GitHub's GraphQL interface shows it to an administrator: the query and typed records."""

import datetime
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic.alias_generators import to_camel

from scylla_gha.github_api.responses import GHOST

Ask = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]

# By type: its own fields.
_FIELDS: Final[Mapping[str, str]] = {
    "Repository": """id nameWithOwner name description homepageUrl isArchived isEmpty hasIssuesEnabled
        hasProjectsEnabled hasWikiEnabled hasDiscussionsEnabled mergeCommitAllowed squashMergeAllowed rebaseMergeAllowed
        autoMergeAllowed deleteBranchOnMerge viewerCanAdminister defaultBranchRef { name }""",
    "Ref": "prefix name target { oid ... on Commit { message } }",
    "RepositoryTopic": "topic { name }",
    "User": "id login",
    "Label": "id name color description",
    "LabelName": "name",
    "Milestone": "id number title description state dueOn",
    "Issue": """id databaseId number title body state locked stateReason(enableDuplicate: true) createdAt url
        author { login } milestone { title } duplicateOf { number }""",
    "PullRequest": """id databaseId number title body state locked createdAt url author { login } milestone { title }
        isDraft merged mergedBy { login } mergeCommit { parents(first: 2) { totalCount } } headRefName headRefOid
        baseRefName baseRefOid""",
    "IssueComment": "id databaseId body createdAt author { login }",
    "PullRequestReview": "id databaseId body state createdAt author { login } commit { oid }",
    "PullRequestReviewThread": """id path isResolved isOutdated originalLine originalStartLine diffSide subjectType
        resolvedBy { login }""",
    "PullRequestReviewComment": """id databaseId body createdAt author { login } originalCommit { oid }
        pullRequestReview { id }""",
    "ReviewRequest": "requestedReviewer { ... on User { login } ... on Bot { login } }",
    "Release": "id databaseId tagName name description isDraft isPrerelease createdAt author { login }",
    "ReleaseAsset": "id name size contentType",
    "BranchProtectionRule": """id pattern allowsDeletions allowsForcePushes dismissesStaleReviews isAdminEnforced
        requiresApprovingReviews requiredApprovingReviewCount requiresStatusChecks requiredStatusCheckContexts
        requiresCodeOwnerReviews requiresConversationResolution requiresLinearHistory requiresStrictStatusChecks""",
}
# By type: its lists, as alias: (field and arguments, size of a page, type of what is listed).
_LISTS: Final[Mapping[str, Mapping[str, tuple[str, int, str]]]] = {
    "Repository": {
        "heads": ('refs(refPrefix: "refs/heads/", ', 100, "Ref"),
        "tags": ('refs(refPrefix: "refs/tags/", ', 100, "Ref"),
        "marks": ('refs(refPrefix: "refs/scylla/", ', 50, "Ref"),
        "repositoryTopics": ("repositoryTopics(", 30, "RepositoryTopic"),
        "assignableUsers": ("assignableUsers(", 50, "User"),
        "labels": ("labels(", 100, "Label"),
        "milestones": ("milestones(", 50, "Milestone"),
        "issues": ("issues(orderBy: {field: CREATED_AT, direction: ASC}, ", 60, "Issue"),
        "pullRequests": ("pullRequests(orderBy: {field: CREATED_AT, direction: ASC}, ", 40, "PullRequest"),
        "releases": ("releases(", 30, "Release"),
        "branchProtectionRules": ("branchProtectionRules(", 30, "BranchProtectionRule"),
    },
    "Issue": {
        "labels": ("labels(", 20, "LabelName"),
        "assignees": ("assignees(", 10, "User"),
        "comments": ("comments(", 40, "IssueComment"),
    },
    "PullRequest": {
        "labels": ("labels(", 20, "LabelName"),
        "assignees": ("assignees(", 10, "User"),
        "comments": ("comments(", 40, "IssueComment"),
        "reviewRequests": ("reviewRequests(", 15, "ReviewRequest"),
        "reviews": ("reviews(", 40, "PullRequestReview"),
        "reviewThreads": ("reviewThreads(", 40, "PullRequestReviewThread"),
    },
    "PullRequestReviewThread": {"comments": ("comments(", 20, "PullRequestReviewComment")},
    "Release": {"releaseAssets": ("releaseAssets(", 20, "ReleaseAsset")},
}


def _login(actor: Any) -> str:  # noqa: ANN401 an actor, or null for a deleted account
    return actor["login"] if actor else GHOST


Login = Annotated[str, BeforeValidator(_login)]
Names = Annotated[tuple[str, ...], BeforeValidator(lambda nodes: tuple(node["name"] for node in nodes))]
Logins = Annotated[tuple[str, ...], BeforeValidator(lambda nodes: tuple(node["login"] for node in nodes))]
Oid = Annotated[str, BeforeValidator(lambda node: node["oid"] if node else "")]
Title = Annotated[str | None, BeforeValidator(lambda node: node["title"] if node else None)]


class StateSnapshot(BaseModel):
    """Base of the records."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class RefSnapshot(StateSnapshot):
    """Ref; `message` is that of its commit."""

    name: str
    oid: str
    message: str = ""

    @classmethod
    def of(cls, node: dict[str, Any]) -> "RefSnapshot":
        """Return a ref with its full name."""
        return cls(
            name=node["prefix"] + node["name"], oid=node["target"]["oid"], message=node["target"].get("message") or ""
        )


Refs = Annotated[tuple[RefSnapshot, ...], BeforeValidator(lambda nodes: tuple(map(RefSnapshot.of, nodes)))]


class AccountSnapshot(StateSnapshot):
    """Account that can be assigned."""

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
    labels: Names
    assignees: Logins
    milestone: Title
    comments: tuple[TextSnapshot, ...]


class IssueSnapshot(SubjectSnapshot):
    """Issue; `duplicate_of` is a number."""

    state_reason: str | None
    duplicate_of: Annotated[int | None, BeforeValidator(lambda node: node["number"] if node else None)]


class SubmittedReview(TextSnapshot):
    """Review of a pull request."""

    state: str
    commit: Oid

    @property
    def is_bare(self) -> bool:
        """True if it only holds comments on lines, so that nothing of it is seen but its threads."""
        return self.state == "COMMENTED" and not self.body.strip()


class ThreadCommentSnapshot(TextSnapshot):
    """Comment in a review thread; `review` is the id of the review that it came with."""

    original_commit: Oid
    review: Annotated[str, BeforeValidator(lambda node: node["id"] if node else "")]

    model_config = ConfigDict(alias_generator=lambda name: "pullRequestReview" if name == "review" else to_camel(name))


class ReviewThread(StateSnapshot):
    """Review thread."""

    id: str
    path: str
    is_resolved: bool
    is_outdated: bool
    original_line: int | None
    original_start_line: int | None
    diff_side: Literal["LEFT", "RIGHT"]
    subject_type: Literal["LINE", "FILE"]
    resolved_by: Annotated[str | None, BeforeValidator(lambda actor: actor["login"] if actor else None)]
    comments: tuple[ThreadCommentSnapshot, ...]


class PullSnapshot(SubjectSnapshot):
    """Pull request. `base_ref_oid` is the base's tip when it was merged or closed."""

    is_draft: bool
    merged: bool
    merged_by: Annotated[str | None, BeforeValidator(lambda actor: actor["login"] if actor else None)]
    merge_commit: Annotated[int, BeforeValidator(lambda node: node["parents"]["totalCount"] if node else 0)]
    head_ref_name: str
    head_ref_oid: str
    base_ref_name: str
    base_ref_oid: str
    review_requests: Annotated[
        tuple[str, ...],
        BeforeValidator(lambda nodes: tuple(_login(node["requestedReviewer"]) for node in nodes)),
    ]
    reviews: tuple[SubmittedReview, ...]
    review_threads: tuple[ReviewThread, ...]


class AssetSnapshot(StateSnapshot):
    """File of a release."""

    id: str
    name: str
    size: int
    content_type: str


class ReleaseSnapshot(StateSnapshot):
    """Release; `description` is its text."""

    id: str
    database_id: int
    tag_name: str
    name: str | None
    description: str | None
    is_draft: bool
    is_prerelease: bool
    author: Login
    created_at: datetime.datetime
    release_assets: tuple[AssetSnapshot, ...]


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
    default_branch_ref: Annotated[str | None, BeforeValidator(lambda node: node["name"] if node else None)]
    heads: Refs
    tags: Refs
    marks: Refs
    repository_topics: Annotated[
        tuple[str, ...], BeforeValidator(lambda nodes: tuple(node["topic"]["name"] for node in nodes))
    ]
    assignable_users: tuple[AccountSnapshot, ...]
    labels: tuple[LabelSnapshot, ...]
    milestones: tuple[MilestoneSnapshot, ...]
    issues: tuple[IssueSnapshot, ...]
    pull_requests: tuple[PullSnapshot, ...]
    releases: tuple[ReleaseSnapshot, ...]
    branch_protection_rules: tuple[ProtectionSnapshot, ...]

    @property
    def refs(self) -> dict[str, str]:
        """Objects of branches and tags, by full name."""
        return {ref.name: ref.oid for ref in (*self.heads, *self.tags)}

    def mark(self, name: str) -> RefSnapshot | None:
        """Return the ref refs/scylla/<name>; None if there is none."""
        return next((ref for ref in self.marks if ref.name == f"refs/scylla/{name}"), None)


class RateLimitSnapshot(StateSnapshot):
    """Points that are left of GitHub's limit."""

    limit: int
    remaining: int
    reset_at: datetime.datetime


def _selection(kind: str) -> str:
    lists = (_list(kind, alias, "") for alias in _LISTS.get(kind, {}))
    return f"{_FIELDS[kind]} {' '.join(lists)}"


def _list(kind: str, alias: str, after: str) -> str:
    field, size, item = _LISTS[kind][alias]
    page = f"{alias}: {field}first: {size}{after})"
    return f"{page} {{ pageInfo {{ hasNextPage endCursor }} nodes {{ {_selection(item)} }} }}"


_DOCUMENT: Final = f"""query($owner: String!, $name: String!) {{ rateLimit {{ limit remaining resetAt }}
    repository(owner: $owner, name: $name) {{ {_selection("Repository")} }} }}"""


def read_whole_state(ask: Ask, owner: str, name: str) -> Mapping[str, Any]:
    """Return `repository` and `rateLimit` with complete lists in the place of connections.

    Args:
        ask: returns the data of a document with variables.
        owner: of the repository.
        name: of the repository.
    """
    answer = ask(_DOCUMENT, {"owner": owner, "name": name})
    return {**answer, "repository": _complete(ask, "Repository", answer["repository"])}


def _complete(ask: Ask, kind: str, node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node whose connections are lists of complete nodes, of all pages."""
    lists = {}
    for alias, (_, _, item) in _LISTS.get(kind, {}).items():
        page, nodes = node[alias], [*node[alias]["nodes"]]
        while page["pageInfo"]["hasNextPage"]:
            following = f"query($id: ID!, $after: String!) {{ node(id: $id) {{ ... on {kind} {{ "
            document = f"{following}{_list(kind, alias, ', after: $after')} }} }} }}"
            page = ask(document, {"id": node["id"], "after": page["pageInfo"]["endCursor"]})["node"][alias]
            nodes += page["nodes"]
        lists[alias] = [_complete(ask, item, part) for part in nodes]
    return {**node, **lists}
