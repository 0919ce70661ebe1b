"""Replay of issues and pull requests, with their comments, reviews and threads (see `replay`)."""

import dataclasses
import datetime
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from scylla_gha.github_api.client import ApiRequest, GitHubRepository
from scylla_gha.github_api.responses import GitHubResponse, PublishedRelease, User
from scylla_gha.github_com.identify import Dialect
from scylla_gha.github_com.snapshot import (
    IssueSnapshot,
    MilestoneSnapshot,
    PullSnapshot,
    ReleaseSnapshot,
    ReviewThread,
    SubjectSnapshot,
    SubmittedReview,
    TextSnapshot,
    ThreadCommentSnapshot,
)
from scylla_gha.github_com.view import FixtureView
from scylla_gha.hub.actions_records import HubRecord
from scylla_gha.hub.fixture_world import FixtureWorld
from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    PullRequestRecord,
    ReviewRecord,
    ThreadRecord,
    UserRecord,
    id_of_node,
)

R = TypeVar("R", bound=HubRecord)
UNKNOWN: Final = 0  # actor of a write if GitHub does not name one
_RETIRED_OFFSET: Final = 1_000_000  # above all numbers of fixtures, so retired numbers collide with none
_SHORT_NUMBER: Final = re.compile(r"(?<![\w/])GH-(\d{1,9})\b")
Creation = tuple[datetime.datetime, Callable[[], None]]


class ClosedSubject(GitHubResponse):
    """Issue or pull request, with the user who closed it."""

    closed_by: User | None = None


class MergedPull(GitHubResponse):
    """Pull request with its merge commit."""

    merge_commit_sha: str | None = None


class CreatedMilestone(GitHubResponse):
    """Milestone, with the user who created it."""

    creator: User


@dataclass
class TrialDetails:
    """Facts that the GraphQL state lacks.

    Attributes:
        closers: logins by number of an issue or pull request.
        merge_commits: by number of the pull request.
        creators: logins by number of a milestone.
        targets: branches or commits by id of a release.
        digests: SHA-256 of files by `RELEASE_ID/FILE`.
    """

    closers: dict[int, str] = field(default_factory=dict)
    merge_commits: dict[int, str | None] = field(default_factory=dict)
    creators: dict[int, str] = field(default_factory=dict)
    targets: dict[int, str] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)


def read_details(view: FixtureView, client: GitHubRepository) -> TrialDetails:
    """Read details of the issues, pull requests, milestones and releases that a trial changed.

    Raises:
        GitHubError: a request to GitHub failed.
    """
    details = TrialDetails()
    for subject in _closed(view):
        number, what = subject.number, f"read who closed #{subject.number}"
        closed = client.read(ApiRequest("GET", f"/issues/{number}", what, "issues: read"), ClosedSubject)
        if closed.closed_by is not None:
            details.closers[number] = closed.closed_by.login
        if subject.state == "MERGED":
            request = ApiRequest("GET", f"/pulls/{number}", f"read the merge of #{number}", "pull-requests: read")
            details.merge_commits[number] = client.read(request, MergedPull).merge_commit_sha
    for stone in view.objects.extras_of(MilestoneSnapshot):
        what = f"read who created the milestone {stone.title}"
        request = ApiRequest("GET", f"/milestones/{stone.number}", what, "issues: read")
        details.creators[stone.number] = client.read(request, CreatedMilestone).creator.login
    changed = [release for key, release in view.objects.releases.items() if view.differs(key, "assets")]
    for release in (*changed, *view.objects.extras_of(ReleaseSnapshot)):
        _read_release(details, release, client)
    return details


def _closed(view: FixtureView) -> Iterator[SubjectSnapshot]:
    """Yield the issues and pull requests that the trial closed."""
    keys = {subject.id: key for key, subject in view.objects.subjects.items()}
    wanted = view.reference.objects.subjects
    for subject in (*view.state.issues, *view.state.pull_requests):
        key = keys.get(subject.id)
        if (
            subject.state != "OPEN"
            and subject not in view.objects.retired
            and (key is None or wanted[key].state != subject.state or view.differs(f"{key}/closing", "reason"))
        ):
            yield subject


def _read_release(details: TrialDetails, release: ReleaseSnapshot, client: GitHubRepository) -> None:
    id_ = release.database_id
    request = ApiRequest("GET", f"/releases/{id_}", f"read the release {release.tag_name}", "contents: read")
    published = client.read(request, PublishedRelease)
    details.targets[id_] = published.target_commitish
    for asset in published.assets:
        details.digests[f"{id_}/{asset.name}"] = (asset.digest or "").removeprefix("sha256:")


