"""Creation of missing objects: milestones, issues with comments, releases with files, and pull requests.

Each object is created by its author in the fixture, with a marker. If the answer to a creation is lost, the object is
searched for before it is created again.

Each review is written while the branch is at the reviewed commit, so branches first move to their earlier commits. A
merged pull request is merged again, into the commit that its base had. At the end all branches move to the fixture's
commits.
"""

import datetime
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from scylla_gha.errors import GitHubError
from scylla_gha.github_api.access import ApiRequestError
from scylla_gha.github_api.client import ApiRequest
from scylla_gha.github_api.responses import GitHubResponse, PublishedRelease
from scylla_gha.github_com.accounts import FixtureAccounts
from scylla_gha.github_com.identify import FixtureObjects, marked
from scylla_gha.github_com.ref_plan import (
    ANY_OBJECT,
    BRANCH,
    FailedMutation,
    Mutation,
    ref_updates,
    send_mutations,
    threads_by_review,
)
from scylla_gha.github_com.repairs import milestone_fields, release_fields
from scylla_gha.github_com.snapshot import PullSnapshot, SubmittedReview
from scylla_gha.github_com.view import FixtureView

_EVENTS: Final = {"APPROVED": "APPROVE", "CHANGES_REQUESTED": "REQUEST_CHANGES", "DISMISSED": "APPROVE"}


class CreatedObject(GitHubResponse):
    """Answer of GitHub about a new object."""

    id: int = 0
    node_id: str = ""
    number: int = 0


@dataclass
class FixtureBuilder:
    """Creates the missing objects of one repository.

    Attributes:
        read: function that reads the repository again.
        refs: commits of branches and tags after the moves of this builder.
        numbers: numbers of issues and pull requests by key, new ones included.
        created: ids of created objects by key.
    """

    view: FixtureView
    accounts: FixtureAccounts
    read: Callable[[], FixtureView]
    refs: dict[str, str]
    numbers: dict[str, int]
    created: dict[str, str] = field(default_factory=dict)

    def create(
        self, user: str, path: str, body: Mapping[str, Any], key: str, *, needs: str = "issues: write"
    ) -> CreatedObject:
        """Create an object exactly once, as a user.

        Args:
            user: user of the fixture.
            path: API path below the repository.
            body: JSON body of the request.
            key: key in the object's marker.
            needs: permission that the token needs.
        """
        request = ApiRequest("POST", path, f"create {key.replace(':', ' ')}", needs, body=body)
        answer = self.accounts.client(user).create(request, CreatedObject, lambda: self._search(key))
        self.created[key] = answer.node_id
        if answer.number:
            self.numbers[key] = answer.number
        return answer

    def _search(self, key: str) -> CreatedObject | None:
        """Return the object that an earlier attempt created; search twice, since lists can be out of date."""
        for is_last in (False, True):
            node = self.read().objects.nodes().get(key)
            if node is not None:
                numbers = {name: getattr(node, name, 0) for name in ("number", "database_id")}
                return CreatedObject(node_id=node.id, number=numbers["number"], id=numbers["database_id"])
            if not is_last:
                self.accounts.retries.pause(self.accounts.limits.backoff, 0)
        return None

    def text(self, name: str, key_field: str = "body") -> str:
        """Return a fixture text with the repository's numbers, logins and name; a body gets its marker."""
        neutral = self.view.reference.canonical[name][key_field]
        localized = self.view.dialect.fill_placeholders(neutral, self.view.reference.numbers | self.numbers)
        return marked(localized, name) if key_field == "body" else localized

    def author(self, name: str) -> str:
        """Return the fixture's user who wrote an object."""
        user: str = self.view.reference.canonical[name]["author"]
        return user

    def send(self, mutation: Mutation, what: str) -> list[FailedMutation]:
        """Send one change as its user; return the failure if GitHub refused it."""
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
        """Create missing milestones."""
        for title in self.view.reference.objects.milestones:
            if title not in self.view.objects.milestones:
                body = {key: value for key, value in milestone_fields(self.view, title).items() if value is not None}
                self.create(self.accounts.pool.admin, "/milestones", body, f"milestone:{title}")

    def build_issue(self, key: str) -> None:
        """Create an issue and its missing comments; the next round repairs its labels and other fields."""
        if key not in self.view.objects.issues:
            body = {"title": self.text(key, "title"), "body": self.text(key)}
            self.create(self.author(key), "/issues", body, key)
        for name in self.view.reference.canonical[key]["comments"]:
            if name not in self.view.objects.comments:
                self.build_comment(key, name)

    def build_comment(self, key: str, name: str) -> None:
        """Write a comment on an issue or pull request."""
        path = f"/issues/{self.numbers[key]}/comments"
        self.create(self.author(name), path, {"body": self.text(name)}, name)

    def build_releases(self) -> None:
        """Create missing releases, the oldest first, and restore the files of all releases."""
        releases = self.view.reference.objects.releases
        for key in sorted(releases, key=lambda name: releases[name].created_at):
            if key not in self.view.objects.releases:
                self._build_release(key)
            elif self.view.differs(key, "assets"):
                self._build_assets(key, self.view.objects.releases[key].database_id)

    def _build_release(self, key: str) -> None:
        body = {**release_fields(self.view, key), "body": self.text(key)}
        release = self.create(self.author(key), "/releases", body, key, needs="contents: write")
        self._build_assets(key, release.id)

    def _build_assets(self, key: str, release: int) -> None:
        """Delete files that differ from the fixture, and upload the missing ones."""
        wanted: Mapping[str, int] = self.view.reference.canonical[key]["assets"]
        actual: Mapping[str, int] = self.view.canonical.get(key, {}).get("assets", {})
        missing = [name for name, size in wanted.items() if actual.get(name) != size]
        if not (missing or actual):
            return
        client, what = self.accounts.client(self.author(key)), f"restore the files of the {key}"
        request = ApiRequest("GET", f"/releases/{release}", what, "contents: read")
        published = client.read(request, PublishedRelease)
        for asset in published.assets:
            if asset.name not in wanted or asset.name in missing:
                client.send(ApiRequest("DELETE", f"/releases/assets/{asset.id}", what, "contents: write"))
        address = published.upload_url.partition("{")[0]
        for name in missing:
            reference = self.view.reference.objects.releases[key]
            content = self.view.reference.asset(reference.tag_name, name)
            kind = next(asset.content_type for asset in reference.release_assets if asset.name == name)
            client.upload(address, content, kind, ApiRequest("POST", "", what, "contents: write", query={"name": name}))


