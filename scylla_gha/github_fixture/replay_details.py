"""Facts of a trial's end that the query for the whole state lacks: closers, merge commits, digests of files."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field

from scylla_gha.github.client import ApiRequest, GitHubRepository
from scylla_gha.github.responses import GitHubResponse, User
from scylla_gha.github_fixture.snapshot import MilestoneSnapshot, ReleaseSnapshot, SubjectSnapshot
from scylla_gha.github_fixture.view import FixtureView


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
        if subject.state != "OPEN" and subject not in view.objects.retired and (
            key is None or wanted[key].state != subject.state or view.differs(f"{key}/closing", "reason")
        ):  # fmt: skip
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
