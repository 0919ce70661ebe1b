"""Repositories: creation, settings, names, topics, collaborators."""

import re
from collections.abc import Sequence
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, invalid, not_found
from scylla_gha.hub.git_objects import write_blob, write_commit, write_tree
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.operations.labels import add_default_labels
from scylla_gha.hub.operations.refs import BRANCH, set_default_branch
from scylla_gha.hub.records import Permission, RepositoryRecord, UserRecord

ADMIN_NEEDED: Final = "Must have admin rights to Repository."
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
_TOPIC: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,49}")
_MOST_TOPICS: Final = 20
_MERGES: Final = ("allow_merge_commit", "allow_squash_merge", "allow_rebase_merge")


def repository_name(text: str) -> str:
    """Return the name that GitHub gives a repository for a wanted one: what is not allowed becomes a hyphen.

    Raises:
        HubError: nothing that can be a name is left.
    """
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", text.strip())
    if not _NAME.fullmatch(name) or name in (".", "..") or name.casefold().endswith((".git", ".wiki")):
        raise invalid("Repository", "name", "custom", "name is invalid; it has 1 to 100 letters, digits, . - and _")
    return name


def free_name(session: HubSession, owner: UserRecord, text: str) -> str:
    """Return the name for a new repository of an owner.

    Raises:
        HubError: 422, it is invalid or not free.
    """
    name = repository_name(text)
    owned = session.state.where(RepositoryRecord, owner=owner.id)
    if any(record.name.casefold() == name.casefold() for record in owned):
        entry = {"resource": "Repository", "code": "custom", "field": "name",
                 "message": "name already exists on this account"}  # fmt: skip
        raise HubError(422, "Repository creation failed.", (entry,))
    return name


def account(session: HubSession, login: str) -> UserRecord:
    """Return a user or an organization.

    Raises:
        HubError: 404, there is none.
    """
    user = session.state.user(login)
    if user is None:
        raise not_found()
    return user


def may_create_in(session: HubSession, owner: UserRecord) -> bool:
    """Return whether the user may create repositories of an owner.

    Members of organizations have no record; who administers one of its repositories may create others.
    """
    if owner.id == session.user.id:
        return True
    repositories = session.state.where(RepositoryRecord, owner=owner.id)
    return owner.kind == "Organization" and any(session.may(record, "admin") for record in repositories)


def create_repository(
    session: HubSession, owner: UserRecord, name: str, *, readme: bool = False, **settings: object
) -> RepositoryRecord:
    """Create a repository with GitHub's default labels.

    `readme` adds a first commit, and `settings` are fields of the record.

    Raises:
        HubError: the user may not, or the name is invalid or not free.
    """
    if not may_create_in(session, owner):
        raise HubError(403, "You need admin access to the organization before adding a repository to it.")
    checked = free_name(session, owner, name)
    _check_merges(settings)
    state, user, now = session.state, session.user, session.state.now()
    granted: tuple[tuple[int, Permission], ...] = () if owner.id == user.id else ((user.id, "admin"),)
    settings = {"allow_update_branch": False, **settings}  # GitHub's default
    blank = RepositoryRecord(id=state.new_id(), created_at=now, updated_at=now, pushed_at=now, owner=owner.id,
                             name=checked, permissions=granted, **settings)  # type: ignore[arg-type]  # fmt: skip
    repository = state.create(user, blank)
    add_default_labels(session, repository)
    git = GitRepository.create(session.hub.git_folder(repository.id))
    if readme:
        _write_readme(session, repository, git)
    return repository


def _write_readme(session: HubSession, repository: RepositoryRecord, git: GitRepository) -> None:
    text = f"# {repository.name}\n" + (f"{repository.description}\n" if repository.description else "")
    tree = write_tree(git, None, [("README.md", "100644", write_blob(git, text.encode()))])
    signature = session.signature()
    git.set_ref(f"{BRANCH}{repository.default_branch}", write_commit(git, tree, [], "Initial commit", *[signature] * 2))