@dataclass(frozen=True, slots=True)
class PullText:
    """Text of a pull request, and the commit that its branch needs; "": any commit."""

    time: datetime.datetime
    commit: str
    make: Callable[[], None]


class PullBuilder:
    """Creates one pull request with its texts, or only the missing texts."""

    def __init__(self, builder: FixtureBuilder, key: str, existing: PullSnapshot | None) -> None:
        """Prepare for a fixture's pull request; `existing` is None if the repository does not have it."""
        self._builder, self._key, self._existing = builder, key, existing
        self._wanted = builder.view.reference.objects.pulls[key]
        self._id = existing.id if existing else ""
        self._first_comments: dict[str, int] = {}  # database ids by thread

    @property
    def _head(self) -> str:
        return BRANCH + self._wanted.head_ref_name

    @property
    def _base(self) -> str:
        return BRANCH + self._wanted.base_ref_name

    def start(self) -> dict[str, str]:
        """Return the branch with the commit that it needs first."""
        commits = [event.commit for event in self._events() if event.commit]
        return {self._head: commits[0] if commits else self._wanted.head_ref_oid}

    def build(self) -> None:
        """Create the pull request and its missing texts, in the order of the fixture.

        Raises:
            GitHubError: the pull request cannot be merged.
        """
        builder, wanted = self._builder, self._wanted
        if self._existing is None:
            builder.stage({**self.start(), self._base: self._base_commit()})
            body = {
                "title": builder.text(self._key, "title"),
                "body": builder.text(self._key),
                "head": wanted.head_ref_name,
                "base": wanted.base_ref_name,
                "draft": wanted.is_draft,
            }
            self._id = builder.create(builder.author(self._key), "/pulls", body, self._key).node_id
        for event in self._events():
            if event.commit:
                builder.stage({self._head: event.commit})
            event.make()
        if self._existing is None or self._existing.state == "OPEN":
            builder.stage({self._head: wanted.head_ref_oid})
        if wanted.merged and not (self._existing and self._existing.merged):
            self._merge()

    def _base_commit(self) -> str:
        """Return the commit that the base branch needs: before the merge or closing, or the fixture's."""
        wanted = self._wanted
        actual = self._builder.view.reference.state.refs.get(self._base)
        return wanted.base_ref_oid if wanted.state != "OPEN" or actual is None else actual

    def _merge(self) -> None:
        builder, wanted = self._builder, self._wanted
        builder.stage({self._base: wanted.base_ref_oid})
        state = builder.view.state
        is_squash = wanted.merge_commit < 2  # noqa: PLR2004 parents of a merge
        method = "MERGE" if not is_squash else "SQUASH" if state.squash_merge_allowed else "REBASE"
        merger = builder.view.reference.user(wanted.merged_by or "")
        fields = {"pullRequestId": self._id, "mergeMethod": method, "expectedHeadOid": wanted.head_ref_oid}
        failed = builder.send(Mutation("mergePullRequest", fields, merger), f"merge {self._key}")
        if failed:
            raise GitHubError(f"{builder.accounts.repository}: cannot merge {self._key}: {failed[0].error.message}")
        builder.refs |= {self._base: ANY_OBJECT, self._head: ANY_OBJECT}  # the merge moved or deleted them

    def _events(self) -> list[PullText]:
        """Return the missing texts, in the order of the fixture."""
        builder, objects = self._builder, self._builder.view.reference.objects
        canonical = builder.view.reference.canonical[self._key]
        actual = builder.view.objects if self._existing else FixtureObjects()
        events = [
            PullText(objects.comments[name].created_at, "", functools.partial(builder.build_comment, self._key, name))
            for name in canonical["comments"]
            if name not in actual.comments
        ]
        threads = threads_by_review(builder.view, self._key)
        for name in canonical["reviews"]:
            if name not in actual.reviews:
                review = objects.reviews[name]
                make = functools.partial(self._review, review, name, threads.get(name, []))
                events.append(PullText(review.created_at, review.commit, make))
        for name, line in objects.lines.items():
            if not name.startswith(f"{self._key}/") or name in actual.lines:
                continue
            if name not in objects.threads:
                events.append(PullText(line.created_at, "", functools.partial(self._reply, name)))
            elif name in threads.get("", ()):
                events.append(PullText(line.created_at, line.original_commit, functools.partial(self._thread, name)))
        return sorted(events, key=lambda event: event.time)

    @property
    def _path(self) -> str:
        return f"/pulls/{self._builder.numbers[self._key]}"

    def _review(self, review: SubmittedReview, name: str, threads: Sequence[str]) -> None:
        """Submit a review with its threads; dismiss it if it is dismissed in the fixture."""
        builder = self._builder
        body = {
            "commit_id": review.commit,
            "event": _EVENTS.get(review.state, "COMMENT"),
            "body": builder.text(name),
            "comments": [self._lines(thread) for thread in threads],
        }
        answer = builder.create(builder.author(name), f"{self._path}/reviews", body, name)
        if review.state == "DISMISSED" and answer.id:
            path = f"{self._path}/reviews/{answer.id}/dismissals"
            request = ApiRequest("PUT", path, f"dismiss {name}", "pull-requests: write", body={"message": "Dismissed"})
            builder.accounts.admin.send(request)

    def _lines(self, name: str) -> dict[str, Any]:
        """Return the fields of a thread for the REST API."""
        thread = self._builder.view.reference.objects.threads[name]
        body: dict[str, Any] = {"path": thread.path, "body": self._builder.text(name)}
        if thread.subject_type == "FILE":
            return {**body, "subject_type": "file"}
        body |= {"line": thread.original_line, "side": thread.diff_side}
        if thread.original_start_line is not None:
            body |= {"start_line": thread.original_start_line, "start_side": thread.diff_side}
        return body

    def _thread(self, name: str) -> None:
        """Start a thread outside a review, or on a whole file."""
        builder = self._builder
        commit = builder.view.reference.objects.lines[name].original_commit
        body = {**self._lines(name), "commit_id": commit}
        answer = builder.create(builder.author(name), f"{self._path}/comments", body, name)
        self._first_comments[name] = answer.id

    def _reply(self, name: str) -> None:
        """Reply in a thread. If GitHub does not show the thread yet, the next round replies."""
        builder, thread = self._builder, name.rpartition("/")[0]
        if not self._first_comments.get(thread):
            view = builder.read()
            self._first_comments |= {key: line.database_id for key, line in view.objects.lines.items()}
        if first := self._first_comments.get(thread):
            path = f"{self._path}/comments/{first}/replies"
            builder.create(builder.author(name), path, {"body": builder.text(name)}, name)
