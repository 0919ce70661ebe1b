"""New objects of git, as users describe them: blobs, trees, commits and tags."""

import datetime
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from scylla_gha.errors import ToolError
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.git_log import time_of
from scylla_gha.hub.git_objects import write_blob, write_commit, write_tree
from scylla_gha.hub.git_store import GitCommit, GitRepository, GitSignature, is_ref_name, is_sha
from scylla_gha.hub.operations.refs import TAG
from scylla_gha.hub.records import RepositoryRecord

MOST_STORED: Final = 524_288  # kB, as much as pushes may store
TREE_MODE: Final = "040000"
MODES: Final[Mapping[str, str]] = {
    "100644": "blob", "100755": "blob", "120000": "blob", TREE_MODE: "tree", "160000": "commit",
}  # fmt: skip
# Names that are .git on some file system (NTFS, HFS+), as git itself refuses them.
_DOT_GIT: Final = re.compile(r"\.git[ .]*(:.*)?|git~[0-9]+", re.IGNORECASE)
_IGNORED_BY_HFS: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
_MOST_FILES: Final = 100_000
_NAMELESS: Final = re.compile(r"[\s.,:;<>\"'\\\x00-\x1f]*")


@dataclass(frozen=True, slots=True)
class TreeChange:
    """Entry of a new tree; `sha` or `content`, and both None to delete the path."""

    path: str
    mode: str
    sha: str | None = None
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class GitTag:
    """Annotated tag as git has it."""

    sha: str
    name: str
    message: str
    tagger: GitSignature | None
    object: str
    kind: str


def writable_git(session: HubSession, repository: RepositoryRecord) -> GitRepository:
    """Return the git repository for new objects.

    Raises:
        HubError: the user may not write, it is full, or (409) empty.
    """
    session.require(repository, "write")
    git = filled_git(session, repository)
    check_storage(git)
    return git


def check_storage(git: GitRepository, most: int = MOST_STORED) -> None:
    """Refuse new objects in a repository whose own ones have more than `most` kB.

    Raises:
        HubError: 403, it is full.
    """
    counts = dict(line.split(": ") for line in git.text("count-objects", "-v").splitlines())
    if int(counts["size"]) + int(counts["size-pack"]) > most:
        raise HubError(403, "Repository is over its storage limit.")


def filled_git(session: HubSession, repository: RepositoryRecord) -> GitRepository:
    """Return the git repository.

    Raises:
        HubError: 409, it is empty.
    """
    git = session.git(repository)
    if not git.refs():
        raise HubError(409, "Git Repository is empty.")
    return git


def check_path(path: str, field: str = "tree.path") -> str:
    """Return a path that may be in a tree.

    Raises:
        HubError: 422, git forbids it.
    """
    if path.startswith("/"):
        raise HubError(422, f"{field} cannot start with a slash")
    parts = [*path.split("/"), *_IGNORED_BY_HFS.sub("", path).replace("\\", "/").split("/")]
    if any(part in ("", ".", "..") or _DOT_GIT.fullmatch(part) for part in parts):
        raise HubError(422, f"{field} contains a malformed path component")
    if len(path.encode(errors="replace")) > 4000 or any(ord(mark) < ord(" ") for mark in path):  # noqa: PLR2004 git's limit is 4096
        raise HubError(422, f"{field} contains a malformed path component")
    return path


def create_tree(
    session: HubSession, repository: RepositoryRecord, base: str | None, changes: Sequence[TreeChange]
) -> str:
    """Store a tree and return its name; `base` is a tree or a commit whose entries it keeps.

    Raises:
        HubError: 422, an entry is not one that git takes.
    """
    git = writable_git(session, repository)
    if base is not None and (not is_sha(base) or git.kind_of(base) not in ("tree", "commit")):
        raise HubError(422, "base_tree is not a valid tree oid")
    every = (entry for change in changes for entry in _entries(git, base, _checked(git, change)))
    entries = list(itertools.islice(every, _MOST_FILES + 1))
    if len(entries) > _MOST_FILES:
        raise HubError(422, "Invalid tree info: it has too many files")
    try:
        return write_tree(git, base, entries)
    except ToolError:
        raise HubError(422, "GitRPC::BadObjectState") from None


def _checked(git: GitRepository, change: TreeChange) -> TreeChange:
    check_path(change.path)
    if change.mode not in MODES:
        raise HubError(422, "Must supply a valid tree.mode")
    if change.content is not None:
        return replace(change, sha=write_blob(git, change.content))
    kind = MODES[change.mode]
    if change.sha is not None and not (is_sha(change.sha) and (kind == "commit" or git.kind_of(change.sha) == kind)):
        raise HubError(422, f"tree.sha {change.sha[:40]} is not a valid {kind}")
    return change


