"""Mutations of repositories and of the protection of their branches."""

from collections.abc import Mapping
from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError
from scylla_gha.hub.graphql.mutations import mutation, node
from scylla_gha.hub.operations.protection_rules import change_rule, protect, unprotect
from scylla_gha.hub.operations.repositories import change_settings, create_repository, set_archived, set_topics
from scylla_gha.hub.records import ProtectionRecord, RepositoryRecord, UserRecord

_SETTINGS: Final = {
    "name": "name",
    "description": "description",
    "homepageUrl": "homepage",
    "hasIssuesEnabled": "has_issues",
    "hasWikiEnabled": "has_wiki",
    "hasProjectsEnabled": "has_projects",
    "hasDiscussionsEnabled": "has_discussions",
}
_RULES: Final = {
    "isAdminEnforced": "enforce_admins",
    "allowsForcePushes": "allow_force_pushes",
    "allowsDeletions": "allow_deletions",
    "requiresLinearHistory": "linear_history",
    "requiresConversationResolution": "conversation_resolution",
    "dismissesStaleReviews": "dismiss_stale_reviews",
    "requiresCodeOwnerReviews": "code_owner_reviews",
    "requiresStrictStatusChecks": "strict",
}
_UNSUPPORTED: Final = (
    "template", "teamId", "hasSponsorshipsEnabled", "blocksCreations", "lockBranch", "pushActorIds",
    "bypassForcePushActorIds", "bypassPullRequestActorIds", "requireLastPushApproval", "requiresDeployments",
    "requiresCommitSignatures", "restrictsPushes", "restrictsReviewDismissals", "reviewDismissalActorIds",
)  # fmt: skip


def _check_supported(values: Mapping[str, Any]) -> None:
    for name in _UNSUPPORTED:
        if values.get(name):
            raise ContractGapError(f"The input {name}")


def _settings(values: Mapping[str, Any]) -> dict[str, Any]:
    _check_supported(values)
    return {
        field: values[name] or None if field in ("description", "homepage") else values[name]
        for name, field in _SETTINGS.items()
        if values.get(name) is not None
    }


@mutation("createRepository")
def create(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Create a repository of the user or an organization."""
    if values["visibility"] == "INTERNAL":
        raise ContractGapError("An internal repository")
    owner = node(session, values["ownerId"], UserRecord) if values.get("ownerId") else session.user
    settings = _settings(values)
    name = settings.pop("name")
    private = values["visibility"] == "PRIVATE"
    try:
        return {"repository": create_repository(session, owner, name, private=private, **settings)}
    except HubError as error:
        if not error.errors:
            raise
        raise HubError(error.status, "Validation Failed", error.errors) from error  # GraphQL names the field only


@mutation("updateRepository")
def update(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Change settings of a repository."""
    repository = node(session, values["repositoryId"], RepositoryRecord)
    return {"repository": change_settings(session, repository, **_settings(values))}


@mutation("archiveRepository")
def archive(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Make a repository read-only."""
    repository = node(session, values["repositoryId"], RepositoryRecord)
    return {"repository": set_archived(session, repository, archived=True)}


@mutation("unarchiveRepository")
def unarchive(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Make a repository writable again."""
    repository = node(session, values["repositoryId"], RepositoryRecord)
    return {"repository": set_archived(session, repository, archived=False)}


@mutation("updateTopics")
def update_topics(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the topics of a repository."""
    repository = node(session, values["repositoryId"], RepositoryRecord)
    return {"repository": set_topics(session, repository, values["topicNames"]), "invalidTopicNames": None}


def _rules(values: Mapping[str, Any]) -> dict[str, Any]:
    _check_supported(values)
    rules = {field: values[name] for name, field in _RULES.items() if values.get(name) is not None}
    contexts = values.get("requiredStatusCheckContexts")
    if (checks := values.get("requiredStatusChecks")) is not None:
        contexts = [check["context"] for check in checks]
    if contexts is not None:
        rules["required_checks"] = tuple(dict.fromkeys(contexts))
    if values.get("requiresStatusChecks") is False:
        rules |= {"required_checks": (), "strict": False}
    if values.get("requiresApprovingReviews") is False:
        rules["required_reviews"] = None
    elif values.get("requiresApprovingReviews"):
        count = values.get("requiredApprovingReviewCount")
        rules["required_reviews"] = 1 if count is None else count
    elif values.get("requiredApprovingReviewCount") is not None:
        rules["required_reviews"] = values["requiredApprovingReviewCount"]
    return rules


@mutation("createBranchProtectionRule")
def create_rule(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Protect the branches that match a pattern."""
    repository, pattern = node(session, values["repositoryId"], RepositoryRecord), values["pattern"]
    if session.state.first(ProtectionRecord, repository=repository.id, pattern=pattern) is not None:
        raise HubError(422, f"Name already protected: {pattern}")
    return {"branchProtectionRule": protect(session, repository, pattern, **_rules(values))}


@mutation("updateBranchProtectionRule")
def update_rule(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Change a rule of protection."""
    rule = node(session, values["branchProtectionRuleId"], ProtectionRecord)
    repository = session.state.need(RepositoryRecord, rule.repository)
    pattern = {"pattern": values["pattern"]} if values.get("pattern") else {}
    return {"branchProtectionRule": change_rule(session, repository, rule, **pattern, **_rules(values))}


@mutation("deleteBranchProtectionRule")
def delete_rule(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Remove a rule of protection."""
    rule = node(session, values["branchProtectionRuleId"], ProtectionRecord)
    unprotect(session, session.state.need(RepositoryRecord, rule.repository), rule)
    return {}
