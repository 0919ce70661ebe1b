"""Files of releases: uploading, renaming, deleting; a name is unique in its release.

Rules by https://docs.github.com/en/rest/releases/assets.
"""

import re
from dataclasses import replace
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError, invalid, not_found
from scylla_gha.hub.operations.releases import visible_releases
from scylla_gha.hub.records import AssetRecord, ReleaseRecord, RepositoryRecord

MOST_ASSET_BYTES: Final = 50_000_000  # GitHub takes 2 GiB; what is beyond is outside the contract
_MOST_ASSETS: Final = 1_000


def asset_by_id(session: HubSession, repository: RepositoryRecord, id_: int) -> tuple[ReleaseRecord, AssetRecord]:
    """Return an asset and its release.

    Raises:
        HubError: there is none that the user may see.
    """
    for release in visible_releases(session, repository):
        for asset in release.assets:
            if asset.id == id_:
                return release, asset
    raise not_found()


def upload_asset(
    session: HubSession,
    release: ReleaseRecord,
    name: str,
    content: bytes,
    content_type: str,
    label: str | None = None,
) -> AssetRecord:
    """Add a file to a release.

    Raises:
        HubError: the user may not, or the name is empty or in use.
    """
    _require_write(session, release)
    if len(content) > MOST_ASSET_BYTES:
        raise ContractGapError(f"Asset of more than {MOST_ASSET_BYTES} bytes")
    if len(release.assets) >= _MOST_ASSETS:
        raise invalid("ReleaseAsset", "release_id", "custom", f"a release has at most {_MOST_ASSETS} assets")
    now = session.state.now()
    asset = AssetRecord(
        id=session.state.new_id(),
        name=_checked_name(release, name),
        blob=session.hub.blobs.add(content),
        size=len(content),
        content_type=content_type or "application/octet-stream",
        uploader=session.user.id,
        created_at=now,
        updated_at=now,
        label=label or None,
    )
    session.state.update(session.user, release, assets=(*release.assets, asset))
    return asset


def update_asset(
    session: HubSession,
    release: ReleaseRecord,
    asset: AssetRecord,
    name: str | None,
    label: str | None,
) -> AssetRecord:
    """Change name or label of an asset; None leaves it.

    Raises:
        HubError: the user may not, or the name is in use.
    """
    _require_write(session, release)
    changed = replace(
        asset,
        name=_checked_name(release, name, asset) if name is not None else asset.name,
        label=asset.label if label is None else label or None,
        updated_at=session.state.now(),
    )
    assets = tuple(changed if other.id == asset.id else other for other in release.assets)
    session.state.update(session.user, release, assets=assets)
    return changed


def delete_asset(session: HubSession, release: ReleaseRecord, asset: AssetRecord) -> None:
    """Remove a file from a release.

    Raises:
        HubError: the user may not.
    """
    _require_write(session, release)
    assets = tuple(other for other in release.assets if other.id != asset.id)
    session.state.update(session.user, release, assets=assets)


def _require_write(session: HubSession, release: ReleaseRecord) -> None:
    session.require(session.state.need(RepositoryRecord, release.repository), "write")


def _checked_name(release: ReleaseRecord, name: str, asset: AssetRecord | None = None) -> str:
    """Return a name as GitHub writes it: dots instead of special characters, none at its ends."""
    clean = re.sub(r"[^A-Za-z0-9._@+-]+", ".", name).strip(".")[:255]
    if not clean:
        raise HubError(400, "Missing name or invalid name of the asset")
    if any(other.name == clean and other is not asset for other in release.assets):
        raise invalid("ReleaseAsset", "name", "already_exists")
    return clean
