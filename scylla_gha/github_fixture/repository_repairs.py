"""Repairs of settings, labels, milestones, releases and protection of branches."""

from collections.abc import Iterator
from typing import Any, Final

from scylla_gha.github.client import ApiRequest
from scylla_gha.github_fixture.canonical import TOPIC
from scylla_gha.github_fixture.dialect import marked
from scylla_gha.github_fixture.mutations import Mutation
from scylla_gha.github_fixture.snapshot import MilestoneSnapshot, ProtectionSnapshot, ReleaseSnapshot
from scylla_gha.github_fixture.view import FixtureView

ADMINISTRATION: Final = "administration: write"
_BY_GRAPHQL: Final = {"description": "description", "homepage_url": "homepageUrl",
                      "has_issues_enabled": "hasIssuesEnabled",
                      "has_projects_enabled": "hasProjectsEnabled", "has_wiki_enabled": "hasWikiEnabled",
                      "has_discussions_enabled": "hasDiscussionsEnabled"}  # fmt: skip
_BY_REST: Final = {"merge_commit_allowed": "allow_merge_commit", "squash_merge_allowed": "allow_squash_merge",
                   "rebase_merge_allowed": "allow_rebase_merge", "auto_merge_allowed": "allow_auto_merge",
                   "delete_branch_on_merge": "delete_branch_on_merge"}  # fmt: skip
_LIFTED: Final = {"allowsForcePushes": True, "allowsDeletions": True, "isAdminEnforced": False,
                  "requiresApprovingReviews": False, "requiresStatusChecks": False, "requiresLinearHistory": False,
                  "requiresConversationResolution": False, "dismissesStaleReviews": False}  # fmt: skip


def opening(view: FixtureView, *, lifts_rules: bool) -> Iterator[Mutation]:
    """Yield what makes a repository writable again. With `lifts_rules`, no protection refuses changes of branches."""
    if view.state.is_archived:
        yield Mutation("unarchiveRepository", {"repositoryId": view.state.id})
    for rule in view.state.branch_protection_rules:
        if f"protection {rule.pattern}" not in view.reference.canonical:
            yield Mutation("deleteBranchProtectionRule", {"branchProtectionRuleId": rule.id})
        elif lifts_rules:
            yield Mutation("updateBranchProtectionRule", {"branchProtectionRuleId": rule.id, **_LIFTED})


def settings_repairs(view: FixtureView) -> Iterator[Mutation]:
    """Yield the repairs of settings and topics that GraphQL can do."""
    wanted = view.reference.canonical["settings"]
    fields = {key: "" if wanted[name] is None else wanted[name] for name, key in _BY_GRAPHQL.items()
              if view.differs("settings", name)}  # fmt: skip
    if view.differs("settings", "name"):
        fields["name"] = view.dialect.repository.partition("/")[2]
    if fields:
        yield Mutation("updateRepository", {"repositoryId": view.state.id, **fields})
    if view.differs("settings", "topics") or TOPIC not in view.state.repository_topics:
        topics = [*wanted["topics"], TOPIC]
        yield Mutation("updateTopics", {"repositoryId": view.state.id, "topicNames": topics})


def settings_requests(view: FixtureView) -> Iterator[ApiRequest]:
    """Yield the one request for settings that GraphQL cannot change."""
    wanted = view.reference.canonical["settings"]
    fields = {key: wanted[name] for name, key in _BY_REST.items() if view.differs("settings", name)}
    if view.differs("settings", "default_branch"):
        fields["default_branch"] = wanted["default_branch"]
    if fields:
        yield ApiRequest("PATCH", "", "restore the settings", ADMINISTRATION, body=fields)


def label_repairs(view: FixtureView) -> Iterator[Mutation]:
    """Yield the repairs of labels, renamed ones included. A name is unique, so none can be created twice."""
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
    for node in view.objects.extras.values():
        if isinstance(node, MilestoneSnapshot):
            yield ApiRequest(
                "DELETE", f"/milestones/{node.number}", f"delete the milestone {node.title}", "issues: write"
            )


def milestone_fields(view: FixtureView, title: str) -> dict[str, Any]:
    """Return a milestone of the fixture as REST takes it."""
    milestone = view.reference.objects.milestones[title]
    return {
        "title": title,
        "description": milestone.description or "",
        "state": milestone.state.lower(),
        "due_on": milestone.due_on.isoformat() if milestone.due_on else None,
    }


def release_requests(view: FixtureView) -> Iterator[ApiRequest]:
    """Yield the repairs of releases and the removals of releases and assets; uploads are not among them."""
    for key, release in view.objects.releases.items():
        if view.differs(key, "tag", "name", "body", "marker", "draft", "prerelease"):
            yield ApiRequest("PATCH", f"/releases/{release.database_id}", f"restore the {key}", "contents: write",
                             body=release_fields(view, key))  # fmt: skip
    for node in view.objects.extras.values():
        if isinstance(node, ReleaseSnapshot):
            yield ApiRequest("DELETE", f"/releases/{node.database_id}", f"delete the release {node.tag_name}",
                             "contents: write")  # fmt: skip


def release_fields(view: FixtureView, key: str) -> dict[str, Any]:
    """Return a release of the fixture as REST takes it."""
    wanted = view.reference.canonical[key]
    return {
        "tag_name": wanted["tag"],
        "name": view.spoken(key, "name"),
        "body": marked(view.spoken(key, "body"), key),
        "draft": wanted["draft"],
        "prerelease": wanted["prerelease"],
    }


def protection_repairs(view: FixtureView, *, were_lifted: bool) -> Iterator[Mutation]:
    """Yield the protection of branches as it has to be when everything else is done."""
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
