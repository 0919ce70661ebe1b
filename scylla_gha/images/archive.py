"""Write layers and images as files that depend on their contents only; load, list and remove images in an engine.

An image has the format of `docker save`: a manifest, the image's configuration, and its layers. The digest of the
configuration covers the digests of the layers, and is the digest of the image.

In the cache and in bundles, a layer is `<name>.tar` with its digest in `<name>.sha256`. A bundle is a folder with the
layers of a plan's images, for other machines that work on the plan. They need the same layers, since keys cover the
layers' contents, and a recipe can give another layer on another day.
"""

import hashlib
import io
import json
import platform
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Final

from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.model import digest
from scylla_gha.prepare.tools import locked
from scylla_gha.sandboxes.docker.engine import TOOLKIT_LABEL

if TYPE_CHECKING:
    from docker import APIClient

_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}  # Python's names, and the names in images
_LEFT_OUT: Final = {".package-lock.json"}  # npm's file, which contains the sources of packages
_NAME: Final = re.compile(r"[0-9a-f]{24}\.tar")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
TITLE: Final = "io.scylla-gha.title"  # label with a description of the image's contents


@dataclass(frozen=True, slots=True)
class ImageLayer:
    """A layer's tar file, and its hexadecimal SHA-256."""

    path: Path
    sha256: str


def write_layer(into: Path, contents: Mapping[str, Path], links: Mapping[str, str] | None = None) -> None:
    """Write a layer with files, folders and symbolic links, by their absolute paths in the image."""
    with tarfile.open(into, "w", format=tarfile.PAX_FORMAT) as archive:
        parents = {str(parent) for path in (*contents, *(links or {})) for parent in PurePosixPath(path).parents}
        for parent in sorted(parents - {"/"}):
            archive.addfile(_plain(_entry(parent, tarfile.DIRTYPE)))
        for target, source in contents.items():
            for path in [source, *sorted(source.rglob("*"))] if source.is_dir() else [source]:
                if path.name not in _LEFT_OUT:
                    inside = PurePosixPath(target, path.relative_to(source)).relative_to("/")
                    archive.add(path, str(inside), recursive=False, filter=_plain)
        for name, linkname in (links or {}).items():
            link = _entry(name, tarfile.SYMTYPE)
            link.linkname = linkname
            archive.addfile(_plain(link))


def _entry(path: str, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path.lstrip("/"))
    entry.type = kind
    return entry


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 1
    entry.mode = 0o755 if not entry.isreg() or entry.mode & 0o100 else 0o644
    return entry


def mark_complete(path: Path, sha256: str) -> None:
    """Write a layer's digest file atomically; it marks the layer as complete."""
    unfinished = path.with_suffix(".making.sha256")
    unfinished.write_text(sha256, encoding="ascii")
    unfinished.replace(path.with_suffix(".sha256"))


def pack_layers(layers: Iterable[ImageLayer], into: Path) -> str:
    """Replace a folder by a bundle of layers; return a digest of the layers, or "" without layers."""
    by_name = sorted({layer.path.name: layer for layer in layers}.items())
    if into.is_symlink() or into.is_file():
        into.unlink()
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    for name, layer in by_name:
        shutil.copyfile(layer.path, into / name)  # a copy, no link: writing to the folder must not change the cache
        mark_complete(into / name, layer.sha256)
    return digest([[name, layer.sha256] for name, layer in by_name]) if by_name else ""


def unpack_layers(bundle: Path, cache: Path) -> int:
    """Copy a bundle's layers into the cache, where they replace layers of the same recipes; return their number.

    Raises:
        ConfigError: a layer does not match its digest, or is not a plain file; then no layer is copied.
    """
    layers = [_bundled_layer(path) for path in sorted(bundle.glob("*.tar"))] if bundle.is_dir() else []
    for layer in layers:
        target = cache / "layers" / layer.path.name
        with locked(target):
            stored = target.with_suffix(".sha256")
            if stored.exists() and stored.read_text(encoding="ascii") == layer.sha256:
                continue
            stored.unlink(missing_ok=True)
            target.unlink(missing_ok=True)
            shutil.copyfile(layer.path, target)
            mark_complete(target, layer.sha256)
    return len(layers)


