"""Trees as an agent could leave them to trip up whoever reads them; paths are bytes, since names need not be text."""

# ruff: noqa: PTH101, PTH102, PTH119, PTH123, PTH211

import os
import random
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

NAMES = (
    b"a",
    b"\xff\xfe",
    b"new\nline",
    b"x" * 255,
    b".git",
    b".GIT",
    b"dot-git",
    b"dot-git-2",
    b"[redacted]",
    b"-rf",
    b"projects",
    b"a b",
    b".gitmodules",
    b".gitignore",
    b".gitattributes",
    b"\xed\xa0\x80",
    b"\xe2\x80\xae",
    b"~",
)
TARGETS = (b"/", b".", b"..", b"/dev/zero", b"/proc/self/mem", b"nowhere", b"x" * 4000, b"\xff", b"/etc/passwd")
Maker = Callable[[bytes, random.Random], None]


def plant(root: Path, chance: random.Random, entries: int = 60) -> None:
    """Make a tree at `root`, which is not there yet: another one for each seed."""
    root.mkdir()
    folders = [os.fsencode(root)]
    locked = []
    for _ in range(entries):
        path = chance.choice(folders) + b"/" + chance.choice(NAMES)
        if os.path.lexists(path) or len(path) > 3000:
            continue
        kind = chance.choice(KINDS)
        kind(path, chance)
        if kind is _folder:
            folders.append(path)
            locked += [path] * (chance.random() < 0.2)
    if chance.random() < 0.5:
        deep(root)
    for path in reversed(locked):
        os.chmod(path, chance.choice((0, 0o111, 0o444, 0o500)))


def deep(root: Path, levels: int = 1500) -> None:
    """Nest folders deeper than Python recurses, and than a path may be long."""
    here = os.open(root, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deep", dir_fd=here)
        inner = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def _folder(path: bytes, chance: random.Random) -> None:  # noqa: ARG001 one of several kinds
    os.mkdir(path)


def _file(path: bytes, chance: random.Random) -> None:
    with open(path, "wb") as file:
        file.write(chance.randbytes(chance.choice((0, 1, 5000))))
    os.chmod(path, chance.choice((0, 0o222, 0o444, 0o644, 0o777, 0o4755)))


def _sparse(path: bytes, chance: random.Random) -> None:  # noqa: ARG001
    with open(path, "wb") as file:
        file.truncate(1 << 42)


def _link(path: bytes, chance: random.Random) -> None:
    os.symlink(chance.choice((*TARGETS, os.path.basename(path))), path)


def _pipe(path: bytes, chance: random.Random) -> None:  # noqa: ARG001
    os.mkfifo(path)


def _socket(path: bytes, chance: random.Random) -> None:  # noqa: ARG001
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as made:
        made.bind(f"{folder}/s")  # elsewhere, since the name of a socket must be short
        os.link(f"{folder}/s", path)


KINDS: tuple[Maker, ...] = (_folder, _folder, _folder, _file, _file, _sparse, _link, _link, _pipe, _socket)
