"""Search in the files and commits of default branches.

By https://docs.github.com/en/search-github/searching-on-github/searching-code and
https://docs.github.com/en/search-github/searching-on-github/searching-commits; code is found by parts of words.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.git_store import MOST_READ, SECONDS, GitCommit, GitTreeEntry
from scylla_gha.hub.operations.repository_facts import all_files, language_of, user_of
from scylla_gha.hub.records import RepositoryRecord
from scylla_gha.hub.search.places import PLACES, is_in_place, is_login, readable_repositories
from scylla_gha.hub.search.query import (
    SearchLeaf,
    SearchQualifier,
    SearchQuery,
    SearchText,
    contains_words,
    parse_query,
    words_of,
)
from scylla_gha.hub.search.ranges import in_range, number_in_range
from scylla_gha.system.git import run_git

_MOST_MATCHES: Final = 3
_CODE_OUTSIDE: Final = frozenset({"fork", "symbol", "content", "license"})
_COMMIT_PLACES: Final = (*PLACES, "is")


@dataclass(frozen=True, slots=True)
class CodeMatch:
    """File of a default branch that matches."""

    repository: RepositoryRecord
    commit: str
    file: GitTreeEntry


@dataclass(frozen=True, slots=True)
class CommitMatch:
    """Commit of a default branch that matches."""

    repository: RepositoryRecord
    commit: GitCommit


@dataclass(frozen=True, slots=True)
class TextMatch:
    """Line of a file with the words that are in it: text, start and end of each."""

    fragment: str
    words: tuple[tuple[str, int, int], ...]


FileCheck = Callable[[GitTreeEntry, str], bool]
_FILES: Final[Mapping[str, FileCheck]] = {
    "extension": lambda file, value: file.path.lower().endswith(f".{value.lower().removeprefix('.')}"),
    "filename": lambda file, value: value.lower() in PurePosixPath(file.path).name.lower(),
    "path": lambda file, value: _is_below(file.path, value),
    "language": lambda file, value: (language_of(file.path) or "").casefold() == value.casefold(),
    "size": lambda file, value: number_in_range(value, file.size or 0),
}


def _is_below(path: str, value: str) -> bool:
    """Return whether a path has a folder or file as one of its parts; `/` is the root alone."""
    if value == "/":
        return "/" not in path
    return f"/{value.strip('/')}/".lower() in f"/{path}/".lower()


def parse_code_query(text: str) -> SearchQuery:
    """Return a query for code.

    Raises:
        HubError: it is invalid, or outside the contract.
    """
    return parse_query(text, (*PLACES, *_FILES), _CODE_OUTSIDE)


def search_code(session: HubSession, query: SearchQuery) -> list[CodeMatch]:
    """Return the files of default branches that match, repository by repository."""
    return [
        CodeMatch(repository, tip, file)
        for repository in readable_repositories(session)
        if (tip := session.git(repository).branch(repository.default_branch))
        for files in [_CodeFiles(session, repository, tip, query.fields)]
        for file in all_files(session.git(repository), tip)
        if query.matches(functools.partial(files.matches, file))
    ]


def _is_in(session: HubSession, repository: RepositoryRecord, leaf: SearchQualifier) -> bool:
    return any(is_in_place(session, repository, leaf.name, value) for value in leaf.values)


@dataclass
class _CodeFiles:
    """Files of a commit, in which git looks for words, once for each."""

    session: HubSession
    repository: RepositoryRecord
    commit: str
    fields: frozenset[str] | None
    _with_word: dict[str, frozenset[str]] = field(default_factory=dict)

    def matches(self, file: GitTreeEntry, leaf: SearchLeaf) -> bool:
        if not isinstance(leaf, SearchText):
            if leaf.name in PLACES:
                return _is_in(self.session, self.repository, leaf)
            return any(_FILES[leaf.name](file, value) for value in leaf.values)
        fields = self.fields or {"file", "path"}
        in_path = "path" in fields and leaf.text.casefold() in file.path.casefold()
        return in_path or ("file" in fields and file.path in self._files_with(leaf.text))

    def _files_with(self, word: str) -> frozenset[str]:
        if word not in self._with_word:
            path = self.session.git(self.repository).path
            done = run_git(path, "grep", "-I", "-i", "-F", "-l", "-z", "-e", word, self.commit, seconds=SECONDS,
                           most_bytes=MOST_READ)  # fmt: skip
            names = done.stdout.decode(errors="replace").split("\x00") if done.code == 0 else []
            self._with_word[word] = frozenset(name.partition(":")[2] for name in names if name)
        return self._with_word[word]


def text_matches(session: HubSession, match: CodeMatch, query: SearchQuery) -> Iterator[TextMatch]:
    """Yield the first lines of a file that have a word of the query."""
    words = [leaf.text for leaf in query.leaves() if isinstance(leaf, SearchText)]
    if not words:
        return
    pattern = re.compile("|".join(re.escape(word) for word in words), re.IGNORECASE)
    text = (session.git(match.repository).content(match.file.sha) or b"").decode(errors="replace")
    lines = [line for line in text.splitlines() if pattern.search(line)]
    for line in lines[:_MOST_MATCHES]:
        shown = line[:300]
        yield TextMatch(shown, tuple((hit[0], hit.start(), hit.end()) for hit in pattern.finditer(shown)))


# Commits


def parse_commit_query(text: str) -> SearchQuery:
    """Return a query for commits.

    Raises:
        HubError: it is invalid, or outside the contract.
    """
    return parse_query(text, (*_COMMIT_PLACES, *_COMMITS))


def search_commits(session: HubSession, query: SearchQuery) -> list[CommitMatch]:
    """Return the commits of default branches that match, in the order that the query asks for."""
    matches = [
        CommitMatch(repository, commit)
        for repository in readable_repositories(session)
        if (tip := session.git(repository).branch(repository.default_branch))
        for commit in session.git(repository).log(tip)
        if query.matches(lambda leaf, where=repository, commit=commit: _commit_matches(session, where, commit, leaf))  # type: ignore[misc]
    ]
    name, _, direction = (query.sort or "committer-date-desc").rpartition("-")
    role = "author" if name.startswith("author") else "committer"
    return sorted(matches, key=lambda match: getattr(match.commit, role).date, reverse=direction != "asc")


CommitCheck = Callable[[HubSession, GitCommit, str], bool]


def _by(role: str) -> CommitCheck:
    def check(session: HubSession, commit: GitCommit, value: str) -> bool:
        user = user_of(session, getattr(commit, role))
        return user is not None and is_login(session, user, value)

    return check


def _signed(role: str, field: str) -> CommitCheck:
    return lambda _, commit, value: value.casefold() in getattr(getattr(commit, role), field).casefold()


def _dated(role: str) -> CommitCheck:
    return lambda _, commit, value: in_range(value, getattr(commit, role).date)


_COMMITS: Final[Mapping[str, CommitCheck]] = {
    **{role: _by(role) for role in ("author", "committer")},
    **{f"{role}-name": _signed(role, "name") for role in ("author", "committer")},
    **{f"{role}-email": _signed(role, "email") for role in ("author", "committer")},
    **{f"{role}-date": _dated(role) for role in ("author", "committer")},
    "hash": lambda _, commit, value: commit.sha.startswith(value.lower()),
    "tree": lambda _, commit, value: commit.tree.startswith(value.lower()),
    "parent": lambda _, commit, value: any(parent.startswith(value.lower()) for parent in commit.parents),
    "merge": lambda _, commit, value: (len(commit.parents) > 1) == (value == "true"),
}


def _commit_matches(session: HubSession, repository: RepositoryRecord, commit: GitCommit, leaf: SearchLeaf) -> bool:
    if isinstance(leaf, SearchText):
        return contains_words(words_of(leaf.text), commit.message)
    if leaf.name in _COMMIT_PLACES:
        return _is_in(session, repository, leaf)
    return any(_COMMITS[leaf.name](session, commit, value) for value in leaf.values)
