"""Rollups of checks, check runs and statuses."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from scylla_gha.hub.actions_records import AnnotationRecord, CheckRecord, RunRecord
from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.graphql import attributes, constants, field
from scylla_gha.hub.graphql.addresses import repository_path
from scylla_gha.hub.graphql.connections import connection
from scylla_gha.hub.graphql.git_nodes import ObjectNode, commit_node
from scylla_gha.hub.graphql.query import owner_of
from scylla_gha.hub.operations.check_facts import checks_of, rollup_state, state_of_check
from scylla_gha.hub.operations.protection import protection_of
from scylla_gha.hub.records import PullRequestRecord, UserRecord


def upper(text: str | None) -> str | None:
    """Return a word of REST in the letters of GraphQL."""
    return text.upper() if text else None


@field("StatusCheckRollup.id")
def _rollup_id(node: ObjectNode, _session: HubSession) -> str:
    return f"SCR_kwDO{node.repository.id:08d}x{node.sha}"


@field("StatusCheckRollup.commit", "Status.commit")
def _rollup_commit(node: ObjectNode, _session: HubSession) -> ObjectNode:
    return commit_node(node.repository, node.sha)


@field("StatusCheckRollup.state")
def _rollup_state(node: ObjectNode, session: HubSession) -> str:
    return rollup_state(checks_of(session, node.repository.id, node.sha)) or "EXPECTED"


def check_runs(checks: Sequence[CheckRecord]) -> list[CheckRecord]:
    """Return the check runs among checks."""
    return [check for check in checks if check.kind == "check_run"]


def _statuses(checks: Sequence[CheckRecord]) -> list[CheckRecord]:
    return [check for check in checks if check.kind == "status"]


def _check_state(check: CheckRecord) -> str:
    return str(upper(check.conclusion if check.status == "completed" else check.status))


def _counts(states: Sequence[str]) -> list[dict[str, Any]]:
    return [{"state": state, "count": count} for state, count in Counter(states).items()]


@connection(
    "StatusCheckRollup.contexts",
    checkRunCount=lambda checks: len(check_runs(checks)),
    statusContextCount=lambda checks: len(_statuses(checks)),
    checkRunCountsByState=lambda checks: _counts([_check_state(check) for check in check_runs(checks)]),
    statusContextCountsByState=lambda checks: _counts([state_of_check(check) for check in _statuses(checks)]),
)
def _contexts(node: ObjectNode, session: HubSession) -> list[CheckRecord]:
    return checks_of(session, node.repository.id, node.sha)


@field("Commit.status")
def _status(node: ObjectNode, session: HubSession) -> dict[str, Any] | None:
    statuses = _statuses(checks_of(session, node.repository.id, node.sha))
    if not statuses:
        return None
    return {"id": f"S_kwDO{node.sha}", "contexts": statuses, "state": rollup_state(statuses), "commit": node}


attributes("CheckRun", name="name", startedAt="started_at", completedAt="completed_at", summary="summary",
           title="description")  # fmt: skip
constants("CheckRun", externalId="", text=None, deployment=None, pendingDeploymentRequest=None)
attributes("StatusContext", context="name", description="description", targetUrl="details_url")


@field("CheckRun.status")
def _check_status(check: CheckRecord, _session: HubSession) -> str:
    return check.status.upper()


@field("CheckRun.conclusion")
def _conclusion(check: CheckRecord, _session: HubSession) -> str | None:
    return upper(check.conclusion)


@field("StatusContext.state")
def _context_state(check: CheckRecord, _session: HubSession) -> str:
    return state_of_check(check)


@field("StatusContext.creator")
def _creator(check: CheckRecord, session: HubSession) -> UserRecord | None:
    return session.state.get(UserRecord, check.creator)


@field("StatusContext.avatarUrl")
def _avatar(check: CheckRecord, _session: HubSession) -> str:
    return f"https://avatars.githubusercontent.com/u/{check.creator or 0}?v=4"


@field("StatusContext.commit")
def _check_commit(check: CheckRecord, session: HubSession) -> ObjectNode:
    return commit_node(owner_of(session, check), check.sha)


@field("CheckRun.permalink", "CheckRun.url")
def _check_url(check: CheckRecord, session: HubSession) -> str:
    return SITE + _check_path(check, session)


@field("CheckRun.resourcePath")
def _check_path(check: CheckRecord, session: HubSession) -> str:
    path = repository_path(session, check.repository)
    return f"{path}/actions/runs/{check.run}/job/{check.job}" if check.job else f"{path}/runs/{check.id}"


@field("CheckRun.detailsUrl")
def _details_url(check: CheckRecord, session: HubSession) -> str:
    return check.details_url or _check_url(check, session)


@field("CheckRun.isRequired", "StatusContext.isRequired")
def _is_required(
    check: CheckRecord,
    session: HubSession,
    pullRequestId: str | None = None,  # noqa: N803 GitHub's name
    pullRequestNumber: int | None = None,  # noqa: N803 GitHub's name
) -> bool:
    repository = owner_of(session, check)
    record = session.state.by_node(pullRequestId) if pullRequestId else None
    pull = record if record is not None else session.state.subject(repository, pullRequestNumber or 0)
    if not isinstance(pull, PullRequestRecord):
        return False
    rule = protection_of(session, repository, pull.base_ref)
    return rule is not None and check.name in rule.required_checks


@connection("CheckRun.annotations")
def _annotations(check: CheckRecord, _session: HubSession) -> list[AnnotationRecord]:
    return list(check.annotations)


attributes("CheckAnnotation", path="path", message="message", title="title")
constants("CheckAnnotation", rawDetails=None)


@field("CheckAnnotation.annotationLevel")
def _level(annotation: AnnotationRecord, _session: HubSession) -> str:
    return annotation.level.upper()


@field("CheckAnnotation.location")
def _location(annotation: AnnotationRecord, _session: HubSession) -> dict[str, Any]:
    lines = {"start": annotation.start_line, "end": annotation.end_line}
    return {side: {"line": line, "column": None} for side, line in lines.items()}


@connection("CheckRun.steps")
def _steps(check: CheckRecord, session: HubSession, *, number: int | None = None) -> list[dict[str, Any]]:
    run = session.state.get(RunRecord, check.run)
    jobs = [job for job in run.jobs if job.id == check.job] if run else []
    return [
        {
            "name": step.name,
            "number": step.number,
            "status": step.status.upper(),
            "conclusion": upper(step.conclusion),
            "startedAt": step.started_at,
            "completedAt": step.completed_at,
            "externalId": None,
            "secondsToCompletion": None,
        }
        for job in jobs
        for step in job.steps
        if number in (None, step.number)
    ]
