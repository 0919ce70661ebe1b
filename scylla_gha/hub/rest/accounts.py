"""Accounts: the user, other users, organizations, collaborators; and what the API says of itself."""

from collections import Counter
from typing import Any, Final

from scylla_gha.hub.addresses import API, SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError, invalid, not_found
from scylla_gha.hub.operations.repositories import account, set_collaborator
from scylla_gha.hub.operations.repository_facts import collaborators_of, user_of
from scylla_gha.hub.rate_usage import LIMITS
from scylla_gha.hub.records import Permission, RepositoryRecord, UserRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.present import time, user
from scylla_gha.hub.rest.repositories import roles
from scylla_gha.hub.rest.repository_json import permissions

_REPO: Final = "/repos/{owner}/{repo}"
SCOPES: Final = {"X-OAuth-Scopes": "gist, read:org, repo, workflow", "X-Accepted-OAuth-Scopes": ""}
_PERMISSIONS: Final[dict[str, Permission]] = {
    "pull": "read", "triage": "triage", "push": "write", "maintain": "maintain", "admin": "admin",
}  # fmt: skip
_ROOT: Final = {
    "current_user_url": f"{API}/user",
    "current_user_authorizations_html_url": f"{SITE}/settings/connections/applications{{/client_id}}",
    "authorizations_url": f"{API}/authorizations",
    "code_search_url": f"{API}/search/code?q={{query}}{{&page,per_page,sort,order}}",
    "commit_search_url": f"{API}/search/commits?q={{query}}{{&page,per_page,sort,order}}",
    "emails_url": f"{API}/user/emails",
    "emojis_url": f"{API}/emojis",
    "events_url": f"{API}/events",
    "feeds_url": f"{API}/feeds",
    "followers_url": f"{API}/user/followers",
    "following_url": f"{API}/user/following{{/target}}",
    "gists_url": f"{API}/gists{{/gist_id}}",
    "issue_search_url": f"{API}/search/issues?q={{query}}{{&page,per_page,sort,order}}",
    "issues_url": f"{API}/issues",
    "keys_url": f"{API}/user/keys",
    "label_search_url": f"{API}/search/labels?q={{query}}&repository_id={{repository_id}}{{&page,per_page}}",
    "notifications_url": f"{API}/notifications",
    "organization_url": f"{API}/orgs/{{org}}",
    "organization_repositories_url": f"{API}/orgs/{{org}}/repos{{?type,page,per_page,sort}}",
    "organization_teams_url": f"{API}/orgs/{{org}}/teams",
    "public_gists_url": f"{API}/gists/public",
    "rate_limit_url": f"{API}/rate_limit",
    "repository_url": f"{API}/repos/{{owner}}/{{repo}}",
    "repository_search_url": f"{API}/search/repositories?q={{query}}{{&page,per_page,sort,order}}",
    "current_user_repositories_url": f"{API}/user/repos{{?type,page,per_page,sort}}",
    "starred_url": f"{API}/user/starred{{/owner}}{{/repo}}",
    "starred_gists_url": f"{API}/gists/starred",
    "user_url": f"{API}/users/{{user}}",
    "user_organizations_url": f"{API}/user/orgs",
    "user_repositories_url": f"{API}/users/{{user}}/repos{{?type,page,per_page,sort}}",
    "user_search_url": f"{API}/search/users?q={{query}}{{&page,per_page,sort,order}}",
}


@route("GET", "/")
def get_root(request: RestRequest) -> RestAnswer:
    """Return the addresses of the API; the header names the scopes of the token, which gh shows."""
    return RestAnswer(200, _ROOT, headers=SCOPES if request.session.viewer else {})


@route("GET", "/meta")
def get_meta(request: RestRequest) -> RestAnswer:  # noqa: ARG001 the same for all
    """Return what is known of the installation; the hub has no addresses."""
    return RestAnswer(200, {"verifiable_password_authentication": False})


@route("GET", "/rate_limit")
def get_rate_limit(request: RestRequest) -> RestAnswer:
    """Return what the user has used of each limit."""
    login = request.session.viewer.login if request.session.viewer else None
    limits = {}
    for name in LIMITS:
        use = request.session.hub.usage.of(login, name)
        limits[name] = {"limit": use.limit, "used": use.used, "remaining": use.remaining, "reset": use.reset,
                        "resource": name}  # fmt: skip
    return RestAnswer(200, {"resources": limits, "rate": limits["core"]})


@route("GET", "/user")
def get_own(request: RestRequest) -> RestAnswer:
    """Return the user, with what only the user sees."""
    owned = request.session.state.where(RepositoryRecord, owner=request.user.id)
    private = sum(record.private for record in owned)
    own = {
        **_profile(request.session, request.user),
        "private_gists": 0,
        "total_private_repos": private,
        "owned_private_repos": private,
        "disk_usage": 0,
        "collaborators": 0,
        "two_factor_authentication": True,
    }
    return RestAnswer(200, own, headers=SCOPES)


@route("GET", "/users/{username}")
def get_user(request: RestRequest) -> RestAnswer:
    """Return a user or an organization."""
    return RestAnswer(200, _profile(request.session, account(request.session, request.params["username"])))


def _profile(session: HubSession, who: UserRecord) -> dict[str, Any]:
    return {
        **user(who),
        "name": who.name,
        "company": None,
        "blog": "",
        "location": None,
        "email": who.email,
        "hireable": None,
        "bio": None,
        "twitter_username": None,
        "public_repos": _public_repositories(session, who),
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": time(who.created_at),
        "updated_at": time(who.created_at),
    }


