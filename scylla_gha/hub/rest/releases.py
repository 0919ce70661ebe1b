"""Releases and their assets."""

import hashlib
from typing import Any

from scylla_gha.hub.addresses import API, SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import not_found
from scylla_gha.hub.operations.release_assets import asset_by_id, delete_asset, update_asset, upload_asset
from scylla_gha.hub.operations.release_notes import generated_notes
from scylla_gha.hub.operations.releases import (
    ReleaseChange,
    create_release,
    delete_release,
    latest_release,
    release_by_id,
    release_by_tag,
    release_date,
    update_release,
    visible_releases,
)
from scylla_gha.hub.records import AssetRecord, ReleaseRecord, RepositoryRecord, UserRecord
from scylla_gha.hub.rest import RestAnswer, RestRequest, present, route

_RELEASES = "/repos/{owner}/{repo}/releases"
_ASSET = "/repos/{owner}/{repo}/releases/assets/{asset_id}"


def asset_json(session: HubSession, release: ReleaseRecord, asset: AssetRecord) -> dict[str, Any]:
    """Return an asset as GitHub answers it."""
    full_name = session.state.full_name(session.state.need(RepositoryRecord, release.repository))
    return {
        "url": f"{API}/repos/{full_name}/releases/assets/{asset.id}",
        "browser_download_url": f"{SITE}/{full_name}/releases/download/{_address(release)}/{asset.name}",
        "id": asset.id,
        "node_id": f"RA_kwDO{asset.id:08d}",
        "name": asset.name,
        "label": asset.label,
        "state": "uploaded",
        "content_type": asset.content_type,
        "size": asset.size,
        "digest": f"sha256:{asset.blob}",
        "download_count": asset.downloads,
        "created_at": present.time(asset.created_at),
        "updated_at": present.time(asset.updated_at),
        "uploader": present.user(session.state.need(UserRecord, asset.uploader)),
    }


def release_json(session: HubSession, release: ReleaseRecord) -> dict[str, Any]:
    """Return a release as GitHub answers it."""
    full_name = session.state.full_name(session.state.need(RepositoryRecord, release.repository))
    url = f"{API}/repos/{full_name}/releases/{release.id}"
    archive = None if release.draft else f"{API}/repos/{full_name}"
    return {
        "url": url,
        "html_url": f"{SITE}/{full_name}/releases/tag/{_address(release)}",
        "assets_url": f"{url}/assets",
        "upload_url": f"{url.replace('https://api.', 'https://uploads.')}/assets{{?name,label}}",
        "tarball_url": archive and f"{archive}/tarball/{release.tag}",
        "zipball_url": archive and f"{archive}/zipball/{release.tag}",
        **present.ids(release),
        "tag_name": release.tag,
        "target_commitish": release.target,
        "name": release.name,
        "body": release.body,
        "draft": release.draft,
        "prerelease": release.prerelease,
        "immutable": False,
        "created_at": present.time(release_date(session, release)),
        "updated_at": present.time(release.published_at or release.created_at),
        "published_at": present.time(release.published_at),
        "author": present.user(session.state.need(UserRecord, release.author)),
        "assets": [asset_json(session, release, asset) for asset in release.assets],
    }


def _address(release: ReleaseRecord) -> str:
    """Return the last part of a release's page: its tag; a draft has one that says nothing."""
    return f"untagged-{hashlib.sha1(str(release.id).encode()).hexdigest()[:20]}" if release.draft else release.tag  # noqa: S324 no secret


def _change(request: RestRequest) -> ReleaseChange:
    if request.optional("discussion_category_name", str):
        raise not_found()  # as GitHub answers where there is no such category; there are no discussions here
    return ReleaseChange(
        tag=request.optional("tag_name", str),
        target=request.optional("target_commitish", str),
        name=request.optional("name", str),
        body=request.optional("body", str),
        draft=request.optional("draft", bool),
        prerelease=request.optional("prerelease", bool),
        make_latest=request.optional("make_latest", str),
    )


def _release(request: RestRequest) -> tuple[RepositoryRecord, ReleaseRecord]:
    repository = request.repository()
    return repository, release_by_id(request.session, repository, request.number("release_id"))


@route("GET", _RELEASES)
def list_releases(request: RestRequest) -> RestAnswer:
    """List releases, the newest first."""
    releases = visible_releases(request.session, request.repository())
    return request.page(releases, lambda release: release_json(request.session, release))


