"""Releases: who sees which, the tag that a published one has, which is the latest, and creating, changing, deleting.

Rules by https://docs.github.com/en/rest/releases/releases.
"""

import datetime
import re
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, invalid, not_found
from scylla_gha.hub.git_store import is_ref_name
from scylla_gha.hub.operations.refs import change_ref
from scylla_gha.hub.operations.release_notes import generated_notes
from scylla_gha.hub.records import ReleaseRecord, RepositoryRecord

_MOST_CHARACTERS: Final = 125_000
_LATEST: Final = {"true": True, "false": False, "legacy": None}


@dataclass(frozen=True, slots=True)
class ReleaseChange:
    """Fields of a release to set; None leaves one as it is, or takes GitHub's default in a new one."""

    tag: str | None = None
    target: str | None = None
    name: str | None = None
    body: str | None = None
    draft: bool | None = None
    prerelease: bool | None = None
    make_latest: str | None = None


def visible_releases(session: HubSession, repository: RepositoryRecord) -> list[ReleaseRecord]:
    """Return a repository's releases, the newest first; drafts only for users who may write."""
    drafts = session.may(repository, "write")
    releases = session.state.where(ReleaseRecord, repository=repository.id)
    return [release for release in reversed(releases) if drafts or not release.draft]


def release_by_id(session: HubSession, repository: RepositoryRecord, id_: int) -> ReleaseRecord:
    """Return a release.

    Raises:
        HubError: there is none with this id that the user may see.
    """
    for release in visible_releases(session, repository):
        if release.id == id_:
            return release
    raise not_found()


def release_by_tag(session: HubSession, repository: RepositoryRecord, tag: str) -> ReleaseRecord:
    """Return the published release of a tag; a draft is not found by its tag.

    Raises:
        HubError: there is none.
    """
    for release in visible_releases(session, repository):
        if release.tag == tag and not release.draft:
            return release
    raise not_found()


def latest_release(session: HubSession, repository: RepositoryRecord) -> ReleaseRecord | None:
    """Return the latest release, which is neither a draft nor a prerelease; None if there is none.

    One that was set as the latest is, else the newest by its commit's date and then by its version is.
    """
    releases = session.state.where(ReleaseRecord, repository=repository.id)
    candidates = [release for release in releases if not release.draft and not release.prerelease]
    chosen = [release for release in candidates if release.latest]
    if chosen:
        return max(chosen, key=lambda release: (_published(release), release.id))
    candidates = [release for release in candidates if release.latest is None] or candidates
    return max(candidates, key=lambda release: (release_date(session, release), _version(release.tag)), default=None)


def release_date(session: HubSession, release: ReleaseRecord) -> datetime.datetime:
    """Return GitHub's `created_at` of a release: the date of its tag's commit; for a draft without, its own."""
    git = session.git(release.repository)
    tag = git.ref(f"refs/tags/{release.tag}")
    sha = git.commit_of(tag) if tag else None
    return git.commit(sha).committer.date if sha else release.created_at


def _published(release: ReleaseRecord) -> datetime.datetime:
    return release.published_at or release.created_at


def _version(tag: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"[0-9]{1,9}", tag))


def create_release(
    session: HubSession, repository: RepositoryRecord, change: ReleaseChange, *, generate_notes: bool = False
) -> ReleaseRecord:
    """Create a release. A published one gets its tag at the target if there is no such tag; a draft gets none.

    Raises:
        HubError: the user may not, or a field is invalid, or the tag has a published release.
    """
    session.require(repository, "write")
    target = change.target or repository.default_branch
    if not session.git(repository).branches():
        raise HubError(422, "Repository is empty.", ({"resource": "Release", "code": "custom", "field": "base",
                                                      "message": "Repository is empty."},))  # fmt: skip
    draft, prerelease = bool(change.draft), bool(change.prerelease)
    tag = _checked_tag(session, repository, change.tag or "", None if draft else 0)
    _check_target(session, repository, tag, target)
    _check(change, may_be_latest=not prerelease)  # gh creates a draft with make_latest, which GitHub takes
    name, body = change.name, change.body
    if generate_notes:
        notes = generated_notes(session, repository, tag, target)
        name, body = name or notes.name, "\n\n".join(part for part in (body, notes.body) if part)
    if not draft:
        _tag(session, repository, tag, target)
    record = ReleaseRecord(
        id=session.state.new_id(),
        created_at=session.state.now(),
        repository=repository.id,
        tag=tag,
        target=target,
        author=session.user.id,
        name=name,
        body=body,
        draft=draft,
        prerelease=prerelease,
        latest=_wanted_latest(change.make_latest, published=not draft and not prerelease),
        published_at=None if draft else session.state.now(),
    )
    return session.state.create(session.user, record)


