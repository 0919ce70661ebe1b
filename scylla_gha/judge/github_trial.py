"""GitHub of a trial, read from its files: both states, the writes between them, the repositories."""

import contextlib
import functools
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from scylla_gha.errors import FixtureError, ToolError, is_full_disk
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.trial_files import BUNDLE_FILE, STATE_FILE
from scylla_gha.judge.github_views import StoredState
from scylla_gha.model.github_views import (
    LIST_QUERIES,
    PUSHES,
    GitHubView,
    PushView,
)
from scylla_gha.prepare.git_directory import check_out_tree, git, init
from scylla_gha.system.git import run_git

_SECONDS: Final = 120.0
_NO_OBJECT: Final = "0" * 40
_SHOWN: Final = 300
When = Literal["start", "end"]


class GoneError(Exception):
    """Object of a condition that no longer exists; the message is evidence."""


@dataclass(frozen=True)
class TrialGitHub:
    """Both states of a trial's GitHub, its writes, and a repository with the refs of all its repositories.

    Refs are named as in the bundle: `refs/<start or end>/<repository>/heads/main`.
    """

    names: Mapping[str, int]
    start: StoredState
    end: StoredState
    journal: Sequence[Mapping[str, Any]]
    git: GitRepository

    def state(self, when: When) -> StoredState:
        """Return the state at the start or the end."""
        return self.start if when == "start" else self.end

    def kind_of(self, id_: int) -> str:
        """Return the kind of a record of the start."""
        return next(kind for kind, records in self.start.records.items() if id_ in records)

    @functools.cached_property
    def written_by(self) -> Mapping[int, frozenset[str]]:
        """Logins of those who wrote each record in the trial, by the record's id.

        Scripted reviewers count for what nobody else wrote: their reviews change a pull request's time as well.
        """
        writers: dict[int, set[str]] = {}
        for entry in self.journal:
            if not entry.get("scripted") or entry["id"] in self.scripted:
                writers.setdefault(entry["id"], set()).add(self.end.login(entry["actor"]) or "")
        return {id_: frozenset(logins) for id_, logins in writers.items()}

    @functools.cached_property
    def scripted(self) -> frozenset[int]:
        """Ids of the records that scripted reviewers alone wrote in the trial."""
        by_script = {entry["id"] for entry in self.journal if entry.get("scripted")}
        return frozenset(by_script - {entry["id"] for entry in self.journal if not entry.get("scripted")})

    def scripted_reviewers(self, pull: int) -> frozenset[str]:
        """Return the logins of those who are no longer asked to review a pull request, since they did by a script."""
        return frozenset(
            self.end.login(entry["actor"]) or ""
            for entry in self.journal
            if entry.get("scripted") and entry["id"] == pull and "requested_reviewers" in entry["fields"]
        )

    def query(self, query: str, target: str | None) -> GitHubView | list[GitHubView]:
        """Return the object of a query, or all objects.

        Raises:
            GoneError: the object was deleted.
        """
        if query == PUSHES:
            return list(self.pushes())
        if query in LIST_QUERIES:
            kind = LIST_QUERIES[query]
            repository = self.start.full_name(self.names[target]) if target else None
            return [view for view in self.end.views(kind) if repository in (None, getattr(view, "repository", None))]
        id_ = self.names[target] if target else self.only_repository
        view = self.end.view(query, id_)
        if view is None:
            raise GoneError(f"{target or query} was deleted")
        return view

    @property
    def only_repository(self) -> int:
        """Id of the fixture's repository, of which there is one."""
        return next(iter(self.start.records["repository"]))

    def pushes(self) -> Iterator[PushView]:
        """Yield the changes of refs in the trial."""
        for entry in self.journal:
            if entry["action"] == "push":
                old, new, *forced = entry["detail"].split(" ")
                yield PushView(
                    id=entry["id"],
                    sequence=entry["sequence"],
                    repository=self.end.full_name(entry["id"]),
                    actor=self.end.login(entry["actor"]) or "",
                    ref=entry["fields"][0],
                    old=None if old == _NO_OBJECT else old,
                    new=None if new == _NO_OBJECT else new,
                    forced=bool(forced),
                )

    def repository_id(self, name: str | None) -> int:
        """Return the id of a repository of the fixture; None: the only one."""
        return self.names[name] if name else self.only_repository

    def revision(self, repository: int, text: str) -> str:
        """Return the commit of a revision such as `main`, `start:main`, `refs/pull/1/head` or a commit's name.

        Raises:
            GoneError: there is no such revision.
        """
        when: When = "start" if text.startswith("start:") else "end"
        name = text.removeprefix("start:")
        refs = self.state(when).refs.get(str(repository), {})
        for ref in (f"refs/heads/{name}", f"refs/tags/{name}", name):
            if ref in refs and (commit := self.git.commit_of(refs[ref])):
                return commit
        if (commit := self.git.resolve(name)) is not None:
            return commit
        raise GoneError(f"there is no {name} at the {when} of the trial")

    def head_of(self, pull: str, when: When = "end") -> tuple[int, str]:
        """Return the repository and the head's commit of a pull request of the fixture.

        Raises:
            GoneError: there is none.
        """
        record = self.state(when).record("pull_request", self.names[pull])
        if record is None:
            raise GoneError(f"{pull} was deleted")
        prefix = "start:" if when == "start" else ""
        return record["repository"], self.revision(record["repository"], f"{prefix}refs/pull/{record['number']}/head")

    def check_out(self, repository: int, commit: str, folder: Path) -> None:
        """Make a repository in a new folder: all branches and tags of the end, with a commit checked out.

        Its refs `refs/start/...` are those of the start.

        Raises:
            GoneError: the commit cannot be checked out, since the agent made it too large, or with odd names.
            FixtureError: git cannot read the repository.
        """
        own = folder / ".git"
        init(own)
        refs = (
            f"+refs/end/{repository}/heads/*:refs/heads/*",
            f"+refs/end/{repository}/tags/*:refs/tags/*",
            f"+refs/start/{repository}/*:refs/start/*",
        )
        git(own, "fetch", "--quiet", "--no-tags", str(self.git.path), *refs)
        try:
            check_out_tree(own, commit, folder)
        except FixtureError as error:
            if is_full_disk(str(error), folder):
                raise
            raise GoneError(f"it cannot be checked out: {str(error)[-_SHOWN:]}") from None


