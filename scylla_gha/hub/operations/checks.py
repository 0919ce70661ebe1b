"""Check runs and commit statuses: who may write them, and the suites that check runs form."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from scylla_gha.hub.actions_records import AnnotationRecord, CheckRecord, RunRecord
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, invalid
from scylla_gha.hub.operations.check_facts import checks_of
from scylla_gha.hub.operations.revisions import commit_at
from scylla_gha.hub.records import RepositoryRecord

STATES: Final = ("error", "failure", "pending", "success")
STATUSES: Final = ("queued", "in_progress", "completed")
CONCLUSIONS: Final = (
    "action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out",
)  # fmt: skip
_APPS_ONLY: Final = "You must authenticate via a GitHub App."
_MOST_CHARACTERS: Final = 140


@dataclass(frozen=True, slots=True)
class CheckRunFields:
    """Values to set in a check run; None leaves a field as it is."""

    name: str | None = None
    status: str | None = None
    conclusion: str | None = None
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    started_at: datetime.datetime | None = None
    completed_at: datetime.datetime | None = None
    annotations: Sequence[AnnotationRecord] = ()


@dataclass(frozen=True, slots=True)
class CheckSuiteFacts:
    """Check runs of one commit that an app made together: of a run of a workflow, or else of one creator."""

    id: int
    sha: str
    checks: tuple[CheckRecord, ...]
    run: RunRecord | None

    @property
    def status(self) -> str:
        """Status of all its check runs together."""
        return "completed" if all(check.status == "completed" for check in self.checks) else "in_progress"

    @property
    def conclusion(self) -> str | None:
        """The worst conclusion of its check runs; None while one is not completed."""
        if self.status != "completed":
            return None
        conclusions = {check.conclusion for check in self.checks}
        worst = ("failure", "timed_out", "action_required", "cancelled", "success")
        return next((name for name in worst if name in conclusions), "neutral")


def commit_of_check(session: HubSession, repository: RepositoryRecord, sha: str) -> str:
    """Return the commit that a check or status is for.

    Raises:
        HubError: 422, there is none.
    """
    commit = commit_at(session, repository, sha)
    if commit is None:
        raise HubError(422, f"No commit found for SHA: {sha[:250]}")
    return commit


def create_check_run(
    session: HubSession, repository: RepositoryRecord, sha: str, fields: CheckRunFields
) -> CheckRecord:
    """Create a check run.

    Raises:
        HubError: 403, the user is no app; 422, a field is not allowed.
    """
    _require_app(session, repository)
    commit, state = commit_of_check(session, repository, sha), session.state
    now = state.now()
    blank = CheckRecord(id=state.new_id(), created_at=now, repository=repository.id, sha=commit, name=fields.name or "",
                        kind="check_run", status="queued", creator=session.user.id, started_at=now)  # fmt: skip
    return state.create(session.user, _changed(blank, fields, now))


def update_check_run(
    session: HubSession, repository: RepositoryRecord, check: CheckRecord, fields: CheckRunFields
) -> CheckRecord:
    """Change a check run; annotations are added to those that it has.

    Raises:
        HubError: 403, the user is not the app that made it; 422, a field is not allowed.
    """
    _require_app(session, repository)
    if check.creator != session.user.id:
        raise HubError(403, "Invalid app_id `0` - check run can only be modified by the GitHub App that created it.")
    changed = _changed(check, fields, session.state.now())
    names = ("name", "status", "conclusion", "details_url", "description", "summary", "started_at", "completed_at",
             "annotations")  # fmt: skip
    return session.state.update(session.user, check, **{name: getattr(changed, name) for name in names})


def _require_app(session: HubSession, repository: RepositoryRecord) -> None:
    session.require(repository, "read")
    if session.user.kind != "Bot":
        raise HubError(403, _APPS_ONLY)
    session.require(repository, "write")


def _changed(check: CheckRecord, fields: CheckRunFields, now: datetime.datetime) -> CheckRecord:
    status = "completed" if fields.conclusion else fields.status or check.status
    if status not in STATUSES or (fields.conclusion and fields.conclusion not in CONCLUSIONS):
        raise HubError(422, "Invalid request.\n\nstatus or conclusion is not a member of GitHub's.")
    conclusion = fields.conclusion or (check.conclusion if status == "completed" else None)
    if status == "completed" and conclusion is None:
        raise HubError(422, 'Invalid request.\n\n"conclusion" wasn\'t supplied.')
    return replace(
        check,
        name=fields.name or check.name,
        status=status,
        conclusion=conclusion,
        details_url=fields.details_url or check.details_url,
        description=fields.title or check.description,
        summary=fields.summary or check.summary,
        started_at=fields.started_at or check.started_at,
        completed_at=(fields.completed_at or check.completed_at or now) if status == "completed" else None,
        annotations=(*check.annotations, *fields.annotations),
    )


@dataclass(frozen=True, slots=True)
class NewStatus:
    """Commit status as it is asked for."""

    state: str
    context: str = "default"
    description: str | None = None
    target_url: str | None = None


def create_status(session: HubSession, repository: RepositoryRecord, sha: str, new: NewStatus) -> CheckRecord:
    """Create a commit status.

    Raises:
        HubError: the user may not push, or a field is not allowed.
    """
    session.require(repository, "write")
    commit = commit_of_check(session, repository, sha)
    if new.state not in STATES:
        raise invalid("Status", "state", "custom", "state is not included in the list")
    if len(new.description or "") > _MOST_CHARACTERS:
        raise invalid("Status", "description", "custom",
                      f"description is too long (maximum is {_MOST_CHARACTERS} characters)")  # fmt: skip
    records, now = session.state, session.state.now()
    status = CheckRecord(id=records.new_id(), created_at=now, repository=repository.id, sha=commit, name=new.context,
                         kind="status", conclusion=new.state, description=new.description, details_url=new.target_url,
                         creator=session.user.id, started_at=now, completed_at=now)  # fmt: skip
    return records.create(session.user, status)


def statuses_of(session: HubSession, repository: RepositoryRecord, sha: str) -> list[CheckRecord]:
    """Return all statuses of a commit, the newest first."""
    checks = session.state.where(CheckRecord, sha=sha, repository=repository.id)
    return [check for check in reversed(checks) if check.kind == "status"]


def combined_state(statuses: Sequence[CheckRecord]) -> str:
    """Return GitHub's combined state of the last status of each context; without any it is pending."""
    states = {status.conclusion for status in statuses}
    if states & {"error", "failure"}:
        return "failure"
    return "success" if states == {"success"} else "pending"


