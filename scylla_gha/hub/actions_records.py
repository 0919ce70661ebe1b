"""Records of GitHub Actions and of checks, and what all records have."""

import datetime
from dataclasses import dataclass
from typing import Literal

Time = datetime.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRecord:
    """Base of all records."""

    id: int
    created_at: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRecord(HubRecord):
    """Workflow file of a repository. `scripted` are conclusions of runs by dispatch still to come."""

    repository: int
    path: str
    name: str
    updated_at: Time
    state: Literal["active", "disabled_manually"] = "active"
    scripted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """Step of a job."""

    number: int
    name: str
    conclusion: str | None = None
    status: str = "completed"
    started_at: Time | None = None
    completed_at: Time | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationRecord:
    """Message of a check on lines of a file."""

    path: str
    start_line: int
    end_line: int
    level: Literal["notice", "warning", "failure"]
    message: str
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """Job of an attempt of a run; `log` is the name of a blob, None without a log."""

    id: int
    name: str
    attempt: int
    status: str
    conclusion: str | None
    created_at: Time
    started_at: Time | None = None
    completed_at: Time | None = None
    steps: tuple[StepRecord, ...] = ()
    annotations: tuple[AnnotationRecord, ...] = ()
    log: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord(HubRecord):
    """Run of a workflow. `jobs` are of all attempts. `scripted` are conclusions of attempts still to come.

    `commit` is what is checked out, the merge of a pull request's branches; None: `head_sha`. `ref` is the full ref;
    "": the branch. `base_ref` is the base branch of a pull request. `inputs` are those of a dispatch.
    """

    repository: int
    workflow: int
    number: int
    event: str
    head_branch: str
    head_sha: str
    title: str
    actor: int
    status: str
    conclusion: str | None
    updated_at: Time
    started_at: Time
    attempt: int = 1
    jobs: tuple[JobRecord, ...] = ()
    scripted: tuple[str, ...] = ()
    ref: str = ""
    commit: str | None = None
    base_ref: str = ""
    inputs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRecord(HubRecord):
    """Check run or commit status of a commit. A status has a `state` and no `status`; `job` is the run's job."""

    repository: int
    sha: str
    name: str
    kind: Literal["check_run", "status"]
    status: str = "completed"
    conclusion: str | None = None
    description: str | None = None
    details_url: str | None = None
    summary: str | None = None
    creator: int | None = None
    started_at: Time | None = None
    completed_at: Time | None = None
    run: int | None = None
    job: int | None = None
    annotations: tuple[AnnotationRecord, ...] = ()