@dataclass
class ReplayWords:
    """Translates a repository's numbers, logins and texts for the fixture's hub.

    Attributes:
        numbers: numbers of issues and pull requests on the hub, by their numbers in the repository.
    """

    view: FixtureView
    world: FixtureWorld
    numbers: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Assign the hub's next numbers to issues and pull requests that are not in the fixture."""
        reference, objects = self.view.reference, self.view.objects
        self.numbers = {subject.number: reference.numbers[key] for key, subject in objects.subjects.items()}
        last = self.world.repository.last_number
        for subject in sorted((*self.view.state.issues, *self.view.state.pull_requests), key=lambda node: node.number):
            if subject in objects.retired:
                self.numbers[subject.number] = _RETIRED_OFFSET + subject.number
            elif subject.number not in self.numbers:
                last += 1
                self.numbers[subject.number] = last

    @property
    def pulls(self) -> dict[int, int]:
        """Hub numbers of pull requests by their numbers on GitHub, without retired ones."""
        retired = self.view.objects.retired
        return {pull.number: self.numbers[pull.number] for pull in self.view.state.pull_requests if pull not in retired}

    def text(self, text: str | None) -> str:
        """Return a text without its marker, with the hub's numbers, logins and repository name."""
        keys = {number: f"number.{number}" for number in self.numbers}
        actual = self.view.dialect
        shortened = _SHORT_NUMBER.sub(lambda part: f"GH-{self.numbers.get(int(part[1]), part[1])}", text or "")
        neutral = Dialect(actual.repository, actual.users, keys).with_placeholders(shortened)
        logins = {
            name.removeprefix("user."): str(facts["login"])
            for name, facts in self.world.bindings.items()
            if name.startswith("user.")
        }
        hub = Dialect(self.view.reference.dialect.repository, {}, {}, logins)
        return hub.fill_placeholders(
            neutral, {f"number.{number}": hub_number for number, hub_number in self.numbers.items()}
        )

    def user(self, login: str | None) -> int:
        """Return the id of the hub's user for a login; create the user if the fixture has none."""
        if login is None:
            return 0
        name = self.view.dialect.user(login)
        if not name.startswith("@"):
            return self.world.names[f"user.{name}"]
        state = self.world.hub.state
        stranger = state.user(name[1:])
        return (stranger or self.create(UNKNOWN, UserRecord, login=name[1:])).id

    def create(self, actor: int, kind: type[R], **fields: Any) -> R:  # noqa: ANN401 fields of the record
        """Add a record to the hub, with a new id and the current time."""
        state = self.world.hub.state
        has_update = any(part.name == "updated_at" for part in dataclasses.fields(kind))
        times = {"created_at": state.now(), **({"updated_at": state.now()} if has_update else {})}
        return state.create(actor, kind(id=state.new_id(), **times, **fields))

    def label(self, name: str) -> int | None:
        """Return the id of a label by its current name; None if there is no such label."""
        labels = self.world.hub.state.where(LabelRecord, repository=self.world.repository_id)
        return next((label.id for label in labels if label.name.casefold() == name.casefold()), None)

    def milestone(self, title: str | None) -> int | None:
        """Return the id of a milestone by its current title; None if there is no such milestone."""
        stones = self.world.hub.state.where(MilestoneRecord, repository=self.world.repository_id)
        return next((stone.id for stone in stones if stone.title == title), None)


