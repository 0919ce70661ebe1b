"""JSON of a repository, as GitHub's "minimal repository" and "full repository"."""

from typing import Any, Final

from scylla_gha.hub.addresses import API, SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.operations.repository_facts import (
    forks_of,
    languages,
    open_subjects,
    size_in_kilobytes,
    source_of,
)
from scylla_gha.hub.records import RepositoryRecord, UserRecord
from scylla_gha.hub.rest.present import ids, time, user

_URLS: Final = {
    "archive": "{archive_format}{/ref}", "assignees": "assignees{/user}", "blobs": "git/blobs{/sha}",
    "branches": "branches{/branch}", "collaborators": "collaborators{/collaborator}", "comments": "comments{/number}",
    "commits": "commits{/sha}", "compare": "compare/{base}...{head}", "contents": "contents/{+path}",
    "contributors": "contributors", "deployments": "deployments", "downloads": "downloads", "events": "events",
    "forks": "forks", "git_commits": "git/commits{/sha}", "git_refs": "git/refs{/sha}", "git_tags": "git/tags{/sha}",
    "hooks": "hooks", "issue_comment": "issues/comments{/number}", "issue_events": "issues/events{/number}",
    "issues": "issues{/number}", "keys": "keys{/key_id}", "labels": "labels{/name}", "languages": "languages",
    "merges": "merges", "milestones": "milestones{/number}",
    "notifications": "notifications{?since,all,participating}", "pulls": "pulls{/number}", "releases": "releases{/id}",
    "stargazers": "stargazers", "statuses": "statuses/{sha}", "subscribers": "subscribers",
    "subscription": "subscription", "tags": "tags", "teams": "teams", "trees": "git/trees{/sha}",
}  # fmt: skip
MERGE_TEXTS: Final = {
    "use_squash_pr_title_as_default": False,
    "squash_merge_commit_title": "COMMIT_OR_PR_TITLE",
    "squash_merge_commit_message": "COMMIT_MESSAGES",
    "merge_commit_title": "MERGE_MESSAGE",
    "merge_commit_message": "PR_TITLE",
}
_SETTINGS: Final = (
    "allow_merge_commit",
    "allow_squash_merge",
    "allow_rebase_merge",
    "allow_auto_merge",
    "allow_update_branch",
    "delete_branch_on_merge",
)


def api_url(session: HubSession, repository: RepositoryRecord) -> str:
    """Return the URL of a repository in the REST API."""
    return f"{API}/repos/{session.state.full_name(repository)}"


def site_url(session: HubSession, repository: RepositoryRecord) -> str:
    """Return the URL of a repository's page."""
    return f"{SITE}/{session.state.full_name(repository)}"


def minimal_repository(session: HubSession, repository: RepositoryRecord) -> dict[str, Any]:
    """Return a repository as lists and other objects have it."""
    full_name = session.state.full_name(repository)
    url, page = api_url(session, repository), site_url(session, repository)
    return {
        **ids(repository),
        "name": repository.name,
        "full_name": full_name,
        "private": repository.private,
        "owner": user(session.state.need(UserRecord, repository.owner)),
        "html_url": page,
        "description": repository.description,
        "fork": repository.parent is not None,
        "url": url,
        **{f"{name}_url": f"{url}/{path}" for name, path in _URLS.items()},
        "git_url": f"git://github.com/{full_name}.git",
        "ssh_url": f"git@github.com:{full_name}.git",
        "clone_url": f"{page}.git",
        "svn_url": page,
        "mirror_url": None,
        **_facts(session, repository),
        **_switches(repository),
        "permissions": permissions(session, repository),
    }


def _facts(session: HubSession, repository: RepositoryRecord) -> dict[str, Any]:
    forks, issues = len(forks_of(session, repository)), open_subjects(session, repository)
    return {
        "created_at": time(repository.created_at),
        "updated_at": time(repository.updated_at),
        "pushed_at": time(repository.pushed_at),
        "homepage": repository.homepage,
        "size": size_in_kilobytes(session, repository),
        "stargazers_count": 0,
        "watchers_count": 0,
        "language": next(iter(languages(session, repository)), None),
        "forks_count": forks,
        "open_issues_count": issues,
        "license": None,
        "topics": list(repository.topics),
        "visibility": "private" if repository.private else "public",
        "forks": forks,
        "open_issues": issues,
        "watchers": 0,
        "default_branch": repository.default_branch,
    }


def _switches(repository: RepositoryRecord) -> dict[str, Any]:
    return {
        "has_issues": repository.has_issues,
        "has_projects": repository.has_projects,
        "has_downloads": True,
        "has_wiki": repository.has_wiki,
        "has_pages": False,
        "has_discussions": repository.has_discussions,
        "archived": repository.archived,
        "disabled": False,
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
    }


def permissions(session: HubSession, repository: RepositoryRecord) -> dict[str, bool]:
    """Return which permissions the user has; of one, also the lower ones."""
    return {
        "admin": session.may(repository, "admin"),
        "maintain": session.may(repository, "maintain"),
        "push": session.may(repository, "write"),
        "triage": session.may(repository, "triage"),
        "pull": session.may(repository, "read"),
    }


def full_repository(session: HubSession, repository: RepositoryRecord) -> dict[str, Any]:
    """Return a repository as it is answered by itself; how merges are done is for those who may push."""
    state = session.state
    body: dict[str, Any] = {
        **minimal_repository(session, repository),
        "temp_clone_token": "" if session.viewer else None,
        "network_count": len(forks_of(session, source_of(session, repository) or repository)),
        "subscribers_count": 0,
    }
    if session.may(repository, "write"):
        body |= {**{name: getattr(repository, name) for name in _SETTINGS}, **MERGE_TEXTS}
    owner = state.need(UserRecord, repository.owner)
    if owner.kind == "Organization":
        body["organization"] = user(owner)
    parent, source = state.get(RepositoryRecord, repository.parent), source_of(session, repository)
    if parent is not None and source is not None:
        body |= {"parent": minimal_repository(session, parent), "source": minimal_repository(session, source)}
    return body