def suites_of(session: HubSession, repository: RepositoryRecord, sha: str) -> list[CheckSuiteFacts]:
    """Return the check suites of a commit. That of a run has the run's id, another one that of its first check run."""
    groups: dict[tuple[int | None, int | None], list[CheckRecord]] = {}
    for check in checks_of(session, repository.id, sha):
        if check.kind == "check_run":
            groups.setdefault((check.run, None if check.run else check.creator), []).append(check)
    return [
        CheckSuiteFacts(run or checks[0].id, sha, tuple(checks), session.state.get(RunRecord, run))
        for (run, _), checks in groups.items()
    ]


def suite_id(session: HubSession, repository: RepositoryRecord, check: CheckRecord) -> int:
    """Return the id of a check run's suite; its own if a later one of its name took its place there."""
    suites = suites_of(session, repository, check.sha)
    return check.run or next((suite.id for suite in suites if check in suite.checks), check.id)


def find_suite(session: HubSession, repository: RepositoryRecord, id_: int) -> CheckSuiteFacts | None:
    """Return the check suite with an id; None if there is none."""
    run, check = session.state.get(RunRecord, id_), session.state.get(CheckRecord, id_)
    sha = run.head_sha if run else check.sha if check else None
    suites = suites_of(session, repository, sha) if sha else []
    return next((suite for suite in suites if suite.id == id_), None)