def update_release(
    session: HubSession, repository: RepositoryRecord, release: ReleaseRecord, change: ReleaseChange
) -> ReleaseRecord:
    """Change a release; publishing a draft creates its tag.

    Raises:
        HubError: as for `create_release`.
    """
    session.require(repository, "write")
    draft = release.draft if change.draft is None else change.draft
    tag, target = change.tag or release.tag, change.target or release.target
    if tag != release.tag or release.draft:
        _checked_tag(session, repository, tag, None if draft else release.id)
    _check_target(session, repository, tag, target)
    prerelease = release.prerelease if change.prerelease is None else change.prerelease
    _check(change, may_be_latest=not draft and not prerelease)
    if not draft:
        _tag(session, repository, tag, target)
    changes: dict[str, Any] = {"tag": tag, "target": target, "draft": draft}
    for field in ("name", "body", "prerelease"):
        if (value := getattr(change, field)) is not None:
            changes[field] = value
    newly = release.draft and not draft
    if newly:
        changes["published_at"] = session.state.now()
    if change.make_latest is not None or newly:
        changes["latest"] = _wanted_latest(change.make_latest, published=not draft and not prerelease)
    updated = session.state.update(session.user, release, **changes)
    if change.make_latest == "true":
        _only_latest(session, updated)
    return updated


def _only_latest(session: HubSession, release: ReleaseRecord) -> None:
    """Take the mark from releases that were published later, so that an older one is the latest."""
    for other in session.state.where(ReleaseRecord, repository=release.repository, latest=True):
        if other.id != release.id and _published(other) >= _published(release):
            session.state.update(session.user, other, latest=None)


def _wanted_latest(make_latest: str | None, *, published: bool) -> bool | None:
    """Return the mark; newly published releases are the latest if nothing else is asked for."""
    return _LATEST[make_latest or "true"] if published else (False if make_latest == "false" else None)


def delete_release(session: HubSession, repository: RepositoryRecord, release: ReleaseRecord) -> None:
    """Delete a release; its tag stays.

    Raises:
        HubError: the user may not.
    """
    session.require(repository, "write")
    session.state.delete(session.user, release)


def _check(change: ReleaseChange, *, may_be_latest: bool) -> None:
    if change.make_latest is not None and change.make_latest not in _LATEST:
        raise invalid("Release", "make_latest")
    if change.make_latest == "true" and not may_be_latest:
        message = "Latest release cannot be draft or prerelease."
        raise HubError(422, "Validation Failed", ({"resource": "Release", "code": "custom", "message": message},))
    if len(change.body or "") > _MOST_CHARACTERS:
        message = f"body is too long (maximum is {_MOST_CHARACTERS} characters)"
        raise invalid("Release", "body", "custom", message)


def _check_target(session: HubSession, repository: RepositoryRecord, tag: str, target: str) -> None:
    git = session.git(repository)
    if git.ref(f"refs/tags/{tag}") is None and git.resolve(target) is None:
        raise invalid("Release", "target_commitish")


def _checked_tag(session: HubSession, repository: RepositoryRecord, tag: str, published: int | None) -> str:
    """Refuse what cannot be a tag, and one that another release than `published` has (None: for a draft)."""
    if not is_ref_name(f"refs/tags/{tag}"):
        raise invalid("Release", "tag_name", "custom", "tag_name is not a valid tag")
    others = session.state.where(ReleaseRecord, repository=repository.id, tag=tag, draft=False)
    if published is not None and any(release.id != published for release in others):
        raise invalid("Release", "tag_name", "already_exists")
    return tag


def _tag(session: HubSession, repository: RepositoryRecord, tag: str, target: str) -> None:
    """Create the tag of a release that is published, if there is none."""
    git = session.git(repository)
    ref = f"refs/tags/{tag}"
    if git.ref(ref) is None:
        sha = git.resolve(target)
        if sha is None:
            raise invalid("Release", "target_commitish")
        change_ref(session, repository, ref, sha)
