"""Repositories: their own fields."""

from typing import Any

from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.graphql import attributes, constants, field
from scylla_gha.hub.graphql.addresses import repository_path
from scylla_gha.hub.graphql.connections import connection, no_items
from scylla_gha.hub.graphql.sorting import in_order, matching
from scylla_gha.hub.operations.assignees import assignable_users
from scylla_gha.hub.operations.repository_facts import collaborators_of, forks_of, languages, size_in_kilobytes
from scylla_gha.hub.records import ProtectionRecord, RepositoryRecord, UserRecord, node_id

attributes(
    "Repository",
    name="name",
    databaseId="id",
    description="description",
    homepageUrl="homepage",
    createdAt="created_at",
    updatedAt="updated_at",
    pushedAt="pushed_at",
    isPrivate="private",
    isArchived="archived",
    hasIssuesEnabled="has_issues",
    hasProjectsEnabled="has_projects",
    hasWikiEnabled="has_wiki",
    hasDiscussionsEnabled="has_discussions",
    mergeCommitAllowed="allow_merge_commit",
    squashMergeAllowed="allow_squash_merge",
    rebaseMergeAllowed="allow_rebase_merge",
    allowUpdateBranch="allow_update_branch",
    autoMergeAllowed="allow_auto_merge",
    deleteBranchOnMerge="delete_branch_on_merge",
)
constants(
    "Repository",
    archivedAt=None,
    codeOfConduct=None,
    contactLinks=(),
    forkingAllowed=True,
    fundingLinks=(),
    hasSponsorshipsEnabled=False,
    hasVulnerabilityAlertsEnabled=False,
    isBlankIssuesEnabled=True,
    isDisabled=False,
    isLocked=False,
    isMirror=False,
    isSecurityPolicyEnabled=False,
    isTemplate=False,
    isUserConfigurationRepository=False,
    issueTemplates=(),
    licenseInfo=None,
    lockReason=None,
    mergeQueue=None,
    mirrorUrl=None,
    project=None,
    projectV2=None,
    pullRequestTemplates=(),
    ruleset=None,
    securityPolicyUrl=None,
    stargazerCount=0,
    tempCloneToken=None,
    templateRepository=None,
    usesCustomOpenGraphImage=False,
    viewerHasStarred=False,
    viewerSubscription="UNSUBSCRIBED",
    webCommitSignoffRequired=False,
    mergeCommitMessage="PR_TITLE",
    mergeCommitTitle="MERGE_MESSAGE",
    squashMergeCommitMessage="COMMIT_MESSAGES",
    squashMergeCommitTitle="COMMIT_OR_PR_TITLE",
    squashPrTitleUsedAsDefault=False,
    environment=None,
    discussionCategory=None,
)
no_items(
    "Repository.commitComments", "Repository.deployKeys", "Repository.deployments", "Repository.environments",
    "Repository.pinnedIssues", "Repository.projects", "Repository.projectsV2", "Repository.rulesets",
    "Repository.stargazers", "Repository.submodules", "Repository.watchers", "Repository.vulnerabilityAlerts",
    "Repository.recentProjects", "Repository.pinnedDiscussions", "Repository.discussions", "Repository.packages",
    "Repository.discussionCategories",
)  # fmt: skip


@field("Repository.id")
def _id(repository: RepositoryRecord, _session: HubSession) -> str:
    return node_id(repository)


@field("Repository.owner")
def _owner(repository: RepositoryRecord, session: HubSession) -> UserRecord:
    return session.state.need(UserRecord, repository.owner)


@field("Repository.nameWithOwner")
def _full_name(repository: RepositoryRecord, session: HubSession) -> str:
    return session.state.full_name(repository)


@field("Repository.sshUrl")
def _ssh_url(repository: RepositoryRecord, session: HubSession) -> str:
    return f"git@github.com:{session.state.full_name(repository)}.git"


@field("Repository.projectsUrl")
def _projects_url(repository: RepositoryRecord, session: HubSession) -> str:
    return f"{SITE}{repository_path(session, repository)}/projects"


@field("Repository.openGraphImageUrl")
def _image_url(repository: RepositoryRecord, session: HubSession) -> str:
    return f"https://opengraph.githubassets.com/{repository.id}{repository_path(session, repository)}"


@field("Repository.isFork")
def _is_fork(repository: RepositoryRecord, _session: HubSession) -> bool:
    return repository.parent is not None


@field("Repository.parent")
def _parent(repository: RepositoryRecord, session: HubSession) -> RepositoryRecord | None:
    parent = session.state.get(RepositoryRecord, repository.parent)
    return parent if parent is not None and session.may(parent, "read") else None


@field("Repository.forkCount")
def _fork_count(repository: RepositoryRecord, session: HubSession) -> int:
    return len(session.state.where(RepositoryRecord, parent=repository.id))