@contextlib.contextmanager
def trial_github(folder: Path) -> Iterator[TrialGitHub]:
    """Read the files that a trial left of its GitHub in a folder.

    Raises:
        FixtureError: they are missing or cannot be read.
    """
    with tempfile.TemporaryDirectory() as root:
        try:
            github = _read(folder, Path(root) / "all.git")
        except (OSError, ValueError, KeyError, ToolError) as error:
            raise FixtureError(f"{folder}: the trial's GitHub cannot be read: {error}; run the cell again") from None
        yield github


def _read(folder: Path, repository: Path) -> TrialGitHub:
    content = json.loads((folder / STATE_FILE).read_bytes())
    git = _unbundled(folder / BUNDLE_FILE, repository)
    journal = content["journal"]
    sequences = {entry["id"]: entry["sequence"] for entry in journal if entry["action"] == "create"}
    start = StoredState.of(content["start"], {}, git.commit_of)
    end = StoredState.of(content["end"], sequences, git.commit_of)
    return TrialGitHub(content["names"], start, end, journal, git)


def _unbundled(bundle: Path, folder: Path) -> GitRepository:
    git = GitRepository.create(folder)
    if bundle.exists():
        done = run_git(folder, "fetch", "--quiet", str(bundle.resolve()), "+refs/*:refs/*", seconds=_SECONDS)
        if done.code:
            raise ToolError(done.message)
        git.forget_refs()
    return git
