"""Commits as git has them, and as `git log` lists them."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

LOG_FORMAT: Final = "%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B"
_FIELDS: Final = LOG_FORMAT.count("%x00") + 1  # each ends with NUL, which none can have in it


@dataclass(frozen=True, slots=True)
class GitSignature:
    """Name, address and time of an author or a committer."""

    name: str
    email: str
    date: datetime.datetime

    def environment(self, role: str) -> dict[str, str]:
        """Return the variables that git reads for a role, AUTHOR or COMMITTER."""
        return {
            f"GIT_{role}_NAME": self.name,
            f"GIT_{role}_EMAIL": self.email,
            f"GIT_{role}_DATE": self.date.isoformat(),
        }


@dataclass(frozen=True, slots=True)
class GitCommit:
    """Commit as git has it."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: GitSignature
    committer: GitSignature
    message: str

    @property
    def headline(self) -> str:
        """First line of the message."""
        return self.message.split("\n", 1)[0]

    @property
    def body(self) -> str:
        """The message without its first line."""
        return self.message.partition("\n")[2].strip()


def parse_log(text: str) -> Iterator[GitCommit]:
    """Yield the commits that `git log -z` has listed in LOG_FORMAT."""
    fields = text.split("\x00")
    for at in range(0, len(fields) - 1, _FIELDS):
        sha, tree, parents, an, ae, ad, cn, ce, cd, message = fields[at : at + _FIELDS]
        author, committer = GitSignature(an, ae, time_of(ad)), GitSignature(cn, ce, time_of(cd))
        yield GitCommit(sha, tree, tuple(parents.split()), author, committer, message.strip("\n"))


def time_of(seconds: str) -> datetime.datetime:
    """Return a time of git's, which takes years that nobody else does; such a one is the epoch."""
    try:
        return datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.datetime.fromtimestamp(0, datetime.UTC)
