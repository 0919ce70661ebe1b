"""Results of a cell: the flat row of its trial, which alone the statistics read, and all its stored records."""

import datetime
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.github_requests import CallCounts, GitHubServer
from scylla_gha.model.judgment import Fraction, Grade, Judgment
from scylla_gha.model.plan import Arm, Cell
from scylla_gha.model.sandbox import Files, Keys, Network
from scylla_gha.model.traffic import RequestRecord, ResponseRecord
from scylla_gha.model.trial import NO_USAGE, Attempt, Outcome, Step, Trajectory, Trial, Usage


class Result(Record):
    """One line of `results.jsonl`. Null is unknown; every planned cell with a trial has a row."""

    schema_version: int = 2
    experiment: str
    cell: str
    key: str
    epoch: str
    scenario: str
    category: str
    size: str
    difficulty: str
    arm: str
    agent: str
    agent_version: str | None
    model: str | None
    variant: str | None
    mode: str | None = Field(default=None, description="Id of the toolset for GitHub; null: the task has no GitHub")
    repetition: int
    started_at: datetime.datetime | None = None
    outcome: Outcome
    reason: str
    measures_agent: bool = Field(
        description="False if the outcome says nothing about the agent; such a row is counted, but not in rates"
    )
    judged: bool
    unjudged: str | None = Field(
        default=None,
        description="Reason why an imported row has no verdict; in rows of earlier versions, reason why the "
        "judges gave none; null: none",
    )
    judges_withheld: int = Field(
        default=0,
        exclude_if=lambda judges: judges == 0,
        description="Number of judges who answered and left out an item, which counts as not met",
    )
    judging: str | None = Field(
        default=None, description="Digest of checks, rubric and judges; null: not judged, or not recorded"
    )
    passed: bool | None = Field(
        description="True if the trial passed; null: it does not measure the agent, or was not judged"
    )
    score: Fraction | None
    grade: Grade | None
    progress: Fraction | None
    threshold: Fraction | None = Field(default=None, description="Score from which a trial passes; null: not recorded")
    points: float | None = Field(
        default=None,
        ge=0,
        description="Points achieved on all items that apply, without category weights; null: unknown",
    )
    points_max: float | None = Field(default=None, ge=0, description="Maximum points of these items; null: unknown")
    judge_scores: dict[str, Fraction | None] = Field(
        default={},
        description="Score of the trial by judge, if this judge alone had scored the panel's items; null: the "
        "judge left out items",
    )
    items_na: int = Field(description="Number of items that were not scored")
    items_unjudged: int = Field(description="Number of items for the judge panel that were not scored")
    checkpoints: int | None = Field(
        default=None, description="Number of checkpoints that code verified; null: not judged"
    )
    checkpoints_passed: int | None = Field(
        default=None, description="Number of checkpoints that hold, guards included; null: not judged"
    )
    guards: int | None = Field(
        default=None, description="Number of the scenario's checks that already hold on the base; null: unknown"
    )
    broken_guards: int = Field(description="Number of guards that the agent's change broke")
    attempts: int | None
    excused_attempts: dict[str, int] = Field(
        default={}, description="Number of attempts that do not measure the agent, by outcome"
    )
    excuse: str | None = Field(
        default=None, description="Reason of the last attempt that does not measure the agent; null: there was none"
    )
    seconds: float | None = Field(
        description="Wall time in seconds of the attempt that counts; null: the imported row has none"
    )
    check_seconds: float | None = Field(default=None, description="Wall time in seconds of all checks; null: unknown")
    first_byte_seconds: float | None = Field(
        default=None, description="Mean time in seconds until the first byte of an answer; null: unknown"
    )
    generation_seconds: float | None = Field(
        default=None, description="Total time in seconds from the first to the last byte of answers; null: unknown"
    )
    tool_seconds: float | None = Field(
        default=None, description="Total time in seconds between an answer and the next request; null: unknown"
    )
    usd: float | None = Field(description="Model cost of all attempts in USD, failed ones included; null: unknown")
    side_requests: int | None = Field(
        default=None, description="Number of requests in all attempts to models other than the arm's; null: unknown"
    )
    side_usd: float | None = Field(
        default=None, description="Cost in USD of requests to models other than the arm's, a part of usd; null: unknown"
    )
    judge_usd: float | None = Field(
        description="Model cost in USD of all judging, by any panel at any time; null: unknown"
    )
    unadjusted: str = Field(
        default="", description="Configured model settings that some requests of the agent did not have"
    )
    judge_unadjusted: str = Field(
        default="", description="Configured model settings that some requests of the judges did not have"
    )
    replayed: bool = Field(
        default=False, description="True if the answers came from a recording, so that nothing was paid for this row"
    )
    subscription: bool = Field(default=False, description="True if a subscription paid, so that USD are list prices")
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    total_tokens: int | None = Field(
        default=None,
        description="Number of tokens of all kinds, if the source of the row gives only their total; null otherwise",
    )
    characters: dict[str, int] = Field(
        default={}, description="Number of characters in all requests of the agent, by component"
    )
    requests: int | None = None
    repeated_requests: int | None = Field(
        default=None, description="Number of requests that followed a failed request; null: unknown"
    )
    human_usd: float | None = Field(
        default=None, description="Cost in USD of a person's solution of the scenario; null: unknown"
    )
    turns: int | None
    tool_calls: int | None
    tools: dict[str, int] = Field(default={}, description="Number of tool calls, by tool")
    failed_tool_calls: int | None
    blocked_calls: int | None = Field(
        description="Number of tool calls that the safety net blocked; null: no safety net, or it could not read "
        "all calls and blocked none"
    )
    unread_calls: int | None = Field(
        description="Number of tool calls that the safety net allowed without reading them completely; null: "
        "no safety net"
    )
    unguarded_calls: int | None = Field(
        default=None,
        description="Number of tool calls that ran without an event of the safety net's hook; null: no safety net",
    )
    unseen_calls: int | None = Field(
        default=None,
        description="Number of tool calls that run commands in a form that the gateway cannot read; null: "
        "no safety net",
    )
    safety_net: Literal["hook", "gateway", "none"] | None = Field(
        default=None,
        description="What judged the calls for the safety net; none: there is no way for this agent CLI; null: it is "
        "turned off, or the agent did not start",
    )
    network_refused: int | None = Field(
        default=None,
        description="Number of connections to forbidden hosts that the proxy saw; null: no proxy",
    )
    delivered: bool | None = Field(description="True if the treatment is proved; null: there was no treatment")
    delivery_unverified: str | None = Field(description="Parts of the treatment that no source proves; null: none")
    treatment_tokens: dict[str, int] = Field(
        default={},
        description="Estimated tokens of the treatment in the first request, by part: prompt, skills, agents, "
        "mcp, tools",
    )
    short_skills: int | None = Field(
        default=None,
        description="Number of declared skills that were listed by name only, or with a cut description; "
        "null: no proof of delivery",
    )
    deferred_tools: int | None = Field(
        default=None,
        description="Number of tools that the first request listed by name only; null: no proof of delivery",
    )
    loaded_tools: int | None = Field(
        default=None,
        description="Number of deferred tools whose definitions were in a later request; null: no proof of delivery",
    )
    uses: dict[str, int] | None = Field(
        default=None,
        description="Number of uses of each declared resource, by skill/NAME, mcp/NAME and agent/NAME; 0: never; "
        "null: unknown, or the agent CLI has no such notion",
    )
    first_use: int | None = Field(
        default=None,
        description="Turn of the main conversation in which the first use of a declared resource was; null: no use, "
        "or unknown",
    )
    uses_by_prompt: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda names: not names,
        description="Skills that the task's prompt called by name, which count as used",
    )
    skills_read: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda names: not names,
        description="Skills whose text a tool's result had, and that were never used",
    )
    uses_refused: dict[str, int] = Field(
        default={},
        exclude_if=lambda counts: not counts,
        description="Number of calls of declared resources that the agent CLI refused, by resource",
    )
    files_changed: int | None
    lines_changed: int | None
    base_commit: str | None
    workspace_digest: str | None
    agent_files: tuple[str, ...] | None = Field(
        default=None,
        description="Files for agents in the workspace at the start, such as CLAUDE.md; null: not recorded",
    )
    sandbox: str
    network: Network | None = Field(default=None, description="Network that the agent could reach; null: not recorded")
    keys: Keys | None = Field(
        default=None,
        description="Hidden if the agent could not get the provider's key, otherwise exposed; null: not recorded",
    )
    files: Files | None = Field(
        default=None,
        description="Files of the machine that the agent could reach: open is all files that the user may read, own "
        "is the trial's; null: not recorded",
    )
    redactions: int = Field(default=0, description="Number of secrets that were removed from the files of all attempts")
    github: GitHubServer | None = Field(
        default=None, description="Server of the trial's GitHub; null: the task has no GitHub"
    )
    github_requests: int | None = Field(
        default=None,
        description="Number of requests to GitHub in the attempt that counts; null: the task has no GitHub",
    )
    github_writes: int | None = Field(
        default=None, description="Number of changed records and refs on GitHub; null: the task has no GitHub"
    )
    github_gaps: int | None = Field(
        default=None,
        description="Number of requests for features that GitHub has and the hub lacks; null: the task has no GitHub",
    )
    github_calls: CallCounts = Field(
        default={}, description="Number of API operations by category: pr.read, pr.write, issue.read, git.write, ..."
    )
    github_other_clients: dict[str, int] = Field(
        default={},
        description="Number of requests by the name in User-Agent, from clients or tokens that the mode does not have",
    )
    github_failed: int | None = Field(
        default=None,
        description="Number of API operations that were answered with an error; null: the task has no GitHub",
    )
    github_repeated: int | None = Field(
        default=None,
        description="Number of API operations that repeat an operation which had just failed; null: the task "
        "has no GitHub",
    )

    @property
    def changes(self) -> int | None:
        """Changed files, and changes on GitHub; None if the files are unknown."""
        return None if self.files_changed is None else self.files_changed + (self.github_writes or 0)

    @property
    def declared(self) -> int | None:
        """Number of declared resources; None if their uses are unknown."""
        return None if self.uses is None else len(self.uses)

    @property
    def used(self) -> bool | None:
        """True if the trial used a declared resource; None: unknown, or it declared none."""
        return any(self.uses.values()) if self.uses else None

    @property
    def isolation(self) -> str:
        """Sandbox and its isolation, as far as the row states it."""
        parts = [f"{name}: {value}" for name in ("network", "keys", "files") if (value := getattr(self, name))]
        return f"{self.sandbox} ({', '.join(parts)})" if parts else self.sandbox

    @property
    def failure(self) -> str:
        """Reason why a judged trial failed, in words that are equal for trials with the same reason."""
        if self.outcome is not Outcome.COMPLETED:
            return self.outcome.value
        if self.changes == 0:
            return "changed nothing"
        if self.broken_guards:
            return "broke what worked before"
        if self.score is not None and self.threshold is not None and self.score < self.threshold:
            return "score below the threshold"
        if self.threshold is None or self.attempts is None:  # a row from another tool; this toolkit's rows have both
            return "its source does not say why"
        return "a required check does not hold"


