"""The two checkouts that are compared, and how a command of one of them is run."""

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

ROOT: Final = Path(__file__).parents[2]
HERE: Final = Path(__file__).parent
_SECONDS: Final = 1800
_KEPT: Final = ("HOME", "LOGNAME", "PATH", "USER", "XDG_CACHE_HOME", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
_PREFIXES: Final = ("UV_", "PIP_", "npm_config_", "NPM_CONFIG_", "http", "HTTP", "no_proxy", "NO_PROXY")


def cache_root() -> Path:
    """Return the cache of `./scylla`."""
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SCYLLA_CACHE") or Path(user) / "scylla-gha")


@dataclass(frozen=True)
class Finished:
    """A command that has ended, with the paths of its checkout masked in what it printed."""

    code: int
    out: str
    err: str

    def text(self) -> str:
        """Return exit code and both streams, as they are stored."""
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}\n"


_TRACEBACK: Final = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+")  # it names modules and lines
_GIT: Final = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "equality"), ("EMAIL", "equality@example.org"), ("DATE", "2026-01-01T00:00:00Z"))
}


class CommandServer:
    """A process of a checkout that has the toolkit loaded, and runs each command as a fork of itself."""

    def __init__(self, root: Path) -> None:
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        argv = [root / ".venv/bin/python", root / "tests/support/cli_fork_server.py"]
        with far:
            self.process = subprocess.Popen(argv, stdin=far.fileno(), stdout=subprocess.DEVNULL)
        self.socket = near
        self.command = str(root / ".venv/bin/scylla-gha")

    def run(self, args: list[str], cwd: Path, env: Mapping[str, str]) -> tuple[int, bytes, bytes]:
        """Return exit code and both streams of a command."""
        request = json.dumps({"argv": [self.command, *args], "cwd": str(cwd), "env": dict(env)}).encode()
        near, far = socket.socketpair()
        with near, far, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            files = [out.fileno(), err.fileno(), far.fileno()]
            socket.send_fds(self.socket, [request], files)
            far.close()
            near.settimeout(_SECONDS)
            with near.makefile("r") as reply:
                reply.readline()  # the process id
                code = int(reply.readline())
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read()


@functools.cache
def server_of(root: Path) -> CommandServer:
    """Return the only server of a checkout; it ends with this process, which holds its socket."""
    return CommandServer(root)


@dataclass(frozen=True)
class Checkout:
    """A tree of the repository with its own environment, and a folder for all that its commands write."""

    name: str
    root: Path
    work: Path

    def run(self, *args: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Finished:
        """Run `scylla-gha` of this checkout; the current folder is the checkout unless `cwd` is given."""
        words = [str(word) for word in args]
        code, out, err = server_of(self.root).run(words, cwd or self.root, {**self.environment(), **(env or {})})
        return Finished(code, self.masked(out.decode(errors="replace")), self.masked(err.decode(errors="replace")))

    def script(self, name: str, *args: str | Path) -> Finished:
        """Run a script of this folder by the checkout's interpreter.

        A checkout that has the script runs its own copy, since the script imports what may have been moved.

        Raises:
            ClickException: the script fails.
        """
        own = self.root / "tests/equality" / name
        argv = [self.root / ".venv/bin/python", own if own.exists() else HERE / name, *args]
        env = {**self.environment(), "PYTHONPATH": str(self.root)}
        done = subprocess.run(
            argv, cwd=self.root, env=env, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if done.returncode:
            raise click.ClickException(f"{self.name}: {name}: exit code {done.returncode}:\n{done.stderr[-3000:]}")
        return Finished(done.returncode, self.masked(done.stdout), self.masked(done.stderr))

    def environment(self) -> dict[str, str]:
        """Return the variables of all commands: nothing of the caller's job, keys or container engine."""
        kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_PREFIXES)}
        own = str(ROOT / ".venv/bin")
        kept["PATH"] = os.pathsep.join(part for part in kept["PATH"].split(os.pathsep) if part != own)
        for folder in ("cache", "tmp"):
            (self.work / folder).mkdir(parents=True, exist_ok=True)
        return {**kept, "SCYLLA_CACHE": str(self.work / "cache"), "TMPDIR": str(self.work / "tmp"), "COLUMNS": "100",
                "DOCKER_HOST": "unix:///nowhere/docker.sock", "LC_ALL": "C.UTF-8", "NO_COLOR": "1", "TZ": "UTC",
                "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}  # fmt: skip

    def masked(self, text: str) -> str:
        """Replace the folders of this checkout, and names of temporary files, by words."""
        text = text.replace(f"{self.work}/cache", "<cache>").replace(str(self.work), "<work>")
        text = text.replace(str(self.root), "<checkout>")
        text = _TRACEBACK.sub("<traceback>\n", text)
        return re.sub(r"(?:<work>/tmp|/tmp|/dev/shm)/[\w.+-]+(?:/\d+-\w{8}(?!\w))?", "<tmp>", text)

    def folder(self, name: str) -> Path:
        """Return a new, empty folder for what commands write."""
        path = self.work / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path


def git(*args: str | Path, cwd: Path = ROOT) -> str:
    """Return what git prints.

    Raises:
        ClickException: git fails.
    """
    done = subprocess.run(
        ["git", *args], cwd=cwd, env={**os.environ, **_GIT}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise click.ClickException(f"git {' '.join(map(str, args))}: {done.stderr.strip()}")
    return done.stdout.strip()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder that several comparisons may use at once."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            click.echo(f"same: waiting for another comparison that uses {folder} ...", err=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def base_checkout(revision: str) -> Checkout:
    """Return the checkout of a commit in the cache; it is made with its environment if it is not there."""
    commit = git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    folder = cache_root() / "equality" / commit[:12]
    tree = folder / "tree"
    with locked(folder):
        if (folder / "complete").exists():
            return Checkout("base", tree, folder / "work")
        click.echo(f"same: making a checkout of {commit[:12]} in {folder} ...", err=True)
        shutil.rmtree(tree, ignore_errors=True)
        git("clone", "--quiet", "--shared", "--no-checkout", ROOT, tree)
        git("checkout", "--quiet", "--detach", commit, cwd=tree)
        sync(tree)
        (folder / "complete").touch()
    return Checkout("base", tree, folder / "work")


def new_checkout() -> Checkout:
    """Return this tree as it is, with uncommitted changes."""
    digest = hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]  # a path as long as BASE's, since long lines wrap
    return Checkout("new", ROOT, cache_root() / "equality" / f"new-{digest}" / "work")


def sync(tree: Path) -> None:
    """Make the environment that the lock file of a tree names, with the tools of its tests."""
    uv = shutil.which("uv") or str(cache_root() / "bootstrap/bin/uv")
    env = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    argv = [uv, "sync", "--quiet", "--frozen", "--project", str(tree), "--group", "dev"]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise click.ClickException(f"{tree}: uv sync failed: {done.stderr.strip()}")


def write(path: Path, text: str) -> None:
    """Write a text file, and make its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
