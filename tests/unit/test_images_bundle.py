import hashlib
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.images.archive import ImageLayer, pack_layers, unpack_layers

Pair = tuple[ImageLayer, ImageLayer]


def make_layer(folder: Path, letter: str, content: bytes) -> ImageLayer:
    path = folder / f"{letter * 24}.tar"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return ImageLayer(path, hashlib.sha256(content).hexdigest())


@pytest.fixture
def layers(tmp_path: Path) -> Pair:
    return make_layer(tmp_path / "made", "a", b"system"), make_layer(tmp_path / "made", "b", b"agent")


def test_packed_layers_are_in_the_cache_of_another_machine(tmp_path: Path, layers: Pair) -> None:
    pack_layers([*layers, layers[0]], tmp_path / "parcel")
    assert unpack_layers(tmp_path / "parcel", tmp_path / "cache") == 2
    for layer in layers:
        place = tmp_path / "cache" / "layers" / layer.path.name
        assert place.read_bytes() == layer.path.read_bytes()
        assert place.with_suffix(".sha256").read_text() == layer.sha256


def test_the_digest_depends_on_names_and_contents(tmp_path: Path, layers: Pair) -> None:
    one, other = layers
    said = [pack_layers(each, tmp_path / "parcel") for each in ([one, other], [other, one], [one], [])]
    assert said[0] == said[1]
    assert said[2] not in {said[0], ""}
    assert said[3] == ""


def test_a_folder_that_was_used_before_holds_nothing_else(tmp_path: Path, layers: Pair) -> None:
    pack_layers(layers, tmp_path / "parcel")
    pack_layers(layers[:1], tmp_path / "parcel")
    assert {path.name for path in (tmp_path / "parcel").iterdir()} == {f"{'a' * 24}.tar", f"{'a' * 24}.sha256"}


def test_a_layer_of_another_day_is_replaced(tmp_path: Path, layers: Pair) -> None:
    pack_layers(layers, tmp_path / "parcel")
    old = make_layer(tmp_path / "cache" / "layers", "a", b"system of yesterday")
    old.path.with_suffix(".sha256").write_text(old.sha256)
    unpack_layers(tmp_path / "parcel", tmp_path / "cache")
    assert old.path.read_bytes() == b"system"


def test_a_missing_folder_has_no_layers(tmp_path: Path) -> None:
    assert unpack_layers(tmp_path / "none", tmp_path / "cache") == 0


def test_writing_over_the_folder_does_not_change_the_caches(tmp_path: Path, layers: Pair) -> None:
    pack_layers(layers, tmp_path / "parcel")
    unpack_layers(tmp_path / "parcel", tmp_path / "cache")
    (tmp_path / "parcel" / layers[0].path.name).write_bytes(b"half a lay")
    assert layers[0].path.read_bytes() == b"system"
    assert (tmp_path / "cache" / "layers" / layers[0].path.name).read_bytes() == b"system"


@pytest.mark.parametrize("forge", ["content", "digest", "missing", "link", "name"])
def test_a_bundle_with_a_wrong_layer_is_refused_whole(tmp_path: Path, layers: Pair, forge: str) -> None:
    parcel = tmp_path / "parcel"
    pack_layers(layers, parcel)
    tar = parcel / layers[1].path.name
    told = tar.with_suffix(".sha256")
    match forge:
        case "content":
            tar.unlink()
            tar.write_bytes(b"another agent")
        case "digest":
            told.write_text("f" * 63 + "é")
        case "missing":
            told.unlink()
        case "link":
            tar.unlink()
            tar.symlink_to(layers[1].path)
        case _:
            tar.rename(parcel / "c.tar")
            told.rename(parcel / "c.sha256")
    with pytest.raises(ConfigError, match="build the images again"):
        unpack_layers(parcel, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
