"""A bare partial clone of the results branch, the address and login of its repository, and options that select them.

The clone has all trees of the branch's tip; contents of files are fetched when needed. It has no work tree, since
commits are built from trees. The token is passed to git only in its environment: arguments, files and messages never
contain it. It is sent only to GitHub's server.
"""

import base64
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from scylla_gha.egress_proxy import is_loopback
from scylla_gha.errors import ConfigError, GitHubError
from scylla_gha.system.git import run_git
from scylla_gha.system.process import CapturedOutput, capture

_TOKENS: Final = ("GITHUB_TOKEN", "GH_TOKEN")
_SERVER: Final = "https://github.com"
# Variables that git needs to reach a host: proxies, trusted certificates, ssh keys.
_PASSED_ON: Final = (
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "SSH_AUTH_SOCK",
)
_SSH: Final = re.compile(r"(ssh://[^-\s][^\s]*|[A-Za-z0-9_.]+@[A-Za-z0-9.-]+:[^\s]+)")
_TIP: Final = "refs/scylla/tip"
_NEXT: Final = "refs/scylla/next"
_SECONDS: Final = 600.0  # limit of one git command
_NO_BRANCH: Final = "couldn't find remote ref"
_BOT: Final = "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>"
# Messages of temporary failures: a concurrent push, or a network fault. All other failures are final.
_TEMPORARY: Final = (
    "[rejected]",
    "cannot lock ref",
    "failed to update ref",
    "incorrect old value",
    "reference already",
    "failed to lock",
    "unable to create",
    "internal server error",
    "remote failed to report",
    "the remote end hung up",
    "the requested url returned error: 5",
    "timed out",
    "connection reset",
    "could not resolve host",
    "early eof",
)

BRANCH = "scylla-results"
remote_option = click.option(
    "--remote",
    metavar="URL-OR-PATH",
    help="Repository of the results branch (default: the workflow run's, or `origin`).",
)
branch_option = click.option(
    "--branch", default=BRANCH, show_default=True, metavar="NAME", help="Name of the results branch."
)


@dataclass(frozen=True, slots=True)
class GitRemote:
    """An address, and the environment variables that git needs to reach it."""

    url: str
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


def remote_from(address: str, environ: Mapping[str, str]) -> GitRemote:
    """Return the remote of an address or of a local repository's path.

    Raises:
        ConfigError: the address is not allowed.
    """
    if (folder := Path(address)).is_dir():
        return GitRemote(f"file://{folder.resolve()}")
    if address.startswith("file:///"):
        return GitRemote(address)
    env = {name: environ[name] for name in _PASSED_ON if name in environ}
    if _SSH.fullmatch(address):
        return GitRemote(address, env)
    parts = urlsplit(address)
    is_local = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not parts.hostname or not (parts.scheme == "https" or is_local):
        raise ConfigError(f"--remote {_shown(address)}: neither a repository's folder, nor an https:// or ssh address")
    if "@" in parts.netloc:
        raise ConfigError(
            f"--remote {_shown(address)}: contains a user or a password, which would be written into "
            f"files; leave it out, and set {_TOKENS[0]}"
        )
    return GitRemote(address, {**env, **_login(address, environ)})


def own_remote(environ: Mapping[str, str]) -> str | None:
    """Return the address of the workflow run's repository; None outside of Actions."""
    repository = environ.get("GITHUB_REPOSITORY")
    return f"{_server(environ)}/{repository}" if repository else None


def _server(environ: Mapping[str, str]) -> str:
    return (environ.get("GITHUB_SERVER_URL", "").strip() or _SERVER).rstrip("/")


