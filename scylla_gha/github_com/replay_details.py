"""Facts that a replay needs beside the state, and the words of the fixture's own hub."""

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.github_api.client import ApiRequest, GitHubRepository
from scylla_gha.github_api.responses import GitHubResponse, User
from scylla_gha.github_com.identify import Dialect
from scylla_gha.github_com.snapshot import MilestoneSnapshot, ReleaseSnapshot, SubjectSnapshot
from scylla_gha.github_com.view import FixtureView
from scylla_gha.hub.fixture_world import FixtureWorld
from scylla_gha.hub.records import LabelRecord, MilestoneRecord, UserRecord

_RETIRED_OFFSET: Final = 1_000_000  # no fixture has that many, so a retired number is never taken for one of its own
_SHORT_NUMBER: Final = re.compile(r"(?<![\w/])GH-(\d{1,9})\b")


class ClosedSubject(GitHubResponse):
    """Issue or pull request, with who closed it."""

    closed_by: User | None = None
    closed_at: datetime.datetime | None = None


class MergedPull(GitHubResponse):
    """Pull request with its merge commit."""

    merge_commit_sha: str | None = None
    merged_at: datetime.datetime | None = None


class CreatedMilestone(GitHubResponse):
    """Milestone, with who created it."""

    creator: User


class PublishedAsset(GitHubResponse):
    """File of a release; `digest` is `sha256:` and the hexadecimal digest."""

    name: str
    digest: str | None = None


class PublishedRelease(GitHubResponse):
    """Release with its target and files."""

    target_commitish: str = ""
    assets: tuple[PublishedAsset, ...] = ()


@dataclass
class TrialDetails:
    """Facts by number, those of releases by id; `digests` by the id of a release and the name of a file."""

    closers: dict[int, str] = field(default_factory=dict)
    closed_at: dict[int, datetime.datetime] = field(default_factory=dict)
    merges: dict[int, MergedPull] = field(default_factory=dict)
    creators: dict[int, str] = field(default_factory=dict)
    targets: dict[int, str] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)


def read_details(view: FixtureView, client: GitHubRepository) -> TrialDetails:
    """Ask for the facts of all that was closed, merged or released in a trial.

    Raises:
        GitHubError: GitHub cannot be asked.
    """
    details = TrialDetails()
    for subject in _closed(view):
        number, what = subject.number, f"read who closed #{subject.number}"
        closed = client.read(ApiRequest("GET", f"/issues/{number}", what, "issues: read"), ClosedSubject)
        if closed.closed_by is not None:
            details.closers[number] = closed.closed_by.login
        if closed.closed_at is not None:
            details.closed_at[number] = closed.closed_at
        if subject.state == "MERGED":
            request = ApiRequest("GET", f"/pulls/{number}", f"read the merge of #{number}", "pull-requests: read")
            details.merges[number] = client.read(request, MergedPull)
    for extra in view.objects.extras.values():
        if isinstance(extra, MilestoneSnapshot):
            what = f"read who created the milestone {extra.title}"
            request = ApiRequest("GET", f"/milestones/{extra.number}", what, "issues: read")
            details.creators[extra.number] = client.read(request, CreatedMilestone).creator.login
    for release in _released(view):
        _read_release(details, release, client)
    return details


def _closed(view: FixtureView) -> Iterator[SubjectSnapshot]:
    """Yield what is closed at the end and was not at the start."""
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


def _released(view: FixtureView) -> Iterator[ReleaseSnapshot]:
    """Yield the releases whose files differ, and new ones."""
    yield from (release for key, release in view.objects.releases.items() if view.differs(key, "assets"))
    yield from (node for node in view.objects.extras.values() if isinstance(node, ReleaseSnapshot))


def _read_release(details: TrialDetails, release: ReleaseSnapshot, client: GitHubRepository) -> None:
    id_ = release.database_id
    request = ApiRequest("GET", f"/releases/{id_}", f"read the release {release.tag_name}", "contents: read")
    published = client.read(request, PublishedRelease)
    details.targets[id_] = published.target_commitish
    for asset in published.assets:
        details.digests[f"{id_}/{asset.name}"] = (asset.digest or "").removeprefix("sha256:")


@dataclass
class ReplayWords:
    """Words of a repository as the hub of its fixture has them.

    Attributes:
        numbers: of issues and pull requests on the hub, by their numbers in the repository.
    """

    view: FixtureView
    world: FixtureWorld
    numbers: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Number what the fixture does not have as it would be numbered there."""
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
        if stranger is None:
            record = UserRecord(id=state.new_id(), created_at=state.now(), login=name[1:])
            stranger = state.create(0, record)
        return stranger.id

    def label(self, name: str) -> int | None:
        """Return the id of a label by its present name; None if it does not exist any more."""
        labels = self.world.hub.state.where(LabelRecord, repository=self.world.repository_id)
        return next((label.id for label in labels if label.name.casefold() == name.casefold()), None)

    def milestone(self, title: str | None) -> int | None:
        """Return the id of a milestone by its present title; None without one."""
        stones = self.world.hub.state.where(MilestoneRecord, repository=self.world.repository_id)
        return next((stone.id for stone in stones if stone.title == title), None)
