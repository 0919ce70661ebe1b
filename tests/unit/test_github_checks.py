"""Conditions on the GitHub state that a trial left: on records, on git, and on what must not have changed."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.git_store import NO_COMMIT
from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    LabelRecord,
    PullRequestRecord,
    RepositoryRecord,
    ReviewRecord,
    ThreadRecord,
    UserRecord,
)
from scylla_gha.hub.trial_files import exported_state, write_trial_files
from scylla_gha.judge.github_checks import git_fault, state_verdicts, unchanged_fault
from scylla_gha.judge.github_trial import TrialGitHub, trial_github
from scylla_gha.model.github_condition import AllowedChange, GitCondition, StateCondition
from tests.support.hub import AUTHOR, NAME, OWNER, REVIEWER, commit, make_hub


class World:
    """A repository with a pull request, two issues and a label, before and while an agent (AUTHOR) works there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hub: Hub = make_hub(folder)
        state = self.hub.state
        repository, author = state.repository(OWNER, NAME), state.user(AUTHOR)
        assert repository is not None
        assert author is not None
        self.repository: RepositoryRecord = repository
        self.agent: UserRecord = author
        self.git = self.hub.git(repository)
        self.label = self.add(LabelRecord, repository=repository.id, name="bug")
        self.issue = self.add(IssueRecord, repository=repository.id, number=1, title="Crash", author=author.id)
        self.other = self.add(IssueRecord, repository=repository.id, number=2, title="Slow", author=author.id)
        self.pull = self.add(PullRequestRecord, repository=repository.id, number=3, title="Change the sum",
                             author=author.id, head_repository=repository.id, head_ref="topic",
                             base_ref="main", body=None)  # fmt: skip
        self.git.set_ref("refs/pull/3/head", self.git.branches()["topic"])
        self.thread = self.add(ThreadRecord, pull=self.pull.id, path="src/app.py", line=2,
                               commit=self.git.branches()["topic"])  # fmt: skip
        self.comment = self.add(CommentRecord, subject=self.pull.id, author=self.user(REVIEWER).id, body="Why?",
                                thread=self.thread.id)  # fmt: skip
        self.names = {"repo.demo": repository.id, "label.bug": self.label.id, "issue.crash": self.issue.id,
                      "issue.slow": self.other.id, "pr.sum": self.pull.id, "thread.why": self.thread.id,
                      "comment.why": self.comment.id}  # fmt: skip
        self.start = exported_state(self.hub)
        state.journal.clear()

    def user(self, login: str) -> UserRecord:
        user = self.hub.state.user(login)
        assert user is not None
        return user

    def add(self, kind: Any, *, by: str = AUTHOR, **fields: Any) -> Any:
        state = self.hub.state
        times = {"updated_at": state.now()} if "updated_at" in kind.__dataclass_fields__ else {}
        record = kind(id=state.new_id(), created_at=state.now(), **times, **fields)
        return state.create(self.user(by), record)

    def change(self, record: Any, *, by: str = AUTHOR, **changes: Any) -> None:
        self.hub.state.update(self.user(by), record, **changes)

    def push(self, branch: str, sha: str, *, forced: bool = False) -> None:
        ref, old = f"refs/heads/{branch}", self.git.branch(branch) or NO_COMMIT
        self.git.set_ref(ref, sha)
        detail = f"{old} {sha}{' forced' if forced else ''}"
        self.hub.state.note_push(self.agent, self.repository, ref, detail)

    @contextlib.contextmanager
    def left(self) -> Iterator[TrialGitHub]:
        write_trial_files(self.folder, self.hub, self.start, self.names)
        with trial_github(self.folder) as github:
            yield github

    def fault(self, **condition: Any) -> str | None:
        with self.left() as github:
            return state_verdicts([StateCondition.model_validate(condition, strict=False)], github)[0].fault

    def git_fault(self, **condition: Any) -> str | None:
        with self.left() as github:
            return git_fault(GitCondition.model_validate(condition, strict=False), github)

    def unexpected(self, *allowed: dict[str, Any]) -> str | None:
        with self.left() as github:
            return unchanged_fault([AllowedChange.model_validate(one, strict=False) for one in allowed], github)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_each_operator_tells_what_holds_from_what_does_not(world: World) -> None:
    world.change(world.issue, labels=(world.label.id,), state="closed", state_reason="completed")
    issue = {"query": "issue", "target": "issue.crash"}
    assert world.fault(**issue, select="state", equals="closed") is None
    assert world.fault(**issue, select="state", equals="open") == 'is "closed", not "open"'
    assert world.fault(**issue, select="labels", set_equals=["bug"]) is None
    assert world.fault(**issue, select="labels", set_equals=["bug", "docs"]) == 'without "docs"'
    assert world.fault(**issue, select="labels", set_equals=[]) == 'with "bug" beside'
    assert world.fault(**issue, select="labels", contains="bug") is None
    assert world.fault(**issue, select="title", contains="rash") is None
    assert world.fault(**issue, select="title", matches="^Slow$") == "\"Crash\" does not match '^Slow$'"
    assert world.fault(**issue, select="comments", absent=True) is None
    assert world.fault(**issue, select="comments", exists=True) == "there is none"
    assert world.fault(**issue, select="labels", absent=True) == 'there is ["bug"]'
    assert world.fault(query="issues", select="[?state=='open']", count={"min": 1, "max": 1}) is None
    assert world.fault(query="issues", count={"max": 1}) is not None
    assert world.fault(**issue, select="milestone", equals=None) is None


