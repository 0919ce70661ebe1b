"""The query for the whole state of a repository: one request, and one more for each list that is longer than a page."""

from collections.abc import Callable, Mapping
from typing import Any, Final

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
