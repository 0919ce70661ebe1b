"""Repositories: reading, lists, creation, settings, topics, languages, forks."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError
from scylla_gha.hub.operations.forks import fork_repository, merge_upstream
from scylla_gha.hub.operations.repositories import (
    ADMIN_NEEDED,
    account,
    change_settings,
    create_repository,
    set_topics,
)
from scylla_gha.hub.operations.repository_facts import forks_of, languages, permission_of
from scylla_gha.hub.records import RepositoryRecord, UserRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.repository_json import MERGE_TEXTS, full_repository, minimal_repository

_REPO: Final = "/repos/{owner}/{repo}"
_TEXTS: Final = ("description", "homepage", "default_branch")
_SWITCHES: Final = (
    "private", "has_issues", "has_projects", "has_wiki", "has_discussions", "allow_merge_commit",
    "allow_squash_merge", "allow_rebase_merge", "allow_auto_merge", "allow_update_branch", "delete_branch_on_merge",
    "archived",
)  # fmt: skip
# Settings that the hub does not keep, with the value that they always have.
_FIXED: Final = {**MERGE_TEXTS, "is_template": False, "allow_forking": True, "web_commit_signoff_required": False,
                 "has_downloads": True, "has_pull_requests": True, "pull_request_creation_policy": "all",
                 "security_and_analysis": None, "gitignore_template": "", "license_template": ""}  # fmt: skip
_SORTS: Final = {
    "created": lambda record: record.created_at,
    "updated": lambda record: record.updated_at,
    "pushed": lambda record: record.pushed_at,
    "full_name": lambda record: record.name.casefold(),
}


@route("GET", _REPO)
def get_repository(request: RestRequest) -> RestAnswer:
    """Return a repository."""
    return RestAnswer(200, full_repository(request.session, request.repository()))


@route("PATCH", _REPO)
def edit_repository(request: RestRequest) -> RestAnswer:
    """Change settings of a repository, or its name."""
    changes = _settings(request)
    if name := request.optional("name", str):
        changes["name"] = name
    repository = change_settings(request.session, request.repository(), **changes)
    return RestAnswer(200, full_repository(request.session, repository))


@route("DELETE", _REPO)
def delete_repository(request: RestRequest) -> RestAnswer:
    """Refuse to delete a repository: tokens of the hub have not the scope `delete_repo`, as those of gh by default."""
    request.repository()
    raise HubError(403, ADMIN_NEEDED)


def _settings(request: RestRequest) -> dict[str, Any]:
    for name, value in _FIXED.items():
        if request.body.get(name) not in (None, value):
            raise ContractGapError(f"The repository setting {name}")
    settings: dict[str, Any] = {name: request.optional(name, str) for name in _TEXTS if request.has(name)}
    settings |= {name: value for name in _SWITCHES if (value := request.optional(name, bool)) is not None}
    visibility = request.optional("visibility", str)
    if visibility is not None:
        if visibility not in ("public", "private"):
            raise HubError(422, f"Invalid visibility: {visibility:.40}")
        settings["private"] = visibility == "private"
    return {name: value or None if name in _TEXTS else value for name, value in settings.items()}


@route("POST", "/user/repos")
def create_own(request: RestRequest) -> RestAnswer:
    """Create a repository of the user."""
    return _create(request, request.user)


@route("POST", "/orgs/{org}/repos")
def create_in_organization(request: RestRequest) -> RestAnswer:
    """Create a repository of an organization."""
    return _create(request, account(request.session, request.params["org"]))


def _create(request: RestRequest, owner: UserRecord) -> RestAnswer:
    settings = _settings(request)
    settings.pop("default_branch", None)
    repository = create_repository(request.session, owner, request.needed("name", str),
                                   readme=request.optional("auto_init", bool) or False, **settings)  # fmt: skip
    return RestAnswer(201, full_repository(request.session, repository))


@route("GET", "/user/repos")
def list_own(request: RestRequest) -> RestAnswer:
    """List the repositories that the user owns or was given a permission in."""
    user = request.user
    records = request.session.state.where(RepositoryRecord)
    mine = [record for record in records if record.owner == user.id or user.id in dict(record.permissions)]
    if (visibility := request.query.get("visibility", "all")) != "all":
        mine = [record for record in mine if record.private == (visibility == "private")]
    relations = request.query.get("affiliation", "owner,collaborator,organization_member").split(",")
    if request.query.get("type") == "owner" or relations == ["owner"]:
        mine = [record for record in mine if record.owner == user.id]
    return _list(request, mine, "full_name")


@route("GET", "/users/{username}/repos", "/orgs/{org}/repos")
def list_of_account(request: RestRequest) -> RestAnswer:
    """List the repositories of a user or an organization."""
    owner = account(request.session, request.params.get("username") or request.params["org"])
    records = request.session.state.where(RepositoryRecord, owner=owner.id)
    default = "created" if "org" in request.params else "full_name"
    return _list(request, [*_of_kind(records, request.query.get("type"))], default)


def _of_kind(records: Iterable[RepositoryRecord], kind: str | None) -> Iterable[RepositoryRecord]:
    tests = {"public": lambda record: not record.private, "private": lambda record: record.private,
             "forks": lambda record: record.parent is not None, "sources": lambda record: record.parent is None,
             "member": lambda record: False}  # noqa: ARG005 nobody owns what is another's  # fmt: skip
    return filter(tests.get(kind or "", lambda record: True), records)  # noqa: ARG005 all others


def _list(request: RestRequest, records: Sequence[RepositoryRecord], default: str) -> RestAnswer:
    sort = request.query.get("sort", default)
    key = _SORTS.get(sort, _SORTS[default])
    ascending = request.query.get("direction", "asc" if sort == "full_name" else "desc") == "asc"
    readable = [record for record in records if request.session.may(record, "read")]
    ordered = sorted(readable, key=key, reverse=not ascending)
    return request.page(ordered, lambda record: minimal_repository(request.session, record))


@route("GET", f"{_REPO}/topics")
def get_topics(request: RestRequest) -> RestAnswer:
    """Return the topics of a repository."""
    return RestAnswer(200, {"names": list(request.repository().topics)})


@route("PUT", f"{_REPO}/topics")
def put_topics(request: RestRequest) -> RestAnswer:
    """Replace the topics of a repository."""
    names = request.texts("names")
    if names is None:
        raise HubError(422, 'Invalid request.\n\n"names" wasn\'t supplied.')
    repository = set_topics(request.session, request.repository(), names)
    return RestAnswer(200, {"names": list(repository.topics)})


@route("GET", f"{_REPO}/languages")
def get_languages(request: RestRequest) -> RestAnswer:
    """Return the languages of a repository with their bytes."""
    return RestAnswer(200, languages(request.session, request.repository()))


@route("GET", f"{_REPO}/forks")
def list_forks(request: RestRequest) -> RestAnswer:
    """List the forks of a repository."""
    forks = forks_of(request.session, request.repository())
    if request.query.get("sort") == "oldest":
        forks.reverse()
    return request.page(forks, lambda record: minimal_repository(request.session, record))


@route("POST", f"{_REPO}/forks")
def create_fork(request: RestRequest) -> RestAnswer:
    """Fork a repository; here it is done when the answer comes."""
    organization = request.optional("organization", str)
    owner = account(request.session, organization) if organization else request.user
    fork = fork_repository(request.session, request.repository(), owner, name=request.optional("name", str),
                           default_branch_only=request.optional("default_branch_only", bool) or False)  # fmt: skip
    return RestAnswer(202, full_repository(request.session, fork))


@route("POST", f"{_REPO}/merge-upstream")
def sync_fork(request: RestRequest) -> RestAnswer:
    """Bring a branch of a fork up to date with its upstream."""
    branch = request.needed("branch", str)
    sync = merge_upstream(request.session, request.repository(), branch)
    texts = {
        "none": f"This branch is not behind the upstream {sync.upstream}.",
        "fast-forward": f"Successfully fetched and fast-forwarded from upstream {sync.upstream}.",
        "merge": f"Successfully fetched and merged from upstream {sync.upstream}.",
    }
    return RestAnswer(200, {"message": texts[sync.kind], "merge_type": sync.kind, "base_branch": sync.upstream})


def roles(session: HubSession, repository: RepositoryRecord, user: UserRecord) -> dict[str, Any]:
    """Return what GitHub says of somebody's permission in a repository."""
    role = permission_of(session, repository, user) or "none"
    return {"role_name": role, "permission": {"maintain": "write", "triage": "read"}.get(role, role)}
