"""Issues and pull requests of a hub that differ in all that a search asks for."""

from pathlib import Path
from typing import Any

from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    PullRequestRecord,
    RepositoryRecord,
    ReviewRecord,
)
from tests.support.hub import AUTHOR, NAME, OWNER, READER, REVIEWER, make_hub


class SearchWorld:
    """Issues 1 to 4 and pull requests 5 to 7 of octo-org/demo, and a private repository with issue 1."""

    def __init__(self, folder: Path) -> None:
        self.hub = make_hub(folder)
        self.state = self.hub.state
        repository = self.state.repository(OWNER, NAME)
        assert repository is not None
        self.repository = repository
        self.ids = {user.login: user.id for user in map(self.state.user, (AUTHOR, REVIEWER, READER)) if user}
        self.add_issues()
        self.add_pulls()
        self.add_private()

    def common(self, title: str, login: str, **fields: Any) -> dict[str, Any]:
        now = self.state.now()
        number = self.state.next_number(self.repository)
        return {"id": self.state.new_id(), "created_at": now, "updated_at": now, "repository": self.repository.id,
                "number": number, "title": title, "author": self.ids[login], **fields}  # fmt: skip

    def add_issues(self) -> None:
        state, now = self.state, self.state.now()
        labels = [
            state.create(0, LabelRecord(id=state.new_id(), created_at=now, repository=self.repository.id, name=name)).id
            for name in ("Bug", "good first issue")
        ]
        milestone = state.create(0, MilestoneRecord(
            id=state.new_id(), created_at=now, updated_at=now, repository=self.repository.id, number=1,
            title="Version 1", creator=self.ids[AUTHOR])).id  # fmt: skip
        me, other = self.ids[AUTHOR], self.ids[REVIEWER]
        issues = [
            self.common("Crash when parsing dates", AUTHOR, labels=(labels[0],), body="See src/app.py @hubot"),
            self.common("Docs are old", REVIEWER, labels=tuple(labels), assignees=(me,), milestone=milestone),
            self.common("Parser is slow", REVIEWER, state="closed", state_reason="not_planned", assignees=(other,)),
            self.common("Fourth", READER, locked=True),
        ]
        records = [state.create(0, IssueRecord(**fields)) for fields in issues]
        state.create(0, CommentRecord(id=state.new_id(), created_at=state.now(), updated_at=state.now(),
                                      subject=records[3].id, author=me, body="A crash in the login"))  # fmt: skip

    def add_pulls(self) -> None:
        state, now = self.state, self.state.now()
        git = self.hub.git(self.repository)
        tip = git.branches()["topic"]
        branch = {"head_repository": self.repository.id, "head_ref": "topic", "base_ref": "main"}
        reviewer = self.ids[REVIEWER]
        merged = {"state": "closed", "merged_at": now, "closed_at": now, "merge_commit": tip, "closed_base": tip}
        for fields in (
            self.common("Fix the crash", AUTHOR, body="Closes #1", requested_reviewers=(reviewer,), **branch),
            self.common("Work in progress", AUTHOR, draft=True, **branch),
            self.common("Old change", REVIEWER, **branch, **merged),
        ):
            pull = state.create(0, PullRequestRecord(**fields))
            git.set_ref(f"refs/pull/{pull.number}/head", tip)
            if pull.number == 6:
                state.create(0, ReviewRecord(id=state.new_id(), created_at=now, submitted_at=now, pull=pull.id,
                                             author=reviewer, state="APPROVED", commit=tip))  # fmt: skip

    def add_private(self) -> None:
        state, now = self.state, self.state.now()
        record = RepositoryRecord(id=state.new_id(), created_at=now, updated_at=now, pushed_at=now,
                                  owner=self.ids[REVIEWER], name="secret", private=True)  # fmt: skip
        state.create(0, record)
        self.hub.git(record).create(self.hub.git_folder(record.id))
        state.create(0, IssueRecord(id=state.new_id(), created_at=now, updated_at=now, repository=record.id, number=99,
                                    title="Hidden crash", author=self.ids[REVIEWER]))  # fmt: skip
