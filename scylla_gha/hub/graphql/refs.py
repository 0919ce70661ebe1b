"""Refs with their targets and protections, annotated tags, and rules of protection."""

import re
from collections.abc import Mapping
from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.git_log import time_of
from scylla_gha.hub.git_store import GitSignature
from scylla_gha.hub.graphql import attributes, constants, field
from scylla_gha.hub.graphql.commits import actor_of
from scylla_gha.hub.graphql.connections import connection, no_items
from scylla_gha.hub.graphql.git_nodes import ObjectNode, RefNode, commit_node
from scylla_gha.hub.graphql.sorting import in_order, with_states
from scylla_gha.hub.operations.protection import protection_of
from scylla_gha.hub.records import ProtectionRecord, PullRequestRecord, RepositoryRecord

_BRANCHES: Final = "refs/heads/"
_TAGGER: Final = re.compile(r"(?P<name>.*) <(?P<email>.*)> (?P<time>\d+) [+-]\d{4}")
attributes("Ref", id="node_id", repository="repository")
no_items("Ref.rules")


@field("Repository.ref")
def _ref(repository: RepositoryRecord, session: HubSession, qualifiedName: str) -> RefNode | None:  # noqa: N803 GitHub's name
    names = (qualifiedName, f"refs/{qualifiedName}", f"{_BRANCHES}{qualifiedName}", f"refs/tags/{qualifiedName}")
    refs = _shown_refs(session, repository)
    return next((RefNode(repository, name) for name in names if name in refs), None)


def _shown_refs(session: HubSession, repository: RepositoryRecord) -> list[str]:
    """Return the names of all refs but the hub's own, which git hides from clients as well."""
    return sorted(name for name in session.git(repository).refs() if not name.startswith("refs/hub/"))


@connection("Repository.refs")
def _refs(
    repository: RepositoryRecord,
    session: HubSession,
    *,
    refPrefix: str,  # noqa: N803 GitHub's name
    query: str | None = None,
    orderBy: Mapping[str, str] | None = None,  # noqa: N803 GitHub's name
    direction: str | None = None,
) -> list[RefNode]:
    prefix = refPrefix.rstrip("/") + "/"
    git = session.git(repository)
    names = [name for name in _shown_refs(session, repository) if name.startswith(prefix)]
    nodes = [RefNode(repository, name) for name in names if (query or "").casefold() in name[len(prefix) :].casefold()]
    order = orderBy or {"field": "ALPHABETICAL", "direction": direction or "ASC"}
    if order["field"] == "TAG_COMMIT_DATE":
        nodes.sort(key=lambda node: git.commit(git.commit_of(git.refs()[node.name]) or "").committer.date)
    return nodes[::-1] if order["direction"] == "DESC" else nodes


@field("Repository.defaultBranchRef")
def _default_branch(repository: RepositoryRecord, session: HubSession) -> RefNode | None:
    has_branch = session.git(repository).branch(repository.default_branch) is not None
    return RefNode(repository, _BRANCHES + repository.default_branch) if has_branch else None


@field("Ref.name")
def _name(node: RefNode, _session: HubSession) -> str:
    return node.name.split("/", 2)[2]


@field("Ref.prefix")
def _prefix(node: RefNode, _session: HubSession) -> str:
    return "/".join(node.name.split("/", 2)[:2]) + "/"


@field("Ref.target")
def _target(node: RefNode, session: HubSession) -> ObjectNode | None:
    git = session.git(node.repository)
    sha = git.ref(node.name)
    if sha is None:
        return None
    is_branch = node.name.startswith(_BRANCHES)
    kind = "commit" if is_branch else git.kind_of(sha) or "commit"
    return ObjectNode(kind.capitalize(), node.repository, sha)


@connection("Ref.associatedPullRequests")
def _pulls(
    node: RefNode,
    session: HubSession,
    *,
    states: list[str] | None = None,
    baseRefName: str | None = None,  # noqa: N803 GitHub's name
    headRefName: str | None = None,  # noqa: N803 GitHub's name
    orderBy: Any = None,  # noqa: ANN401, N803 GitHub's name
) -> list[PullRequestRecord]:
    branch = node.name.removeprefix(_BRANCHES)
    pulls = session.state.where(PullRequestRecord, head_repository=node.repository.id, head_ref=branch)
    wanted = [pull for pull in pulls if baseRefName in (None, pull.base_ref) and headRefName in (None, pull.head_ref)]
    return in_order(with_states(wanted, states), orderBy)


@field("Ref.branchProtectionRule")
def _protection(node: RefNode, session: HubSession) -> ProtectionRecord | None:
    if not node.name.startswith(_BRANCHES):
        return None
    return protection_of(session, node.repository, node.name.removeprefix(_BRANCHES))


