"""Creation of missing objects in a repository: milestones, issues with comments, releases with files.

Everything is created by the user who has it in the fixture, and has a marker. Before something is created again, since
the answer was lost, it is searched for.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from scylla_gha.github.access import ApiRequestError
from scylla_gha.github.client import ApiRequest
from scylla_gha.github.responses import GitHubResponse
from scylla_gha.github_fixture.accounts import FixtureAccounts
from scylla_gha.github_fixture.dialect import marked
from scylla_gha.github_fixture.mutations import FailedMutation, Mutation, ref_updates, send_mutations
from scylla_gha.github_fixture.repository_repairs import milestone_fields, release_fields
from scylla_gha.github_fixture.view import FixtureView

ISSUES = "issues: write"


class CreatedObject(GitHubResponse):
    """Answer of GitHub about a new object."""

    id: int = 0
    node_id: str = ""
    number: int = 0


class ReleaseAddress(CreatedObject):
    """A new release, with the address to which its files are sent."""

    upload_url: str = ""


class AssetName(GitHubResponse):
    """File of a release."""

    id: int
    name: str


@dataclass
class FixtureBuilder:
    """Creates objects in the repository of one view.

    Attributes:
        read: reads the repository again.
        refs: branches and tags as this builder has left them.
        numbers: of issues and pull requests by key, new ones included.
        created: ids by key of what was created.
    """

    view: FixtureView
    accounts: FixtureAccounts
    read: Callable[[], FixtureView]
    refs: dict[str, str]
    numbers: dict[str, int]
    created: dict[str, str] = field(default_factory=dict)

    def create(self, user: str, path: str, body: Mapping[str, Any], key: str, what: str) -> CreatedObject:
        """Create something exactly once, as a user.

        Args:
            user: of the fixture.
            path: of the repository.
            body: JSON.
            key: that its marker has.
            what: the operation in words.
        """
        request = ApiRequest("POST", path, what, ISSUES, body=body)
        answer = self.accounts.client(user).create(request, CreatedObject, lambda: self._search(key))
        self.created[key] = answer.node_id
        if answer.number:
            self.numbers[key] = answer.number
        return answer

    def _search(self, key: str) -> CreatedObject | None:
        """Return what an earlier attempt has created; lists can be some seconds behind, so a second look is taken."""
        for is_last in (False, True):
            view = self.read()
            id_ = view.objects.ids().get(key)
            if id_ is not None:
                number = view.objects.subjects[key].number if key in view.objects.subjects else 0
                line = view.objects.lines.get(key)
                return CreatedObject(node_id=id_, number=number, id=line.database_id if line else 0)
            if not is_last:
                self.accounts.retries.pause(self.accounts.limits.backoff, 0)
        return None

    def text(self, name: str, key_field: str = "body") -> str:
        """Return a text of the fixture in the words of the repository, with its marker if it is a body."""
        neutral = self.view.reference.canonical[name][key_field]
        spoken = self.view.dialect.spoken(neutral, self.view.reference.numbers | self.numbers)
        return marked(spoken, name) if key_field == "body" else spoken

    def author(self, name: str) -> str:
        """Return the user who made an object of the fixture."""
        user: str = self.view.reference.canonical[name]["author"]
        return user

    def send(self, mutation: Mutation, what: str) -> list[FailedMutation]:
        """Do one change as its user."""
        client = self.accounts.client(mutation.user) if mutation.user else self.accounts.admin
        return send_mutations(client, [mutation], what)

    def stage(self, wanted: Mapping[str, str]) -> None:
        """Temporarily move branches to the given commits."""
        updates = {name: (self.refs.get(name), sha) for name, sha in wanted.items() if self.refs.get(name) != sha}
        if updates:
            failed = self.send(ref_updates(self.view.state.id, updates), "move branches")
            if failed:
                raise ApiRequestError(f"{self.accounts.repository}: {failed[0]}", HTTPStatus.CONFLICT)
            self.refs |= {name: sha for name, (_, sha) in updates.items()}

    def build_milestones(self) -> None:
        """Create milestones that are missing."""
        for title in self.view.reference.objects.milestones:
            if title not in self.view.objects.milestones:
                body = {key: value for key, value in milestone_fields(self.view, title).items() if value is not None}
                what = f"create the milestone {title}"
                self.create(self.accounts.pool.admin, "/milestones", body, f"milestone:{title}", what)

    def build_issue(self, key: str) -> None:
        """Create an issue, if it is missing, and its comments. Labels and the like are repairs of the next round."""
        if key not in self.view.objects.issues:
            body = {"title": self.text(key, "title"), "body": self.text(key)}
            self.create(self.author(key), "/issues", body, key, f"create {key}")
        self.build_comments(key)

    def build_comments(self, key: str) -> None:
        """Write the comments of an issue or pull request that are missing."""
        for name in self.view.reference.canonical[key]["comments"]:
            if name not in self.view.objects.comments:
                self.build_comment(key, name)

    def build_comment(self, key: str, name: str) -> None:
        """Write a comment on an issue or pull request."""
        path = f"/issues/{self.numbers[key]}/comments"
        self.create(self.author(name), path, {"body": self.text(name)}, name, f"write {name}")

    def build_releases(self) -> None:
        """Create releases that are missing, the oldest first, and bring the files of all to what they have to be."""
        releases = self.view.reference.objects.releases
        for key in sorted(releases, key=lambda name: releases[name].created_at):
            if key not in self.view.objects.releases:
                self._build_release(key)
            elif self.view.differs(key, "assets"):
                self._build_assets(key, self.view.objects.releases[key].database_id)

    def _build_release(self, key: str) -> None:
        user = self.author(key)
        request = ApiRequest("POST", "/releases", f"create the {key}", "contents: write",
                             body={**release_fields(self.view, key), "body": self.text(key)})  # fmt: skip
        release = self.accounts.client(user).create(request, CreatedObject, lambda: self._find_release(key))
        self.created[key] = release.node_id
        self._build_assets(key, release.id)

    def _find_release(self, key: str) -> CreatedObject | None:
        release = self.read().objects.releases.get(key)
        return CreatedObject(node_id=release.id, id=release.database_id) if release else None

    def _build_assets(self, key: str, release: int) -> None:
        """Delete files that differ, and send those that are missing."""
        wanted: Mapping[str, int] = self.view.reference.canonical[key]["assets"]
        actual: Mapping[str, int] = self.view.canonical.get(key, {}).get("assets", {})
        missing = [name for name, size in wanted.items() if actual.get(name) != size]
        client, what = self.accounts.client(self.author(key)), f"restore the files of the {key}"
        request = ApiRequest("GET", f"/releases/{release}/assets", what, "contents: write")
        for asset in client.pages(request, AssetName) if actual else ():
            if wanted.get(asset.name) is None or asset.name in missing:
                client.send(ApiRequest("DELETE", f"/releases/assets/{asset.id}", what, "contents: write"))
        if not missing:
            return
        at = ApiRequest("GET", f"/releases/{release}", what, "contents: read")
        address = client.read(at, ReleaseAddress).upload_url.partition("{")[0]
        for name in missing:
            content = self.view.reference.asset(wanted_tag(self.view, key), name)
            kind = next(asset.content_type for asset in self.view.reference.objects.releases[key].release_assets
                        if asset.name == name)  # fmt: skip
            client.upload(address, content, kind, ApiRequest("POST", "", what, "contents: write", query={"name": name}))


def wanted_tag(view: FixtureView, key: str) -> str:
    """Return the tag of a release of the fixture."""
    return view.reference.objects.releases[key].tag_name