def test_by_asks_who_wrote_it_in_the_trial(world: World) -> None:
    review = {"query": "pull_request", "target": "pr.sum", "select": "reviews[]"}
    assert world.fault(**review, by=AUTHOR) == "there is none"
    world.add(ReviewRecord, pull=world.pull.id, author=world.agent.id, state="COMMENTED", commit="0" * 40)
    assert world.fault(**review, by=AUTHOR) is None
    mine = world.add(ReviewRecord, by=REVIEWER, pull=world.pull.id, author=world.user(REVIEWER).id, state="APPROVED",
                     commit="0" * 40)  # fmt: skip
    assert "written by hubot, not by octocat alone" in (world.fault(**review, by=AUTHOR) or "")
    assert world.fault(query="pull_request", target="pr.sum", select="reviews[-1].id", equals=mine.id) is None
    assert "nobody wrote" in (world.fault(query="issue", target="issue.slow", by=AUTHOR) or ""), "as at the start"


def test_before_is_the_order_of_the_writes(world: World) -> None:
    world.add(CommentRecord, subject=world.pull.id, author=world.agent.id, body="Fixed", thread=world.thread.id)
    world.push("topic", commit(world.git, {"a": "b\n"}, "Fix", world.hub.session(AUTHOR).signature(),
                               world.git.branch("topic")))  # fmt: skip
    replies = {"query": "thread", "target": "thread.why", "select": "comments[?author=='octocat']"}
    pushes = {"query": "pushes", "select": "[?ref=='refs/heads/topic']"}
    assert world.fault(**replies, before=pushes) is None
    assert "is not before" in (world.fault(**pushes, before=replies) or "")
    assert world.fault(**pushes, by=AUTHOR) is None
    assert "nothing after it" in (world.fault(**replies, before={"query": "releases"}) or "")


def test_what_the_agent_deleted_makes_a_condition_false(world: World) -> None:
    world.hub.state.delete(world.agent, world.comment)
    world.hub.state.delete(world.agent, world.thread)
    assert world.fault(query="thread", target="thread.why", select="resolved", equals=True) == "thread.why was deleted"
    assert world.fault(query="thread", target="thread.why", absent=True) is None
    text = world.fault(query="pull_request", target="pr.sum", select="contains(body, 'x')", equals=True)
    assert "contains" in (text or ""), "a function on null is evidence too"


