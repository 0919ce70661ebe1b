"""Contents of repositories: files, folders, the README."""

import mimetypes
import posixpath
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError, not_found
from scylla_gha.hub.git_store import GitTreeEntry
from scylla_gha.hub.operations.contents import CommitText, FileChange, commit_file
from scylla_gha.hub.operations.git_data import signature_of
from scylla_gha.hub.operations.repository_facts import readme_of
from scylla_gha.hub.operations.revisions import commit_at
from scylla_gha.hub.records import RepositoryRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.commit_json import git_commit
from scylla_gha.hub.rest.git_data import decoded
from scylla_gha.hub.rest.media import as_media, base64_lines, media_type
from scylla_gha.hub.rest.repository_json import api_url, site_url

_REPO: Final = "/repos/{owner}/{repo}"
_PATH: Final = f"{_REPO}/contents/{{path}}"
_MOST_SHOWN: Final = 1_048_576
_LINK: Final = "120000"
_LINKS_FOLLOWED: Final = 5


class _Revision:
    """Repository at a commit that a request names by `ref`, the default branch without one."""

    def __init__(self, request: RestRequest) -> None:
        self.session: HubSession = request.session
        self.repository: RepositoryRecord = request.repository()
        self.git = self.session.git(self.repository)
        self.ref = request.query.get("ref") or self.repository.default_branch
        commit = commit_at(self.session, self.repository, self.ref)
        if commit is None:
            empty = not self.git.branches()
            raise HubError(404, "This repository is empty." if empty else f"No commit found for the ref {self.ref}")
        self.commit: str = commit

    def entry(self, path: str) -> GitTreeEntry:
        """Return a path with its whole name; 404 if there is none."""
        folder, _, name = path.rpartition("/")
        if any(part in ("", ".", "..") for part in path.split("/")) or "\n" in path:
            raise not_found()
        if self.git.kind_of(f"{self.commit}:{folder}") != "tree":
            raise not_found()
        entries = self.git.tree(f"{self.commit}:{folder}")
        entry = next((entry for entry in entries if entry.path == name), None)
        if entry is None:
            raise not_found()
        return GitTreeEntry(entry.mode, entry.kind, entry.sha, path, entry.size)

    def children(self, path: str) -> list[GitTreeEntry]:
        """Return what is in a folder."""
        prefix = f"{path}/" if path else ""
        return [GitTreeEntry(entry.mode, entry.kind, entry.sha, prefix + entry.path, entry.size)
                for entry in self.git.tree(f"{self.commit}:{path}")]  # fmt: skip

    def target(self, entry: GitTreeEntry) -> GitTreeEntry:
        """Return the file of the repository that a symbolic link leads to; else the link."""
        current = entry
        for _ in range(_LINKS_FOLLOWED):
            if current.mode != _LINK:
                return current
            text = (self.git.content(current.sha) or b"").decode(errors="replace")
            path = posixpath.normpath(posixpath.join(posixpath.dirname(current.path), text))
            try:
                current = self.entry(path)
            except HubError:
                return entry
        return entry


@route("GET", f"{_REPO}/contents", _PATH)
def get_contents(request: RestRequest) -> RestAnswer:
    """Return a file, or list a folder."""
    revision, path = _Revision(request), request.params.get("path", "").strip("/")
    entry = revision.entry(path) if path else None
    if entry is not None and entry.kind != "tree":
        return _file_answer(request, revision, revision.target(entry))
    listed = [_listed(revision, child) for child in revision.children(path)]
    if media_type(request) == "object":
        name = entry or GitTreeEntry("040000", "tree", revision.git.commit(revision.commit).tree, "", None)
        return RestAnswer(200, {**_names(revision, name), "entries": listed})
    return RestAnswer(200, listed)


@route("GET", f"{_REPO}/readme", f"{_REPO}/readme/{{dir}}")
def get_readme(request: RestRequest) -> RestAnswer:
    """Return the README, of a folder too."""
    revision = _Revision(request)
    readme = readme_of(request.session, revision.repository, revision.commit, request.params.get("dir", "").strip("/"))
    if readme is None:
        raise not_found()
    return _file_answer(request, revision, revision.target(revision.entry(readme.path)))


