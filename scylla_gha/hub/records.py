"""Records of GitHub's state beside git. Each is frozen; a write replaces it (see `state`).

Facts of git are never stored here: commits, diffs, mergeability and the tips of branches are read from the repository.
The head of a pull request is its ref `refs/pull/<number>/head`, which stays when the branch is deleted.
Times are aware datetimes in UTC. Other records are named by their `id`, which is unique over all kinds.
"""

import datetime
from dataclasses import dataclass
from typing import Literal

from scylla_gha.hub.actions_records import CheckRecord, HubRecord, RunRecord, WorkflowRecord

Time = datetime.datetime
ReviewState = Literal["PENDING", "COMMENTED", "APPROVED", "CHANGES_REQUESTED", "DISMISSED"]
Permission = Literal["admin", "maintain", "write", "triage", "read"]
Side = Literal["LEFT", "RIGHT"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRecord(HubRecord):
    """Account of a person, a bot or an organization."""

    login: str
    name: str | None = None
    email: str | None = None
    kind: Literal["User", "Bot", "Organization"] = "User"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryRecord(HubRecord):
    """Repository; its git directory is named by the id. `permissions` are of users beside the owner."""

    owner: int
    name: str
    updated_at: Time
    pushed_at: Time
    default_branch: str = "main"
    description: str | None = None
    homepage: str | None = None
    topics: tuple[str, ...] = ()
    private: bool = False
    archived: bool = False
    has_issues: bool = True
    has_projects: bool = True
    has_wiki: bool = True
    has_discussions: bool = False
    allow_merge_commit: bool = True
    allow_squash_merge: bool = True
    allow_rebase_merge: bool = True
    allow_update_branch: bool = True
    allow_auto_merge: bool = False
    delete_branch_on_merge: bool = False
    parent: int | None = None
    permissions: tuple[tuple[int, Permission], ...] = ()
    former_names: tuple[str, ...] = ()  # by which it is still found
    last_number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRecord(HubRecord):
    """Label of a repository; `color` is six hexadecimal digits. Names ignore case."""

    repository: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneRecord(HubRecord):
    """Milestone of a repository, with a number of its own sequence."""

    repository: int
    number: int
    title: str
    creator: int
    updated_at: Time
    description: str | None = None
    state: Literal["open", "closed"] = "open"
    due_on: Time | None = None
    closed_at: Time | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueRecord(HubRecord):
    """Issue; a pull request has all of its fields. `state` of a merged pull request is "closed"."""

    repository: int
    number: int
    title: str
    author: int
    updated_at: Time
    body: str | None = None
    state: Literal["open", "closed"] = "open"
    state_reason: Literal["completed", "not_planned", "duplicate", "reopened"] | None = None
    labels: tuple[int, ...] = ()
    assignees: tuple[int, ...] = ()
    milestone: int | None = None
    locked: bool = False
    lock_reason: Literal["off-topic", "too heated", "resolved", "spam"] | None = None
    closed_at: Time | None = None
    closed_by: int | None = None
    duplicate_of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestRecord(IssueRecord):
    """Pull request. `closed_base` is the base's tip when it was merged or closed, None while it is open."""

    head_repository: int
    head_ref: str
    base_ref: str
    draft: bool = False
    maintainer_can_modify: bool = False
    requested_reviewers: tuple[int, ...] = ()
    merged_at: Time | None = None
    merged_by: int | None = None
    merge_commit: str | None = None
    closed_base: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRecord(HubRecord):
    """Review of a pull request; `commit` is the head that was reviewed."""

    pull: int
    author: int
    state: ReviewState
    commit: str
    body: str = ""
    submitted_at: Time | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRecord(HubRecord):
    """Review thread on lines of a file (`line` None: on the whole file). Whether it is outdated is read from git.

    `line` counts in the file of `commit`, on the new side (RIGHT) or on the base's (LEFT).
    """

    pull: int
    path: str
    commit: str
    line: int | None = None
    start_line: int | None = None
    side: Side = "RIGHT"
    start_side: Side | None = None
    resolved_by: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentRecord(HubRecord):
    """Comment on an issue or pull request (`subject`), or in a review thread of the pull request `subject`."""

    subject: int
    author: int
    body: str
    updated_at: Time
    review: int | None = None
    thread: int | None = None
    reply_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord(HubRecord):
    """Entry of an issue's or a pull request's timeline, such as labeled, assigned, closed, merged, referenced."""

    subject: int
    actor: int
    event: str
    data: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetRecord:
    """File of a release; `blob` is the name of its content and its SHA-256."""

    id: int
    name: str
    blob: str
    size: int
    content_type: str
    uploader: int
    created_at: Time
    updated_at: Time
    label: str | None = None
    downloads: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRecord(HubRecord):
    """Release; a draft's tag need not exist. `latest` True was asked for; None: by date and version."""

    repository: int
    tag: str
    target: str
    author: int
    name: str | None = None
    body: str | None = None
    draft: bool = False
    prerelease: bool = False
    latest: bool | None = None
    published_at: Time | None = None
    assets: tuple[AssetRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectionRecord(HubRecord):
    """Protection of the branches that match a pattern (fnmatch)."""

    repository: int
    pattern: str
    required_reviews: int | None = None
    dismiss_stale_reviews: bool = False
    code_owner_reviews: bool = False
    required_checks: tuple[str, ...] = ()
    strict: bool = False
    enforce_admins: bool = False
    allow_force_pushes: bool = False
    allow_deletions: bool = False
    linear_history: bool = False
    conversation_resolution: bool = False


PREFIXES: dict[type[HubRecord], str] = {
    UserRecord: "U",
    RepositoryRecord: "R",
    LabelRecord: "LA",
    MilestoneRecord: "MI",
    IssueRecord: "I",
    PullRequestRecord: "PR",
    ReviewRecord: "PRR",
    ThreadRecord: "PRRT",
    CommentRecord: "IC",
    EventRecord: "EV",
    WorkflowRecord: "W",
    RunRecord: "WFR",
    CheckRecord: "CR",
    ReleaseRecord: "RE",
    ProtectionRecord: "BPR",
}
KINDS = tuple(PREFIXES)


def node_id(record: HubRecord) -> str:
    """Return the global id that GraphQL uses, such as `PR_kwDO00000012`."""
    prefix = PREFIXES[type(record)]
    if isinstance(record, CommentRecord) and record.thread is not None:
        prefix = "PRRC"
    return f"{prefix}_kwDO{record.id:08d}"


def id_of_node(node: str) -> int | None:
    """Return the record's id in a global id; None if it is not one of the hub's."""
    prefix, mark, digits = node.partition("_kwDO")
    is_id = mark and digits.isascii() and digits.isdecimal() and len(digits) < 16  # noqa: PLR2004 fits into 64 bits
    return int(digits) if prefix and is_id else None