def _check_merges(settings: dict[str, object], current: RepositoryRecord | None = None) -> None:
    methods = [settings.get(name, getattr(current, name, True)) for name in _MERGES]
    if not any(methods):
        message = "Sorry, you need to allow at least one merge strategy. (no_merge_method)"
        raise HubError(422, message, ({"resource": "Repository", "field": "merge_commit_allowed", "code": "invalid"},))


def require_admin(session: HubSession, repository: RepositoryRecord) -> None:
    """Refuse who does not administer a repository, as `HubSession.require` does.

    Raises:
        HubError: the user does not, or the repository is archived.
    """
    session.require(repository, "admin", ADMIN_NEEDED)


def change_settings(session: HubSession, repository: RepositoryRecord, **changes: object) -> RepositoryRecord:
    """Change fields of a repository's record; `archived` False is the only change of an archived one.

    Raises:
        HubError: the user may not, or a value is not allowed.
    """
    if repository.archived and changes.get("archived") is False:
        repository = set_archived(session, repository, archived=False)
    require_admin(session, repository)
    _check_merges(changes, repository)
    name, branch = changes.pop("name", None), changes.pop("default_branch", None)
    if isinstance(branch, str) and branch != repository.default_branch:
        if session.git(repository).branch(branch) is None:
            raise invalid("Repository", "default_branch", "custom", f"The branch {branch} was not found. Please push "
                          "that ref first or create it via the Git Data API.")  # fmt: skip
        repository = set_default_branch(session, repository, branch)
    if isinstance(name, str):
        repository = rename(session, repository, name)
    return session.state.update(session.user, repository, **changes)


def rename(session: HubSession, repository: RepositoryRecord, name: str) -> RepositoryRecord:
    """Rename a repository, which is still found by its former names.

    GitHub answers requests for a former name with a redirect, which all clients follow; the hub answers them at once.
    """
    if name == repository.name:
        return repository
    owner = session.state.need(UserRecord, repository.owner)
    is_recased = name.casefold() == repository.name.casefold()
    checked = repository_name(name) if is_recased else free_name(session, owner, name)
    former = tuple(old for old in repository.former_names if old != checked)
    return session.state.update(session.user, repository, name=checked, former_names=(*former, repository.name))


def set_archived(session: HubSession, repository: RepositoryRecord, *, archived: bool) -> RepositoryRecord:
    """Make a repository read-only, or writable again.

    Raises:
        HubError: the user does not administer it.
    """
    session.require(repository, "read")
    if not session.may(repository, "admin"):
        raise HubError(403, ADMIN_NEEDED)
    return session.state.update(session.user, repository, archived=archived)


def set_topics(session: HubSession, repository: RepositoryRecord, topics: Sequence[str]) -> RepositoryRecord:
    """Replace the topics of a repository.

    Raises:
        HubError: the user may not, or a topic is not allowed.
    """
    require_admin(session, repository)
    names = tuple(dict.fromkeys(topic.lower() for topic in topics))
    if len(names) > _MOST_TOPICS:
        raise HubError(422, f"A repository cannot have more than {_MOST_TOPICS} topics.")
    if not all(_TOPIC.fullmatch(name) for name in names):
        raise HubError(422, "Topics must start with a lowercase letter or number, consist of 50 characters or less, "
                            "and can include hyphens.")  # fmt: skip
    return session.state.update(session.user, repository, topics=names)


def set_collaborator(
    session: HubSession, repository: RepositoryRecord, user: UserRecord, permission: Permission | None
) -> RepositoryRecord:
    """Give somebody a permission, or (None) take it away.

    Raises:
        HubError: the user does not administer the repository, or it is the owner's.
    """
    require_admin(session, repository)
    if user.id == repository.owner:
        raise HubError(422, "Repository owner cannot be a collaborator")
    others = dict(repository.permissions)
    if permission is None:
        others.pop(user.id, None)
    else:
        others[user.id] = permission
    return session.state.update(session.user, repository, permissions=tuple(others.items()))
