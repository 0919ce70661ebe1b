"""Changes of refs: every push, merge, REST call and mutation that moves a branch or a tag comes through here."""

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.git_store import NO_COMMIT, is_ref_name, is_sha
from scylla_gha.hub.operations.protection import is_exempt, protection_of, unmet_requirements
from scylla_gha.hub.operations.workflow_events import start_for_push
from scylla_gha.hub.operations.workflow_files import register_workflows
from scylla_gha.hub.records import ReleaseRecord, RepositoryRecord

BRANCH = "refs/heads/"
TAG = "refs/tags/"
DECLINED = "protected branch hook declined"
_HIDDEN = (
    "refs/pull/",
    "refs/hub/",
)  # GitHub's and the hub's own; all other refs may be written, such as refs/notes/...
_FEWEST_SLASHES = 2  # "If it doesn't start with 'refs' and have at least two slashes, it will be rejected."


class RefRefusedError(HubError):
    """Refusal of a change of a ref.

    Args:
        status: HTTP status of the REST answer.
        message: message of the REST answer.
        reason: what git prints behind the ref, in brackets.
        lines: what git prints before that, behind "remote: ".
    """

    def __init__(self, status: int, message: str, reason: str, lines: tuple[str, ...] = ()) -> None:
        super().__init__(status, message)
        self.reason = reason
        self.lines = lines


def _protected(ref: str, status: int, message: str) -> RefRefusedError:
    lines = (f"error: GH006: Protected branch update failed for {ref}.", f"error: {message}")
    return RefRefusedError(status, message, DECLINED, lines)


def change_ref(
    session: HubSession,
    repository: RepositoryRecord,
    ref: str,
    new_sha: str | None,
    *,
    force: bool = False,
    merging: bool = False,
) -> None:
    """Create, move or (None) delete a branch, a tag or another ref, and do what follows from it.

    Args:
        session: who does it.
        repository: where.
        ref: full name, such as refs/heads/main; see https://docs.github.com/rest/git/refs#create-a-reference
        new_sha: object of the repository that it shall name.
        force: whether it may lose commits.
        merging: a pull request is merged, whose requirements the caller has checked; only these are left out.

    Raises:
        HubError: the user may not, or GitHub refuses it (`RefRefusedError`).
    """
    old = check_change(session, repository, ref, new_sha, force=force, merging=merging)
    git = session.git(repository)
    forced = is_forced(session, repository, ref, old, new_sha)
    if old == new_sha:
        return
    if not git.set_ref(ref, new_sha or NO_COMMIT, old or NO_COMMIT):
        raise RefRefusedError(422, "Reference update failed", "failed to update ref")
    note_change(session, repository, ref, old, new_sha, forced=forced)


def check_change(
    session: HubSession,
    repository: RepositoryRecord,
    ref: str,
    new_sha: str | None,
    *,
    force: bool = False,
    merging: bool = False,
) -> str | None:
    """Refuse a change that GitHub would refuse, and return what the ref names now; arguments as of `change_ref`.

    Raises:
        HubError: the user may not, or GitHub refuses it (`RefRefusedError`).
    """
    repository = session.state.need(RepositoryRecord, repository.id)
    session.require(repository, "write")
    if not is_ref_name(ref) or ref.count("/") < _FEWEST_SLASHES or ref.startswith(_HIDDEN):
        raise RefRefusedError(422, f"{ref[:250]} is not a valid ref name.", "deny updating a hidden ref")
    old = session.git(repository).ref(ref)
    if new_sha is None:
        _check_deletion(session, repository, ref, old)
        return old
    _check_new(session, repository, ref, new_sha, is_new=old is None)
    forced = is_forced(session, repository, ref, old, new_sha)
    rule = protection_of(session, repository, ref.removeprefix(BRANCH)) if ref.startswith(BRANCH) else None
    if rule is not None and old is not None:
        if forced and force and not rule.allow_force_pushes:
            raise _protected(ref, 422, "Cannot force-push to this branch")
        if not merging and not is_exempt(session, repository, rule):
            reasons = unmet_requirements(session, repository, rule, old, new_sha)
            if reasons:
                raise _protected(ref, 422, " ".join(reasons))
    if forced and not force:
        raise RefRefusedError(422, "Update is not a fast forward", "non-fast-forward")
    return old


