"""Mutations of refs, and commits made on a branch."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.git_store import NO_COMMIT
from scylla_gha.hub.graphql.git_nodes import RefNode, commit_node, git_node
from scylla_gha.hub.graphql.mutations import mutation, node
from scylla_gha.hub.operations.branches import merge_branch
from scylla_gha.hub.operations.contents import CommitText, FileChange, commit_changes
from scylla_gha.hub.operations.merging import web_flow
from scylla_gha.hub.operations.refs import BRANCH, change_ref, check_change
from scylla_gha.hub.records import RepositoryRecord


def _ref(session: HubSession, id_: str) -> RefNode:
    ref = git_node(session, id_)
    if not isinstance(ref, RefNode):
        raise HubError(404, f"Could not resolve to a node with the global id of '{id_}'")
    return ref


@mutation("createRef")
def create_ref(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Create a branch or a tag."""
    repository, name = node(session, values["repositoryId"], RepositoryRecord), values["name"]
    session.require(repository, "write")
    if session.git(repository).ref(name) is not None:
        raise HubError(422, f'A ref named "{name}" already exists in the repository.')
    change_ref(session, repository, name, values["oid"])
    return {"ref": RefNode(repository, name)}


@mutation("updateRef")
def update_ref(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Move a branch or a tag."""
    ref = _ref(session, values["refId"])
    change_ref(session, ref.repository, ref.name, values["oid"], force=bool(values.get("force")))
    return {"ref": ref}


@mutation("updateRefs")
def update_refs(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Create, move and delete refs: all of them, or none if one is refused."""
    repository = node(session, values["repositoryId"], RepositoryRecord)
    updates = values["refUpdates"]
    for update in updates:
        new, before = _object(update["afterOid"]), update.get("beforeOid")
        old = check_change(session, repository, update["name"], new, force=bool(update.get("force")))
        if before is not None and _object(before) != old:
            raise HubError(422, f"Reference update failed: {update['name']} is not at {before}", (), "STALE_DATA")
    for update in updates:
        new = _object(update["afterOid"])
        change_ref(session, repository, update["name"], new, force=bool(update.get("force")))
    return {}


def _object(oid: str) -> str | None:
    return None if oid == NO_COMMIT else oid


@mutation("deleteRef")
def delete_ref(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Delete a branch or a tag."""
    ref = _ref(session, values["refId"])
    change_ref(session, ref.repository, ref.name, None)
    return {}


@mutation("createCommitOnBranch")
def create_commit_on_branch(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Commit changes of files on a branch, if its tip is the expected one; GitHub is the committer."""
    repository, branch = _branch(session, values["branch"])
    session.require(repository, "write")
    tip, expected = session.git(repository).branch(branch), values["expectedHeadOid"]
    if tip is None:
        raise HubError(404, f"Could not resolve to a branch named '{branch}'")
    if tip != expected:
        message = f'Expected branch to point to "{expected}" but it did not. Pull and try again.'
        raise HubError(422, message, (), "STALE_DATA")
    files = values.get("fileChanges") or {}
    changes = [FileChange(file["path"], _content(file["contents"])) for file in files.get("additions") or ()]
    changes += [FileChange(file["path"], None) for file in files.get("deletions") or ()]
    message = "\n\n".join(text for text in (values["message"]["headline"], values["message"].get("body")) if text)
    text = CommitText(message, session.signature(), web_flow(session))
    sha = commit_changes(session, repository, branch, changes, text)
    return {"commit": commit_node(repository, sha), "ref": RefNode(repository, f"{BRANCH}{branch}")}


def _branch(session: HubSession, branch: Mapping[str, Any]) -> tuple[RepositoryRecord, str]:
    if branch.get("id"):
        ref = _ref(session, branch["id"])
        return ref.repository, ref.name.removeprefix(BRANCH)
    full_name, name = branch.get("repositoryNameWithOwner"), branch.get("branchName")
    if not full_name or not name:
        raise HubError(422, "Either the branch's id, or repositoryNameWithOwner and branchName must be given.")
    owner, _, repository = full_name.partition("/")
    return session.repository(owner, repository), name.removeprefix(BRANCH)


def _content(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise HubError(422, "contents is not valid Base64") from None


@mutation("mergeBranch")
def merge(session: HubSession, values: Mapping[str, Any]) -> dict[str, Any]:
    """Merge a revision into a branch; without a commit if the branch contains it already."""
    repository = node(session, values["repositoryId"], RepositoryRecord)
    sha = merge_branch(session, repository, values["base"], values["head"], values.get("commitMessage"))
    return {"mergeCommit": commit_node(repository, sha) if sha else None}
