"""Users, bots and organizations."""

from typing import Any

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.graphql import constants, field
from scylla_gha.hub.graphql.connections import connection, no_items
from scylla_gha.hub.graphql.sorting import in_order, with_states
from scylla_gha.hub.records import IssueRecord, PullRequestRecord, RepositoryRecord, UserRecord, node_id

_KINDS = ("User", "Bot", "Organization")
_OWNERS = ("User", "Organization")


@field(*(f"{kind}.id" for kind in _KINDS))
def _id(user: UserRecord, _session: HubSession) -> str:
    return node_id(user)


@field(*(f"{kind}.databaseId" for kind in _KINDS))
def _database_id(user: UserRecord, _session: HubSession) -> int:
    return user.id


@field(*(f"{kind}.login" for kind in _KINDS))
def _login(user: UserRecord, _session: HubSession) -> str:
    return user.login.removesuffix("[bot]")  # GraphQL names an app's bot without the mark that REST adds


@field(*(f"{kind}.name" for kind in _OWNERS))
def _name(user: UserRecord, _session: HubSession) -> str | None:
    return user.name


@field("User.email", "Organization.email")
def _email(user: UserRecord, _session: HubSession) -> str:
    return user.email or ""


@field(*(f"{kind}.{name}" for kind in _KINDS for name in ("createdAt", "updatedAt")))
def _created_at(user: UserRecord, _session: HubSession) -> object:
    return user.created_at


@field(*(f"{kind}.avatarUrl" for kind in _KINDS))
def _avatar(user: UserRecord, _session: HubSession, size: int | None = None) -> str:
    return f"https://avatars.githubusercontent.com/u/{user.id}?v=4" + (f"&s={size}" if size else "")


@field("User.isViewer")
def _is_viewer(user: UserRecord, session: HubSession) -> bool:
    return session.viewer is not None and session.viewer.id == user.id


@field("User.repository", "Organization.repository")
def _repository(
    user: UserRecord,
    session: HubSession,
    name: str,
    followRenames: bool = True,  # noqa: N803, ARG001 GitHub's name
) -> RepositoryRecord | None:
    repository = session.state.repository(user.login, name)
    return repository if repository is not None and session.may(repository, "read") else None


def visible_repositories(session: HubSession, owner: UserRecord) -> list[RepositoryRecord]:
    """Return the repositories of an owner that the user may read."""
    owned = session.state.where(RepositoryRecord, owner=owner.id)
    return [repository for repository in owned if session.may(repository, "read")]


@connection("User.repositories", "Organization.repositories", totalDiskUsage=lambda items: 0)  # noqa: ARG005
def _repositories(  # noqa: PLR0913 arguments of GitHub
    user: UserRecord,
    session: HubSession,
    *,
    privacy: str | None = None,
    visibility: str | None = None,
    isFork: bool | None = None,  # noqa: N803 GitHub's name
    isArchived: bool | None = None,  # noqa: N803 GitHub's name
    orderBy: Any = None,  # noqa: ANN401, N803 GitHub's name
    ownerAffiliations: Any = None,  # noqa: ANN401, N803, ARG001 only repositories of the owner are listed
    affiliations: Any = None,  # noqa: ANN401, ARG001 as above
) -> list[RepositoryRecord]:
    wanted = {"private": {"PRIVATE": True, "PUBLIC": False}.get(privacy or visibility or ""), "archived": isArchived}
    repositories = [
        repository
        for repository in visible_repositories(session, user)
        if all(value is None or getattr(repository, name) == value for name, value in wanted.items())
        and isFork in (None, repository.parent is not None)
    ]
    return in_order(repositories, orderBy)


@connection("User.issues")
def _issues(
    user: UserRecord, session: HubSession, *, states: list[str] | None = None, orderBy: Any = None  # noqa: ANN401, N803
) -> list[IssueRecord]:  # fmt: skip
    issues = session.state.where(IssueRecord, author=user.id)
    return in_order(with_states(_readable(session, issues), states), orderBy)


@connection("User.pullRequests")
def _pulls(
    user: UserRecord, session: HubSession, *, states: list[str] | None = None, orderBy: Any = None  # noqa: ANN401, N803
) -> list[IssueRecord]:  # fmt: skip
    pulls = session.state.where(PullRequestRecord, author=user.id)
    return in_order(with_states(_readable(session, pulls), states), orderBy)


def _readable(session: HubSession, subjects: list[Any]) -> list[Any]:
    need = session.state.need
    return [subject for subject in subjects if session.may(need(RepositoryRecord, subject.repository), "read")]


@connection("Organization.membersWithRole")
def _members(organization: UserRecord, session: HubSession) -> list[UserRecord]:
    owned = session.state.where(RepositoryRecord, owner=organization.id)
    ids = dict.fromkeys(user for repository in owned for user, _ in repository.permissions)
    return [session.state.need(UserRecord, id_) for id_ in ids]


@field("Organization.viewerIsAMember", "Organization.viewerCanCreateRepositories")
def _is_member(organization: UserRecord, session: HubSession) -> bool:
    return session.viewer is not None and session.viewer in _members(organization, session)


@field("Organization.viewerCanAdminister")
def _may_administer(organization: UserRecord, session: HubSession) -> bool:
    owned = session.state.where(RepositoryRecord, owner=organization.id)
    return any(session.may(repository, "admin") for repository in owned)


for _kind in _OWNERS:
    constants(_kind, websiteUrl=None, location=None, twitterUsername=None, viewerIsFollowing=False, project=None,
              projectV2=None)  # fmt: skip
constants("User", bio=None, company=None, status=None, isSiteAdmin=False, isHireable=False, isEmployee=False,
          pronouns=None)  # fmt: skip
constants("User", organization=None)
constants("Organization", team=None, ruleset=None, description=None, isVerified=False)
no_items("User.organizations", "Organization.teams", "User.followers", "User.following", "User.starredRepositories",
         "User.gists", "User.projectsV2", "Organization.projectsV2", "User.projects", "Organization.projects",
         "User.publicKeys", "User.watching", "User.sponsoring", "User.sponsors", "User.pinnedItems",
         "Organization.rulesets")  # fmt: skip


@connection("User.topRepositories")
def _top_repositories(
    user: UserRecord,
    session: HubSession,
    *,
    orderBy: Any = None,  # noqa: ANN401, N803 GitHub's name
    since: str | None = None,  # noqa: ARG001 contributions are not dated
) -> list[RepositoryRecord]:
    return in_order(visible_repositories(session, user), orderBy)