@route("POST", _RELEASES)
def post_release(request: RestRequest) -> RestAnswer:
    """Create a release."""
    repository = request.repository()
    request.needed("tag_name", str)
    generate = bool(request.optional("generate_release_notes", bool))
    release = create_release(request.session, repository, _change(request), generate_notes=generate)
    body = release_json(request.session, release)
    return RestAnswer(201, body, headers={"Location": body["url"]})


@route("GET", f"{_RELEASES}/latest")
def get_latest_release(request: RestRequest) -> RestAnswer:
    """Return the latest release, which leaves out drafts and prereleases."""
    release = latest_release(request.session, request.repository())
    if release is None:
        raise not_found()
    return RestAnswer(200, release_json(request.session, release))


@route("GET", f"{_RELEASES}/tags/{{tag}}")
def get_release_by_tag(request: RestRequest) -> RestAnswer:
    """Return the published release of a tag."""
    release = release_by_tag(request.session, request.repository(), request.params["tag"])
    return RestAnswer(200, release_json(request.session, release))


@route("POST", f"{_RELEASES}/generate-notes")
def post_release_notes(request: RestRequest) -> RestAnswer:
    """Return generated notes without storing them."""
    repository = request.repository("write")
    notes = generated_notes(
        request.session,
        repository,
        request.needed("tag_name", str),
        request.optional("target_commitish", str) or repository.default_branch,
        request.optional("previous_tag_name", str),
        request.optional("configuration_file_path", str),
    )
    return RestAnswer(200, {"name": notes.name, "body": notes.body})


@route("GET", f"{_RELEASES}/{{release_id}}")
def get_release(request: RestRequest) -> RestAnswer:
    """Return a release."""
    return RestAnswer(200, release_json(request.session, _release(request)[1]))


@route("PATCH", f"{_RELEASES}/{{release_id}}")
def patch_release(request: RestRequest) -> RestAnswer:
    """Change a release."""
    repository, release = _release(request)
    changed = update_release(request.session, repository, release, _change(request))
    return RestAnswer(200, release_json(request.session, changed))


@route("DELETE", f"{_RELEASES}/{{release_id}}")
def remove_release(request: RestRequest) -> RestAnswer:
    """Delete a release."""
    delete_release(request.session, *_release(request))
    return RestAnswer(204)


@route("GET", f"{_RELEASES}/{{release_id}}/assets")
def list_assets(request: RestRequest) -> RestAnswer:
    """List the assets of a release."""
    _, release = _release(request)
    return request.page(release.assets, lambda asset: asset_json(request.session, release, asset))


@route("POST", f"{_RELEASES}/{{release_id}}/assets")
def post_asset(request: RestRequest) -> RestAnswer:
    """Store the request's body as an asset; clients send it to uploads.github.com."""
    _, release = _release(request)
    name, label = request.query.get("name", ""), request.query.get("label")
    kind = request.headers.get("content-type", "")
    asset = upload_asset(request.session, release, name, request.content, kind, label)
    return RestAnswer(201, asset_json(request.session, release, asset))


@route("GET", _ASSET)
def get_asset(request: RestRequest) -> RestAnswer:
    """Return an asset, or its content if that is what the client accepts."""
    release, asset = asset_by_id(request.session, request.repository(), request.number("asset_id"))
    if request.headers.get("accept", "").startswith("application/octet-stream"):
        return asset_content(request.session, asset)
    return RestAnswer(200, asset_json(request.session, release, asset))


def asset_content(session: HubSession, asset: AssetRecord) -> RestAnswer:
    """Return the content of an asset. Downloads are not counted, so that reading changes nothing."""
    headers = {"Content-Disposition": f"attachment; filename={asset.name}"}
    return RestAnswer(200, content=session.hub.blobs.read(asset.blob), content_type=asset.content_type, headers=headers)


@route("PATCH", _ASSET)
def patch_asset(request: RestRequest) -> RestAnswer:
    """Change name or label of an asset."""
    release, asset = asset_by_id(request.session, request.repository(), request.number("asset_id"))
    name, label = request.optional("name", str), request.optional("label", str)
    changed = update_asset(request.session, release, asset, name, label)
    return RestAnswer(200, asset_json(request.session, release, changed))


@route("DELETE", _ASSET)
def remove_asset(request: RestRequest) -> RestAnswer:
    """Delete an asset."""
    release, asset = asset_by_id(request.session, request.repository(), request.number("asset_id"))
    delete_asset(request.session, release, asset)
    return RestAnswer(204)