def _entries(git: GitRepository, base: str | None, change: TreeChange) -> Iterator[tuple[str, str, str | None]]:
    """Yield the files of an entry; what the base has at its path goes if a folder is there, or comes."""
    is_folder = base is not None and git.kind_of(f"{base}:{change.path}") == "tree"
    for entry in git.tree(f"{base}:{change.path}", recursive=True) if is_folder else ():
        if entry.kind != "tree":
            yield f"{change.path}/{entry.path}", entry.mode, None
    if change.mode == TREE_MODE and change.sha is not None:
        if not is_folder:
            yield change.path, "100644", None
        for entry in git.tree(change.sha, recursive=True):
            if entry.kind != "tree":
                yield f"{change.path}/{entry.path}", entry.mode, entry.sha
    elif change.sha is not None or not is_folder:
        yield change.path, change.mode, change.sha


def signature_of(
    session: HubSession, fields: Mapping[str, object] | None, default: GitSignature | None = None
) -> GitSignature:
    """Return an author or committer from name, email and date; what is absent is the default's, or the user's.

    Raises:
        HubError: 422, one of them cannot stand in a commit.
    """
    base = default or session.signature()
    if fields is None:
        return base
    values = [fields.get(name) for name in ("name", "email", "date")]
    if any(value is not None and not isinstance(value, str) for value in values):
        raise HubError(422, "Invalid request.\n\nFor 'properties/author', a field is not a string.")
    name, email, date = (str(value) if value is not None else None for value in values)
    if (name is None) != (email is None) or (name is not None and _NAMELESS.fullmatch(name)):
        raise HubError(422, 'Invalid request.\n\n"name" and "email" weren\'t supplied.')
    if name is not None and any(mark in f"{name}{email}" for mark in "<>\n\x00"):
        raise HubError(422, "Invalid request.\n\nname and email must not contain < > or line breaks.")
    return GitSignature(name or base.name, email or base.email, _time(date) if date else base.date)


def _time(text: str) -> datetime.datetime:
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise HubError(422, f"Invalid request.\n\n{text[:40]!r} is not a valid timestamp.") from None
    aware = time if time.tzinfo else time.replace(tzinfo=datetime.UTC)
    if not 1970 <= aware.year <= 2099:  # noqa: PLR2004 what git can write
        raise HubError(422, f"Invalid request.\n\n{text[:40]!r} is not a valid timestamp.")
    return aware


@dataclass(frozen=True, slots=True)
class NewCommit:
    """Commit as it is asked for."""

    message: str
    tree: str
    parents: Sequence[str]
    author: GitSignature
    committer: GitSignature


def create_commit(session: HubSession, repository: RepositoryRecord, new: NewCommit) -> GitCommit:
    """Store a commit, which no branch has yet.

    Raises:
        HubError: 422, its tree or a parent does not exist.
    """
    git = writable_git(session, repository)
    if not is_sha(new.tree) or git.kind_of(new.tree) != "tree":
        raise HubError(422, "Tree SHA does not exist")
    if not all(is_sha(parent) and git.kind_of(parent) == "commit" for parent in new.parents):
        raise HubError(422, "Parent SHA does not exist or is not a commit object")
    check_message(new.message)
    return git.commit(write_commit(git, new.tree, new.parents, new.message, new.author, new.committer))


def check_message(message: str) -> str:
    """Return the message of a commit.

    Raises:
        HubError: 422, git does not take it.
    """
    if "\x00" in message:
        raise HubError(422, "message cannot contain null bytes")
    return message


def create_tag(session: HubSession, repository: RepositoryRecord, tag: GitTag) -> GitTag:
    """Store an annotated tag, which no ref names yet; its own `sha` is not read.

    Raises:
        HubError: 422, its name is invalid or what it names does not exist.
    """
    git = writable_git(session, repository)
    if not is_ref_name(f"{TAG}{tag.name}"):
        raise HubError(422, f"{tag.name[:250]} is not a valid tag name.")
    if not is_sha(tag.object) or git.kind_of(tag.object) != tag.kind:
        raise HubError(422, f"Object {tag.object[:40]} is not a {tag.kind}")
    who = tag.tagger or session.signature()
    stamp = f"{int(who.date.timestamp())} {who.date:%z}"
    text = f"object {tag.object}\ntype {tag.kind}\ntag {tag.name}\ntagger {who.name} <{who.email}> {stamp}\n\n"
    message = tag.message.replace("\x00", "")
    sha = git.run("mktag", stdin=f"{text}{message.rstrip()}\n".encode()).decode().strip()
    return read_tag(git, sha)


_TAGGER: Final = re.compile(r"^tagger ([^<>\n]*) <([^<>\n]*)> (\d+) ([+-]\d{4})", re.MULTILINE)


def read_tag(git: GitRepository, sha: str) -> GitTag:
    """Return an annotated tag.

    Raises:
        HubError: 404, there is none.
    """
    if not is_sha(sha) or git.kind_of(sha) != "tag":
        raise HubError(404, "Not Found")
    head, _, message = git.run("cat-file", "tag", sha).decode(errors="replace").partition("\n\n")
    fields = dict(line.split(" ", 1) for line in head.split("\n") if " " in line)
    matched = _TAGGER.search(head)
    tagger = None
    if matched is not None:
        date = time_of(matched[3])
        tagger = GitSignature(matched[1], matched[2], date)
    return GitTag(sha, fields["tag"], message.removesuffix("\n"), tagger, fields["object"], fields["type"])