def test_git_conditions_look_at_the_repository_that_was_left(world: World) -> None:
    author, topic = world.hub.session(AUTHOR).signature(), world.git.branch("topic")
    tip = commit(world.git, {"docs/new.md": "Newer\n"}, "Newer", author, topic)
    world.push("topic", tip)
    world.push("fresh", commit(world.git, {"b.txt": "b\n"}, "B", author, world.git.branch("main")))
    assert world.git_fault(ref="topic", contains_commit="start:topic", not_forced=True) is None
    assert world.git_fault(ref="topic", touches_only=["docs/*"]) is None
    assert world.git_fault(ref="topic", touches_only=["src/"]) == "changed outside of src/: docs/new.md"
    assert world.git_fault(ref="fresh", touches_only=["*.txt"]) is None, "a new branch counts from where it left main"
    assert world.git_fault(ref="main", touches_only=["*"]) == "nothing was changed"
    assert world.git_fault(tree_equals="start:main") is None
    assert "README.md" in (world.git_fault(ref="topic", tree_equals="start:main") or "")
    assert world.git_fault(ref="topic", file_matches={"path": "docs/new.md", "matches": "^Newer$"}) is None
    assert world.git_fault(ref="topic", file_matches={"path": "README.md"}) == "README.md does not exist"
    assert world.git_fault(ref="gone", contains_commit="main") == "there is no gone at the end of the trial"
    assert "does not contain topic" in (world.git_fault(contains_commit="topic") or "")


def test_a_branch_that_was_rewound_and_grew_again_was_forced(world: World) -> None:
    topic = world.git.branch("topic")
    assert topic is not None
    world.push("topic", world.git.branches()["main"], forced=True)
    assert "does not contain its start" in (world.git_fault(ref="topic", not_forced=True) or "")
    world.push("topic", topic)
    assert world.git_fault(pull="pr.sum", not_forced=True) == "refs/heads/topic was force-pushed by octocat"


def test_a_revision_is_checked_out_with_its_history(world: World, tmp_path: Path) -> None:
    with world.left() as github:
        repository, head = github.head_of("pr.sum")
        github.check_out(repository, head, tmp_path / "work")
    assert (tmp_path / "work/docs/new.md").read_text() == "New\n"
    assert not (tmp_path / "work/README.md").exists()


def test_all_that_is_not_allowed_must_be_as_at_the_start(world: World) -> None:
    assert world.unexpected() is None
    world.change(world.issue, labels=(world.label.id,))
    world.add(CommentRecord, subject=world.other.id, author=world.agent.id, body="Me too")
    world.add(IssueRecord, repository=world.repository.id, number=4, title="New", author=world.agent.id)
    world.push("topic", world.git.branches()["main"], forced=True)
    fault = world.unexpected() or ""
    assert "issue.crash: labels: + 'bug'" in fault
    assert "issue.slow: comments: + {" in fault
    assert "issue #4 was created" in fault
    assert "refs/heads/topic: " in fault
    allowed: list[dict[str, Any]] = [{"target": "issue.crash", "fields": ["labels"]},
                                     {"created": "issues", "repository": "repo.demo"},
                                     {"refs": ["refs/heads/top*"]}]  # fmt: skip
    assert "issue.slow" in (world.unexpected(*allowed) or "")
    assert world.unexpected(*allowed, {"target": "issue.slow"}) is None
    assert "labels" in (world.unexpected(*allowed[1:], {"target": "issue.slow"}) or "")


def test_deletion_is_a_change(world: World) -> None:
    world.hub.state.delete(world.agent, world.label)
    assert world.unexpected() == "label.bug was deleted"
    assert world.unexpected({"target": "label.bug", "fields": ["color"]}) == "label.bug was deleted"
    assert world.unexpected({"target": "label.bug"}) is None
