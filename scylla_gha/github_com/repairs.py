"""Repairs of a repository's settings and existing objects; safe to repeat (also create missing labels and rules)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic.alias_generators import to_camel

from scylla_gha.github_api.client import ApiRequest
from scylla_gha.github_com.canonical import SETTINGS_OF_GRAPHQL, SETTINGS_OF_REST, TOPIC
from scylla_gha.github_com.identify import RETIRED, marked
from scylla_gha.github_com.ref_plan import Mutation, has_all_texts, texts_to_repeat
from scylla_gha.github_com.snapshot import (
    IssueSnapshot,
    LabelSnapshot,
    MilestoneSnapshot,
    ProtectionSnapshot,
    PullSnapshot,
    ReleaseSnapshot,
    SubjectSnapshot,
    SubmittedReview,
    TextSnapshot,
    ThreadCommentSnapshot,
)
from scylla_gha.github_com.view import FixtureView

_LIFTED: Final = {
    "allowsForcePushes": True,
    "allowsDeletions": True,
    "isAdminEnforced": False,
    "requiresApprovingReviews": False,
    "requiresStatusChecks": False,
    "requiresLinearHistory": False,
    "requiresConversationResolution": False,
    "dismissesStaleReviews": False,
}


def removals(view: FixtureView, recreated: set[str], undeletable: set[str]) -> Iterator[Mutation]:
    """Yield the removals of objects that are not in the fixture; close and empty those that cannot be deleted.

    Args:
        view: the repository.
        recreated: keys of pull requests that will be created anew.
        undeletable: ids of issues that GitHub refuses to delete.
    """
    for node in view.objects.extras.values():
        yield from _removal(node, undeletable)
    for key in sorted(recreated):
        yield retirement(view.objects.pulls[key])
    texts = {**view.objects.comments, **view.objects.lines}
    for key in sorted(texts_to_repeat(view)):
        if not any(key.startswith(f"{pull}/") for pull in recreated):
            yield _deletion(texts[key])


def _removal(node: Any, undeletable: set[str]) -> Iterator[Mutation]:  # noqa: ANN401 any kind of object
    if isinstance(node, IssueSnapshot) and node.id not in undeletable:
        yield Mutation("deleteIssue", {"issueId": node.id})
    elif isinstance(node, SubjectSnapshot):
        yield retirement(node)
    elif isinstance(node, LabelSnapshot):
        yield Mutation("deleteLabel", {"id": node.id})
    elif isinstance(node, TextSnapshot) and not isinstance(node, SubmittedReview):
        yield _deletion(node)


def _deletion(text: TextSnapshot) -> Mutation:
    is_line = isinstance(text, ThreadCommentSnapshot)
    return Mutation("deletePullRequestReviewComment" if is_line else "deleteIssueComment", {"id": text.id})


def retirement(subject: SubjectSnapshot) -> Mutation:
    """Return the change that closes and empties an issue or pull request that cannot be deleted."""
    fields: dict[str, Any] = {
        "title": "Retired",
        "body": RETIRED,
        "labelIds": [],
        "assigneeIds": [],
        "milestoneId": None,
    }
    return _update(subject, fields | ({"state": "CLOSED"} if subject.state == "OPEN" else {}))


def _update(subject: SubjectSnapshot, fields: Mapping[str, Any]) -> Mutation:
    if isinstance(subject, PullSnapshot):
        return Mutation("updatePullRequest", {"pullRequestId": subject.id, **fields})
    return Mutation("updateIssue", {"id": subject.id, **fields})


def subject_repairs(view: FixtureView, recreated: set[str]) -> Iterator[Mutation]:
    """Yield the repairs of issues and pull requests, except those that are created anew."""
    for key, subject in view.objects.subjects.items():
        if key in recreated:
            continue
        yield from _fields(view, key, subject)
        if view.differs(key, "locked"):
            yield Mutation("unlockLockable" if subject.locked else "lockLockable", {"lockableId": subject.id})
        if isinstance(subject, PullSnapshot):
            yield from _pull(view, key, subject)
        elif isinstance(subject, IssueSnapshot):
            yield from _closing(view, key, subject)
    yield from _texts(view, recreated)


def _fields(view: FixtureView, key: str, subject: SubjectSnapshot) -> Iterator[Mutation]:
    """Yield one change of all fields that differ; labels that do not exist yet are added in the next round."""
    fields: dict[str, Any] = {}
    if view.differs(key, "title"):
        fields["title"] = view.localized(key, "title")
    if view.differs(key, "body", "marker"):
        fields["body"] = marked(view.localized(key, "body"), key)
    wanted = view.reference.canonical[key]
    if view.differs(key, "labels") and all(name in view.objects.labels for name in wanted["labels"]):
        fields["labelIds"] = [view.objects.labels[name].id for name in wanted["labels"]]
    if view.differs(key, "milestone") and (
        wanted["milestone"] is None or wanted["milestone"] in view.objects.milestones
    ):
        title = wanted["milestone"]
        fields["milestoneId"] = view.objects.milestones[title].id if title else None
    if view.differs(key, "assignees") and (ids := user_ids(view, wanted["assignees"])) is not None:
        fields["assigneeIds"] = ids
    if isinstance(subject, PullSnapshot) and view.differs(key, "base"):
        fields["baseRefName"] = wanted["base"]
    if fields:
        yield _update(subject, fields)


def user_ids(view: FixtureView, users: list[str]) -> list[str] | None:
    """Return the ids of users, or None if one of them cannot be assigned in the repository."""
    ids = {view.dialect.user(account.login): account.id for account in view.state.assignable_users}
    return [ids[user] for user in users] if all(user in ids for user in users) else None


def _closing(view: FixtureView, key: str, issue: IssueSnapshot) -> Iterator[Mutation]:
    """Yield the changes that close or reopen an issue. To change the reason, reopen the issue and close it again."""
    if not view.differs(key, "state") and not view.differs(f"{key}/closing", "reason", "duplicate_of"):
        return
    closing = view.reference.canonical[f"{key}/closing"]
    if view.reference.objects.issues[key].state == "OPEN":
        yield from [Mutation("reopenIssue", {"issueId": issue.id})] if issue.state == "CLOSED" else ()
        return
    twin = view.objects.issues.get(closing["duplicate_of"] or "")
    if closing["duplicate_of"] is not None and twin is None:
        return
    if issue.state == "CLOSED":
        yield Mutation("reopenIssue", {"issueId": issue.id})
    fields = {"issueId": issue.id, "stateReason": closing["reason"] or "COMPLETED"}
    yield Mutation("closeIssue", {**fields, **({"duplicateIssueId": twin.id} if twin else {})})


def _pull(view: FixtureView, key: str, pull: PullSnapshot) -> Iterator[Mutation]:
    wanted = view.reference.objects.pulls[key]
    is_wrong_head = pull.state == "CLOSED" and pull.head_ref_oid != wanted.head_ref_oid
    if pull.state == "CLOSED" and (wanted.state == "OPEN" or is_wrong_head):
        yield Mutation("reopenPullRequest", {"pullRequestId": pull.id})
    if view.differs(key, "draft") and pull.state == "OPEN":
        name = "convertPullRequestToDraft" if wanted.is_draft else "markPullRequestReadyForReview"
        yield Mutation(name, {"pullRequestId": pull.id})
    if view.differs(key, "reviewers"):
        ids = user_ids(view, view.reference.canonical[key]["reviewers"])
        if ids is not None:
            yield Mutation("requestReviews", {"pullRequestId": pull.id, "userIds": ids, "union": False})
    yield from _threads(view, key)
    if wanted.state == "CLOSED" and pull.state == "OPEN" and has_all_texts(view, key):
        yield Mutation("closePullRequest", {"pullRequestId": pull.id})


def _threads(view: FixtureView, key: str) -> Iterator[Mutation]:
    wanted = view.reference.canonical[key]["threads"]
    for name, thread in view.canonical[key]["threads"].items():
        if thread["is_resolved"] != wanted[name]["is_resolved"] and has_all_texts(view, key):
            fields = {"threadId": view.objects.threads[name].id}
            resolver = view.reference.objects.threads[name].resolved_by
            if wanted[name]["is_resolved"]:
                yield Mutation("resolveReviewThread", fields, view.reference.user(resolver) if resolver else None)
            else:
                yield Mutation("unresolveReviewThread", fields)


def _texts(view: FixtureView, recreated: set[str]) -> Iterator[Mutation]:
    """Yield the repairs of comments and reviews that were edited."""
    objects = view.objects
    for texts, name, id_name in (
        (objects.comments, "updateIssueComment", "id"),
        (objects.lines, "updatePullRequestReviewComment", "pullRequestReviewCommentId"),
        (objects.reviews, "updatePullRequestReview", "pullRequestReviewId"),
    ):
        for key, text in texts.items():
            is_recreated = any(key.startswith(f"{pull}/") for pull in recreated)
            if view.differs(key, "body", "marker") and not is_recreated:
                author = (
                    view.reference.canonical[key]["author"] if texts is objects.reviews else None
                )  # only its author may edit a review
                yield Mutation(name, {id_name: text.id, "body": marked(view.localized(key, "body"), key)}, author)


def opening(view: FixtureView, *, lifts_rules: bool) -> Iterator[Mutation]:
    """Yield the changes that make a repository writable; `lifts_rules`: protected branches too."""
    if view.state.is_archived:
        yield Mutation("unarchiveRepository", {"repositoryId": view.state.id})
    for rule in view.state.branch_protection_rules:
        if f"protection {rule.pattern}" not in view.reference.canonical:
            yield Mutation("deleteBranchProtectionRule", {"branchProtectionRuleId": rule.id})
        elif lifts_rules:
            yield Mutation("updateBranchProtectionRule", {"branchProtectionRuleId": rule.id, **_LIFTED})


def settings_repairs(view: FixtureView) -> Iterator[Mutation]:
    """Yield the repairs of the settings that GraphQL can change, and of the topics."""
    wanted = view.reference.canonical["settings"]
    fields = {
        to_camel(name): "" if wanted[name] is None else wanted[name]
        for name in SETTINGS_OF_GRAPHQL
        if view.differs("settings", name)
    }
    if view.differs("settings", "name"):
        fields["name"] = view.dialect.repository.partition("/")[2]
    if fields:
        yield Mutation("updateRepository", {"repositoryId": view.state.id, **fields})
    if view.differs("settings", "topics") or TOPIC not in view.state.repository_topics:
        topics = [*wanted["topics"], TOPIC]
        yield Mutation("updateTopics", {"repositoryId": view.state.id, "topicNames": topics})


def settings_requests(view: FixtureView) -> Iterator[ApiRequest]:
    """Yield one request for the settings that GraphQL cannot change, if any differ."""
    wanted = view.reference.canonical["settings"]
    fields = {key: wanted[name] for name, key in SETTINGS_OF_REST.items() if view.differs("settings", name)}
    if view.differs("settings", "default_branch"):
        fields["default_branch"] = wanted["default_branch"]
    if fields:
        yield ApiRequest("PATCH", "", "restore the settings", "administration: write", body=fields)


def label_repairs(view: FixtureView) -> Iterator[Mutation]:
    """Yield the changes that create or repair labels. Names are unique, so repeating them creates no duplicates."""
    for name, label in view.reference.objects.labels.items():
        if name not in view.objects.labels:
            fields = {"name": name, "color": label.color, "description": label.description or ""}
            yield Mutation("createLabel", {"repositoryId": view.state.id, **fields})
    for name, label in view.objects.labels.items():
        if view.differs(f"label {name}", "name", "color", "description"):
            wanted = view.reference.canonical[f"label {name}"]
            yield Mutation("updateLabel", {"id": label.id, **wanted, "description": wanted["description"] or ""})


def milestone_requests(view: FixtureView) -> Iterator[ApiRequest]:
    """Yield the repairs and removals of milestones."""
    for title, milestone in view.objects.milestones.items():
        if view.differs(f"milestone {title}", "title", "description", "state", "due_on"):
            what, fields = f"restore the milestone {title}", milestone_fields(view, title)
            yield ApiRequest("PATCH", f"/milestones/{milestone.number}", what, "issues: write", body=fields)
    for stone in view.objects.extras_of(MilestoneSnapshot):
        what = f"delete the milestone {stone.title}"
        yield ApiRequest("DELETE", f"/milestones/{stone.number}", what, "issues: write")


def milestone_fields(view: FixtureView, title: str) -> dict[str, Any]:
    """Return the fields of a fixture's milestone for the REST API."""
    milestone = view.reference.objects.milestones[title]
    return {
        "title": title,
        "description": milestone.description or "",
        "state": milestone.state.lower(),
        "due_on": milestone.due_on.isoformat() if milestone.due_on else None,
    }