class AttemptRecord(Record):
    """Records of one attempt of the agent."""

    number: Annotated[int, Field(ge=1)]
    attempt: Attempt | None = Field(
        default=None, description="Summary of the attempt; None: it is running, or was killed"
    )
    prompt: str | None = Field(default=None, description="Text of the task; None: the agent was not started")
    trajectory: Trajectory | None = Field(
        default=None, description="Conversation of the attempt; None: the agent is built-in, or the attempt was killed"
    )
    patch: str | None = Field(
        default=None, description="Diff of the agent's change; None: nothing was changed, or the change was not read"
    )
    traffic: tuple[RequestRecord | ResponseRecord, ...] = ()
    judge_traffic: tuple[RequestRecord | ResponseRecord, ...] = ()


class CellRecord(Record):
    """Records of one cell; everything except experiment and id may be missing."""

    schema_version: int = 1
    experiment: str
    id: str
    cell: Cell | None = None
    arm: Arm | None = None
    trial: Trial | None = None
    judgment: Judgment | None = None
    works: tuple[AttemptRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """One request of the agent to a model, and its answer; None: there is no answer."""

    asked: RequestRecord
    answer: ResponseRecord | None

    @property
    def usd(self) -> float | None:
        """Cost in USD; None: unknown."""
        return self.answer.usd if self.answer else None

    @property
    def seconds(self) -> float | None:
        """Time until the answer ended, including waits for rate limits; None: there is no answer."""
        return self.answer.waited_seconds + self.answer.seconds if self.answer else None

    @property
    def is_answered(self) -> bool:
        """True if the provider answered the request."""
        return self.answer is not None and self.answer.source != "refused" and self.answer.tokens is not None


def model_requests(work: AttemptRecord) -> list[LoggedRequest]:
    """Return the agent's requests except token counts; records with the same number are one request."""
    asked = {record.number: record for record in work.traffic if isinstance(record, RequestRecord)}
    answers = {record.number: record for record in work.traffic if isinstance(record, ResponseRecord)}
    return [LoggedRequest(record, answers.get(record.number)) for record in asked.values() if not record.counting]


def usage_by_model(record: CellRecord) -> dict[str, Usage]:
    """Return the usage of all attempts by model, without requests that the gateway refused."""
    usage: dict[str, Usage] = {}
    for request in (request for work in record.works for request in model_requests(work)):
        answer = request.answer
        if answer is None or answer.source != "refused":
            model = request.asked.model
            usage[model] = usage.get(model, NO_USAGE).plus(answer.usage if answer else Usage())
    return usage


def task_text(record: CellRecord) -> str | None:
    """Return the prompt of the task; None if no attempt stored it."""
    prompts = [work.prompt or _first_user_text(work) for work in record.works]
    return next((prompt for prompt in reversed(prompts) if prompt), None)


def _first_user_text(work: AttemptRecord) -> str | None:
    steps = work.trajectory.steps if work.trajectory else ()
    return steps[0].text if steps and steps[0].source == "user" else None


def steps_after_task(work: AttemptRecord) -> tuple[Step, ...]:
    """Return the steps of the conversation after the task, which is its first step."""
    steps = work.trajectory.steps if work.trajectory else ()
    return steps if _first_user_text(work) is None else steps[1:]


def step_requests(work: AttemptRecord) -> list[LoggedRequest | None]:
    """Return the request that each step after the task answers.

    The gateway's log and the CLI's transcript share no ids, so they are matched by order: the turns of the main
    conversation, or all answered requests if sub-agents are in the transcript too. If neither count is the number of
    the agent's steps, the match is unknown and every entry is None.
    """
    steps = steps_after_task(work)
    answered = [request for request in model_requests(work) if request.is_answered]
    turns = {request.asked.turn: request for request in answered if request.asked.turn is not None}
    count = sum(step.source == "agent" for step in steps)
    fitting = next((group for group in ([*turns.values()], answered) if len(group) == count), None)
    rest = iter(fitting or ())
    return [next(rest, None) if step.source == "agent" else None for step in steps]
