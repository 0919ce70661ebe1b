"""Facts that a replay needs beside the repository's state, and the translation into words of the fixture's own hub."""

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from scylla_gha.github_api.client import ApiRequest, GitHubRepository
from scylla_gha.github_api.responses import GitHubResponse, PublishedRelease, User
from scylla_gha.github_com.identify import Dialect
from scylla_gha.github_com.snapshot import MilestoneSnapshot, ReleaseSnapshot, SubjectSnapshot
from scylla_gha.github_com.view import FixtureView
from scylla_gha.hub.actions_records import HubRecord
from scylla_gha.hub.fixture_world import FixtureWorld
from scylla_gha.hub.records import LabelRecord, MilestoneRecord, UserRecord

R = TypeVar("R", bound=HubRecord)
UNKNOWN: Final = 0  # actor of the writes whose actor GitHub does not name
_RETIRED_OFFSET: Final = 1_000_000  # above all numbers of fixtures, so a retired number equals none of them
_SHORT_NUMBER: Final = re.compile(r"(?<![\w/])GH-(\d{1,9})\b")


class ClosedSubject(GitHubResponse):
    """Issue or pull request, with who closed it."""

    closed_by: User | None = None


class MergedPull(GitHubResponse):
    """Pull request with its merge commit."""

    merge_commit_sha: str | None = None


class CreatedMilestone(GitHubResponse):
    """Milestone, with who created it."""

    creator: User


@dataclass
class TrialDetails:
    """Facts by number; facts of releases by id, and `digests` by `RELEASE_ID/FILE`."""

    closers: dict[int, str] = field(default_factory=dict)
    merge_commits: dict[int, str | None] = field(default_factory=dict)
    creators: dict[int, str] = field(default_factory=dict)
    targets: dict[int, str] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)


def read_details(view: FixtureView, client: GitHubRepository) -> TrialDetails:
    """Read the facts of issues, pull requests, milestones and releases that a trial changed.

    Raises:
        GitHubError: GitHub cannot be asked.
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
    """Translation of a repository's numbers, logins and texts into those of the fixture's hub.

    Attributes:
        numbers: of issues and pull requests on the hub, by their numbers in the repository.
    """

    view: FixtureView
    world: FixtureWorld
    numbers: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Give objects that the fixture does not have the hub's next numbers."""
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
        """Numbers of pull requests on the hub by their own, without those that were retired."""
        retired = self.view.objects.retired
        return {pull.number: self.numbers[pull.number] for pull in self.view.state.pull_requests if pull not in retired}

    def text(self, text: str | None) -> str:
        """Return a text with the hub's numbers, logins and name of the repository, and without its marker."""
        keys = {number: f"number.{number}" for number in self.numbers}
        own = self.view.dialect
        shortened = _SHORT_NUMBER.sub(lambda part: f"GH-{self.numbers.get(int(part[1]), part[1])}", text or "")
        neutral = Dialect(own.repository, own.users, keys).neutral(shortened)
        logins = {
            name.removeprefix("user."): str(facts["login"])
            for name, facts in self.world.bindings.items()
            if name.startswith("user.")
        }
        hub = Dialect(self.view.reference.dialect.repository, {}, {}, logins)
        return hub.spoken(neutral, {f"number.{number}": hub_number for number, hub_number in self.numbers.items()})

    def user(self, login: str | None) -> int:
        """Return the id of an account's user; a stranger becomes a user of the hub."""
        if login is None:
            return 0
        name = self.view.dialect.user(login)
        if not name.startswith("@"):
            return self.world.names[f"user.{name}"]
        state = self.world.hub.state
        stranger = state.user(name[1:])
        return (stranger or self.create(UNKNOWN, UserRecord, login=name[1:])).id

    def create(self, actor: int, kind: type[R], **fields: Any) -> R:  # noqa: ANN401 fields of the record
        """Add a record with a new id and the present time to the hub."""
        state = self.world.hub.state
        has_update = any(part.name == "updated_at" for part in dataclasses.fields(kind))
        times = {"created_at": state.now(), **({"updated_at": state.now()} if has_update else {})}
        return state.create(actor, kind(id=state.new_id(), **times, **fields))

    def label(self, name: str) -> int | None:
        """Return the id of a label by its present name; None if it does not exist any more."""
        labels = self.world.hub.state.where(LabelRecord, repository=self.world.repository_id)
        return next((label.id for label in labels if label.name.casefold() == name.casefold()), None)

    def milestone(self, title: str | None) -> int | None:
        """Return the id of a milestone by its present title; None without one."""
        stones = self.world.hub.state.where(MilestoneRecord, repository=self.world.repository_id)
        return next((stone.id for stone in stones if stone.title == title), None)
