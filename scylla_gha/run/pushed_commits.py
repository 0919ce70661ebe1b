"""Search for secrets in the commits that a trial pushed, before they are stored."""

import errno
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.errors import ToolError, is_full_disk
from scylla_gha.git import run_git
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.redaction.session import RedactionSession

_MOST_PUSHED: Final = 256 * 1024 * 1024  # bytes of new objects, unpacked
_GROUP_BYTES: Final = 16 * 1024 * 1024
_SEARCH_SECONDS: Final = 120.0
_SHOWN: Final = 300


def push_failure(bundle: Path, redaction: RedactionSession) -> str | None:
    """Return why a trial's new commits cannot be stored, or None; if so, the bundle is removed.

    They must not hold what is redacted in other files: a bundle, which is compressed, cannot be.

    Raises:
        OSError: the disk is full, so they cannot be searched.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            failure = _secret_fault(bundle, GitRepository.create(Path(folder) / "all.git"), redaction)
        except ToolError as error:
            if is_full_disk(str(error), Path(folder)):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder) from None
            failure = f"pushed commits that cannot be searched for secrets: {str(error)[-_SHOWN:]}"
    if failure:
        bundle.unlink()
    return failure


def _secret_fault(bundle: Path, git: GitRepository, redaction: RedactionSession) -> str | None:
    """Search the objects that are new at the end for secrets, some at once, since one alone may have 32 MB."""
    git.run("fetch", "--quiet", str(bundle.resolve()), "+refs/*:refs/*")
    ends, starts = "--glob=refs/end/*", "--glob=refs/start/*"
    names = git.run("rev-list", "--objects", "--no-object-names", ends, "--not", starts)
    rows = [line.split() for line in git.run("cat-file", "--batch-check=%(objectname) %(objectsize)",
                                             stdin=names).splitlines()]  # fmt: skip
    sizes = {sha: int(size) for sha, size in rows}
    if (total := sum(sizes.values())) > _MOST_PUSHED:
        return f"pushed {counted(total, 'byte')} to GitHub, more than {_MOST_PUSHED}"
    for group in _groups(sizes):
        listed = b"".join(sha + b"\n" for sha in group)
        done = run_git(git.path, "cat-file", "--batch", stdin=listed, seconds=_SEARCH_SECONDS, most_bytes=_MOST_PUSHED)
        if done.code:
            return f"pushed commits that git cannot read: {done.message[-_SHOWN:]}"
        if redaction.redactor.redact_bytes(done.stdout)[1]:
            return "pushed text that looks like a secret to GitHub, so the commits are not stored"
    return None


def _groups(sizes: Mapping[bytes, int]) -> Iterator[list[bytes]]:
    """Divide objects into groups of at most `_GROUP_BYTES`; a larger one is by itself."""
    group, left = list[bytes](), _GROUP_BYTES
    for sha, size in sizes.items():
        if group and size > left:
            yield group
            group, left = [], _GROUP_BYTES
        group.append(sha)
        left -= size
    if group:
        yield group
