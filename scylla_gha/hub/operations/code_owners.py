"""Code owners of files, by the CODEOWNERS file of a repository.

See https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners
"""

import fnmatch
from collections.abc import Iterable
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.records import RepositoryRecord, UserRecord

_FILES: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
_MOST_BYTES: Final = 3_000_000  # a larger file is not read, as on GitHub


def code_owners(
    session: HubSession, repository: RepositoryRecord, commit: str, paths: Iterable[str]
) -> dict[str, set[int]]:
    """Return the owners of files by path: those of the last pattern that matches, who have write access."""
    git = session.git(repository)
    contents = (git.content(f"{commit}:{path}") for path in _FILES)
    text = next((content for content in contents if content is not None), b"")
    rules = _rules(text.decode(errors="replace")) if len(text) <= _MOST_BYTES else []
    owners: dict[str, set[int]] = {}
    for path in paths:
        names = next((names for pattern, names in reversed(rules) if _matches(pattern, path)), [])
        users = (_user(session, name) for name in names)
        owners[path] = {user.id for user in users if user and HubSession(session.hub, user).may(repository, "write")}
    return owners


def _user(session: HubSession, name: str) -> UserRecord | None:
    """Return the user of "@login" or an address; a cell has no teams."""
    if name.startswith("@"):
        return session.state.user(name.removeprefix("@"))
    return next((user for user in session.state.where(UserRecord) if user.email == name), None)


def _rules(text: str) -> list[tuple[str, list[str]]]:
    """Return patterns with owners, in the order of the file."""
    lines = [line.partition("#")[0].split() for line in text.splitlines()]
    return [(words[0], words[1:]) for words in lines if words]


def _matches(pattern: str, path: str) -> bool:
    """Return whether a pattern of gitignore's kind matches a file, or a folder that it is in.

    `ends` are the numbers of the path's parts that the pattern may have used up. (A regular expression of many
    wildcards could take for ever.)
    """
    parts, is_anchored = path.split("/"), "/" in pattern.rstrip("/")
    wanted = [*([] if is_anchored else ["**"]), *pattern.strip("/").split("/")]
    ends = {0}
    for part in wanted:
        if part == "**":
            ends = set(range(min(ends, default=len(parts)), len(parts)))
        else:
            glob = part.replace("[", "[[]")
            ends = {end + 1 for end in ends if end < len(parts) and fnmatch.fnmatchcase(parts[end], glob)}
    if wanted[-1] == "*" and is_anchored:
        return len(parts) in ends  # docs/* owns the files of docs, not those further down
    return min(ends, default=len(parts)) < len(parts) if pattern.endswith("/") else bool(ends)