def _login(url: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return git configuration that logs in to GitHub; empty for other hosts."""
    server = _server(environ)
    token = next((environ[name].strip() for name in _TOKENS if environ.get(name, "").strip()), "")
    if not token or not url.startswith(f"{server}/"):
        return {}
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{server}/.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
    }


def _shown(address: str) -> str:
    """Return an address without a user or password."""
    return re.sub(r"//[^/@]*@", "//***@", address)


def chosen_remote(address: str | None) -> GitRemote:
    """Return the named remote, else the workflow run's repository, else `origin` of the current repository.

    Raises:
        ConfigError: there is no such repository, or its address is not allowed.
    """
    return remote_from(address or own_remote(os.environ) or _origin(), os.environ)


def _origin() -> str:
    done = capture(["git", "config", "--get", "remote.origin.url"])
    url = done.stdout.decode(errors="replace").strip()
    if done.code or not url:
        raise ConfigError(
            "--remote: name the repository of the results branch; this folder is not in a repository with an `origin`"
        )
    return url


class TemporaryCloneError(GitHubError):
    """A failure after which a retry may succeed."""


class BranchClone:
    """Bare clone of one branch of a remote, in an empty folder."""

    def __init__(self, root: Path, remote: GitRemote, branch: str) -> None:
        """Create the repository; nothing is fetched yet.

        Raises:
            GitHubError: the branch name is invalid.
            ToolError: git is not installed.
        """
        self._root, self._remote, self.branch = root, remote, branch
        self.tip: str | None = None
        self._downloaded: set[str] = set()
        root.mkdir(parents=True, exist_ok=True)
        self._git("init", "--quiet", "--bare", "--template=", "--object-format=sha1")
        self._git("config", "remote.origin.url", remote.url)
        self._git("check-ref-format", "--branch", branch)

    def _run(self, *args: str, stdin: bytes = b"") -> CapturedOutput:
        return run_git(self._root, *args, stdin=stdin, env=self._remote.env, seconds=_SECONDS)

    def _git(self, *args: str, stdin: bytes = b"") -> bytes:
        done = self._run(*args, stdin=stdin)
        if done.code:
            raise _kind(done.message)(f"{self._remote.url}: git {args[0]} failed: {done.message}")
        return done.stdout

    def refresh(self) -> str | None:
        """Fetch the tip and return its ref; None if the branch does not exist. It is also stored as `tip`.

        Raises:
            GitHubError: the remote cannot be reached or refuses, or the branch is not a results branch.
        """
        refspec = (
            f"+refs/heads/{self.branch}:{_TIP}"  # a server without filters sends all files, which only takes longer
        )
        options = ("--quiet", "--no-tags", "--depth=1", "--filter=blob:none", "--no-write-fetch-head")
        done = self._run("fetch", *options, "origin", refspec)
        if done.code:
            if _NO_BRANCH in done.message:
                self.tip = None
                return None
            raise _kind(done.message)(
                f"{self._remote.url}: cannot fetch {self.branch}: {done.message}; check --remote, and GITHUB_TOKEN "
                "if the repository is private"
            )
        if self._git("ls-tree", "--name-only", _TIP, "v1") != b"v1\n":
            raise GitHubError(
                f"{self._remote.url}: {self.branch} is not a results branch (it has no folder v1); name another branch"
            )
        self.tip = _TIP
        return _TIP

    def files(self, folder: str) -> dict[str, str]:
        """Return the object ids of the files under a folder of the tip, by path."""
        if self.tip is None:
            return {}
        listed = self._git("ls-tree", "-r", "-z", self.tip, "--", f"{folder}/").decode()
        parts = (line.partition("\t") for line in listed.split("\0") if line)
        return {path: about.split()[2] for about, _, path in parts if about.split()[1] == "blob"}

    def fetch(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return contents by object id, fetched in one request.

        Raises:
            GitHubError: the remote is out of reach, or lacks them.
        """
        unique = list(dict.fromkeys(names))
        self.download(unique)
        return _contents(self._git("cat-file", "--batch", stdin=_lines(unique))) if unique else {}

    def download(self, names: Iterable[str]) -> None:
        """Download contents in one request, before they are read one by one.

        Raises:
            GitHubError: the remote is out of reach, or lacks them.
        """
        missing = set(names) - self._downloaded
        if missing:
            options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none", "--stdin")
            command = ("-c", "fetch.negotiationAlgorithm=noop", "fetch", *options, "origin")
            self._git(*command, stdin=_lines(sorted(missing)))
            self._downloaded |= missing

    def commit(self, files: Mapping[str, bytes], message: str) -> str:
        """Create a commit on the tip (or a first commit) that adds files by path; return its ref."""
        head = f"reset {_NEXT}\n\ncommit {_NEXT}\nauthor {_BOT} now\ncommitter {_BOT} now\n"
        head += f"data {len(message.encode())}\n{message}\n"
        stream = [head.encode(), f"from {self.tip}\n".encode() if self.tip else b""]
        for path, content in files.items():
            stream += [f"M 100644 inline {path}\ndata {len(content)}\n".encode(), content, b"\n"]
        # fast-import reads trees only, so it fetches no content of files that exist already.
        self._git(
            "fast-import", "--quiet", "--force", "--date-format=now", "--done", stdin=b"".join([*stream, b"done\n"])
        )
        return _NEXT

    def push(self, commit: str) -> None:
        """Push a commit as the new tip; the server refuses it if the tip has moved.

        Raises:
            TemporaryCloneError: the tip has moved, or the server cannot be reached; fetch, commit and push again.
            GitHubError: the push is refused; a retry is useless.
        """
        done = self._run("push", "--porcelain", "origin", f"{commit}:refs/heads/{self.branch}")
        if done.code:
            message = (done.stdout + b"\n" + done.stderr).decode(errors="replace").strip()[-2000:]
            kind = _kind(message)
            hint = "; the token needs `contents: write`, and no rule may forbid pushes to that branch"
            raise kind(
                f"{self._remote.url}: {self.branch} was not pushed: {message}"
                f"{'' if kind is TemporaryCloneError else hint}"
            )


def _kind(message: str) -> type[GitHubError]:
    return TemporaryCloneError if any(text in message.lower() for text in _TEMPORARY) else GitHubError


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _contents(batch: bytes) -> dict[str, bytes]:
    """Parse the output of `git cat-file --batch`."""
    contents, at = {}, 0
    while at < len(batch):
        end = batch.index(b"\n", at)
        name, _, size = batch[at:end].decode().split()
        contents[name] = batch[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)
    return contents


@contextmanager
def open_clone(address: str | None, branch: str) -> Iterator[BranchClone]:
    """Clone the results branch into a temporary folder; `address` as in `chosen_remote`."""
    with tempfile.TemporaryDirectory(prefix="scylla-gha-") as root:
        yield BranchClone(Path(root), chosen_remote(address), branch)
