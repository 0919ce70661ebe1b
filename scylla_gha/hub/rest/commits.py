"""Commits and comparisons."""

import datetime
from typing import Any, Final

from scylla_gha.hub.errors import HubError, not_found
from scylla_gha.hub.git_store import GitRepository, is_sha
from scylla_gha.hub.operations.commit_facts import CommitFilter, commits_from, compare, pulls_with
from scylla_gha.hub.operations.git_data import filled_git
from scylla_gha.hub.operations.protection import protection_of
from scylla_gha.hub.operations.revisions import commit_at
from scylla_gha.hub.records import RepositoryRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.commit_json import EMPTY_TREE, changed_file, commit, full_commit, short_commit
from scylla_gha.hub.rest.media import as_media, media_type
from scylla_gha.hub.rest.pull_json import pull_json
from scylla_gha.hub.rest.repository_json import api_url, site_url

_REPO: Final = "/repos/{owner}/{repo}"
_MOST_FILES: Final = 300
_MOST_COMMITS: Final = 250


def commit_named(request: RestRequest, repository: RepositoryRecord, name: str) -> str:
    """Return the commit of a branch, a tag or a SHA.

    Raises:
        HubError: 422, there is none.
    """
    sha = commit_at(request.session, repository, name)
    if sha is None:
        raise HubError(422, f"No commit found for SHA: {name[:250]}")
    return sha


@route("GET", f"{_REPO}/commits")
def list_commits(request: RestRequest) -> RestAnswer:
    """List the commits of a branch, the newest first."""
    repository, session, query = request.repository(), request.session, request.query
    filled_git(session, repository)
    start = commit_at(session, repository, query.get("sha") or "HEAD")
    if start is None:
        raise not_found()
    wanted = CommitFilter(query.get("path"), query.get("author"), query.get("committer"),
                          _time(query.get("since")), _time(query.get("until")))  # fmt: skip
    commits = commits_from(session, repository, start, wanted)
    return request.page(commits, lambda record: commit(session, repository, record.sha))


def _time(text: str | None) -> datetime.datetime | None:
    if not text:
        return None
    try:
        time = datetime.datetime.fromisoformat(text.replace(" ", "+"))
    except ValueError:
        raise HubError(422, f"Invalid date: {text[:40]}") from None
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


@route("GET", f"{_REPO}/commits/{{ref}}")
def get_commit(request: RestRequest) -> RestAnswer:
    """Return a commit with its files; as diff, patch or SHA if that is accepted."""
    repository, session = request.repository(), request.session
    git = filled_git(session, repository)
    sha = commit_named(request, repository, request.params["ref"])
    kind = media_type(request)
    if kind == "sha":
        return as_media(kind, sha)
    if kind == "diff":
        parents = git.commit(sha).parents
        return as_media(kind, git.diff(parents[0] if parents else EMPTY_TREE, sha) + "\n")
    if kind == "patch":
        return as_media(kind, _patch(git, sha))
    body = full_commit(session, repository, sha)
    return RestAnswer(200, {**body, "files": body["files"][:_MOST_FILES]})


def _patch(git: GitRepository, sha: str) -> bytes:
    return git.run("format-patch", "--stdout", "--no-signature", "--root", "-1", sha)


@route("GET", f"{_REPO}/compare/{{basehead}}")
def get_comparison(request: RestRequest) -> RestAnswer:
    """Compare two revisions, as base...head; as diff or patch if that is accepted."""
    repository, session = request.repository(), request.session
    base, mark, head = request.params["basehead"].partition("...")
    if not mark:
        raise not_found()
    git = filled_git(session, repository)
    comparison = compare(session, repository, base or repository.default_branch, head or repository.default_branch)
    kind = media_type(request)
    if kind == "diff":
        return as_media(kind, git.diff(comparison.merge_base, comparison.head) + "\n")
    if kind == "patch":
        return as_media(kind, git.format_patch(comparison.base, comparison.head) + "\n")
    page = f"{site_url(session, repository)}/compare/{request.params['basehead']}"
    body: dict[str, Any] = {
        "url": f"{api_url(session, repository)}/compare/{request.params['basehead']}",
        "html_url": page,
        "permalink_url": f"{site_url(session, repository)}/compare/{comparison.base[:7]}...{comparison.head[:7]}",
        "diff_url": f"{page}.diff",
        "patch_url": f"{page}.patch",
        "base_commit": commit(session, repository, comparison.base),
        "merge_base_commit": commit(session, repository, comparison.merge_base),
        "status": comparison.status,
        "ahead_by": comparison.ahead,
        "behind_by": comparison.behind,
        "total_commits": len(comparison.commits),
    }
    listed = request.page(comparison.commits, lambda record: commit(session, repository, record.sha))
    if not {"page", "per_page"} & request.query.keys():
        shown = comparison.commits[:_MOST_COMMITS]
        listed = RestAnswer(200, [commit(session, repository, record.sha) for record in shown])
    files = git.changed_files(comparison.merge_base, comparison.head)[:_MOST_FILES]
    changes = [changed_file(session, repository, file, comparison.head) for file in files]
    first = request.query.get("page", "1") == "1"
    return RestAnswer(200, {**body, "commits": listed.body, "files": changes if first else []}, headers=listed.headers)


@route("GET", f"{_REPO}/commits/{{commit_sha}}/pulls")
def list_pulls(request: RestRequest) -> RestAnswer:
    """List the pull requests that a commit is in."""
    repository = request.repository()
    sha = commit_named(request, repository, request.params["commit_sha"])
    pulls = pulls_with(request.session, repository, sha)
    return request.page(pulls, lambda pull: pull_json(request.session, pull))


@route("GET", f"{_REPO}/commits/{{commit_sha}}/branches-where-head")
def list_branches(request: RestRequest) -> RestAnswer:
    """List the branches whose tip is a commit."""
    repository, session, sha = request.repository(), request.session, request.params["commit_sha"]
    git = filled_git(session, repository)
    if not is_sha(sha) or git.kind_of(sha) != "commit":
        raise HubError(422, f"No commit found for SHA: {sha[:250]}")
    branches = [
        {"name": name, "commit": short_commit(session, repository, tip),
         "protected": protection_of(session, repository, name) is not None}
        for name, tip in git.branches().items() if tip == sha
    ]  # fmt: skip
    return RestAnswer(200, branches)