# What raw.githubusercontent.com is for github.com; an installation of its own has it below /raw.
@route("GET", "/raw/{owner}/{repo}/{path}")
def get_raw(request: RestRequest) -> RestAnswer:
    """Return a file as it is; the path begins with a branch, tag, commit or full ref."""
    parts = request.params["path"].split("/")
    git = request.session.git(request.repository())
    lengths = (length for length in range(1, len(parts)) if git.resolve("/".join(parts[:length])))
    length = next(lengths, None)
    if length is None:
        raise not_found()
    revision = _Revision(replace(request, query={"ref": "/".join(parts[:length])}))
    entry = revision.target(revision.entry("/".join(parts[length:])))
    content = revision.git.content(entry.sha) if entry.kind == "blob" else None
    if content is None:
        raise not_found()
    kind = "application/octet-stream" if b"\x00" in content[:8000] else "text/plain; charset=utf-8"
    return RestAnswer(200, content=content, content_type=mimetypes.guess_type(entry.path)[0] or kind
                      if kind.startswith("application") else kind)  # fmt: skip


def _file_answer(request: RestRequest, revision: _Revision, entry: GitTreeEntry) -> RestAnswer:
    kind = media_type(request)
    if kind == "html":
        raise ContractGapError("A file as HTML")
    content = revision.git.content(entry.sha) if entry.kind == "blob" else None
    if kind == "raw" and content is not None:
        return as_media("raw", content)
    body = _names(revision, entry)
    if entry.mode == _LINK:
        return RestAnswer(200, {**body, "type": "symlink", "target": (content or b"").decode(errors="replace")})
    if content is None:
        return RestAnswer(200, {**body, "type": "submodule", "submodule_git_url": None})
    is_shown = len(content) <= _MOST_SHOWN
    shown = {"content": base64_lines(content) if is_shown else "", "encoding": "base64" if is_shown else "none"}
    return RestAnswer(200, {**body, **shown})


def _listed(revision: _Revision, entry: GitTreeEntry) -> dict[str, Any]:
    return {**_names(revision, entry), **({"type": "symlink"} if entry.mode == _LINK else {})}


def _names(revision: _Revision, entry: GitTreeEntry) -> dict[str, Any]:
    """Return what files and folders have in common; a submodule is listed as a file, as GitHub does."""
    url, page = api_url(revision.session, revision.repository), site_url(revision.session, revision.repository)
    path, ref, is_folder = quote(entry.path), quote(revision.ref), entry.kind == "tree"
    own = f"{url}/contents/{path}?ref={quote(revision.ref, safe='')}"
    git_url = None if entry.kind == "commit" else f"{url}/git/{entry.kind}s/{entry.sha}"
    html = f"{page}/{'tree' if is_folder else 'blob'}/{ref}/{path}"
    raw = f"https://raw.githubusercontent.com/{revision.session.state.full_name(revision.repository)}/{ref}/{path}"
    return {
        "name": posixpath.basename(entry.path),
        "path": entry.path,
        "sha": entry.sha,
        "size": entry.size or 0,
        "url": own,
        "html_url": html,
        "git_url": git_url,
        "download_url": raw if entry.kind == "blob" else None,
        "type": "dir" if is_folder else "file",
        "_links": {"self": own, "git": git_url, "html": html},
    }


@route("PUT", _PATH)
def put_contents(request: RestRequest) -> RestAnswer:
    """Create or change a file by a commit."""
    return _commit(request, decoded(request.needed("content", str)), request.optional("sha", str))


@route("DELETE", _PATH)
def delete_contents(request: RestRequest) -> RestAnswer:
    """Delete a file by a commit."""
    return _commit(request, None, request.needed("sha", str))


def _commit(request: RestRequest, content: bytes | None, sha: str | None) -> RestAnswer:
    repository, session, path = request.repository(), request.session, request.params["path"]
    session.require(repository, "write")
    author = signature_of(session, request.optional("author", dict) or request.optional("committer", dict))
    committer = signature_of(session, request.optional("committer", dict), author)
    text = CommitText(request.needed("message", str), author, committer)
    branch = request.optional("branch", str) or repository.default_branch
    commit, is_new = commit_file(session, repository, branch.removeprefix("refs/heads/"), FileChange(path, content),
                                 sha, text)  # fmt: skip
    read = RestRequest(session, "GET", request.path, request.params, {"ref": branch})
    revision = _Revision(read)
    body = {
        "content": None if content is None else _names(revision, revision.entry(path)),
        "commit": git_commit(session, repository, session.git(repository).commit(commit)),
    }
    return RestAnswer(201 if is_new else 200, body)
