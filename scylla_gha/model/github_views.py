"""Views of GitHub's state for queries of checkpoints: records with names instead of ids, their texts, and facts of git.

Each view has the id of its record, and `sequence`: the number of the write that created it; 0: the fixture.
"""

from typing import Final, Literal

from scylla_gha.model import Record

OpenOrClosed = Literal["open", "closed"]


class GitHubView(Record):
    """Base of all views."""

    id: int
    sequence: int


class SectionView(Record):
    """Part of a text: its heading, the heading's level, and the visible lines below. Items begin with `- ` or `1. `."""

    heading: str
    level: int
    lines: tuple[str, ...]


class TextView(GitHubView):
    """Base of views with a Markdown text. In conditions, `body` is the text on the page, and `source` the Markdown.

    `links` are the targets of links that have a text, and addresses in the text itself. `references` are the
    numbers of issues and pull requests that it names (`#3`) or links. `commits` are the first lines of the messages
    of the commits that it names or links by at least 7 digits. Lines without a heading above them form a
    section with the heading "" and the level 0. In stored views, `body` is the Markdown.
    """

    source: str | None = None
    links: tuple[str, ...] = ()
    references: tuple[int, ...] = ()
    commits: tuple[str, ...] = ()
    sections: tuple[SectionView, ...] = ()


class BranchView(Record):
    """Branch or tag; `sha` is a commit, also for an annotated tag."""

    name: str
    sha: str


class RepositoryView(GitHubView):
    """Repository with its branches and tags."""

    full_name: str
    owner: str
    name: str
    description: str | None
    homepage: str | None
    topics: tuple[str, ...]
    default_branch: str
    private: bool
    archived: bool
    has_issues: bool
    has_projects: bool
    has_wiki: bool
    has_discussions: bool
    allow_merge_commit: bool
    allow_squash_merge: bool
    allow_rebase_merge: bool
    allow_update_branch: bool
    allow_auto_merge: bool
    delete_branch_on_merge: bool
    branches: tuple[BranchView, ...]
    tags: tuple[BranchView, ...]


class LabelView(GitHubView):
    """Label of a repository."""

    repository: str
    name: str
    color: str
    description: str | None


class MilestoneView(GitHubView):
    """Milestone of a repository; `due_on` is in ISO 8601."""

    repository: str
    number: int
    title: str
    description: str | None
    state: OpenOrClosed
    due_on: str | None
    creator: str


class CommentView(TextView):
    """Comment on an issue or pull request, or in a review thread. `reply_to` is the id of a comment."""

    author: str
    body: str
    reply_to: int | None


class TimelineEvent(GitHubView):
    """Entry of a timeline, such as labeled, closed, merged or referenced."""

    event: str
    actor: str
    data: dict[str, str]


class IssueView(TextView):
    """Issue, with names of labels, logins of people, the milestone's title, and the number of the duplicated issue."""

    repository: str
    number: int
    title: str
    body: str | None
    author: str
    state: OpenOrClosed
    state_reason: Literal["completed", "not_planned", "duplicate", "reopened"] | None
    labels: tuple[str, ...]
    assignees: tuple[str, ...]
    milestone: str | None
    locked: bool
    closed_by: str | None
    duplicate_of: int | None
    comments: tuple[CommentView, ...]
    timeline: tuple[TimelineEvent, ...]


class ReviewView(TextView):
    """Review of a pull request."""

    author: str
    state: Literal["PENDING", "COMMENTED", "APPROVED", "CHANGES_REQUESTED", "DISMISSED"]
    body: str
    commit: str


class ThreadView(GitHubView):
    """Review thread; its author wrote the first comment. `review` is the id of the review that began it."""

    path: str
    line: int | None
    start_line: int | None
    side: Literal["LEFT", "RIGHT"]
    commit: str
    author: str | None
    review: int | None
    resolved: bool
    resolved_by: str | None
    comments: tuple[CommentView, ...]


class PullRequestView(IssueView):
    """Pull request; `base` and `head` are names of branches."""

    base: str
    head: str
    head_repository: str
    head_sha: str | None
    draft: bool
    merged: bool
    merged_by: str | None
    merge_commit: str | None
    requested_reviewers: tuple[str, ...]
    reviews: tuple[ReviewView, ...]
    threads: tuple[ThreadView, ...]


class AssetView(Record):
    """File of a release; `sha256` is the digest of its content."""

    name: str
    size: int
    sha256: str
    content_type: str
    uploader: str
    label: str | None


class ReleaseView(TextView):
    """Release; `commit` is the commit of its tag, or null if there is no such tag."""

    repository: str
    tag: str
    target: str
    commit: str | None
    name: str | None
    body: str | None
    author: str
    draft: bool
    prerelease: bool
    assets: tuple[AssetView, ...]


class WorkflowView(GitHubView):
    """Workflow of a repository."""

    repository: str
    name: str
    path: str
    state: Literal["active", "disabled_manually"]


class StepView(Record):
    """Step of a job."""

    number: int
    name: str
    conclusion: str | None


class JobView(Record):
    """Job of an attempt of a run."""

    name: str
    attempt: int
    status: str
    conclusion: str | None
    steps: tuple[StepView, ...]


class RunView(GitHubView):
    """Workflow run; `workflow` is the workflow's name, and `jobs` has the jobs of all attempts."""

    repository: str
    workflow: str
    number: int
    event: str
    branch: str
    sha: str
    title: str
    actor: str
    status: str
    conclusion: str | None
    attempt: int
    jobs: tuple[JobView, ...]


class CheckView(GitHubView):
    """Check run or status of a commit; `run` is the id of the workflow run that made it."""

    repository: str
    sha: str
    name: str
    kind: Literal["check_run", "status"]
    status: str
    conclusion: str | None
    creator: str | None
    run: int | None


class ProtectionView(GitHubView):
    """Protection of the branches that match a pattern."""

    repository: str
    pattern: str
    required_reviews: int | None
    dismiss_stale_reviews: bool
    code_owner_reviews: bool
    required_checks: tuple[str, ...]
    strict: bool
    enforce_admins: bool
    allow_force_pushes: bool
    allow_deletions: bool
    linear_history: bool
    conversation_resolution: bool


class PushView(GitHubView):
    """Change of a ref in the trial, in the order of the writes; `id` is the repository's. Null commit: no ref."""

    repository: str
    actor: str
    ref: str
    old: str | None
    new: str | None
    forced: bool


# Queries for one object, which the condition names.
OBJECT_QUERIES: Final[dict[str, type[GitHubView]]] = {
    "repository": RepositoryView,
    "label": LabelView,
    "milestone": MilestoneView,
    "issue": IssueView,
    "pull_request": PullRequestView,
    "release": ReleaseView,
    "workflow": WorkflowView,
    "run": RunView,
    "check": CheckView,
    "protection": ProtectionView,
    "review": ReviewView,
    "thread": ThreadView,
    "comment": CommentView,
}
# Queries for all objects of a kind.
LIST_QUERIES: Final[dict[str, str]] = {
    "repositories": "repository",
    "labels": "label",
    "milestones": "milestone",
    "issues": "issue",
    "pull_requests": "pull_request",
    "releases": "release",
    "workflows": "workflow",
    "runs": "run",
    "checks": "check",
    "protections": "protection",
}
PUSHES: Final = "pushes"
QUERIES: Final = (*OBJECT_QUERIES, *LIST_QUERIES, PUSHES)
