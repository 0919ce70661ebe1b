"""The layers of a plan's images, carried from the machine that planned to those that work.

Keys stand on the contents of the layers, and the same recipe makes others on another day.

A parcel is a folder of `<name>.tar` with its `<name>.sha256` beside it, as in the cache.
"""

import hashlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from scylla_gha.errors import ConfigError
from scylla_gha.images.archive import ImageLayer
from scylla_gha.model.record import digest
from scylla_gha.prepare.tools import locked

_NAME: Final = re.compile(r"[0-9a-f]{24}\.tar")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def pack_layers(layers: Iterable[ImageLayer], into: Path) -> str:
    """Make the folder hold these layers, and nothing else; a digest of them, empty where there are none."""
    wanted = sorted({layer.path.name: layer for layer in layers}.items())
    if into.is_symlink() or into.is_file():
        into.unlink()
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    for name, layer in wanted:
        shutil.copyfile(layer.path, into / name)  # not a link: others may write over the folder's files
        (into / name).with_suffix(".sha256").write_text(layer.sha256, encoding="ascii")
    return digest([[name, layer.sha256] for name, layer in wanted]) if wanted else ""


def unpack_layers(parcel: Path, cache: Path) -> int:
    """Put a folder's layers into the cache, in the place of others of the same recipes; how many.

    Raises:
        ConfigError: a layer is not what its digest says, or is no plain file; none of it is in the cache then.
    """
    found = [(tar, _told(tar)) for tar in sorted(parcel.glob("*.tar"))] if parcel.is_dir() else []
    for tar, sha256 in found:
        place = cache / "layers" / tar.name
        with locked(place):
            told = place.with_suffix(".sha256")
            if told.exists() and told.read_text(encoding="ascii") == sha256:
                continue
            told.unlink(missing_ok=True)
            place.unlink(missing_ok=True)
            shutil.copyfile(tar, place)
            untold = place.with_suffix(".making.sha256")
            untold.write_text(sha256, encoding="ascii")
            untold.replace(told)  # whole or not at all: it says that the layer is there
    return len(found)


def _told(tar: Path) -> str:
    told = tar.with_suffix(".sha256")
    plain = all(path.is_file() and not path.is_symlink() for path in (tar, told))
    if not (plain and _NAME.fullmatch(tar.name)):
        raise ConfigError(f"{tar}: is no layer with its digest beside it; delete the folder, and make the images anew")
    sha256 = told.read_text(encoding="ascii", errors="replace").strip()
    with tar.open("rb") as file:
        if not _SHA256.fullmatch(sha256) or hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            raise ConfigError(f"{tar}: is not what its digest says; delete the folder, and make the images anew")
    return sha256
