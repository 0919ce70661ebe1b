"""Branches and tags."""

from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.git_nodes import git_node_id
from scylla_gha.hub.operations.branches import merge_branch, rename_branch
from scylla_gha.hub.operations.protection import protection_of
from scylla_gha.hub.records import ProtectionRecord, RepositoryRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.commit_json import commit, short_commit
from scylla_gha.hub.rest.repository_json import api_url, site_url

_REPO: Final = "/repos/{owner}/{repo}"


@route("GET", f"{_REPO}/branches")
def list_branches(request: RestRequest) -> RestAnswer:
    """List the branches by name; `protected` is true or false to select."""
    repository, session = request.repository(), request.session
    names = list(session.git(repository).branches())
    if (wanted := request.query.get("protected")) is not None:
        is_wanted = wanted == "true"
        names = [name for name in names if (protection_of(session, repository, name) is not None) == is_wanted]
    return request.page(names, lambda name: _branch(session, repository, name))


@route("GET", f"{_REPO}/branches/{{branch}}")
def get_branch(request: RestRequest) -> RestAnswer:
    """Return a branch with its commit."""
    repository, name = request.repository(), request.params["branch"]
    return RestAnswer(200, _whole_branch(request.session, repository, name))


def _whole_branch(session: HubSession, repository: RepositoryRecord, name: str) -> dict[str, Any]:
    tip = session.git(repository).branch(name)
    if tip is None:
        raise HubError(404, "Branch not found")
    links = {
        "self": f"{api_url(session, repository)}/branches/{name}",
        "html": f"{site_url(session, repository)}/tree/{name}",
    }
    return {**_branch(session, repository, name), "commit": commit(session, repository, tip), "_links": links}


@route("POST", f"{_REPO}/branches/{{branch}}/rename")
def rename(request: RestRequest) -> RestAnswer:
    """Give a branch a new name."""
    repository, name = request.repository(), request.needed("new_name", str)
    rename_branch(request.session, repository, request.params["branch"], name)
    return RestAnswer(201, _whole_branch(request.session, repository, name))


@route("POST", f"{_REPO}/merges")
def merge(request: RestRequest) -> RestAnswer:
    """Merge a branch, tag or commit into a branch."""
    repository, session = request.repository(), request.session
    sha = merge_branch(session, repository, request.needed("base", str), request.needed("head", str),
                       request.optional("commit_message", str))  # fmt: skip
    return RestAnswer(204) if sha is None else RestAnswer(201, commit(session, repository, sha))


def _branch(session: HubSession, repository: RepositoryRecord, name: str) -> dict[str, Any]:
    rule = protection_of(session, repository, name)
    return {
        "name": name,
        "commit": short_commit(session, repository, session.git(repository).branches()[name]),
        "protected": rule is not None,
        "protection": _summary(rule),
        "protection_url": f"{api_url(session, repository)}/branches/{name}/protection",
    }


def _summary(rule: ProtectionRecord | None) -> dict[str, Any]:
    checks = rule.required_checks if rule else ()
    level = "off" if rule is None or not checks else "everyone" if rule.enforce_admins else "non_admins"
    required = {
        "enforcement_level": level,
        "contexts": list(checks),
        "checks": [{"context": name, "app_id": None} for name in checks],
    }
    return {"enabled": rule is not None, "required_status_checks": required}


# The hub keeps protection of branches, and no rulesets.
@route("GET", f"{_REPO}/rules/branches/{{branch}}")
def list_rules(request: RestRequest) -> RestAnswer:
    """List the rules of rulesets on a branch: none."""
    request.repository()
    return RestAnswer(200, [])


@route("GET", f"{_REPO}/tags")
def list_tags(request: RestRequest) -> RestAnswer:
    """List the tags, the last by name first."""
    repository, session = request.repository(), request.session
    tags = session.git(repository).tags()
    url = api_url(session, repository)

    def present(name: str) -> dict[str, Any]:
        return {
            "name": name,
            "commit": short_commit(session, repository, tags[name]),
            "zipball_url": f"{url}/zipball/refs/tags/{name}",
            "tarball_url": f"{url}/tarball/refs/tags/{name}",
            "node_id": git_node_id("REF", repository.id, f"refs/tags/{name}"),
        }

    return request.page(sorted(tags, reverse=True), present)
