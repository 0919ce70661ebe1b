import io
import os
import tarfile
from pathlib import Path

import pytest

from scylla_gha.sandboxes.docker import extract_tar, pack_tar
from tests.support.repository import write_tree

MOST = 1 << 20


def entry(name: str, content: bytes | str = b"", kind: bytes = tarfile.REGTYPE, mode: int = 0o644) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.mode = kind, mode
    if isinstance(content, str):
        made.linkname = content
    else:
        made.size = len(content)
    return made


def stream(*entries: tuple[tarfile.TarInfo, bytes], piece: int = 700) -> list[bytes]:
    """A tar stream in pieces, as an engine sends it."""
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w", errors="surrogateescape") as archive:
        for made, content in entries:
            archive.addfile(made, io.BytesIO(content))
    whole = into.getvalue()
    return [whole[start : start + piece] for start in range(0, len(whole), piece)]


def file(name: str, content: bytes = b"x", mode: int = 0o644) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, content, mode=mode), content


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, target, kind), b""


def unload(folder: Path, *entries: tuple[tarfile.TarInfo, bytes], most: int = MOST) -> list[str]:
    """Lay out a stream at `folder/out` and `folder/dev`; the faults."""
    return extract_tar(stream(*entries), {"home/workspace": folder / "out", "home/dev": folder / "dev"}, most)


def test_a_packed_folder_is_extracted_unchanged(tmp_path: Path) -> None:
    source = write_tree(tmp_path / "source", {"a.txt": "a", "deep/b.sh": "b", "empty": ""})
    (source / "deep" / "b.sh").chmod(0o755)
    (source / "link").symlink_to("deep/b.sh")
    into = io.BytesIO()
    pack_tar([(source, "home/workspace", 10001)], into)
    out = tmp_path / "out"
    assert extract_tar([into.getvalue()], {"home/workspace": out}, MOST) == []
    assert {str(p.relative_to(out)) for p in out.rglob("*")} == {"a.txt", "deep", "deep/b.sh", "empty", "link"}
    assert (out / "deep" / "b.sh").stat().st_mode & 0o777 == 0o755
    assert (out / "link").readlink() == Path("deep/b.sh")


def test_packed_files_have_their_owner_and_those_of_root_are_readable(tmp_path: Path) -> None:
    source = write_tree(tmp_path / "source", {"secret.sh": "x"})
    (source / "secret.sh").chmod(0o700)
    source.chmod(0o700)
    os.mkfifo(source / "pipe")
    into = io.BytesIO()
    pack_tar([(source, "workspace", 10001), (source, "checks", 0)], into)
    into.seek(0)
    with tarfile.open(fileobj=into) as archive:
        found = {each.name: (each.uid, each.gid, each.uname, oct(each.mode & 0o777)) for each in archive}
    assert found == {
        "workspace": (10001, 10001, "", "0o700"), "workspace/secret.sh": (10001, 10001, "", "0o700"),
        "checks": (0, 0, "", "0o755"), "checks/secret.sh": (0, 0, "", "0o755"),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["home/workspace/../../x", "home/workspace/a/../../../x", "../x", "/etc/x", "home/x"])
def test_names_that_lead_elsewhere_are_left_out(tmp_path: Path, name: str) -> None:
    unload(tmp_path, file(name))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["dev", "out"]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """No folder can be a link and a folder at once; a stream may say so all the same."""
    victim = write_tree(tmp_path / "victim", {"kept": "kept"})
    unload(
        tmp_path, link("home/workspace/a", str(victim)), file("home/workspace/a/kept", b"gone"),
        link("home/workspace/b", str(victim / "kept")), file("home/workspace/b", b"gone"),
        link("home/workspace/c", "../../victim/kept", tarfile.LNKTYPE),
        link("home/workspace/d", str(victim)), link("home/workspace/d/planted", "/etc"),
        link("home/workspace/e", str(victim)), link("home/workspace/f", "home/workspace/e/kept", tarfile.LNKTYPE),
        (entry("home/workspace/e/folder", kind=tarfile.DIRTYPE), b""),
    )  # fmt: skip
    assert (victim / "kept").read_text() == "kept"
    assert [path.name for path in victim.iterdir()] == ["kept"]
    assert (tmp_path / "out" / "a" / "kept").read_text() == "gone"
    assert (tmp_path / "out" / "b").read_text() == "gone"
    assert not (tmp_path / "out" / "c").exists()


def test_folders_that_the_stream_leaves_out_are_made(tmp_path: Path) -> None:
    assert unload(tmp_path, file(f"home/workspace/{'d/' * 20}a")) == []


def test_a_root_that_is_a_link_or_a_file_stays_a_folder(tmp_path: Path) -> None:
    unload(tmp_path, link("home/workspace", "/etc"), file("home/dev"))
    assert (tmp_path / "out").is_dir()
    assert not (tmp_path / "out").is_symlink()
    assert list((tmp_path / "dev").iterdir()) == []


def test_a_hard_link_is_one_file_also_over_both_folders(tmp_path: Path) -> None:
    unload(tmp_path, file("home/dev/a", b"one"), link("home/workspace/b", "home/dev/a", tarfile.LNKTYPE))
    assert (tmp_path / "out" / "b").samefile(tmp_path / "dev" / "a")


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_special_files_are_left_out_and_reported(tmp_path: Path, kind: bytes) -> None:
    faults = unload(tmp_path, (entry("home/workspace/odd", kind=kind), b""), file("home/workspace/a"))
    assert faults == ["home/workspace/odd: a special file, left out"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]


def test_no_more_is_extracted_than_the_limit(tmp_path: Path) -> None:
    faults = unload(tmp_path, file("home/workspace/a", bytes(600)), file("home/workspace/b", bytes(600)), most=1000)
    assert faults == ["home/workspace/b and everything after it are left out: the limit of bytes is reached"]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]


def test_modes_are_kept_without_setuid_and_setgid(tmp_path: Path) -> None:
    shut = entry("home/workspace/shut", kind=tarfile.DIRTYPE, mode=0o500)
    unload(tmp_path, (shut, b""), file("home/workspace/shut/a", mode=0o6751))
    assert (tmp_path / "out" / "shut").stat().st_mode & 0o7777 == 0o500
    assert (tmp_path / "out" / "shut" / "a").stat().st_mode & 0o7777 == 0o751


def test_names_of_any_bytes_are_kept(tmp_path: Path) -> None:
    name = b"home/workspace/\xff\xfe \n".decode("utf-8", "surrogateescape")
    assert unload(tmp_path, file(name)) == []
    assert os.listdir(os.fsencode(tmp_path / "out")) == [b"\xff\xfe \n"]  # noqa: PTH208 bytes


@pytest.mark.parametrize("cut", [100, 700, 1500])
def test_a_stream_that_breaks_off_keeps_the_entries_before(tmp_path: Path, cut: int) -> None:
    whole = b"".join(stream(file("home/workspace/a", b"a" * 10), file("home/workspace/b", b"b" * 900)))
    assert len(extract_tar([whole[:cut]], {"home/workspace": tmp_path / "out"}, MOST)) <= 1
    assert {path.name for path in (tmp_path / "out").iterdir()} <= {"a", "b"}


def test_a_name_that_is_too_long_is_reported_and_the_rest_is_extracted(tmp_path: Path) -> None:
    faults = unload(tmp_path, file(f"home/workspace/{'n' * 300}"), file("home/workspace/a"))
    assert len(faults) == 1
    assert faults[0].endswith("File name too long")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a"]