@connection("Repository.forks")
def _forks(
    repository: RepositoryRecord, session: HubSession, *, orderBy: Any = None  # noqa: ANN401, N803 GitHub's name
) -> list[RepositoryRecord]:  # fmt: skip
    return in_order(forks_of(session, repository), orderBy)


@field("Repository.isInOrganization")
def _is_in_organization(repository: RepositoryRecord, session: HubSession) -> bool:
    return _owner(repository, session).kind == "Organization"


@field("Repository.isEmpty")
def _is_empty(repository: RepositoryRecord, session: HubSession) -> bool:
    return not session.git(repository).branches()


@field("Repository.visibility")
def _visibility(repository: RepositoryRecord, _session: HubSession) -> str:
    return "PRIVATE" if repository.private else "PUBLIC"


@field("Repository.viewerPermission")
def _permission(repository: RepositoryRecord, session: HubSession) -> str | None:
    permission = session.permission(repository)
    return None if permission is None or session.viewer is None else permission.upper()


@field("Repository.viewerCanAdminister", "Repository.viewerCanUpdateTopics")
def _may_administer(repository: RepositoryRecord, session: HubSession) -> bool:
    return session.may(repository, "admin")


@field("Repository.viewerCanCreateProjects")
def _may_write(repository: RepositoryRecord, session: HubSession) -> bool:
    return session.may(repository, "write")


@field("Repository.viewerCanSubscribe")
def _is_signed_in(_repository: RepositoryRecord, session: HubSession) -> bool:
    return session.viewer is not None


@field("Repository.viewerDefaultMergeMethod")
def _merge_method(repository: RepositoryRecord, _session: HubSession) -> str:
    if repository.allow_merge_commit:
        return "MERGE"
    return "SQUASH" if repository.allow_squash_merge else "REBASE"


@field("Repository.viewerDefaultCommitEmail")
def _email(_repository: RepositoryRecord, session: HubSession) -> str | None:
    return session.signature().email if session.viewer else None


@field("Repository.viewerPossibleCommitEmails")
def _emails(_repository: RepositoryRecord, session: HubSession) -> list[str] | None:
    return [session.signature().email] if session.viewer else None


@connection("Repository.assignableUsers")
def _assignable(repository: RepositoryRecord, session: HubSession, *, query: str | None = None) -> list[UserRecord]:
    return matching(assignable_users(session, repository), query, "login", "name")


@connection("Repository.mentionableUsers")
def _mentionable(repository: RepositoryRecord, session: HubSession, *, query: str | None = None) -> list[UserRecord]:
    return matching(collaborators_of(session, repository), query, "login", "name")


@connection("Repository.collaborators")
def _collaborators(
    repository: RepositoryRecord, session: HubSession, *, login: str | None = None, query: str | None = None,
    affiliation: str | None = None,  # noqa: ARG001 the hub knows no teams, so all are direct
) -> list[UserRecord]:  # fmt: skip
    session.require(repository, "write")
    users = matching(collaborators_of(session, repository), query, "login", "name")
    return [user for user in users if login is None or user.login.casefold() == login.casefold()]


@connection("Repository.repositoryTopics")
def _topics(repository: RepositoryRecord, _session: HubSession) -> list[dict[str, Any]]:
    return [
        {
            "id": f"RT_kwDO{repository.id:08d}x{topic.encode().hex()}",
            "topic": {"id": f"T_{topic.encode().hex()}", "name": topic, "stargazerCount": 0, "viewerHasStarred": False},
            "url": f"{SITE}/topics/{topic}",
            "resourcePath": f"/topics/{topic}",
        }
        for topic in repository.topics
    ]


@connection("Repository.languages", edge=lambda item: {"size": item["size"]},
            totalSize=lambda items: sum(item["size"] for item in items))  # fmt: skip
def _languages(
    repository: RepositoryRecord, session: HubSession, *, orderBy: Any = None  # noqa: ANN401, N803, ARG001 always by size
) -> list[dict[str, Any]]:  # fmt: skip
    sizes = languages(session, repository)
    return [
        {"id": f"LAN_{name.encode().hex()}", "name": name, "color": None, "size": size} for name, size in sizes.items()
    ]


@field("Repository.primaryLanguage")
def _primary_language(repository: RepositoryRecord, session: HubSession) -> dict[str, Any] | None:
    return next(iter(_languages(repository, session)), None)


@field("Repository.diskUsage")
def _disk_usage(repository: RepositoryRecord, session: HubSession) -> int:
    return size_in_kilobytes(session, repository)


@connection("Repository.branchProtectionRules")
def _protections(repository: RepositoryRecord, session: HubSession) -> list[ProtectionRecord]:
    return session.state.where(ProtectionRecord, repository=repository.id)
