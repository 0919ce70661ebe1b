"""A stored state of GitHub, and the views of its objects, which checkpoints read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from scylla_gha.model.github_views import (
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
    ReleaseView,
    RepositoryView,
    ReviewView,
    RunView,
    StepView,
    ThreadView,
    TimelineEvent,
    WorkflowView,
)

Fields = Mapping[str, Any]
V = TypeVar("V", bound=GitHubView)


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
        return tuple(
            BranchView(name=name.removeprefix(prefix), sha=state.peel(sha) or sha)
            for name, sha in sorted(refs.items())
            if name.startswith(prefix)
        )

    owner = state.login(record["owner"])
    return state.build(
        RepositoryView,
        record,
        owner=owner,
        full_name=f"{owner}/{record['name']}",
        branches=below("refs/heads/"),
        tags=below("refs/tags/"),
    )


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
        AssetView(
            name=asset["name"],
            size=asset["size"],
            sha256=asset["blob"],
            label=asset["label"],
            content_type=asset["content_type"],
            uploader=state.login(asset["uploader"]) or "",
        )
        for asset in record["assets"]
    )
    commit = state.peel(tag) if tag else None
    return state.build(ReleaseView, record, author=state.login(record["author"]), commit=commit, assets=assets)


def _workflow(state: StoredState, record: Fields) -> WorkflowView:
    return state.build(WorkflowView, record)


def _run(state: StoredState, record: Fields) -> RunView:
    workflow = state.record("workflow", record["workflow"])
    jobs = tuple(
        JobView(
            name=job["name"],
            attempt=job["attempt"],
            status=job["status"],
            conclusion=job["conclusion"],
            steps=tuple(
                StepView(number=step["number"], name=step["name"], conclusion=step["conclusion"])
                for step in job["steps"]
            ),
        )
        for job in record["jobs"]
    )
    return state.build(
        RunView,
        record,
        workflow=workflow["name"] if workflow else "",
        branch=record["head_branch"],
        sha=record["head_sha"],
        actor=state.login(record["actor"]),
        jobs=jobs,
    )


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