def release_requests(view: FixtureView) -> Iterator[ApiRequest]:
    """Yield the repairs and removals of releases, but not of their files."""
    for key, release in view.objects.releases.items():
        if view.differs(key, "tag", "name", "body", "marker", "draft", "prerelease"):
            path, fields = f"/releases/{release.database_id}", release_fields(view, key)
            yield ApiRequest("PATCH", path, f"restore the {key}", "contents: write", body=fields)
    for release in view.objects.extras_of(ReleaseSnapshot):
        path, what = f"/releases/{release.database_id}", f"delete the release {release.tag_name}"
        yield ApiRequest("DELETE", path, what, "contents: write")


def release_fields(view: FixtureView, key: str) -> dict[str, Any]:
    """Return the fields of a fixture's release for the REST API."""
    wanted = view.reference.canonical[key]
    return {
        "tag_name": wanted["tag"],
        "name": view.localized(key, "name"),
        "body": marked(view.localized(key, "body"), key),
        "draft": wanted["draft"],
        "prerelease": wanted["prerelease"],
    }


def protection_repairs(view: FixtureView, *, were_lifted: bool) -> Iterator[Mutation]:
    """Yield the changes that restore branch protection; they come last in a round."""
    ids = {rule.pattern: rule.id for rule in view.state.branch_protection_rules}
    for rule in view.reference.state.branch_protection_rules:
        name, fields = f"protection {rule.pattern}", _rule_fields(rule)
        if rule.pattern not in ids:
            fields |= {"repositoryId": view.state.id, "pattern": rule.pattern}
            yield Mutation("createBranchProtectionRule", fields)
        elif were_lifted or view.reference.canonical[name] != view.canonical[name]:
            yield Mutation("updateBranchProtectionRule", {"branchProtectionRuleId": ids[rule.pattern], **fields})


def _rule_fields(rule: ProtectionSnapshot) -> dict[str, Any]:
    fields = rule.model_dump(by_alias=True, exclude={"id", "pattern"})
    if not rule.requires_approving_reviews:
        del fields["requiredApprovingReviewCount"]
    fields["requiredStatusCheckContexts"] = list(rule.required_status_check_contexts)
    return fields
