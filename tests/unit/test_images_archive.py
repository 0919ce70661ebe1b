import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

from scylla_gha.images.archive import ImageArchive, ImageLayer, assemble_image, write_layer
from tests.support.repository import write_tree


def layer(folder: Path, **files: str) -> ImageLayer:
    into = folder / f"{len(files)}.tar"
    write_layer(into, {"/opt/x": write_tree(folder / f"source{len(files)}", files)})
    return ImageLayer(into, hashlib.sha256(into.read_bytes()).hexdigest())


def test_equal_contents_make_equal_layers_whoever_made_them_and_when(tmp_path: Path) -> None:
    made: list[bytes] = []
    for name in ("one", "two"):
        source = write_tree(tmp_path / name, {"a/b.txt": "b", "run": "#!/bin/sh\n", ".package-lock.json": name})
        (source / "run").chmod(0o700 if name == "one" else 0o775)
        (source / "link").symlink_to("a/b.txt")
        os.utime(source / "a" / "b.txt", (1, len(made) * 1000))
        write_layer(tmp_path / f"{name}.tar", {"/opt/x": source}, {"/usr/local/bin/run": "/opt/x/run"})
        made.append((tmp_path / f"{name}.tar").read_bytes())
    assert made[0] == made[1]
    with tarfile.open(tmp_path / "one.tar") as archive:
        found = {each.name: (each.uid, oct(each.mode), each.mtime, each.linkname) for each in archive}
    assert found == {
        "opt": (0, "0o755", 1, ""), "usr": (0, "0o755", 1, ""), "usr/local": (0, "0o755", 1, ""),
        "usr/local/bin": (0, "0o755", 1, ""), "opt/x": (0, "0o755", 1, ""), "opt/x/a": (0, "0o755", 1, ""),
        "opt/x/a/b.txt": (0, "0o644", 1, ""), "opt/x/run": (0, "0o755", 1, ""),
        "opt/x/link": (0, "0o755", 1, "a/b.txt"), "usr/local/bin/run": (0, "0o755", 1, "/opt/x/run"),
    }  # fmt: skip


def test_an_image_is_known_by_its_layers_path_and_labels(tmp_path: Path) -> None:
    one, two = layer(tmp_path, a="a"), layer(tmp_path, a="a", b="b")
    image = assemble_image([one, two], "x:1", "/bin", {"l": "1"})
    assert image.digest == assemble_image([one, two], "x:2", "/bin", {"l": "1"}).digest
    others = [
        assemble_image([two, one], "x:1", "/bin", {"l": "1"}),
        assemble_image([one], "x:1", "/bin", {"l": "1"}),
        assemble_image([one, two], "x:1", "/sbin", {"l": "1"}),
        assemble_image([one, two], "x:1", "/bin", {}),
    ]
    assert len({image.digest, *(other.digest for other in others)}) == 5


def test_what_an_engine_loads_is_whole(tmp_path: Path) -> None:
    image = assemble_image([layer(tmp_path, a="a")], "x:1", "/bin", {"l": "1"})
    into = io.BytesIO()
    image.write(into)
    into.seek(0)
    with tarfile.open(fileobj=into) as archive:
        parts = {each.name: (archive.extractfile(each) or io.BytesIO()).read() for each in archive}
    (manifest,) = json.loads(parts["manifest.json"])
    assert manifest["RepoTags"] == ["x:1"]
    assert f"sha256:{hashlib.sha256(parts[manifest['Config']]).hexdigest()}" == image.digest
    config = json.loads(parts[manifest["Config"]])
    assert config["config"] == {"Env": ["PATH=/bin"], "Labels": {"l": "1"}, "WorkingDir": "/"}
    digests = [f"sha256:{hashlib.sha256(parts[name]).hexdigest()}" for name in manifest["Layers"]]
    assert digests == config["rootfs"]["diff_ids"]


def test_an_image_without_layers_has_a_digest_too() -> None:
    assert ImageArchive((), b"{}", "x").digest.startswith("sha256:44136fa355b3678a")
