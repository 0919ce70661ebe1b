"""Pull requests, reviews and comments in threads as JSON, with every field that GitHub requires of them."""

from typing import Any

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.operations.comments import comments_of
from scylla_gha.hub.operations.pull_facts import (
    base_sha,
    head_sha,
    merge_state,
    mergeable,
    pull_commits,
    pull_files,
    repository_of,
)
from scylla_gha.hub.operations.subjects import association
from scylla_gha.hub.operations.thread_lines import current_line, diff_hunk, is_outdated
from scylla_gha.hub.operations.threads import position_of, review_comments
from scylla_gha.hub.records import (
    CommentRecord,
    MilestoneRecord,
    PullRequestRecord,
    RepositoryRecord,
    ReviewRecord,
    ThreadRecord,
    UserRecord,
)
from scylla_gha.hub.rest.issue_present import labels_json, milestone_json, reactions_json, subject_url, user_json
from scylla_gha.hub.rest.present import ids, time, user
from scylla_gha.hub.rest.repository_json import api_url, minimal_repository


def pull_url(session: HubSession, pull: PullRequestRecord) -> str:
    """Return the API's URL of a pull request."""
    return f"{api_url(session, repository_of(session, pull))}/pulls/{pull.number}"


def pull_json(session: HubSession, pull: PullRequestRecord) -> dict[str, Any]:
    """Return a pull request as lists have it."""
    repository, state = repository_of(session, pull), session.state
    assignees = [user(state.need(UserRecord, id_)) for id_ in pull.assignees]
    source = state.get(RepositoryRecord, pull.head_repository)
    return {
        **ids(pull),
        **_addresses(session, pull),
        "number": pull.number,
        "state": pull.state,
        "locked": pull.locked,
        "active_lock_reason": pull.lock_reason,
        "title": pull.title,
        "user": user_json(session, pull.author),
        "body": pull.body or None,
        "created_at": time(pull.created_at),
        "updated_at": time(pull.updated_at),
        "closed_at": time(pull.closed_at),
        "merged_at": time(pull.merged_at),
        "merge_commit_sha": pull.merge_commit,
        "assignee": assignees[0] if assignees else None,
        "assignees": assignees,
        "requested_reviewers": [user(state.need(UserRecord, id_)) for id_ in pull.requested_reviewers],
        "requested_teams": [],
        "labels": labels_json(session, pull),
        "milestone": milestone_json(session, state.get(MilestoneRecord, pull.milestone)),
        "draft": pull.draft,
        "head": _branch(session, source, pull.head_ref, head_sha(session, pull)),
        "base": _branch(session, repository, pull.base_ref, base_sha(session, pull)),
        "author_association": association(session, repository, pull.author),
        "auto_merge": None,
    }


def full_pull_json(session: HubSession, pull: PullRequestRecord) -> dict[str, Any]:
    """Return a pull request as it is answered by itself, with its mergeability and counts."""
    files = pull_files(session, pull)
    merges = {"MERGEABLE": True, "CONFLICTING": False, "UNKNOWN": None}[mergeable(session, pull)]
    return {
        **pull_json(session, pull),
        "merged": pull.merged_at is not None,
        "mergeable": merges,
        "rebaseable": merges,
        "mergeable_state": merge_state(session, pull).lower(),
        "merged_by": user_json(session, pull.merged_by),
        "comments": len(comments_of(session, pull)),
        "review_comments": len(review_comments(session, pull)),
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": len(pull_commits(session, pull)),
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
        "changed_files": len(files),
    }


def _addresses(session: HubSession, pull: PullRequestRecord) -> dict[str, Any]:
    base, page = api_url(session, repository_of(session, pull)), subject_url(session, pull)
    url, issue = f"{base}/pulls/{pull.number}", f"{base}/issues/{pull.number}"
    urls = {
        "html": page,
        "issue": issue,
        "comments": f"{issue}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{base}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{base}/statuses/{head_sha(session, pull)}",
    }
    return {
        "url": url,
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        **{f"{name}_url": address for name, address in urls.items()},
        "_links": {name: {"href": address} for name, address in {"self": url, **urls}.items()},
    }


def _branch(session: HubSession, repository: RepositoryRecord | None, ref: str, sha: str) -> dict[str, Any]:
    owner = session.state.get(UserRecord, repository.owner) if repository else None
    return {
        "label": f"{owner.login}:{ref}" if owner else None,
        "ref": ref,
        "sha": sha,
        "user": user(owner) if owner else None,
        "repo": minimal_repository(session, repository) if repository else None,
    }


def review_json(session: HubSession, review: ReviewRecord) -> dict[str, Any]:
    """Return a review; a pending one has no time of submission."""
    pull = session.state.need(PullRequestRecord, review.pull)
    page, url = f"{subject_url(session, pull)}#pullrequestreview-{review.id}", pull_url(session, pull)
    return {
        **ids(review),
        "user": user_json(session, review.author),
        "body": review.body,
        "state": review.state,
        "html_url": page,
        "pull_request_url": url,
        "author_association": association(session, repository_of(session, pull), review.author),
        "_links": {"html": {"href": page}, "pull_request": {"href": url}},
        "commit_id": review.commit,
        **({"submitted_at": time(review.submitted_at)} if review.submitted_at else {}),
    }


def review_comment_json(session: HubSession, comment: CommentRecord) -> dict[str, Any]:
    """Return a comment in a review thread."""
    pull = session.state.need(PullRequestRecord, comment.subject)
    repository = repository_of(session, pull)
    url = f"{api_url(session, repository)}/pulls/comments/{comment.id}"
    page = f"{subject_url(session, pull)}#discussion_r{comment.id}"
    return {
        **ids(comment),
        "url": url,
        "pull_request_review_id": comment.review,
        **_anchor(session, pull, session.state.need(ThreadRecord, comment.thread or 0)),
        "user": user_json(session, comment.author),
        "body": comment.body,
        "created_at": time(comment.created_at),
        "updated_at": time(comment.updated_at),
        "html_url": page,
        "pull_request_url": pull_url(session, pull),
        "author_association": association(session, repository, comment.author),
        "_links": {
            "self": {"href": url},
            "html": {"href": page},
            "pull_request": {"href": pull_url(session, pull)},
        },
        "reactions": reactions_json(url),
        **({"in_reply_to_id": comment.reply_to} if comment.reply_to else {}),
    }


def _anchor(session: HubSession, pull: PullRequestRecord, thread: ThreadRecord) -> dict[str, Any]:
    """Return where a thread is: as it was begun, and at the head now (null where it is outdated)."""
    head, line = head_sha(session, pull), current_line(session, thread, thread.line)
    return {
        "diff_hunk": diff_hunk(session, thread),
        "path": thread.path,
        "commit_id": thread.commit if is_outdated(session, thread) else head,
        "original_commit_id": thread.commit,
        "position": position_of(session, pull, thread, head, line),
        "original_position": position_of(session, pull, thread, thread.commit, thread.line),
        "line": line if thread.line is not None else None,
        "original_line": thread.line,
        "start_line": None if line is None else current_line(session, thread, thread.start_line),
        "original_start_line": thread.start_line,
        "side": thread.side,
        "start_side": thread.start_side,
        "subject_type": "line" if thread.line is not None else "file",
    }
