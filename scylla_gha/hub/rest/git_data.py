"""Objects and refs of git."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError, not_found
from scylla_gha.hub.git_nodes import git_node_id
from scylla_gha.hub.git_objects import write_blob
from scylla_gha.hub.git_store import GitRepository, GitTreeEntry, is_sha
from scylla_gha.hub.operations.git_data import (
    GitTag,
    NewCommit,
    TreeChange,
    create_commit,
    create_tag,
    create_tree,
    filled_git,
    read_tag,
    signature_of,
    writable_git,
)
from scylla_gha.hub.operations.refs import RefRefusedError, change_ref
from scylla_gha.hub.operations.revisions import commit_at
from scylla_gha.hub.records import RepositoryRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, route
from scylla_gha.hub.rest.commit_json import UNSIGNED, git_commit, signature
from scylla_gha.hub.rest.media import as_media, base64_lines, media_type
from scylla_gha.hub.rest.repository_json import api_url

_GIT: Final = "/repos/{owner}/{repo}/git"
_MOST_ENTRIES: Final = 100_000


def decoded(text: str) -> bytes:
    """Return content from base64 with or without line breaks.

    Raises:
        HubError: 422, it is not base64.
    """
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise HubError(422, "content is not valid Base64") from None


def _object(request: RestRequest, name: str, kind: str) -> tuple[GitRepository, RepositoryRecord, str]:
    repository = request.repository()
    git, sha = session_git(request, repository), request.params[name]
    if not is_sha(sha) or git.kind_of(sha) != kind:
        raise not_found()
    return git, repository, sha


def session_git(request: RestRequest, repository: RepositoryRecord) -> GitRepository:
    """Return the git repository, 409 if it is empty."""
    return filled_git(request.session, repository)


# Blobs


@route("GET", f"{_GIT}/blobs/{{file_sha}}")
def get_blob(request: RestRequest) -> RestAnswer:
    """Return a blob."""
    git, repository, sha = _object(request, "file_sha", "blob")
    content = git.content(sha) or b""
    if media_type(request) == "raw":
        return as_media("raw", content)
    body = {**_blob_name(request.session, repository, sha), "size": len(content), "encoding": "base64",
            "node_id": git_node_id("B", repository.id, sha), "content": base64_lines(content)}  # fmt: skip
    return RestAnswer(200, body)


def _blob_name(session: HubSession, repository: RepositoryRecord, sha: str) -> dict[str, Any]:
    return {"sha": sha, "url": f"{api_url(session, repository)}/git/blobs/{sha}"}


@route("POST", f"{_GIT}/blobs")
def post_blob(request: RestRequest) -> RestAnswer:
    """Store a blob."""
    repository = request.repository()
    git = writable_git(request.session, repository)
    text = request.needed("content", str)
    encoding = request.optional("encoding", str) or "utf-8"
    content = decoded(text) if encoding == "base64" else text.encode()
    return RestAnswer(201, _blob_name(request.session, repository, write_blob(git, content)))


# Trees


@route("GET", f"{_GIT}/trees/{{tree_sha}}")
def get_tree(request: RestRequest) -> RestAnswer:
    """Return a tree by its name, or that of a commit, branch or tag; `recursive` with any value shows all below."""
    repository, wanted = request.repository(), request.params["tree_sha"]
    git = session_git(request, repository)
    commit = commit_at(request.session, repository, wanted)
    tree = git.commit(commit).tree if commit else wanted if is_sha(wanted) and git.kind_of(wanted) == "tree" else None
    if tree is None:
        raise not_found()
    return RestAnswer(200, _tree(request.session, repository, tree, recursive="recursive" in request.query))


def _tree(session: HubSession, repository: RepositoryRecord, sha: str, *, recursive: bool = False) -> dict[str, Any]:
    entries = session.git(repository).tree(sha, recursive=recursive)
    return {
        "sha": sha,
        "url": f"{api_url(session, repository)}/git/trees/{sha}",
        "tree": [_entry(session, repository, entry) for entry in entries[:_MOST_ENTRIES]],
        "truncated": len(entries) > _MOST_ENTRIES,
    }


def _entry(session: HubSession, repository: RepositoryRecord, entry: GitTreeEntry) -> dict[str, Any]:
    body: dict[str, Any] = {"path": entry.path, "mode": entry.mode, "type": entry.kind, "sha": entry.sha}
    if entry.size is not None:
        body["size"] = entry.size
    if entry.kind != "commit":
        body["url"] = f"{api_url(session, repository)}/git/{entry.kind}s/{entry.sha}"
    return body


@route("POST", f"{_GIT}/trees")
def post_tree(request: RestRequest) -> RestAnswer:
    """Store a tree."""
    repository = request.repository()
    items = request.needed("tree", list)
    base = request.optional("base_tree", str)
    if not items and base is None:
        raise HubError(422, "Invalid tree info")
    changes = [_change(item) for item in items]
    sha = create_tree(request.session, repository, base, changes)
    return RestAnswer(201, _tree(request.session, repository, sha))


def _change(item: object) -> TreeChange:
    if not isinstance(item, Mapping):
        raise HubError(422, "Invalid tree info")
    path, mode, sha, content = (item.get(name) for name in ("path", "mode", "sha", "content"))
    if not isinstance(path, str) or not path:
        raise HubError(422, "Must supply a valid tree.path")
    if not isinstance(mode, str):
        raise HubError(422, "Must supply a valid tree.mode")
    if isinstance(content, str) and sha is None:
        return TreeChange(path, mode, content=content.encode())
    if "sha" not in item or not (sha is None or isinstance(sha, str)):
        raise HubError(422, "Must supply either tree.sha or tree.content")
    return TreeChange(path, mode, sha)


# Commits and tags


@route("GET", f"{_GIT}/commits/{{commit_sha}}")
def get_git_commit(request: RestRequest) -> RestAnswer:
    """Return a commit as git has it."""
    git, repository, sha = _object(request, "commit_sha", "commit")
    return RestAnswer(200, git_commit(request.session, repository, git.commit(sha)))


@route("POST", f"{_GIT}/commits")
def post_git_commit(request: RestRequest) -> RestAnswer:
    """Store a commit."""
    if request.optional("signature", str):
        raise ContractGapError("A signature of a commit")
    repository, session = request.repository(), request.session
    session.require(repository, "write")
    author = signature_of(session, request.optional("author", dict))
    committer = signature_of(session, request.optional("committer", dict), author)
    new = NewCommit(request.needed("message", str), request.needed("tree", str), request.texts("parents") or [],
                    author, committer)  # fmt: skip
    return RestAnswer(201, git_commit(session, repository, create_commit(session, repository, new)))


@route("GET", f"{_GIT}/tags/{{tag_sha}}")
def get_tag(request: RestRequest) -> RestAnswer:
    """Return an annotated tag."""
    repository = request.repository()
    tag = read_tag(session_git(request, repository), request.params["tag_sha"])
    return RestAnswer(200, _tag(request.session, repository, tag))


@route("POST", f"{_GIT}/tags")
def post_tag(request: RestRequest) -> RestAnswer:
    """Store an annotated tag."""
    repository, session = request.repository(), request.session
    session.require(repository, "write")
    tagger = signature_of(session, request.optional("tagger", dict))
    new = GitTag("", request.needed("tag", str), request.needed("message", str), tagger,
                 request.needed("object", str), request.needed("type", str))  # fmt: skip
    return RestAnswer(201, _tag(session, repository, create_tag(session, repository, new)))


def _tag(session: HubSession, repository: RepositoryRecord, tag: GitTag) -> dict[str, Any]:
    git, url = session.git(repository), api_url(session, repository)
    tagger = tag.tagger or git.commit(git.commit_of(tag.object) or tag.object).committer
    return {
        "node_id": git_node_id("TA", repository.id, tag.sha),
        "tag": tag.name,
        "sha": tag.sha,
        "url": f"{url}/git/tags/{tag.sha}",
        "message": tag.message,
        "tagger": signature(tagger),
        "object": {"sha": tag.object, "type": tag.kind, "url": f"{url}/git/{tag.kind}s/{tag.object}"},
        "verification": UNSIGNED,
    }


# Refs


def ref_json(session: HubSession, repository: RepositoryRecord, name: str) -> dict[str, Any]:
    """Return a ref that exists, by its full name."""
    git, url = session.git(repository), api_url(session, repository)
    sha = git.refs()[name]
    kind = git.kind_of(sha)
    return {
        "ref": name,
        "node_id": git_node_id("REF", repository.id, name),
        "url": f"{url}/git/{name}",
        "object": {"sha": sha, "type": kind, "url": f"{url}/git/{kind}s/{sha}"},
    }


def _full_name(request: RestRequest) -> str:
    return f"refs/{request.params['ref'].removeprefix('refs/')}"


def _shown(git: GitRepository, prefix: str) -> list[str]:
    return [name for name in git.refs() if name.startswith(prefix) and not name.startswith("refs/hub/")]


@route("GET", f"{_GIT}/ref/{{ref}}")
def get_ref(request: RestRequest) -> RestAnswer:
    """Return a ref."""
    repository, name = request.repository(), _full_name(request)
    if name not in _shown(session_git(request, repository), name):
        raise not_found()
    return RestAnswer(200, ref_json(request.session, repository, name))


@route("GET", f"{_GIT}/matching-refs/{{ref}}")
def list_matching_refs(request: RestRequest) -> RestAnswer:
    """List the refs whose names begin with a text."""
    repository = request.repository()
    names = _shown(session_git(request, repository), _full_name(request))
    return request.page(names, lambda name: ref_json(request.session, repository, name))


# Not in GitHub's description any more, but answered: all refs, and a ref or those below it.
@route("GET", f"{_GIT}/refs", f"{_GIT}/refs/{{ref}}")
def list_refs(request: RestRequest) -> RestAnswer:
    """Return a ref, or list those below a name."""
    if "ref" in request.params and session_git(request, request.repository()).ref(_full_name(request)):
        return get_ref(request)
    prefix = f"{_full_name(request).removesuffix('/')}/" if "ref" in request.params else "refs/"
    repository = request.repository()
    names = _shown(session_git(request, repository), prefix)
    if not names:
        raise not_found()
    return request.page(names, lambda name: ref_json(request.session, repository, name))


@route("POST", f"{_GIT}/refs")
def post_ref(request: RestRequest) -> RestAnswer:
    """Create a branch or a tag."""
    repository, name = request.repository(), request.needed("ref", str)
    git = writable_git(request.session, repository)
    if git.ref(name) is not None:
        raise RefRefusedError(422, "Reference already exists", "reference already exists")
    change_ref(request.session, repository, name, request.needed("sha", str))
    return RestAnswer(201, ref_json(request.session, repository, name))


@route("PATCH", f"{_GIT}/refs/{{ref}}")
def patch_ref(request: RestRequest) -> RestAnswer:
    """Move a branch or a tag."""
    repository, name = request.repository(), _full_name(request)
    git = writable_git(request.session, repository)
    if git.ref(name) is None:
        raise RefRefusedError(422, "Reference does not exist", "reference does not exist")
    change_ref(request.session, repository, name, request.needed("sha", str),
               force=request.optional("force", bool) or False)  # fmt: skip
    return RestAnswer(200, ref_json(request.session, repository, name))


@route("DELETE", f"{_GIT}/refs/{{ref}}")
def delete_ref(request: RestRequest) -> RestAnswer:
    """Delete a branch or a tag."""
    change_ref(request.session, request.repository(), _full_name(request), None)
    return RestAnswer(204)
