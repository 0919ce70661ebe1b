"""A hub with one or more of every record, for tests of what reads them."""

import datetime
from pathlib import Path
from typing import Any

from scylla_gha.hub.actions_records import (
    AnnotationRecord,
    CheckRecord,
    JobRecord,
    RunRecord,
    StepRecord,
    WorkflowRecord,
)
from scylla_gha.hub.cell import Hub
from scylla_gha.hub.records import (
    AssetRecord,
    CommentRecord,
    EventRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    PullRequestRecord,
    ReleaseRecord,
    RepositoryRecord,
    ReviewRecord,
    ThreadRecord,
)
from scylla_gha.hub.state import START
from tests.support.hub import AUTHOR, NAME, OWNER, READER, REVIEWER, make_hub


def filled_hub(folder: Path, issues: int = 2) -> Hub:
    """octo-org/demo with labels, a milestone, issues from number 2, a pull request (1) and what belongs to it."""
    hub = make_hub(folder)
    state = hub.state
    ids = hub.tokens
    repository = state.repository(OWNER, NAME)
    assert repository is not None
    git = hub.git(repository)
    topic = git.branches()["topic"]
    git.set_ref("refs/pull/1/head", topic)
    git.set_ref("refs/tags/v1", git.branches()["main"])

    def add(kind: type[Any], /, **fields: Any) -> Any:
        times = {"updated_at": state.now()} if "updated_at" in kind.__dataclass_fields__ else {}
        actor = fields.get("author", ids[AUTHOR])
        return state.create(actor, kind(id=state.new_id(), created_at=state.now(), **{**times, **fields}))

    bug = add(LabelRecord, repository=repository.id, name="bug", color="d73a4a", description="Something is wrong")
    add(LabelRecord, repository=repository.id, name="docs")
    stone = add(MilestoneRecord, repository=repository.id, number=1, title="v2", creator=ids[AUTHOR])
    pull = add(PullRequestRecord, repository=repository.id, number=1, title="Change the sum", author=ids[AUTHOR],
               body="Closes #2", head_repository=repository.id, head_ref="topic", base_ref="main", labels=(bug.id,),
               assignees=(ids[AUTHOR],), milestone=stone.id, requested_reviewers=(ids[READER],))  # fmt: skip
    for number in range(2, issues + 2):
        add(IssueRecord, repository=repository.id, number=number, title=f"Sum is wrong {number}", author=ids[READER],
            body="It is.", labels=(bug.id,), assignees=(ids[AUTHOR],), milestone=stone.id)  # fmt: skip
    state.update(0, state.need(RepositoryRecord, repository.id), last_number=issues + 1)
    issue = state.first(IssueRecord, number=2)
    assert issue is not None
    for subject in (pull, issue):
        add(CommentRecord, subject=subject.id, author=ids[REVIEWER], body="I see.")
        for event, data in (("labeled", ("label", "bug")), ("assigned", ("assignee", AUTHOR))):
            add(EventRecord, subject=subject.id, actor=ids[AUTHOR], event=event, data=(data,))
    add(EventRecord, subject=issue.id, actor=ids[AUTHOR], event="cross-referenced", data=(("source", str(pull.id)),))
    review = add(ReviewRecord, pull=pull.id, author=ids[REVIEWER], state="CHANGES_REQUESTED", commit=topic,
                 body="Not so.", submitted_at=state.now())  # fmt: skip
    thread = add(ThreadRecord, pull=pull.id, path="src/app.py", commit=topic, line=2)
    first = add(CommentRecord, subject=pull.id, author=ids[REVIEWER], body="Why?", review=review.id, thread=thread.id)
    add(CommentRecord, subject=pull.id, author=ids[AUTHOR], body="So.", thread=thread.id, reply_to=first.id)
    _add_checks(add, repository, topic, ids[AUTHOR], state.now())
    _add_release(add, repository, hub.blobs.add(b"demo"), ids[AUTHOR], state.new_id())
    return hub


def _add_release(add: Any, repository: RepositoryRecord, blob: str, user: int, id_: int) -> None:
    time = START
    asset = AssetRecord(id=id_, name="demo.txt", blob=blob, size=4, uploader=user,
                        content_type="text/plain", created_at=time, updated_at=time)  # fmt: skip
    add(ReleaseRecord, repository=repository.id, tag="v1", target="main", author=user, name="One", body="First",
        published_at=time, assets=(asset,))  # fmt: skip


def _add_checks(add: Any, repository: RepositoryRecord, sha: str, actor: int, time: datetime.datetime) -> None:
    workflow = add(WorkflowRecord, repository=repository.id, path=".github/workflows/ci.yml", name="CI")
    step = StepRecord(number=1, name="Test", conclusion="failure", started_at=time, completed_at=time)
    job = JobRecord(id=9001, name="test", attempt=1, status="completed", conclusion="failure", created_at=time,
                    started_at=time, completed_at=time, steps=(step,))  # fmt: skip
    run = add(RunRecord, repository=repository.id, workflow=workflow.id, number=1, event="push", head_branch="topic",
              head_sha=sha, title="Change the sum", actor=actor, status="completed", conclusion="failure",
              started_at=time, jobs=(job,))  # fmt: skip
    annotation = AnnotationRecord(path="src/app.py", start_line=2, end_line=2, level="failure", message="wrong")
    add(CheckRecord, repository=repository.id, sha=sha, name="test", kind="check_run", conclusion="failure", run=run.id,
        job=job.id, started_at=time, completed_at=time, annotations=(annotation,))  # fmt: skip
    add(CheckRecord, repository=repository.id, sha=sha, name="lint", kind="status", conclusion="success",
        description="Clean", details_url="https://lint.example/1", creator=actor)  # fmt: skip
