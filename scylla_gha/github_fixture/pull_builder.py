"""Creation of pull requests: each review is written while the branch has the commit that was reviewed.

The branches are brought to their earlier commits for that, and a pull request that was merged is merged again, into the
commit that its base had. Afterwards all branches are brought to where the fixture has them.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.errors import GitHubError
from scylla_gha.github.client import ApiRequest
from scylla_gha.github_fixture.builder import FixtureBuilder
from scylla_gha.github_fixture.identify import FixtureObjects
from scylla_gha.github_fixture.mutations import ANY_OBJECT, Mutation
from scylla_gha.github_fixture.recreation import threads_by_review
from scylla_gha.github_fixture.ref_plan import BRANCH
from scylla_gha.github_fixture.snapshot import PullSnapshot, SubmittedReview, TextSnapshot

PULLS: Final = "pull-requests: write"
_EVENTS: Final = {"APPROVED": "APPROVE", "CHANGES_REQUESTED": "REQUEST_CHANGES", "DISMISSED": "APPROVE"}


@dataclass(frozen=True, slots=True)
class PullText:
    """One text of a pull request, and the commit that its branch has to have; "" is whichever it has."""

    time: float
    commit: str
    make: Callable[[], None]


class PullBuilder:
    """Creates one pull request, or what is missing of it."""

    def __init__(self, builder: FixtureBuilder, key: str, existing: PullSnapshot | None) -> None:
        """Build the pull request of a key; `existing` is the one that has it already."""
        self._builder, self._key, self._existing = builder, key, existing
        self._wanted = builder.view.reference.objects.pulls[key]
        self._id = existing.id if existing else ""
        self._firsts: dict[str, int] = {}  # numbers of the first comments of threads

    @property
    def _head(self) -> str:
        return BRANCH + self._wanted.head_ref_name

    @property
    def _base(self) -> str:
        return BRANCH + self._wanted.base_ref_name

    def start(self) -> dict[str, str]:
        """Return the commit that its branch has to have first; nothing if it is complete or exists."""
        events = self._events()
        commits = [event.commit for event in events if event.commit]
        return {self._head: commits[0] if commits else self._wanted.head_ref_oid}

    def build(self) -> None:
        """Create what is missing, in the order of the fixture.

        Raises:
            GitHubError: it cannot be merged.
        """
        builder, wanted = self._builder, self._wanted
        if self._existing is None:
            builder.stage({**self.start(), self._base: self._base_commit()})
            body = {"title": builder.text(self._key, "title"), "body": builder.text(self._key),
                    "head": wanted.head_ref_name, "base": wanted.base_ref_name, "draft": wanted.is_draft}  # fmt: skip
            self._id = builder.create(
                builder.author(self._key), "/pulls", body, self._key, f"create {self._key}"
            ).node_id
        for event in self._events():
            if event.commit:
                builder.stage({self._head: event.commit})
            event.make()
        if self._existing is None or self._existing.state == "OPEN":
            builder.stage({self._head: wanted.head_ref_oid})
        if wanted.merged and not (self._existing and self._existing.merged):
            self._merge()

    def _base_commit(self) -> str:
        """Return where the base has to be: before the merge, or where the fixture has it."""
        wanted = self._wanted
        own = self._builder.view.reference.state.refs.get(self._base)
        return wanted.base_ref_oid if wanted.state != "OPEN" or own is None else own

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
        builder.refs |= {self._base: ANY_OBJECT, self._head: ANY_OBJECT}  # by GitHub's merge, and its settings

    def _events(self) -> list[PullText]:
        """Return the texts that are missing, in the order of the fixture."""
        builder, objects = self._builder, self._builder.view.reference.objects
        canonical = builder.view.reference.canonical[self._key]
        own = builder.view.objects if self._existing else FixtureObjects()
        events = [
            self._event(objects.comments[name], "", functools.partial(builder.build_comment, self._key, name))
            for name in canonical["comments"]
            if name not in own.comments
        ]
        threads = threads_by_review(builder.view, self._key)
        for name in canonical["reviews"]:
            if name not in own.reviews:
                review = objects.reviews[name]
                make = functools.partial(self._review, review, name, threads.get(name, []))
                events.append(self._event(review, review.commit, make))
        for name, line in objects.lines.items():
            if not name.startswith(f"{self._key}/") or name in own.lines:
                continue
            if name not in objects.threads:
                events.append(self._event(line, "", functools.partial(self._reply, name)))
            elif name in threads.get("", ()):
                events.append(self._event(line, line.original_commit, functools.partial(self._thread, name)))
        return sorted(events, key=lambda event: event.time)

    def _event(self, text: TextSnapshot, commit: str, make: Callable[[], None]) -> PullText:
        return PullText(text.created_at.timestamp(), commit, make)

    @property
    def _path(self) -> str:
        return f"/pulls/{self._builder.numbers[self._key]}"

    def _review(self, review: SubmittedReview, name: str, threads: Sequence[str]) -> None:
        """Submit a review with its threads; one that was dismissed in the fixture is dismissed."""
        builder = self._builder
        body = {"commit_id": review.commit, "event": _EVENTS.get(review.state, "COMMENT"), "body": builder.text(name),
                "comments": [self._lines(thread) for thread in threads]}  # fmt: skip
        answer = builder.create(builder.author(name), f"{self._path}/reviews", body, name, f"write {name}")
        if review.state == "DISMISSED" and answer.id:
            path = f"{self._path}/reviews/{answer.id}/dismissals"
            request = ApiRequest("PUT", path, f"dismiss {name}", PULLS, body={"message": "Dismissed"})
            builder.accounts.admin.send(request)

    def _lines(self, name: str) -> dict[str, Any]:
        """Return a thread as REST takes it."""
        thread = self._builder.view.reference.objects.threads[name]
        body: dict[str, Any] = {"path": thread.path, "body": self._builder.text(name)}
        if thread.subject_type == "FILE":
            return {**body, "subject_type": "file"}
        body |= {"line": thread.original_line, "side": thread.diff_side}
        if thread.original_start_line is not None:
            body |= {"start_line": thread.original_start_line, "start_side": thread.diff_side}
        return body

    def _thread(self, name: str) -> None:
        """Begin a thread that came with no review of its own, or is on a whole file."""
        builder = self._builder
        commit = builder.view.reference.objects.lines[name].original_commit
        body = {**self._lines(name), "commit_id": commit}
        answer = builder.create(builder.author(name), f"{self._path}/comments", body, name, f"write {name}")
        self._firsts[name] = answer.id

    def _reply(self, name: str) -> None:
        """Reply in a thread. If GitHub does not show the thread yet, the next round does it."""
        builder, thread = self._builder, name.rpartition("/")[0]
        if not self._firsts.get(thread):
            view = builder.read()
            self._firsts |= {key: line.database_id for key, line in view.objects.lines.items()}
        if first := self._firsts.get(thread):
            path = f"{self._path}/comments/{first}/replies"
            builder.create(builder.author(name), path, {"body": builder.text(name)}, name, f"write {name}")
