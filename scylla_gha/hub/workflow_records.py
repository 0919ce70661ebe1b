"""Runs of workflows between the hub and the harness: what is to be done, and what was done. Sent over loopback."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model import Record, Sha, Text

Shell = Literal["bash", "sh", "python"]
Level = Literal["notice", "warning", "failure"]


class WorkflowStep(Record):
    """Step of a job: a script, or else an action that the runner knows. Texts may have expressions.

    Attributes:
        action: checkout; none: an action that does nothing here, such as setup-python.
        condition: its `if`; None: success().
    """

    name: str
    id: str | None = None
    script: str | None = None
    action: Literal["checkout", "none"] | None = None
    shell: Annotated[Shell | None, Field(description="null: bash without pipefail, as on GitHub")] = None
    folder: Annotated[str | None, Field(description="working-directory")] = None
    env: dict[str, str] = Field(default_factory=dict)
    condition: str | None = None
    minutes: float | None = None
    continue_on_error: bool = False


class WorkflowJob(Record):
    """Job of a workflow file; `key` is its name in `jobs`."""

    key: str
    name: str
    needs: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    condition: str | None = None
    minutes: float | None = None
    continue_on_error: bool = False
    outputs: dict[str, str] = Field(default_factory=dict)
    steps: tuple[WorkflowStep, ...]


class WorkflowPlan(Record):
    """Workflow file that the runner can run; its jobs stand behind those that they need."""

    env: dict[str, str] = Field(default_factory=dict)
    jobs: tuple[WorkflowJob, ...]


class NextRunRequest(Record):
    """Question for the next queued run of a cell; the answer is null if there is none within `seconds`."""

    cell: Text
    seconds: float


class QueuedRun(Record):
    """Attempt of a run to be done.

    Attributes:
        run: the run's id.
        attempt: number of the attempt.
        repository: id of the repository, whose git directory has the commit.
        commit: what is checked out.
        github: the context of this name, without what the job adds.
        inputs: of a dispatch.
        ids: the job record's id by the job's key; jobs that are not in it are not run in this attempt.
        earlier: conclusions of those, by key.
    """

    run: int
    attempt: int
    repository: int
    commit: Sha
    plan: WorkflowPlan
    github: dict[str, str]
    inputs: dict[str, str] = Field(default_factory=dict)
    ids: dict[str, int]
    earlier: dict[str, str] = Field(default_factory=dict)


class NextRun(Record):
    """Answer to `NextRunRequest`. `closed`: no run of the cell will be queued any more."""

    run: QueuedRun | None = None
    closed: bool = False


class JobNote(Record):
    """Annotation of a job."""

    path: str
    line: int
    end_line: int
    level: Level
    message: str
    title: str | None = None


class StepReport(Record):
    """State of a step."""

    name: str
    status: Literal["queued", "in_progress", "completed"]
    conclusion: str | None = None


class JobReport(Record):
    """State of a job; a completed one has its log as sections: the step's name and its lines."""

    cell: Text
    run: int
    attempt: int
    job: int
    steps: tuple[StepReport, ...]
    conclusion: Annotated[str | None, Field(description="null: it still runs")] = None
    notes: tuple[JobNote, ...] = ()
    log: tuple[tuple[str, str], ...] = ()


class RunEnd(Record):
    """End of an attempt, whose jobs were all reported; its conclusion (null) follows from them."""

    cell: Text
    run: int
    attempt: int
    conclusion: str | None = None


class AwaitStopRequest(Record):
    """Question if an attempt was cancelled; answered when it is, or not in progress any more, or after `seconds`."""

    cell: Text
    run: int
    attempt: int
    seconds: float


class StopAnswer(Record):
    """Answer to reports and to `AwaitStopRequest`: `stopped` if the attempt is not in progress any more."""

    stopped: bool


class DrainRequest(Record):
    """Request to wait until no run of a cell is queued or in progress; what still is after `seconds` is cancelled."""

    cell: Text
    seconds: float


class DrainAnswer(Record):
    """Number of runs that a drain has cancelled; null: some are still going on."""

    cancelled: int | None
