"""A trial's GitHub, read from its files: the state at the start and at the end, the writes, and the repositories.

Checkpoints read the views of a state's objects, in which users and repositories have names instead of ids.
"""

import contextlib
import functools
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from scylla_gha.errors import FixtureError, ToolError, is_full_disk
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.trial_files import BUNDLE_FILE, STATE_FILE
from scylla_gha.model import Record
from scylla_gha.model.github_views import (
    LIST_QUERIES,
    OBJECT_QUERIES,
    PUSHES,
    AssetView,
    BranchView,
    CommentView,
    GitHubView,
    JobView,
    PushView,
    ReviewView,
    StepView,
    ThreadView,
    TimelineEvent,
)
from scylla_gha.prepare.git_directory import check_out_foreign, git, init
from scylla_gha.system.git import run_git

_SECONDS: Final = 120.0
_NO_OBJECT: Final = "0" * 40
_SHOWN: Final = 300
When = Literal["start", "end"]
Fields = Mapping[str, Any]
R = TypeVar("R", bound=Record)
_USERS: Final = frozenset(
    {"owner", "author", "creator", "actor", "closed_by", "merged_by", "resolved_by"}
)  # fields with the id of a user in records, and a login in views
_USER_LISTS: Final = frozenset({"assignees", "requested_reviewers"})


