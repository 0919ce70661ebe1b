"""GitHub of a trial, read from its files: both states, their views, the writes between them, the repositories."""

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
from scylla_gha.model.github_views import (
    LIST_QUERIES,
    PUSHES,
    AssetView,
    BranchView,
    CheckView,
    CommentView,
    GitHubView,
    IssueView,
    JobView,
    LabelView,
    MilestoneView,
    ProtectionView,
    PullRequestView,
    PushView,
    ReleaseView,
    RepositoryView,
    ReviewView,
    RunView,
    StepView,
    ThreadView,
    TimelineEvent,
    WorkflowView,
)
from scylla_gha.prepare.git_directory import check_out_tree, git, init
from scylla_gha.system.git import run_git

Fields = Mapping[str, Any]
V = TypeVar("V", bound=GitHubView)
_SECONDS: Final = 120.0
_NO_OBJECT: Final = "0" * 40
_SHOWN: Final = 300
When = Literal["start", "end"]


@dataclass(frozen=True, slots=True)
class StoredState:
    """Exported state of a cell's GitHub (see `hub.trial_files`).

    Attributes:
        records: fields of records by kind, such as `pull_request`, and by id.
        refs: objects by ref, by the repository's id.
        sequences: by a record's id, the number of the write that created it in the trial.
        peel: returns the commit that an object is, or names in the end; None if it names none.
        indexes: records by kind and field, and by the field's value; made when they are needed.
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
        """Return a state of `github.json`."""
        records = {kind: {record["id"]: record for record in listed} for kind, listed in state["records"].items()}
        return cls(records, state["refs"], sequences, peel)

    def record(self, kind: str, id_: int | None) -> Fields | None:
        """Return the fields of a record; None if there is none."""
        return None if id_ is None else self.records.get(kind, {}).get(id_)

    def where(self, kind: str, **fields: object) -> list[Fields]:
        """Return the records of a kind whose fields are equal to these, by id.

        Each issue asks for its own comments, of which an agent may have written thousands: the first field is indexed.
        """
        first, wanted = next(iter(fields.items()))
        if (kind, first) not in self.indexes:
            index = self.indexes.setdefault((kind, first), {})
            for record in self.records.get(kind, {}).values():
                index.setdefault(record[first], []).append(record)
        listed = self.indexes[kind, first].get(wanted, [])
        return [record for record in listed if all(record[name] == value for name, value in fields.items())]

    def login(self, id_: int | None) -> str | None:
        """Return a user's login."""
        user = self.record("user", id_)
        return user["login"] if user else None

    def full_name(self, id_: int) -> str:
        """Return `owner/name` of a repository, or "" if it was deleted."""
        repository = self.record("repository", id_)
        return f"{self.login(repository['owner'])}/{repository['name']}" if repository else ""

    def views(self, kind: str) -> Iterator[GitHubView]:
        """Yield the views of all records of a kind, by id."""
        build = _BUILDERS[kind]
        for record in self.records.get(kind, {}).values():
            yield build(self, record)

    def view(self, kind: str, id_: int) -> GitHubView | None:
        """Return the view of a record; None if there is none."""
        record = self.record(kind, id_)
        return None if record is None else _BUILDERS[kind](self, record)

    def build(self, view: type[V], record: Fields, **others: object) -> V:
        """Return a view with the record's fields of the same names; `others` are those that differ."""
        fields = {name: record[name] for name in view.model_fields if name in record and name not in others}
        names = {"repository": self.full_name(record["repository"])} if "repository" in fields else {}
        sequence = self.sequences.get(record["id"], 0)
        return view.model_validate({**fields, "sequence": sequence, **names, **others}, strict=False)


def _repository(state: StoredState, record: Fields) -> RepositoryView:
    refs = state.refs.get(str(record["id"]), {})

    def below(prefix: str) -> tuple[BranchView, ...]:
        return tuple(BranchView(name=name.removeprefix(prefix), sha=state.peel(sha) or sha)
                     for name, sha in sorted(refs.items()) if name.startswith(prefix))  # fmt: skip

    owner = state.login(record["owner"])
    return state.build(RepositoryView, record, owner=owner, full_name=f"{owner}/{record['name']}",
                       branches=below("refs/heads/"), tags=below("refs/tags/"))  # fmt: skip


def _label(state: StoredState, record: Fields) -> LabelView:
    return state.build(LabelView, record)


def _milestone(state: StoredState, record: Fields) -> MilestoneView:
    return state.build(MilestoneView, record, creator=state.login(record["creator"]))


def _comment(state: StoredState, record: Fields) -> CommentView:
    return state.build(CommentView, record, author=state.login(record["author"]))


