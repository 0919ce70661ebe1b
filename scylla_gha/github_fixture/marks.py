"""Refs below refs/scylla/ by which a repository is known to be a fixture's: the mark, and ids of what was created.

| ref | content |
|---|---|
| `refs/scylla/fixture` | a commit that names the fixture; all others are its parents, so that GitHub keeps them |
| `refs/scylla/tags/NAME` | an annotated tag of the fixture, for the same reason |
| `refs/scylla/objects` | a commit whose message has the ids of objects by key |
| `refs/scylla/lease` | a commit whose message says who works in the repository, and until when |
"""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from scylla_gha.errors import GitHubError, RefusedError
from scylla_gha.git import run_git
from scylla_gha.github.client import ApiRequest
from scylla_gha.github.responses import CommitRef
from scylla_gha.github_fixture.accounts import FixtureAccounts, site_of
from scylla_gha.github_fixture.canonical import TOPIC
from scylla_gha.github_fixture.mutations import ANY_OBJECT, ref_updates, send_mutations
from scylla_gha.github_fixture.reference import EMPTY_TREE, FixtureReference, keep_message
from scylla_gha.github_fixture.snapshot import RepositorySnapshot
from scylla_gha.github_fixture.view import OBJECTS_MARK, FixtureView
from scylla_gha.model.github_repositories import REPOSITORIES_FILE
from scylla_gha.results_branch.clone import GitRemote, remote_from

KEEP_REF: Final = "refs/scylla/fixture"
_TAGS: Final = "refs/scylla/tags/"
_CONTENTS: Final = "contents: write"
_PUSH_SECONDS: Final = 300.0


def require_mark(state: RepositorySnapshot, fixture: str) -> None:
    """Refuse a repository that nobody has marked as one of this fixture.

    A new one has the topic and a description that names the fixture. After that its mark is a ref, since trials may
    change topics and description.

    Raises:
        RefusedError: it is not marked, or as another fixture's, or the account does not administer it.
    """
    name = state.name_with_owner
    mark = state.mark("fixture")
    if mark is not None and mark.message.strip() != keep_message(fixture).strip():
        raise RefusedError(f"{name}: is marked as {mark.message.strip()!r}, not as a repository of {fixture}; "
                           f"correct {REPOSITORIES_FILE}")  # fmt: skip
    is_described = (state.description or "").strip() == keep_message(fixture).strip()
    if mark is None and not (TOPIC in state.repository_topics and is_described):
        raise RefusedError(f"{name}: is not marked as a repository of {fixture}; give an empty repository the topic "
                           f"{TOPIC} and the description {keep_message(fixture).strip()!r}")  # fmt: skip
    if mark is None and (state.issues or state.pull_requests or len(state.heads) > 1):
        raise RefusedError(
            f"{name}: has issues, pull requests or branches, and was never seeded; use an empty repository"
        )
    if not state.viewer_can_administer:
        raise RefusedError(f"{name}: the account of the administrator has not the role admin; give it that role")


def push_objects(reference: FixtureReference, accounts: FixtureAccounts, state: RepositorySnapshot) -> bool:
    """Push the commits of a fixture, if they are not there; return whether something was pushed.

    Raises:
        GitHubError: git cannot push.
    """
    mark = state.mark("fixture")
    if mark is not None and mark.oid == reference.keep:
        return False
    refs = {KEEP_REF: reference.keep}
    refs |= {_TAGS + ref.name.removeprefix("refs/tags/"): ref.oid for ref in reference.state.tags if not ref.message}
    default = f"refs/heads/{reference.state.default_branch_ref}"
    refs |= {default: reference.state.refs[default]} if state.is_empty else {}
    access = accounts.access(accounts.pool.admin)
    environ = {**accounts.environ, "GITHUB_TOKEN": access.token or ""}
    remote = remote_from(f"{site_of(accounts.environ)}/{accounts.repository}.git", environ)
    specs = [f"+{sha}:{name}" for name, sha in refs.items()]
    message = _push(reference.folder, remote, specs)
    if message is not None:  # perhaps it was done, and the answer was lost: then the second one has nothing to do
        message = _push(reference.folder, remote, specs)
    if message is not None:
        raise GitHubError(f"{accounts.repository}: git push failed: {message}; {access.name} needs the permission "
                          f"`{_CONTENTS}`, and `workflows: write` if the fixture has workflows")  # fmt: skip
    return True


def _push(source: Path, remote: GitRemote, specs: Sequence[str]) -> str | None:
    """Push objects of a git directory; return git's message if it fails."""
    with tempfile.TemporaryDirectory(prefix="scylla-push-") as folder:
        git = Path(folder) / "push.git"
        git.mkdir()
        run_git(git, "init", "--quiet", "--bare", "--template=")
        (git / "objects/info").mkdir(exist_ok=True, parents=True)
        (git / "objects/info/alternates").write_text(f"{source.resolve()}/objects\n")
        done = run_git(git, "push", "--quiet", remote.url, *specs, env=remote.env, seconds=_PUSH_SECONDS)
    return done.message if done.code else None


def note_objects(view: FixtureView, accounts: FixtureAccounts) -> bool:
    """Note the ids of all objects of the fixture, if they have changed; return whether they had."""
    ids = view.objects.ids()
    if ids == view.noted:
        return False
    sha = write_note(accounts, ids)
    mark = view.state.mark(OBJECTS_MARK)
    update = ref_updates(view.state.id, {f"refs/scylla/{OBJECTS_MARK}": (mark.oid if mark else ANY_OBJECT, sha)})
    failed = send_mutations(accounts.admin, [update], "note what was created")
    if failed:
        raise GitHubError(f"{accounts.repository}: cannot note what was created: {failed[0].error.message}; try again")
    return True


def write_note(accounts: FixtureAccounts, content: Mapping[str, object]) -> str:
    """Store JSON as the message of a commit without files, and return the commit."""
    message = json.dumps(content, sort_keys=True, indent=0)
    body = {"message": message, "tree": EMPTY_TREE, "parents": []}
    return accounts.admin.read(ApiRequest("POST", "/git/commits", "write a note", _CONTENTS, body=body), CommitRef).sha
