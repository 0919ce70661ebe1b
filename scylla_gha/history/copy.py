"""A bare repository with the tip of the results branch: all its trees, and no file's content until it is asked for.

There is no work tree: commits are built from trees, so nobody's checkout is ever touched.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from scylla_gha.errors import GitHubError
from scylla_gha.git import run_git
from scylla_gha.history.remote import Remote

_TIP: Final = "refs/scylla/tip"
_NEXT: Final = "refs/scylla/next"
_SECONDS: Final = 600.0  # of one command; a fetch or push that takes longer hangs
_NO_BRANCH: Final = "couldn't find remote ref"
_BOT: Final = "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>"
# Another one pushed since we fetched, or is at it right now, or the way to the server is disturbed. Everything else
# that a server says is meant for good.
_PASSING: Final = ("[rejected]", "cannot lock ref", "failed to update ref", "incorrect old value", "reference already",
                 "failed to lock", "unable to create", "internal server error", "remote failed to report",
                 "the remote end hung up", "the requested url returned error: 5", "timed out",
                 "connection reset", "could not resolve host", "early eof")  # fmt: skip


class PassingError(GitHubError):
    """The same may be taken the next time."""


class Copy:
    """A copy of one branch of a remote, in an empty folder of its own."""

    def __init__(self, root: Path, remote: Remote, branch: str) -> None:
        """Make the repository; nothing is fetched yet.

        Raises:
            GitHubError: the branch's name is none.
            ToolError: there is no git.
        """
        self._root, self._remote, self.branch = root, remote, branch
        self.tip: str | None = None
        self._brought: set[str] = set()
        root.mkdir(parents=True, exist_ok=True)
        self._git("init", "--quiet", "--bare", "--template=", "--object-format=sha1")
        self._git("config", "remote.origin.url", remote.url)
        self._git("check-ref-format", "--branch", branch)

    def _git(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        done = run_git(self._root, *args, stdin=stdin, env={**self._remote.env, **(env or {})}, seconds=_SECONDS)
        if done.code:
            raise _kind(done.message)(f"{self._remote.url}: git {args[0]} failed: {done.message}")
        return done.stdout

    def refresh(self) -> str | None:
        """Fetch the tip: the name of its commit here, or None where there is no such branch. It is `tip` from then on.

        Raises:
            GitHubError: the remote is out of reach, refuses, or the branch is not a results branch.
        """
        # A server that knows no filter sends all files, which costs time and nothing else.
        wanted = f"+refs/heads/{self.branch}:{_TIP}"
        done = run_git(self._root, "fetch", "--quiet", "--no-tags", "--depth=1", "--filter=blob:none",
                       "--no-write-fetch-head", "origin", wanted, env=self._remote.env, seconds=_SECONDS)  # fmt: skip
        if done.code:
            if _NO_BRANCH in done.message:
                self.tip = None
                return None
            raise _kind(done.message)(
                f"{self._remote.url}: cannot fetch {self.branch}: {done.message}; check --remote, and GITHUB_TOKEN "
                "where the repository is private"
            )
        if self._git("ls-tree", "--name-only", _TIP, "v1") != b"v1\n":
            raise GitHubError(f"{self._remote.url}: {self.branch} is there, and is no results branch (it has no folder "
                              "v1); name another branch")  # fmt: skip
        self.tip = _TIP
        return _TIP

    def files(self, folder: str) -> dict[str, str]:
        """The files under a folder of the tip, by their path in the branch, each with the name of its content."""
        if self.tip is None:
            return {}
        listed = self._git("ls-tree", "-r", "-z", self.tip, "--", f"{folder}/").decode()
        parts = (line.partition("\t") for line in listed.split("\0") if line)
        return {path: about.split()[2] for about, _, path in parts if about.split()[1] == "blob"}

    def fetch(self, names: Iterable[str]) -> dict[str, bytes]:
        """Contents by their names, brought in one request.

        Raises:
            GitHubError: the remote is out of reach, or has them not.
        """
        wanted = list(dict.fromkeys(names))
        self.bring(wanted)
        return _contents(self._git("cat-file", "--batch", stdin=_lines(wanted))) if wanted else {}

    def bring(self, names: Iterable[str]) -> None:
        """Have contents here, in one request, before they are fetched one after the other.

        Raises:
            GitHubError: the remote is out of reach, or has them not.
        """
        lacking = set(names) - self._brought
        if lacking:
            self._git("-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
                      "--filter=blob:none", "--stdin", "origin", stdin=_lines(sorted(lacking)))  # fmt: skip
            self._brought |= lacking

    def commit(self, files: Mapping[str, bytes], message: str) -> str:
        """A commit on the tip, or the first one, that adds files, by their paths in the branch."""
        head = f"reset {_NEXT}\n\ncommit {_NEXT}\nauthor {_BOT} now\ncommitter {_BOT} now\n"
        head += f"data {len(message.encode())}\n{message}\n"
        stream = [head.encode(), f"from {self.tip}\n".encode() if self.tip else b""]
        for path, content in files.items():
            stream += [f"M 100644 inline {path}\ndata {len(content)}\n".encode(), content, b"\n"]
        # It knows trees alone, writes all at once, and asks for no content of files that are there already.
        self._git(
            "fast-import", "--quiet", "--force", "--date-format=now", "--done", stdin=b"".join([*stream, b"done\n"])
        )
        return _NEXT

    def push(self, commit: str) -> None:
        """Make a commit the tip, if the tip is still what the commit stands on: the server sees to that.

        Raises:
            PassingError: it is not, or the server could not be asked; fetch, commit and push again.
            GitHubError: it will not be taken another time, either.
        """
        done = run_git(self._root, "push", "--porcelain", "origin", f"{commit}:refs/heads/{self.branch}",
                       env=self._remote.env, seconds=_SECONDS)  # fmt: skip
        if done.code:
            said = (done.stdout + b"\n" + done.stderr).decode(errors="replace").strip()[-2000:]
            kind = _kind(said)
            why = "; the token needs `contents: write`, and no rule may forbid pushes to that branch"
            hint = "" if kind is PassingError else why
            raise kind(f"{self._remote.url}: {self.branch} was not pushed: {said}{hint}")


def _kind(said: str) -> type[GitHubError]:
    return PassingError if any(one in said.lower() for one in _PASSING) else GitHubError


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _contents(batch: bytes) -> dict[str, bytes]:
    """What `git cat-file --batch` prints."""
    found, at = {}, 0
    while at < len(batch):
        end = batch.index(b"\n", at)
        name, _, size = batch[at:end].decode().split()
        found[name] = batch[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)
    return found