def _public_repositories(session: HubSession, who: UserRecord) -> int:
    return len(session.state.where(RepositoryRecord, owner=who.id, private=False))


def _organization(session: HubSession, login: str) -> UserRecord:
    who = account(session, login)
    if who.kind != "Organization":
        raise not_found()
    return who


def _simple_organization(who: UserRecord) -> dict[str, Any]:
    names = ("login", "id", "node_id", "avatar_url")
    url = f"{API}/orgs/{who.login}"
    return {
        **{name: value for name, value in user(who).items() if name in names},
        "url": url,
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events",
        "hooks_url": f"{url}/hooks",
        "issues_url": f"{url}/issues",
        "members_url": f"{url}/members{{/member}}",
        "public_members_url": f"{url}/public_members{{/member}}",
        "description": None,
    }


@route("GET", "/orgs/{org}")
def get_organization(request: RestRequest) -> RestAnswer:
    """Return an organization."""
    who = _organization(request.session, request.params["org"])
    body = {
        **_simple_organization(who),
        **({"name": who.name} if who.name else {}),
        "has_organization_projects": True,
        "has_repository_projects": True,
        "public_repos": _public_repositories(request.session, who),
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "html_url": f"{SITE}/{who.login}",
        "type": who.kind,
        "created_at": time(who.created_at),
        "updated_at": time(who.created_at),
        "archived_at": None,
    }
    return RestAnswer(200, body)


@route("GET", "/user/orgs", "/users/{username}/orgs")
def list_organizations(request: RestRequest) -> RestAnswer:
    """List the organizations in one of whose repositories somebody may write."""
    session = request.session
    who = account(session, request.params["username"]) if "username" in request.params else request.user
    owners = {
        record.owner
        for record in session.state.where(RepositoryRecord)
        if dict(record.permissions).get(who.id) in ("write", "maintain", "admin")
    }
    accounts = [session.state.need(UserRecord, owner) for owner in sorted(owners)]
    return request.page([owner for owner in accounts if owner.kind == "Organization"], _simple_organization)


# Collaborators


def _collaborator(session: HubSession, repository: RepositoryRecord, who: UserRecord) -> dict[str, Any]:
    own = HubSession(session.hub, who)
    return {**user(who), "permissions": permissions(own, repository),
            "role_name": roles(session, repository, who)["role_name"]}  # fmt: skip


@route("GET", f"{_REPO}/collaborators")
def list_collaborators(request: RestRequest) -> RestAnswer:
    """List those who were given a permission."""
    repository = request.repository("write", "Must have push access to view repository collaborators.")
    people = collaborators_of(request.session, repository)
    if wanted := request.query.get("permission"):
        if wanted not in _PERMISSIONS:
            raise invalid("Repository", "permission")
        people = [who for who in people if permissions(HubSession(request.session.hub, who), repository)[wanted]]
    return request.page(people, lambda who: _collaborator(request.session, repository, who))


@route("GET", f"{_REPO}/collaborators/{{username}}")
def check_collaborator(request: RestRequest) -> RestAnswer:
    """Answer 204 if somebody is a collaborator."""
    repository = request.repository("write", "Must have push access to view repository collaborators.")
    who = account(request.session, request.params["username"])
    if who not in collaborators_of(request.session, repository):
        raise HubError(404, f"{who.login} is not a user")
    return RestAnswer(204)


@route("GET", f"{_REPO}/collaborators/{{username}}/permission")
def get_permission(request: RestRequest) -> RestAnswer:
    """Return what somebody may do."""
    repository = request.repository("write", "Must have push access to view collaborator permission.")
    who = account(request.session, request.params["username"])
    body = {**roles(request.session, repository, who), "user": _collaborator(request.session, repository, who)}
    return RestAnswer(200, body)


@route("PUT", f"{_REPO}/collaborators/{{username}}")
def add_collaborator(request: RestRequest) -> RestAnswer:
    """Give somebody a permission. Only where no invitation has to be accepted: to who has one, or in organizations."""
    repository = request.repository()
    who = account(request.session, request.params["username"])
    permission = _PERMISSIONS.get(request.optional("permission", str) or "push")
    if permission is None:
        raise invalid("Repository", "permission")
    owner = request.session.state.need(UserRecord, repository.owner)
    if owner.kind != "Organization" and who.id not in dict(repository.permissions):
        raise ContractGapError("An invitation to a repository")
    set_collaborator(request.session, repository, who, permission)
    return RestAnswer(204)


@route("DELETE", f"{_REPO}/collaborators/{{username}}")
def remove_collaborator(request: RestRequest) -> RestAnswer:
    """Take a permission away."""
    set_collaborator(request.session, request.repository(), account(request.session, request.params["username"]), None)
    return RestAnswer(204)


@route("GET", f"{_REPO}/contributors")
def list_contributors(request: RestRequest) -> RestAnswer:
    """List the authors of the default branch's commits that have an account, those with most commits first."""
    repository, session = request.repository(), request.session
    git = session.git(repository)
    tip = git.branch(repository.default_branch)
    authors = [user_of(session, commit.author) for commit in (git.log(tip) if tip else ())]
    counts = Counter(author for author in authors if author is not None)
    return request.page(counts.most_common(), lambda item: {**user(item[0]), "contributions": item[1]})