class SubjectReplay:
    """Writes the differences of issues and pull requests to the hub of a fixture."""

    def __init__(self, words: ReplayWords, details: TrialDetails) -> None:
        """Prepare for one trial."""
        self._words, self._details = words, details
        self._view, self._world = words.view, words.world
        self._ids: dict[str, int] = {}  # ids of records by the global ids of GitHub's objects

    def replay(self) -> None:
        """Write all differences; new texts in the order of their creation."""
        self._match_fixture()
        subjects = [
            node
            for node in (*self._view.state.issues, *self._view.state.pull_requests)
            if node not in self._view.objects.retired
        ]
        for subject in sorted(subjects, key=lambda node: node.number):
            if subject.id not in self._ids:
                self._create_subject(subject)
        for key, subject in self._view.objects.subjects.items():
            self._change_subject(key, subject)
        self._delete_missing()
        self._change_texts()
        for _, create in sorted(self._new_texts(subjects), key=lambda creation: creation[0]):
            create()
        self._change_threads()

    def _match_fixture(self) -> None:
        """Map the global id of each fixture object to the id of its record."""
        actual, wanted = self._view.objects, self._view.reference.objects
        for objects, wanted_objects in zip(
            (*actual.groups, actual.threads), (*wanted.groups, wanted.threads), strict=True
        ):
            for key, node in objects.items():
                if key in wanted_objects:
                    self._ids[node.id] = id_of_node(wanted_objects[key].id) or 0

    # Issues and pull requests

    def _create_subject(self, subject: SubjectSnapshot) -> None:
        author = self._words.user(subject.author)
        fields: dict[str, Any] = {
            "repository": self._world.repository_id,
            "number": self._words.numbers[subject.number],
            "author": author,
            **self._text_fields(subject),
            **self._plain_fields(subject),
            **self._closing(subject),
        }
        kind: type[IssueRecord] = IssueRecord
        if isinstance(subject, PullSnapshot):
            kind = PullRequestRecord
            fields |= {"head_repository": self._world.repository_id, "head_ref": subject.head_ref_name}
            fields |= self._pull_fields(subject)
        self._ids[subject.id] = self._words.create(author, kind, **fields).id

    def _change_subject(self, key: str, subject: SubjectSnapshot) -> None:
        """Write the fields that differ from the fixture's object."""
        state = self._world.hub.state
        record = state.subject_by_id(self._ids[subject.id])
        if record is None:
            return
        texts = {name: text for name, text in self._text_fields(subject).items() if self._view.differs(key, name)}
        plain = {name: part for name, part in self._plain_fields(subject).items() if self._view.differs(key, name)}
        changes: dict[str, Any] = {**texts, **plain}
        if self._view.differs(key, "state") or self._view.differs(f"{key}/closing", "reason", "duplicate_of"):
            changes |= self._closing(subject)
        if isinstance(subject, PullSnapshot):
            names = {"base": "base_ref", "draft": "draft", "reviewers": "requested_reviewers"}
            fields = self._pull_fields(subject)
            changed = [column for name, column in names.items() if self._view.differs(key, name)]
            changed += ["merged_at", "merged_by", "merge_commit"] if self._view.differs(key, "state") else []
            changes |= {name: fields[name] for name in changed}
        for name in ("labels", "assignees", "requested_reviewers"):
            if name in changes and set(changes[name]) == set(getattr(record, name)):
                del changes[name]
        state.update(UNKNOWN, record, **changes)

    def _text_fields(self, subject: SubjectSnapshot) -> dict[str, str]:
        return {"title": self._words.text(subject.title), "body": self._words.text(subject.body)}

    def _plain_fields(self, subject: SubjectSnapshot) -> dict[str, Any]:
        labels = (self._words.label(name) for name in subject.labels)
        return {
            "locked": subject.locked,
            "labels": tuple(label for label in labels if label is not None),
            "assignees": tuple(self._words.user(login) for login in subject.assignees),
            "milestone": self._words.milestone(subject.milestone),
        }

    def _closing(self, subject: SubjectSnapshot) -> dict[str, Any]:
        is_open = subject.state == "OPEN"
        fields: dict[str, Any] = {"state": "open" if is_open else "closed"}
        closer = self._details.closers.get(subject.number)
        fields["closed_by"] = self._words.user(closer) if closer and not is_open else None
        fields["closed_at"] = None if is_open else self._world.hub.state.now()
        if isinstance(subject, IssueSnapshot):
            twin = next((node for node in self._view.state.issues if node.number == subject.duplicate_of), None)
            fields["state_reason"] = subject.state_reason.lower() if subject.state_reason else None
            fields["duplicate_of"] = self._ids.get(twin.id) if twin else None
        return fields

    def _pull_fields(self, pull: PullSnapshot) -> dict[str, Any]:
        return {
            "base_ref": pull.base_ref_name,
            "draft": pull.is_draft,
            "requested_reviewers": tuple(self._words.user(login) for login in pull.review_requests),
            "merged_at": self._world.hub.state.now() if pull.merged else None,
            "merged_by": self._words.user(pull.merged_by) if pull.merged else None,
            "merge_commit": self._details.merge_commits.get(pull.number) if pull.merged else None,
        }

    # Comments, reviews and threads

    def _delete_missing(self) -> None:
        """Delete the records of objects that were deleted in the repository."""
        state, actual, wanted = self._world.hub.state, self._view.objects, self._view.reference.objects
        for kind, wanted_texts, texts in (
            (CommentRecord, wanted.comments, actual.comments),
            (CommentRecord, wanted.lines, actual.lines),
            (ReviewRecord, wanted.reviews, actual.reviews),
            (ThreadRecord, wanted.threads, actual.threads),
        ):
            for key in wanted_texts.keys() - texts.keys():
                state.delete(UNKNOWN, state.need(kind, id_of_node(wanted_texts[key].id) or 0))
        for key, subject in wanted.subjects.items():
            record = state.subject_by_id(subject.database_id)
            if key not in actual.subjects and record is not None:
                state.delete(UNKNOWN, record)

    def _change_texts(self) -> None:
        state, actual = self._world.hub.state, self._view.objects
        for key, text in {**actual.comments, **actual.lines}.items():
            if self._view.differs(key, "body"):
                state.update(UNKNOWN, state.need(CommentRecord, self._ids[text.id]), body=self._words.text(text.body))
        for key, review in actual.reviews.items():
            if self._view.differs(key, "body", "state"):
                changes = {"body": self._words.text(review.body), "state": review.state}
                state.update(UNKNOWN, state.need(ReviewRecord, self._ids[review.id]), **changes)

    def _change_threads(self) -> None:
        state = self._world.hub.state
        for key, thread in self._view.objects.threads.items():
            wanted = self._view.reference.objects.threads.get(key)
            if wanted is not None and wanted.is_resolved != thread.is_resolved:
                resolver = self._words.user(thread.resolved_by) if thread.is_resolved else None
                record = state.need(ThreadRecord, self._ids[thread.id])
                state.update(resolver or UNKNOWN, record, resolved_by=resolver)

    def _new_texts(self, subjects: list[SubjectSnapshot]) -> list[Creation]:
        """Return, for each text that the fixture lacks, its time and a function that creates its record."""
        listed: list[Creation] = []
        for subject in subjects:
            listed += [
                (text.created_at, lambda text=text, subject=subject: self._create_comment(text, subject))  # type: ignore[misc]
                for text in subject.comments
                if text.id not in self._ids
            ]
            if isinstance(subject, PullSnapshot):
                listed += self._new_reviews(subject)
        return listed

    def _new_reviews(self, pull: PullSnapshot) -> list[Creation]:
        lines = {
            line.id: (line, thread)
            for thread in pull.review_threads
            for line in thread.comments
            if line.id not in self._ids
        }
        with_lines = {line.review for line, _ in lines.values()}
        listed: list[Creation] = [
            (review.created_at, lambda review=review: self._create_review(review, pull))  # type: ignore[misc]
            for review in pull.reviews
            if review.id not in self._ids and (not review.is_bare or review.id in with_lines)
        ]
        listed += [
            (line.created_at, lambda line=line, thread=thread: self._create_line(line, thread, pull))  # type: ignore[misc]
            for line, thread in lines.values()
        ]
        return listed

    def _create_comment(self, text: TextSnapshot, subject: SubjectSnapshot, **fields: int | None) -> None:
        author = self._words.user(text.author)
        body, number = self._words.text(text.body), self._ids[subject.id]
        record = self._words.create(author, CommentRecord, author=author, subject=number, body=body, **fields)
        self._ids[text.id] = record.id

    def _create_review(self, review: SubmittedReview, pull: PullSnapshot) -> None:
        author = self._words.user(review.author)
        record = self._words.create(
            author,
            ReviewRecord,
            pull=self._ids[pull.id],
            author=author,
            state=review.state,
            commit=review.commit,
            body=self._words.text(review.body),
            submitted_at=None if review.state == "PENDING" else self._world.hub.state.now(),
        )
        self._ids[review.id] = record.id

    def _create_line(self, line: ThreadCommentSnapshot, thread: ReviewThread, pull: PullSnapshot) -> None:
        if thread.id not in self._ids:
            self._create_thread(line, thread, pull)
        first = self._ids.get(thread.comments[0].id)
        self._create_comment(
            line,
            pull,
            thread=self._ids[thread.id],
            review=self._ids.get(line.review),
            reply_to=first if thread.comments[0].id != line.id else None,
        )

    def _create_thread(self, line: ThreadCommentSnapshot, thread: ReviewThread, pull: PullSnapshot) -> None:
        author = self._words.user(line.author)
        start = thread.original_start_line
        record = self._words.create(
            author,
            ThreadRecord,
            pull=self._ids[pull.id],
            path=thread.path,
            commit=line.original_commit,
            line=thread.original_line if thread.subject_type == "LINE" else None,
            start_line=start,
            side=thread.diff_side,
            start_side=None if start is None else thread.diff_side,
            resolved_by=self._words.user(thread.resolved_by) if thread.is_resolved else None,
        )
        self._ids[thread.id] = record.id