@field("Ref.refUpdateRule")
def _update_rule(node: RefNode, session: HubSession) -> dict[str, Any] | None:
    rule = _protection(node, session)
    if rule is None:
        return None
    return {
        "allowsDeletions": rule.allow_deletions,
        "allowsForcePushes": rule.allow_force_pushes,
        "blocksCreations": False,
        "pattern": rule.pattern,
        "requiredApprovingReviewCount": rule.required_reviews,
        "requiredStatusCheckContexts": rule.required_checks,
        "requiresCodeOwnerReviews": rule.code_owner_reviews,
        "requiresConversationResolution": rule.conversation_resolution,
        "requiresLinearHistory": rule.linear_history,
        "requiresSignatures": False,
        "viewerAllowedToDismissReviews": session.may(node.repository, "admin"),
        "viewerCanPush": session.may(node.repository, "write"),
    }


@field("Ref.compare")
def _compare(node: RefNode, session: HubSession, headRef: str) -> dict[str, Any] | None:  # noqa: N803 GitHub's name
    git = session.git(node.repository)
    base, head = git.resolve(node.name), git.resolve(headRef)
    if base is None or head is None:
        return None
    ahead, behind = git.ahead_behind(head, base)
    status = {(True, True): "DIVERGED", (True, False): "AHEAD", (False, True): "BEHIND"}.get(
        (ahead > 0, behind > 0), "IDENTICAL"
    )
    return {
        "id": f"CMP_kwDO{node.repository.id:08d}x{base}{head}",
        "aheadBy": ahead,
        "behindBy": behind,
        "status": status,
        "baseTarget": commit_node(node.repository, base),
        "headTarget": commit_node(node.repository, head),
        "comparison": (node.repository, git.commits_between(base, head)),
    }


@connection("Comparison.commits", authorCount=lambda items: len({item.sha for item in items}))
def _compared(parent: Mapping[str, Any], _session: HubSession) -> list[ObjectNode]:
    repository, commits = parent["comparison"]
    return [commit_node(repository, commit.sha) for commit in commits]


def _annotation(session: HubSession, node: ObjectNode) -> tuple[dict[str, str], str]:
    """Return the headers and the message of an annotated tag."""
    text = session.git(node.repository).run("cat-file", "tag", node.sha).decode(errors="replace")
    head, _, message = text.partition("\n\n")
    return dict(line.split(" ", 1) for line in head.split("\n") if " " in line), message.strip("\n")


@field("Tag.name")
def _tag_name(node: ObjectNode, session: HubSession) -> str:
    return _annotation(session, node)[0]["tag"]


@field("Tag.message")
def _tag_message(node: ObjectNode, session: HubSession) -> str:
    return _annotation(session, node)[1]


@field("Tag.tagger")
def _tagger(node: ObjectNode, session: HubSession) -> dict[str, Any] | None:
    matched = _TAGGER.fullmatch(_annotation(session, node)[0].get("tagger", ""))
    if matched is None:
        return None
    date = time_of(matched["time"])
    return actor_of(session, GitSignature(matched["name"], matched["email"], date))


@field("Tag.target")
def _tag_target(node: ObjectNode, session: HubSession) -> ObjectNode:
    headers, _ = _annotation(session, node)
    return ObjectNode(headers["type"].capitalize(), node.repository, headers["object"])


attributes("BranchProtectionRule", pattern="pattern", allowsDeletions="allow_deletions",
           allowsForcePushes="allow_force_pushes", dismissesStaleReviews="dismiss_stale_reviews",
           isAdminEnforced="enforce_admins", requiredApprovingReviewCount="required_reviews",
           requiredStatusCheckContexts="required_checks", requiresCodeOwnerReviews="code_owner_reviews",
           requiresConversationResolution="conversation_resolution", requiresLinearHistory="linear_history",
           requiresStrictStatusChecks="strict")  # fmt: skip
constants("BranchProtectionRule", creator=None, blocksCreations=False, lockBranch=False, lockAllowsFetchAndMerge=False,
          requireLastPushApproval=False, requiresCommitSignatures=False, requiresDeployments=False,
          restrictsPushes=False, restrictsReviewDismissals=False, requiredDeploymentEnvironments=())  # fmt: skip
no_items(*(f"BranchProtectionRule.{name}" for name in (
    "branchProtectionRuleConflicts", "bypassForcePushAllowances", "bypassPullRequestAllowances", "pushAllowances",
    "reviewDismissalAllowances")))  # fmt: skip


@field("BranchProtectionRule.requiresApprovingReviews")
def _requires_reviews(rule: ProtectionRecord, _session: HubSession) -> bool:
    return rule.required_reviews is not None


@field("BranchProtectionRule.requiresStatusChecks")
def _requires_checks(rule: ProtectionRecord, _session: HubSession) -> bool:
    return bool(rule.required_checks) or rule.strict


@field("BranchProtectionRule.requiredStatusChecks")
def _required_checks(rule: ProtectionRecord, _session: HubSession) -> list[dict[str, Any]]:
    return [{"app": None, "context": name} for name in rule.required_checks]


@connection("BranchProtectionRule.matchingRefs")
def _matching(rule: ProtectionRecord, session: HubSession, *, query: str | None = None) -> list[RefNode]:
    repository = session.state.need(RepositoryRecord, rule.repository)
    branches = [name for name in session.git(repository).branches() if (query or "") in name]
    return [RefNode(repository, _BRANCHES + name) for name in branches
            if protection_of(session, repository, name) == rule]  # fmt: skip