@dataclass(frozen=True, slots=True)
class StoredState:
    """Exported state of a cell's GitHub (see `hub.trial_files`).

    Attributes:
        records: fields of records by kind, such as `pull_request`, and by id.
        refs: objects by ref, by the repository's id.
        sequences: number of the write that created a record in the trial, by the record's id.
        peel: function that returns the commit of an object or of a tag object; None if there is none.
        indexes: records by kind and field, and by the field's value; filled when needed.
    """

    records: Mapping[str, Mapping[int, Fields]]
    refs: Mapping[str, Mapping[str, str]]
    sequences: Mapping[int, int]
    peel: Callable[[str], str | None]
    indexes: dict[tuple[str, str], dict[Any, list[Fields]]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(
        cls, state: Mapping[str, Any], sequences: Mapping[int, int], peel: Callable[[str], str | None]
    ) -> "StoredState":
        """Return the state in `github.json`."""
        records = {kind: {record["id"]: record for record in listed} for kind, listed in state["records"].items()}
        return cls(records, state["refs"], sequences, peel)

    def record(self, kind: str, id_: int | None) -> Fields | None:
        """Return the fields of a record; None if there is none."""
        return None if id_ is None else self.records.get(kind, {}).get(id_)

    def where(self, kind: str, **fields: object) -> list[Fields]:
        """Return the records of a kind with these values in these fields, by id.

        The first field is indexed, since each issue asks for its own comments, and an agent may have written thousands.
        """
        first, value = next(iter(fields.items()))
        if (kind, first) not in self.indexes:
            index = self.indexes.setdefault((kind, first), {})
            for record in self.records.get(kind, {}).values():
                index.setdefault(record[first], []).append(record)
        listed = self.indexes[kind, first].get(value, [])
        return [record for record in listed if all(record[name] == value for name, value in fields.items())]

    def login(self, id_: int | None) -> str | None:
        """Return a user's login; None if there is no such user."""
        user = self.record("user", id_)
        return user["login"] if user else None

    def full_name(self, id_: int) -> str:
        """Return `owner/name` of a repository, or "" if it was deleted."""
        repository = self.record("repository", id_)
        return f"{self.login(repository['owner'])}/{repository['name']}" if repository else ""

    def object_of(self, repository: int, ref: str) -> str | None:
        """Return the object of a repository's ref; None if there is no such ref."""
        return self.refs.get(str(repository), {}).get(ref)

    def views(self, kind: str) -> Iterator[GitHubView]:
        """Yield the views of all records of a kind, by id."""
        for record in self.records.get(kind, {}).values():
            yield self._view(kind, record)

    def view(self, kind: str, id_: int) -> GitHubView | None:
        """Return the view of a record; None if there is none."""
        record = self.record(kind, id_)
        return None if record is None else self._view(kind, record)

    def _view(self, kind: str, record: Fields) -> GitHubView:
        others = _OTHERS[kind](self, record) if kind in _OTHERS else {}
        return self.numbered(OBJECT_QUERIES[kind], record, **others)

    def numbered(self, view: type[R], record: Fields, **others: object) -> R:
        """Return a view as in `build`, with the number of the write that created the record."""
        return self.build(view, record, **others, sequence=self.sequences.get(record["id"], 0))

    def build(self, view: type[R], record: Fields, **others: object) -> R:
        """Return a view with the record's fields of the same names, and with `others`."""
        fields = {
            name: self._named(name, record[name]) for name in view.model_fields if name in record and name not in others
        }
        return view.model_validate({**fields, **others}, strict=False)

    def _named(self, field_name: str, value: Any) -> Any:  # noqa: ANN401 any JSON
        """Return a record's value with names instead of the ids of users and repositories."""
        if field_name in _USERS:
            return self.login(value)
        if field_name in _USER_LISTS:
            return tuple(map(self.login, value))
        return self.full_name(value) if field_name == "repository" else value


def _repository(state: StoredState, record: Fields) -> dict[str, object]:
    refs = sorted(state.refs.get(str(record["id"]), {}).items())

    def below(prefix: str) -> tuple[BranchView, ...]:
        return tuple(
            BranchView(name=name.removeprefix(prefix), sha=state.peel(sha) or sha)
            for name, sha in refs
            if name.startswith(prefix)
        )

    return {
        "full_name": state.full_name(record["id"]),
        "branches": below("refs/heads/"),
        "tags": below("refs/tags/"),
    }


def _issue(state: StoredState, record: Fields) -> dict[str, object]:
    labels = [state.record("label", label) for label in record["labels"]]
    milestone = state.record("milestone", record["milestone"])
    original = state.record("issue", record["duplicate_of"]) or state.record("pull_request", record["duplicate_of"])
    events = state.where("event", subject=record["id"])
    return {
        "labels": tuple(label["name"] for label in labels if label),
        "milestone": milestone["title"] if milestone else None,
        "duplicate_of": original["number"] if original else None,
        "comments": _comments(state, state.where("comment", subject=record["id"], thread=None)),
        "timeline": tuple(state.numbered(TimelineEvent, event, data=dict(event["data"])) for event in events),
    }


def _comments(state: StoredState, comments: list[Fields]) -> tuple[CommentView, ...]:
    return tuple(state.numbered(CommentView, comment) for comment in comments)


def _thread(state: StoredState, record: Fields) -> dict[str, object]:
    comments = state.where("comment", thread=record["id"])
    return {
        "author": state.login(comments[0]["author"]) if comments else None,
        "review": comments[0]["review"] if comments else None,
        "resolved": record["resolved_by"] is not None,
        "comments": _comments(state, comments),
    }


def _pull_request(state: StoredState, record: Fields) -> dict[str, object]:
    threads = state.where("thread", pull=record["id"])
    return {
        **_issue(state, record),
        "base": record["base_ref"],
        "head": record["head_ref"],
        "head_repository": state.full_name(record["head_repository"]),
        "head_sha": state.object_of(record["repository"], f"refs/pull/{record['number']}/head"),
        "merged": record["merged_at"] is not None,
        "reviews": tuple(state.numbered(ReviewView, review) for review in state.where("review", pull=record["id"])),
        "threads": tuple(state.numbered(ThreadView, thread, **_thread(state, thread)) for thread in threads),
    }


def _release(state: StoredState, record: Fields) -> dict[str, object]:
    tag = state.object_of(record["repository"], f"refs/tags/{record['tag']}")
    return {
        "commit": state.peel(tag) if tag else None,
        "assets": tuple(
            state.build(AssetView, asset, sha256=asset["blob"], uploader=state.login(asset["uploader"]) or "")
            for asset in record["assets"]
        ),
    }


def _run(state: StoredState, record: Fields) -> dict[str, object]:
    workflow = state.record("workflow", record["workflow"])
    return {
        "workflow": workflow["name"] if workflow else "",
        "branch": record["head_branch"],
        "sha": record["head_sha"],
        "jobs": tuple(
            state.build(JobView, job, steps=tuple(state.build(StepView, step) for step in job["steps"]))
            for job in record["jobs"]
        ),
    }


# Fields of views that differ from those of the records.
_OTHERS: Final[Mapping[str, Callable[[StoredState, Fields], dict[str, object]]]] = {
    "repository": _repository,
    "issue": _issue,
    "pull_request": _pull_request,
    "thread": _thread,
    "release": _release,
    "run": _run,
}


class GoneError(Exception):
    """The object of a condition does not exist; the message is evidence."""


@dataclass(frozen=True)
class TrialGitHub:
    """A trial's GitHub.

    Attributes:
        names: ids of the fixture's objects by name.
        start: state at the start of the trial.
        end: state at its end.
        journal: the writes in the trial.
        git: repository with the refs of all repositories, as `refs/<start or end>/<repository>/heads/main`.
    """

    names: Mapping[str, int]
    start: StoredState
    end: StoredState
    journal: Sequence[Mapping[str, Any]]
    git: GitRepository

    def state(self, when: When) -> StoredState:
        """Return the state at the start or the end."""
        return self.start if when == "start" else self.end

    @functools.cached_property
    def written_by(self) -> Mapping[int, frozenset[str]]:
        """Logins of the users who wrote each record in the trial, by the record's id.

        Scripted reviewers count only for records without another author, since each of their reviews also changes the
        time of its pull request.
        """
        writers: dict[int, set[str]] = {}
        for entry in self.journal:
            if not entry.get("scripted") or entry["id"] in self.scripted:
                writers.setdefault(entry["id"], set()).add(self.end.login(entry["actor"]) or "")
        return {id_: frozenset(logins) for id_, logins in writers.items()}

    @functools.cached_property
    def scripted(self) -> frozenset[int]:
        """Ids of the records that only scripted reviewers wrote in the trial."""
        by_script = {entry["id"] for entry in self.journal if entry.get("scripted")}
        return frozenset(by_script - {entry["id"] for entry in self.journal if not entry.get("scripted")})

    def scripted_reviewers(self, pull: int) -> frozenset[str]:
        """Return the logins of a pull request's reviewers who are no longer requested, since their script reviewed."""
        return frozenset(
            self.end.login(entry["actor"]) or ""
            for entry in self.journal
            if entry.get("scripted") and entry["id"] == pull and "requested_reviewers" in entry["fields"]
        )

    def query(self, query: str, target: str | None) -> GitHubView | list[GitHubView]:
        """Return the object or the objects that a query selects.

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
        """Id of the fixture's only repository."""
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
        """Return the id of a repository of the fixture; None names the only one."""
        return self.names[name] if name else self.only_repository

    def revision(self, repository: int, text: str) -> str:
        """Return the commit of a revision such as `main`, `start:main`, `refs/pull/1/head` or a commit's hash.

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
            GoneError: there is no such pull request.
        """
        record = self.state(when).record("pull_request", self.names[pull])
        if record is None:
            raise GoneError(f"{pull} was deleted")
        prefix = "start:" if when == "start" else ""
        return record["repository"], self.revision(record["repository"], f"{prefix}refs/pull/{record['number']}/head")

    def check_out(self, repository: int, commit: str, folder: Path) -> None:
        """Make a repository in a new folder, with all branches and tags of the end, and check a commit out.

        Its refs `refs/start/...` have the state of the start.

        Raises:
            GoneError: the commit cannot be checked out, since the agent made it too large or gave files invalid names.
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
            check_out_foreign(own, commit, folder)
        except FixtureError as error:
            if is_full_disk(str(error), folder):
                raise
            raise GoneError(f"it cannot be checked out: {str(error)[-_SHOWN:]}") from None


@contextlib.contextmanager
def trial_github(folder: Path) -> Iterator[TrialGitHub]:
    """Read the files with a trial's GitHub from a folder.

    Raises:
        FixtureError: the files are missing or unreadable.
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
