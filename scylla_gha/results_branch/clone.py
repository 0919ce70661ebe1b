"""A bare partial clone of the results branch: all trees of its tip; contents of files are fetched when needed.

There is no work tree: commits are built from trees, so no checkout is ever touched.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scylla_gha.errors import GitHubError
from scylla_gha.git import run_git
from scylla_gha.results_branch.remote import GitRemote, chosen_remote

_TIP: Final = "refs/scylla/tip"
_NEXT: Final = "refs/scylla/next"
_SECONDS: Final = 600.0  # of one command; a fetch or push that takes longer hangs
_NO_BRANCH: Final = "couldn't find remote ref"
_BOT: Final = "github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>"
# Messages of temporary failures: a concurrent push, or a network fault. All other failures are final.
_PASSING: Final = ("[rejected]", "cannot lock ref", "failed to update ref", "incorrect old value", "reference already",
                 "failed to lock", "unable to create", "internal server error", "remote failed to report",
                 "the remote end hung up", "the requested url returned error: 5", "timed out",
                 "connection reset", "could not resolve host", "early eof")  # fmt: skip


class TemporaryCloneError(GitHubError):
    """A failure that a retry may solve."""


class BranchClone:
    """A copy of one branch of a remote, in an empty folder of its own."""

    def __init__(self, root: Path, remote: GitRemote, branch: str) -> None:
        """Make the repository; nothing is fetched yet.

        Raises:
            GitHubError: the branch name is invalid.
            ToolError: git is not installed.
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
        """Fetch the tip and return its ref; None if the branch does not exist. It is also stored as `tip`.

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
            raise GitHubError(f"{self._remote.url}: {self.branch} is not a results branch (it has no folder v1); "
                              "name another branch")  # fmt: skip
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
        wanted = list(dict.fromkeys(names))
        self.bring(wanted)
        return _contents(self._git("cat-file", "--batch", stdin=_lines(wanted))) if wanted else {}

    def bring(self, names: Iterable[str]) -> None:
        """Download contents in one request, before they are read one by one.

        Raises:
            GitHubError: the remote is out of reach, or lacks them.
        """
        lacking = set(names) - self._brought
        if lacking:
            self._git("-c", "fetch.negotiationAlgorithm=noop", "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
                      "--filter=blob:none", "--stdin", "origin", stdin=_lines(sorted(lacking)))  # fmt: skip
            self._brought |= lacking

    def commit(self, files: Mapping[str, bytes], message: str) -> str:
        """Create a commit on the tip (or a first commit) that adds files by path; return its ref."""
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
        """Push a commit as the new tip; the server refuses it if the tip has moved.

        Raises:
            TemporaryCloneError: the tip has moved, or the server is out of reach; fetch, commit and push again.
            GitHubError: the push is refused for good.
        """
        done = run_git(self._root, "push", "--porcelain", "origin", f"{commit}:refs/heads/{self.branch}",
                       env=self._remote.env, seconds=_SECONDS)  # fmt: skip
        if done.code:
            said = (done.stdout + b"\n" + done.stderr).decode(errors="replace").strip()[-2000:]
            kind = _kind(said)
            why = "; the token needs `contents: write`, and no rule may forbid pushes to that branch"
            hint = "" if kind is TemporaryCloneError else why
            raise kind(f"{self._remote.url}: {self.branch} was not pushed: {said}{hint}")


def _kind(said: str) -> type[GitHubError]:
    return TemporaryCloneError if any(one in said.lower() for one in _PASSING) else GitHubError


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _contents(batch: bytes) -> dict[str, bytes]:
    """Parse the output of `git cat-file --batch`."""
    found, at = {}, 0
    while at < len(batch):
        end = batch.index(b"\n", at)
        name, _, size = batch[at:end].decode().split()
        found[name] = batch[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)
    return found


@contextmanager
def open_clone(address: str | None, branch: str) -> Iterator[BranchClone]:
    """Clone the results branch into a temporary folder; `address` as in `chosen_remote`."""
    with tempfile.TemporaryDirectory(prefix="scylla-gha-") as root:
        yield BranchClone(Path(root), chosen_remote(address), branch)
