"""Layers and images as the files that an engine loads, in which nothing tells when, where or by whom they were made.

The format is the one of `docker save`: a manifest, the image's configuration, and its layers. The digest of the
configuration covers those of the layers, and is the image's.
"""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}  # as engines call them
_LEFT_OUT: Final = {".package-lock.json"}  # of npm: it tells from where a package was fetched


@dataclass(frozen=True, slots=True)
class ImageLayer:
    """A tar file; `sha256` is its digest, in hex."""

    path: Path
    sha256: str


def write_layer(into: Path, contents: Mapping[str, Path], links: Mapping[str, str] | None = None) -> None:
    """Write files or folders, by where they go, and links, by what they lead to."""
    with tarfile.open(into, "w", format=tarfile.PAX_FORMAT) as archive:
        for parent in _parents([*contents, *(links or {})]):
            archive.addfile(_plain(_entry(parent, tarfile.DIRTYPE)))
        for place, source in contents.items():
            for path in [source, *sorted(source.rglob("*"))] if source.is_dir() else [source]:
                if path.name not in _LEFT_OUT:
                    name = PurePosixPath(place, path.relative_to(source)).relative_to("/")
                    archive.add(path, str(name), recursive=False, filter=_plain)
        for place, target in (links or {}).items():
            link = _entry(place, tarfile.SYMTYPE)
            link.linkname = target
            archive.addfile(_plain(link))


def _parents(places: Iterable[str]) -> list[str]:
    found = {str(parent) for place in places for parent in PurePosixPath(place).parents}
    return sorted(found - {"/"})


def _entry(place: str, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(place.lstrip("/"))
    entry.type = kind
    return entry


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 1
    entry.mode = 0o755 if not entry.isreg() or entry.mode & 0o100 else 0o644
    return entry


@dataclass(frozen=True, slots=True)
class ImageArchive:
    """An image before any engine has it."""

    layers: tuple[ImageLayer, ...]
    config: bytes
    name: str

    @property
    def digest(self) -> str:
        """What a trial's key holds of it; the id that an engine gives it, where it keeps images in the classic way."""
        return f"sha256:{hashlib.sha256(self.config).hexdigest()}"

    def write(self, into: IO[bytes]) -> None:
        """Write what `docker load` reads."""
        config = f"{self.digest.removeprefix('sha256:')}.json"
        manifest = [{"Config": config, "RepoTags": [self.name], "Layers": [f"{one.sha256}.tar" for one in self.layers]}]
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
    """An image of layers, the lowest first, with a PATH and labels."""
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