def _subject(state: StoredState, record: Fields) -> dict[str, object]:
    """Return the fields that issues and pull requests have and their records have not."""
    labels = [state.record("label", label) for label in record["labels"]]
    milestone = state.record("milestone", record["milestone"])
    twin = state.record("issue", record["duplicate_of"]) or state.record("pull_request", record["duplicate_of"])
    return {
        "author": state.login(record["author"]),
        "labels": tuple(label["name"] for label in labels if label),
        "assignees": tuple(state.login(user) for user in record["assignees"]),
        "milestone": milestone["title"] if milestone else None,
        "closed_by": state.login(record["closed_by"]),
        "duplicate_of": twin["number"] if twin else None,
        "comments": tuple(
            _comment(state, comment) for comment in state.where("comment", subject=record["id"], thread=None)
        ),
        "timeline": tuple(
            state.build(TimelineEvent, event, actor=state.login(event["actor"]), data=dict(event["data"]))
            for event in state.where("event", subject=record["id"])
        ),
    }


def _issue(state: StoredState, record: Fields) -> IssueView:
    return state.build(IssueView, record, **_subject(state, record))


def _review(state: StoredState, record: Fields) -> ReviewView:
    return state.build(ReviewView, record, author=state.login(record["author"]))


def _thread(state: StoredState, record: Fields) -> ThreadView:
    comments = tuple(state.where("comment", thread=record["id"]))
    return state.build(
        ThreadView,
        record,
        author=state.login(comments[0]["author"]) if comments else None,
        review=comments[0]["review"] if comments else None,
        resolved=record["resolved_by"] is not None,
        resolved_by=state.login(record["resolved_by"]),
        comments=tuple(_comment(state, comment) for comment in comments),
    )


def _pull_request(state: StoredState, record: Fields) -> PullRequestView:
    head = state.refs.get(str(record["repository"]), {}).get(f"refs/pull/{record['number']}/head")
    return state.build(
        PullRequestView,
        record,
        **_subject(state, record),
        base=record["base_ref"],
        head=record["head_ref"],
        head_repository=state.full_name(record["head_repository"]),
        head_sha=head,
        merged=record["merged_at"] is not None,
        merged_by=state.login(record["merged_by"]),
        requested_reviewers=tuple(state.login(user) for user in record["requested_reviewers"]),
        reviews=tuple(_review(state, review) for review in state.where("review", pull=record["id"])),
        threads=tuple(_thread(state, thread) for thread in state.where("thread", pull=record["id"])),
    )


def _release(state: StoredState, record: Fields) -> ReleaseView:
    tag = state.refs.get(str(record["repository"]), {}).get(f"refs/tags/{record['tag']}")
    assets = tuple(
        AssetView(name=asset["name"], size=asset["size"], sha256=asset["blob"], label=asset["label"],
                  content_type=asset["content_type"], uploader=state.login(asset["uploader"]) or "")
        for asset in record["assets"]
    )  # fmt: skip
    commit = state.peel(tag) if tag else None
    return state.build(ReleaseView, record, author=state.login(record["author"]), commit=commit, assets=assets)


def _workflow(state: StoredState, record: Fields) -> WorkflowView:
    return state.build(WorkflowView, record)


def _run(state: StoredState, record: Fields) -> RunView:
    workflow = state.record("workflow", record["workflow"])
    jobs = tuple(
        JobView(name=job["name"], attempt=job["attempt"], status=job["status"], conclusion=job["conclusion"],
                steps=tuple(StepView(number=step["number"], name=step["name"], conclusion=step["conclusion"])
                            for step in job["steps"]))
        for job in record["jobs"]
    )  # fmt: skip
    return state.build(RunView, record, workflow=workflow["name"] if workflow else "", branch=record["head_branch"],
                       sha=record["head_sha"], actor=state.login(record["actor"]), jobs=jobs)  # fmt: skip


def _check(state: StoredState, record: Fields) -> CheckView:
    return state.build(CheckView, record, creator=state.login(record["creator"]))


def _protection(state: StoredState, record: Fields) -> ProtectionView:
    return state.build(ProtectionView, record)


_BUILDERS: Mapping[str, Callable[[StoredState, Fields], GitHubView]] = {
    "repository": _repository,
    "label": _label,
    "milestone": _milestone,
    "issue": _issue,
    "pull_request": _pull_request,
    "comment": _comment,
    "review": _review,
    "thread": _thread,
    "release": _release,
    "workflow": _workflow,
    "run": _run,
    "check": _check,
    "protection": _protection,
}


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
        return frozenset(self.end.login(entry["actor"]) or "" for entry in self.journal
                         if entry.get("scripted") and entry["id"] == pull and "requested_reviewers" in entry["fields"]
                         )  # fmt: skip

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
            return [view for view in self.end.views(kind)
                    if repository in (None, getattr(view, "repository", None))]  # fmt: skip
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
                    id=entry["id"], sequence=entry["sequence"], repository=self.end.full_name(entry["id"]),
                    actor=self.end.login(entry["actor"]) or "", ref=entry["fields"][0],
                    old=None if old == _NO_OBJECT else old, new=None if new == _NO_OBJECT else new,
                    forced=bool(forced),
                )  # fmt: skip

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
        refs = (f"+refs/end/{repository}/heads/*:refs/heads/*", f"+refs/end/{repository}/tags/*:refs/tags/*",
                f"+refs/start/{repository}/*:refs/start/*")  # fmt: skip
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
