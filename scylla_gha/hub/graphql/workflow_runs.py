"""Check suites, runs of workflows, and workflows."""

import datetime
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from scylla_gha.hub.actions_records import CheckRecord, RunRecord, WorkflowRecord
from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.graphql import attributes, constants, field
from scylla_gha.hub.graphql.addresses import repository_path
from scylla_gha.hub.graphql.checks import check_runs, upper
from scylla_gha.hub.graphql.connections import connection, no_items
from scylla_gha.hub.graphql.git_nodes import ObjectNode, RefNode, commit_node
from scylla_gha.hub.graphql.query import owner_of
from scylla_gha.hub.graphql.sorting import in_order, with_states
from scylla_gha.hub.operations.check_facts import checks_of, rollup_state
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord, UserRecord

_APP: Final = {"id": "A_kwDO00015368", "databaseId": 15368, "name": "GitHub Actions", "slug": "github-actions",
               "url": "https://github.com/apps/github-actions", "description": "Automate your workflow"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CheckSuiteNode:
    """Check suite: the checks of a run, or those of a commit that no run made."""

    graphql_type: ClassVar[str] = "CheckSuite"
    repository: RepositoryRecord
    sha: str
    run: RunRecord | None


attributes("CheckSuite", repository="repository", workflowRun="run")
constants("CheckSuite", push=None)
attributes("WorkflowRun", runNumber="number", event="event")
attributes("Workflow", name="name")
constants("WorkflowRun", file=None)
no_items("WorkflowRun.deploymentReviews", "WorkflowRun.pendingDeploymentRequests")


@field("CheckRun.checkSuite")
def _suite(check: CheckRecord, session: HubSession) -> CheckSuiteNode:
    return CheckSuiteNode(owner_of(session, check), check.sha, session.state.get(RunRecord, check.run))


@field("CheckSuite.id")
def _suite_id(suite: CheckSuiteNode, _session: HubSession) -> str:
    return f"CS_kwDO{suite.run.id if suite.run else 0:08d}x{suite.sha}"


@field("CheckSuite.databaseId")
def _suite_number(suite: CheckSuiteNode, _session: HubSession) -> int:
    return suite.run.id if suite.run else int(suite.sha[:7], 16)


@field("CheckSuite.app")
def _app(suite: CheckSuiteNode, _session: HubSession) -> dict[str, Any] | None:
    return _APP if suite.run else None


@field("CheckSuite.commit")
def _suite_commit(suite: CheckSuiteNode, _session: HubSession) -> ObjectNode:
    return commit_node(suite.repository, suite.sha)


@field("CheckSuite.branch")
def _branch(suite: CheckSuiteNode, session: HubSession) -> RefNode | None:
    if suite.run is None or session.git(suite.repository).branch(suite.run.head_branch) is None:
        return None
    return RefNode(suite.repository, f"refs/heads/{suite.run.head_branch}")


@field("CheckSuite.creator")
def _suite_creator(suite: CheckSuiteNode, session: HubSession) -> UserRecord | None:
    user = session.state.get(UserRecord, suite.run.actor) if suite.run else None
    return user if user is not None and user.kind == "User" else None


def _checks_in(session: HubSession, suite: CheckSuiteNode) -> list[CheckRecord]:
    run = suite.run.id if suite.run else None
    return [check for check in check_runs(checks_of(session, suite.repository.id, suite.sha)) if check.run == run]


@connection("CheckSuite.checkRuns")
def _suite_checks(suite: CheckSuiteNode, session: HubSession) -> list[CheckRecord]:
    return _checks_in(session, suite)


@field("CheckSuite.status")
def _suite_status(suite: CheckSuiteNode, session: HubSession) -> str:
    if suite.run:
        return suite.run.status.upper()
    is_done = all(check.status == "completed" for check in _checks_in(session, suite))
    return "COMPLETED" if is_done else "IN_PROGRESS"


@field("CheckSuite.conclusion")
def _suite_conclusion(suite: CheckSuiteNode, session: HubSession) -> str | None:
    if suite.run:
        return upper(suite.run.conclusion)
    state = rollup_state(_checks_in(session, suite))
    return state if state in ("SUCCESS", "FAILURE") else None


@field("CheckSuite.createdAt")
def _suite_created(suite: CheckSuiteNode, session: HubSession) -> datetime.datetime:
    return suite.run.created_at if suite.run else min(check.created_at for check in _checks_in(session, suite))


@field("CheckSuite.updatedAt")
def _suite_updated(suite: CheckSuiteNode, session: HubSession) -> datetime.datetime:
    return suite.run.updated_at if suite.run else max(check.created_at for check in _checks_in(session, suite))


@connection("Commit.checkSuites")
def _suites(node: ObjectNode, session: HubSession) -> list[CheckSuiteNode]:
    runs = session.state.where(RunRecord, repository=node.repository.id, head_sha=node.sha)
    others = [check for check in check_runs(checks_of(session, node.repository.id, node.sha)) if check.run is None]
    return [CheckSuiteNode(node.repository, node.sha, run) for run in (*runs, *([None] if others else []))]


@field("WorkflowRun.checkSuite")
def _suite_of_run(run: RunRecord, session: HubSession) -> CheckSuiteNode:
    return CheckSuiteNode(owner_of(session, run), run.head_sha, run)


@field("WorkflowRun.workflow")
def _workflow(run: RunRecord, session: HubSession) -> WorkflowRecord:
    return session.state.need(WorkflowRecord, run.workflow)


@field("Workflow.state")
def _workflow_state(workflow: WorkflowRecord, _session: HubSession) -> str:
    return workflow.state.upper()


@connection("Workflow.runs")
def _workflow_runs(workflow: WorkflowRecord, session: HubSession, *, orderBy: Any = None) -> list[RunRecord]:  # noqa: ANN401, ARG001, N803 newest first alone
    return session.state.where(RunRecord, workflow=workflow.id)[::-1]


@field("CheckSuite.resourcePath")
def _suite_path(suite: CheckSuiteNode, session: HubSession) -> str:
    return f"{repository_path(session, suite.repository)}/commit/{suite.sha}/checks"


@field("CheckSuite.url")
def _suite_url(suite: CheckSuiteNode, session: HubSession) -> str:
    return SITE + _suite_path(suite, session)


@connection("CheckSuite.matchingPullRequests")
def _pulls(
    suite: CheckSuiteNode, session: HubSession, *, states: list[str] | None = None, orderBy: Any = None  # noqa: ANN401, N803
) -> list[PullRequestRecord]:  # fmt: skip
    branch = suite.run.head_branch if suite.run else None
    pulls = session.state.where(PullRequestRecord, head_repository=suite.repository.id, head_ref=branch)
    return in_order(with_states(pulls, states), orderBy)
