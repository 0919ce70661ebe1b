"""Pull requests: branches, commits, files, and what stands in the way of a merge."""

from dataclasses import dataclass
from typing import ClassVar, Final

from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.git_diff import ChangedFile
from scylla_gha.hub.git_store import GitCommit
from scylla_gha.hub.graphql import attributes, constants, field
from scylla_gha.hub.graphql.addresses import path_of
from scylla_gha.hub.graphql.connections import connection
from scylla_gha.hub.graphql.git_nodes import ObjectNode, RefNode, commit_node
from scylla_gha.hub.graphql.query import may_read
from scylla_gha.hub.operations.check_facts import checks_of
from scylla_gha.hub.operations.closing_keywords import closing_issues
from scylla_gha.hub.operations.pull_facts import (
    base_sha,
    head_sha,
    merge_state,
    mergeable,
    potential_merge,
    pull_commits,
    pull_files,
    repository_of,
)
from scylla_gha.hub.records import CommentRecord, IssueRecord, PullRequestRecord, RepositoryRecord, UserRecord

attributes("PullRequest", isDraft="draft", maintainerCanModify="maintainer_can_modify", mergedAt="merged_at",
           headRefName="head_ref", baseRefName="base_ref")  # fmt: skip
constants("PullRequest", autoMergeRequest=None, isInMergeQueue=False, isMergeQueueEnabled=False, mergeQueue=None,
          mergeQueueEntry=None, suggestedReviewers=(), viewerCanDisableAutoMerge=False,
          viewerCanEnableAutoMerge=False)  # fmt: skip
_CHANGES: Final = {"added": "ADDED", "removed": "DELETED", "renamed": "RENAMED", "copied": "COPIED",
                   "changed": "CHANGED"}  # fmt: skip


@field("PullRequest.merged")
def _is_merged(pull: PullRequestRecord, _session: HubSession) -> bool:
    return pull.merged_at is not None


@field("PullRequest.mergedBy")
def _merged_by(pull: PullRequestRecord, session: HubSession) -> UserRecord | None:
    return session.state.get(UserRecord, pull.merged_by)


@field("PullRequest.mergeCommit")
def _merge_commit(pull: PullRequestRecord, session: HubSession) -> ObjectNode | None:
    return commit_node(repository_of(session, pull), pull.merge_commit) if pull.merge_commit else None


@field("PullRequest.potentialMergeCommit")
def _potential_merge(pull: PullRequestRecord, session: HubSession) -> ObjectNode | None:
    sha = potential_merge(session, pull)
    return commit_node(repository_of(session, pull), sha) if sha else None


@field("PullRequest.headRefOid")
def _head_sha(pull: PullRequestRecord, session: HubSession) -> str:
    return head_sha(session, pull)


@field("PullRequest.baseRefOid")
def _base_sha(pull: PullRequestRecord, session: HubSession) -> str:
    return base_sha(session, pull)


@field("PullRequest.baseRepository")
def _base_repository(pull: PullRequestRecord, session: HubSession) -> RepositoryRecord:
    return repository_of(session, pull)


def head_repository(session: HubSession, pull: PullRequestRecord) -> RepositoryRecord | None:
    """Return the repository of the head branch; None if it was deleted, or may not be read."""
    repository = session.state.get(RepositoryRecord, pull.head_repository)
    return repository if repository is not None and session.may(repository, "read") else None


@field("PullRequest.headRepository")
def _head_repository(pull: PullRequestRecord, session: HubSession) -> RepositoryRecord | None:
    return head_repository(session, pull)


@field("PullRequest.headRepositoryOwner")
def _head_owner(pull: PullRequestRecord, session: HubSession) -> UserRecord | None:
    repository = head_repository(session, pull)
    return session.state.get(UserRecord, repository.owner) if repository else None


@field("PullRequest.isCrossRepository")
def _is_cross_repository(pull: PullRequestRecord, _session: HubSession) -> bool:
    return pull.head_repository != pull.repository


@field("PullRequest.headRef")
def _head_ref(pull: PullRequestRecord, session: HubSession) -> RefNode | None:
    return _ref(session, head_repository(session, pull), pull.head_ref)


@field("PullRequest.baseRef")
def _base_ref(pull: PullRequestRecord, session: HubSession) -> RefNode | None:
    return _ref(session, repository_of(session, pull), pull.base_ref)


def _ref(session: HubSession, repository: RepositoryRecord | None, branch: str) -> RefNode | None:
    if repository is None or session.git(repository).branch(branch) is None:
        return None
    return RefNode(repository, f"refs/heads/{branch}")


@field("PullRequest.mergeable")
def _mergeable(pull: PullRequestRecord, session: HubSession) -> str:
    return mergeable(session, pull)


@field("PullRequest.canBeRebased")
def _can_be_rebased(pull: PullRequestRecord, session: HubSession) -> bool:
    return mergeable(session, pull) == "MERGEABLE"


@field("PullRequest.mergeStateStatus")
def _merge_state(pull: PullRequestRecord, session: HubSession) -> str:
    return merge_state(session, pull)


@field("PullRequest.additions")
def _additions(pull: PullRequestRecord, session: HubSession) -> int:
    return sum(file.additions for file in pull_files(session, pull))


@field("PullRequest.deletions")
def _deletions(pull: PullRequestRecord, session: HubSession) -> int:
    return sum(file.deletions for file in pull_files(session, pull))


