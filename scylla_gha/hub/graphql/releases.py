"""Releases and their assets."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import quote

from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.graphql import attributes, constants, field
from scylla_gha.hub.graphql.addresses import repository_path
from scylla_gha.hub.graphql.connections import connection, no_items
from scylla_gha.hub.graphql.conversations import NO_REACTIONS
from scylla_gha.hub.graphql.git_nodes import ObjectNode, RefNode, commit_node
from scylla_gha.hub.graphql.query import owner_of
from scylla_gha.hub.graphql.sorting import in_order
from scylla_gha.hub.operations.releases import latest_release, release_by_tag, visible_releases
from scylla_gha.hub.records import AssetRecord, ReleaseRecord, RepositoryRecord, UserRecord

attributes("Release", name="name", tagName="tag", isDraft="draft", isPrerelease="prerelease", description="body",
           publishedAt="published_at", updatedAt="created_at")  # fmt: skip
constants("Release", reactionGroups=NO_REACTIONS, viewerCanReact=True)
no_items("Release.mentions", "Release.reactions")


@dataclass(frozen=True, slots=True)
class AssetNode:
    """Asset of a release."""

    graphql_type: ClassVar[str] = "ReleaseAsset"
    release: ReleaseRecord
    asset: AssetRecord


@connection("Repository.releases")
def _releases(
    repository: RepositoryRecord, session: HubSession, *, orderBy: Mapping[str, str] | None = None  # noqa: N803 GitHub's name
) -> list[ReleaseRecord]:  # fmt: skip
    order = dict(orderBy) if orderBy else None
    return in_order(visible_releases(session, repository), order)


@field("Repository.release")
def _release(repository: RepositoryRecord, session: HubSession, tagName: str) -> ReleaseRecord | None:  # noqa: N803 GitHub's name
    drafts = [release for release in visible_releases(session, repository) if release.draft and release.tag == tagName]
    try:
        return release_by_tag(session, repository, tagName)
    except HubError:
        return drafts[0] if drafts else None


@field("Repository.latestRelease")
def _latest(repository: RepositoryRecord, session: HubSession) -> ReleaseRecord | None:
    return latest_release(session, repository)


@field("Release.isLatest")
def _is_latest(release: ReleaseRecord, session: HubSession) -> bool:
    latest = _latest(owner_of(session, release), session)
    return latest is not None and latest.id == release.id


@field("Release.author")
def _author(release: ReleaseRecord, session: HubSession) -> UserRecord | None:
    user = session.state.get(UserRecord, release.author)
    return user if user is not None and user.kind == "User" else None


@field("Release.tag")
def _tag(release: ReleaseRecord, session: HubSession) -> RefNode | None:
    repository, name = owner_of(session, release), f"refs/tags/{release.tag}"
    return RefNode(repository, name) if session.git(repository).ref(name) else None


@field("Release.tagCommit")
def _commit(release: ReleaseRecord, session: HubSession) -> ObjectNode | None:
    repository = owner_of(session, release)
    sha = session.git(repository).tags().get(release.tag)
    return commit_node(repository, sha) if sha else None


@connection("Release.releaseAssets")
def _assets(release: ReleaseRecord, _session: HubSession, *, name: str | None = None) -> Sequence[AssetNode]:
    return [AssetNode(release, asset) for asset in release.assets if name in (None, asset.name)]


attributes("ReleaseAsset", release="release")


@field("ReleaseAsset.id")
def _id(node: AssetNode, _session: HubSession) -> str:
    return f"RA_kwDO{node.asset.id:08d}"


@field("ReleaseAsset.name")
def _name(node: AssetNode, _session: HubSession) -> str:
    return node.asset.name


@field("ReleaseAsset.contentType")
def _content_type(node: AssetNode, _session: HubSession) -> str:
    return node.asset.content_type


@field("ReleaseAsset.size")
def _size(node: AssetNode, _session: HubSession) -> int:
    return node.asset.size


@field("ReleaseAsset.downloadCount")
def _downloads(node: AssetNode, _session: HubSession) -> int:
    return node.asset.downloads


@field("ReleaseAsset.createdAt")
def _created(node: AssetNode, _session: HubSession) -> datetime.datetime:
    return node.asset.created_at


@field("ReleaseAsset.updatedAt")
def _updated(node: AssetNode, _session: HubSession) -> datetime.datetime:
    return node.asset.updated_at


@field("ReleaseAsset.uploadedBy")
def _uploader(node: AssetNode, session: HubSession) -> UserRecord:
    return session.state.need(UserRecord, node.asset.uploader)


@field("ReleaseAsset.downloadUrl", "ReleaseAsset.url")
def _url(node: AssetNode, session: HubSession) -> str:
    path = repository_path(session, node.release.repository)
    return f"{SITE}{path}/releases/download/{quote(node.release.tag)}/{quote(node.asset.name)}"