def _check_deletion(session: HubSession, repository: RepositoryRecord, ref: str, old: str | None) -> None:
    if old is None:
        raise RefRefusedError(422, "Reference does not exist", "remote ref does not exist")
    branch = ref.removeprefix(BRANCH)
    if not ref.startswith(BRANCH):
        return
    if branch == repository.default_branch:
        reason = f"refusing to delete the current branch: {ref}"
        raise RefRefusedError(422, "Cannot delete the default branch", reason, (f"error: {reason}",))
    rule = protection_of(session, repository, branch)
    if rule is not None and not rule.allow_deletions:
        raise _protected(ref, 422, "Cannot delete this protected branch")


def _check_new(session: HubSession, repository: RepositoryRecord, ref: str, sha: str, *, is_new: bool) -> None:
    if is_new and is_sha(ref.split("/", 2)[2]):  # it would stand for another commit
        line = "error: GH002: Sorry, branch or tag names consisting of 40 hex characters are not allowed."
        raise RefRefusedError(422, "Reference name is not allowed", "pre-receive hook declined", (line,))
    kind = session.git(repository).kind_of(sha) if is_sha(sha) else None
    if kind is None:
        raise RefRefusedError(422, "Object does not exist", "missing necessary objects")
    if ref.startswith(BRANCH) and kind != "commit":
        raise RefRefusedError(422, "Reference update failed", "invalid object for a branch")


def is_forced(session: HubSession, repository: RepositoryRecord, ref: str, old: str | None, new: str | None) -> bool:
    """Return whether a change loses commits of a branch, or moves a tag to what does not contain it."""
    if old is None or new is None or old == new or not ref.startswith((BRANCH, TAG)):
        return False
    git = session.git(repository)
    before, after = git.commit_of(old), git.commit_of(new)
    return before is None or after is None or not git.is_ancestor(before, after)


def note_change(
    session: HubSession, repository: RepositoryRecord, ref: str, old: str | None, new: str | None, *, forced: bool
) -> None:
    """Note a change that git has done, and do what follows from it for pull requests."""
    state, user = session.state, session.user
    detail = f"{old or NO_COMMIT} {new or NO_COMMIT}{' forced' if forced else ''}"
    state.note_push(user, repository, ref, detail)
    current = state.update(user, repository, pushed_at=state.now())
    if new is None and ref.startswith(TAG):
        _unpublish_releases(session, current, ref.removeprefix(TAG))
    if old is None and ref.startswith(BRANCH):
        _follow_first_branch(session, current, ref.removeprefix(BRANCH))
    if new is not None and ref == f"{BRANCH}{repository.default_branch}":
        register_workflows(session, repository)
    start_for_push(session, repository, ref, old, new)
    if ref.startswith(BRANCH):
        from scylla_gha.hub.operations.pull_heads import branch_changed  # which itself changes refs

        branch_changed(session, repository, ref.removeprefix(BRANCH), old, new)


def _unpublish_releases(session: HubSession, repository: RepositoryRecord, tag: str) -> None:
    """Make drafts of the releases of a deleted tag."""
    for release in session.state.where(ReleaseRecord, repository=repository.id, tag=tag, draft=False):
        session.state.update(session.user, release, draft=True, published_at=None)


def _follow_first_branch(session: HubSession, repository: RepositoryRecord, branch: str) -> None:
    """Make the first branch of an empty repository its default branch, whatever its name."""
    git = session.git(repository)
    if git.branch(repository.default_branch) is None and len(git.branches()) == 1:
        set_default_branch(session, repository, branch)


def set_default_branch(session: HubSession, repository: RepositoryRecord, branch: str) -> RepositoryRecord:
    """Make a branch the default one, of the record and of git's HEAD."""
    session.git(repository).run("symbolic-ref", "HEAD", f"{BRANCH}{branch}")
    return session.state.update(session.user, repository, default_branch=branch)