@field("PullRequest.changedFiles")
def _changed_files(pull: PullRequestRecord, session: HubSession) -> int:
    return len(pull_files(session, pull))


@connection("PullRequest.files")
def _files(pull: PullRequestRecord, session: HubSession) -> list[ChangedFile]:
    return pull_files(session, pull)


attributes("PullRequestChangedFile", additions="additions", deletions="deletions", path="path")
constants("PullRequestChangedFile", viewerViewedState="UNVIEWED")


@field("PullRequestChangedFile.changeType")
def _change_type(file: ChangedFile, _session: HubSession) -> str:
    return _CHANGES.get(file.status, "MODIFIED")


@dataclass(frozen=True, slots=True)
class PullCommitNode:
    """Commit of a pull request."""

    graphql_type: ClassVar[str] = "PullRequestCommit"
    pull: PullRequestRecord
    commit: GitCommit


attributes("PullRequestCommit", pullRequest="pull")


@connection("PullRequest.commits")
def pull_commit_nodes(pull: PullRequestRecord, session: HubSession) -> list[PullCommitNode]:
    """Return the commits of a pull request, the oldest first."""
    return [PullCommitNode(pull, commit) for commit in pull_commits(session, pull)]


@field("PullRequestCommit.id")
def _commit_id(node: PullCommitNode, _session: HubSession) -> str:
    return f"PURC_kwDO{node.pull.id:08d}x{node.commit.sha}"


@field("PullRequestCommit.commit")
def _commit(node: PullCommitNode, session: HubSession) -> ObjectNode:
    return commit_node(repository_of(session, node.pull), node.commit.sha)


@field("PullRequestCommit.resourcePath")
def _commit_path(node: PullCommitNode, session: HubSession) -> str:
    return f"{path_of(node.pull, session)}/commits/{node.commit.sha}"


@field("PullRequestCommit.url")
def _commit_url(node: PullCommitNode, session: HubSession) -> str:
    return SITE + _commit_path(node, session)


@field("PullRequest.statusCheckRollup")
def _rollup(pull: PullRequestRecord, session: HubSession) -> ObjectNode | None:
    sha = head_sha(session, pull)
    if not checks_of(session, pull.repository, sha):
        return None
    return ObjectNode("StatusCheckRollup", repository_of(session, pull), sha)


@connection("PullRequest.closingIssuesReferences")
def _closing(
    pull: PullRequestRecord, session: HubSession, *, userLinkedOnly: bool | None = None, orderBy: object = None  # noqa: ARG001, N803 GitHub's names
) -> list[IssueRecord]:  # fmt: skip
    return [] if userLinkedOnly else closing_issues(session, pull)


@field("PullRequest.checksUrl")
def _checks_url(pull: PullRequestRecord, session: HubSession) -> str:
    return f"{SITE}{path_of(pull, session)}/checks"


@field("PullRequest.revertUrl")
def _revert_url(pull: PullRequestRecord, session: HubSession) -> str:
    return f"{SITE}{path_of(pull, session)}/revert"


@field("PullRequest.viewerCanUpdateBranch")
def _may_update_branch(pull: PullRequestRecord, session: HubSession) -> bool:
    git = session.git(pull.repository)
    is_behind = not git.is_ancestor(base_sha(session, pull), head_sha(session, pull))
    return pull.state == "open" and is_behind and _may_push_to_head(pull, session)


@field("PullRequest.viewerCanEditFiles", "PullRequest.viewerCanApplySuggestion")
def _may_push_to_head(pull: PullRequestRecord, session: HubSession) -> bool:
    repository = head_repository(session, pull)
    return repository is not None and session.may(repository, "write")


@field("PullRequest.viewerCanDeleteHeadRef")
def _may_delete_head(pull: PullRequestRecord, session: HubSession) -> bool:
    return pull.state == "closed" and _may_push_to_head(pull, session) and _head_ref(pull, session) is not None


@field("PullRequest.viewerCanMergeAsAdmin")
def _may_merge_as_admin(pull: PullRequestRecord, session: HubSession) -> bool:
    return session.may(repository_of(session, pull), "admin")


@field("PullRequest.viewerMergeHeadlineText")
def _merge_headline(pull: PullRequestRecord, session: HubSession, mergeType: str | None = None) -> str:  # noqa: N803 GitHub's name
    if mergeType == "SQUASH":
        commits = pull_commits(session, pull)
        return f"{commits[0].headline if len(commits) == 1 else pull.title} (#{pull.number})"
    repository = head_repository(session, pull)
    owner = session.state.need(UserRecord, repository.owner).login if repository else "unknown"
    return f"Merge pull request #{pull.number} from {owner}/{pull.head_ref}"


@field("PullRequest.viewerMergeBodyText")
def _merge_body(pull: PullRequestRecord, session: HubSession, mergeType: str | None = None) -> str:  # noqa: N803 GitHub's name
    if mergeType != "SQUASH":
        return pull.title
    commits = pull_commits(session, pull)
    return commits[0].body if len(commits) == 1 else "\n\n".join(f"* {commit.message}" for commit in commits)


@field("PullRequest.totalCommentsCount")
def _comment_count(pull: PullRequestRecord, session: HubSession) -> int:
    return sum(may_read(session, comment) for comment in session.state.where(CommentRecord, subject=pull.id))
