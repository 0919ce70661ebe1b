"""Result: one flat row per trial, the only input of the statistics."""

import datetime

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.github_requests import CallCounts, GitHubServer
from scylla_gha.model.judgment import Fraction, Grade
from scylla_gha.model.sandbox import Files, Keys, Network
from scylla_gha.model.trial import Outcome


class Result(Record):
    """One line of `results.jsonl`. Null is unknown; every planned cell that left a trial has a row."""

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
    points_max: float | None = Field(default=None, ge=0, description="Points that these items are worth; null: unknown")
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
        description="Number of tokens of all kinds, if the source of the row does not tell kinds apart; null otherwise",
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
        description="Number of tool calls that the safety net blocked; null: no safety net"
    )
    unread_calls: int | None = Field(
        description="Number of tool calls that the safety net allowed without reading them completely; null: "
        "no safety net"
    )
    unguarded_calls: int | None = Field(
        default=None,
        description="Number of tool calls that ran without an event of the safety net's hook; null: no safety net",
    )
    network_refused: int | None = Field(
        default=None,
        description="Number of connections to hosts that the agent may not reach, as the proxy saw them; "
        "null: no proxy",
    )
    delivered: bool | None = Field(description="True if the treatment is proved; null: there was none to prove")
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
        description="Files of the machine that the agent could reach: open is all that the user may read, own "
        "is the trial's; null: not recorded",
    )
    redactions: int = Field(default=0, description="Number of secrets that were removed from the files of all attempts")
    github: GitHubServer | None = Field(
        default=None, description="Server that the trial's GitHub was on; null: the task has no GitHub"
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
        if self.threshold is None or self.attempts is None:  # a row of another tool: this toolkit's rows have both
            return "its source does not say why"
        return "a required check does not hold"