def _bundled_layer(path: Path) -> ImageLayer:
    stored = path.with_suffix(".sha256")
    is_plain = all(file.is_file() and not file.is_symlink() for file in (path, stored))
    if not (is_plain and _NAME.fullmatch(path.name)):
        raise ConfigError(
            f"{path}: is not a layer, or its digest file is missing; delete the folder, and build the images again"
        )
    sha256 = stored.read_text(encoding="ascii", errors="replace").strip()
    with path.open("rb") as file:
        if not _SHA256.fullmatch(sha256) or hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            raise ConfigError(f"{path}: SHA-256 differs from the stored one; delete the folder, build the images again")
    return ImageLayer(path, sha256)


@dataclass(frozen=True, slots=True)
class ImageArchive:
    """Image as an archive that an engine can load."""

    layers: tuple[ImageLayer, ...]
    config: bytes
    name: str

    @property
    def digest(self) -> str:
        """Digest of the configuration: part of a trial's key, and the id in engines without containerd's store."""
        return f"sha256:{hashlib.sha256(self.config).hexdigest()}"

    def write(self, into: IO[bytes]) -> None:
        """Write the archive that `docker load` reads."""
        config = f"{self.digest.removeprefix('sha256:')}.json"
        layers = [f"{layer.sha256}.tar" for layer in self.layers]
        manifest = [{"Config": config, "RepoTags": [self.name], "Layers": layers}]
        with tarfile.open(fileobj=into, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            _add(archive, config, self.config)
            for layer in self.layers:
                archive.add(layer.path, f"{layer.sha256}.tar", filter=_plain)
            _add(archive, "manifest.json", json.dumps(manifest).encode())


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def assemble_image(layers: Sequence[ImageLayer], name: str, path: str, labels: Mapping[str, str]) -> ImageArchive:
    """Return an image of layers, lowest first, with a PATH and labels."""
    machine = platform.machine()
    config = {
        "architecture": _MACHINES.get(machine, machine),
        "os": "linux",
        "created": "1970-01-01T00:00:01Z",
        "config": {"Env": [f"PATH={path}"], "Labels": dict(labels), "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.sha256}" for layer in layers]},
        "history": [{"created": "1970-01-01T00:00:01Z"} for _ in layers],
    }
    return ImageArchive(tuple(layers), json.dumps(config, sort_keys=True).encode(), name)


@dataclass(frozen=True, slots=True)
class StoredImage:
    """The toolkit's image in an engine, with its size in bytes."""

    id: str
    title: str
    bytes: int


def ensure_image(api: "APIClient", image: ImageArchive, cache: Path) -> str:
    """Load an image into the engine if it is missing; return its id in the engine.

    Raises:
        ToolError: the engine does not accept the image.
    """
    from docker.errors import APIError

    with locked(cache / "images" / image.name.rpartition(":")[2]):
        image_id = _find(api, image)
        if image_id is None:
            with tempfile.TemporaryFile(dir=cache) as file:
                image.write(file)
                file.seek(0)
                try:
                    api.load_image(iter(lambda: file.read(1 << 20), b""))  # type: ignore[no-untyped-call]
                except APIError as error:
                    raise ToolError(f"the engine does not accept the image: {error.explanation or error}") from None
            image_id = _find(api, image)
    if image_id is None:
        raise ToolError(f"the engine accepted the image {image.name}, but does not list it; read the engine's log")
    return image_id


def _find(api: "APIClient", image: ImageArchive) -> str | None:
    """Return the id of the engine's image with the same name and layers and the toolkit's label; None if missing."""
    for entry in api.images(image.name, filters={"label": TOOLKIT_LABEL}):
        image_id: str = entry["Id"]
        layers = api.inspect_image(image_id)["RootFS"]["Layers"]  # type: ignore[no-untyped-call]
        if layers == [f"sha256:{layer.sha256}" for layer in image.layers]:
            return image_id
    return None


def list_images(api: "APIClient") -> Iterator[StoredImage]:
    """Yield the toolkit's images in the engine."""
    for entry in api.images(filters={"label": TOOLKIT_LABEL}):
        yield StoredImage(entry["Id"], entry["Labels"].get(TITLE, ""), entry["Size"])


def prune_images(api: "APIClient", cache: Path) -> tuple[int, int]:
    """Remove the toolkit's images that no container uses, and all cached layers; return both numbers."""
    from docker.errors import APIError

    removed = 0
    for image in list(list_images(api)):
        try:
            api.remove_image(image.id, force=False)
            removed += 1
        except APIError as error:
            if error.status_code != 409:  # noqa: PLR2004 Conflict: a container uses it
                raise
    layers = list((cache / "layers").glob("*.tar"))
    for layer in layers:
        layer.with_suffix(".sha256").unlink(missing_ok=True)
        layer.unlink()
    return removed, len(layers)
