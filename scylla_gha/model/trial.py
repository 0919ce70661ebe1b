"""Trial: the attempts of an agent on one cell, with outcome, usage and diff."""

import datetime
import functools
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from scylla_gha.model import Amounts, FileDigest, Record
from scylla_gha.model.delivery import Delivery
from scylla_gha.model.github_requests import GitHubTraffic
from scylla_gha.model.sandbox import HostContact, Isolation


class Outcome(StrEnum):
    """End of a trial. The first five measure the agent; the others are excluded from rates, counted and shown."""

    COMPLETED = "completed"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    AGENT_ERROR = "agent_error"
    BUDGET_EXCEEDED = "budget_exceeded"
    PROVIDER_ERROR = "provider_error"
    SANDBOX_ERROR = "sandbox_error"
    FIXTURE_ERROR = "fixture_error"
    DELIVERY_ERROR = "delivery_error"
    JUDGE_ERROR = "judge_error"
    CANCELLED = "cancelled"

    @property
    def measures_agent(self) -> bool:
        """True if a trial with this outcome counts as an attempt of the agent."""
        return self in _OF_THE_AGENT


_OF_THE_AGENT = frozenset(
    {Outcome.COMPLETED, Outcome.TIMEOUT, Outcome.REFUSED, Outcome.AGENT_ERROR, Outcome.BUDGET_EXCEEDED}
)


class Usage(Amounts):
    """Tokens by kind and model cost in USD; None is unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    usd: float | None = None


NO_USAGE = Usage(input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0, usd=0.0)


class ToolCall(Record):
    """One use of a tool; `result` and `failed` are None if the agent got no answer."""

    id: str
    name: str
    arguments: JsonValue
    result: str | None = None
    failed: bool | None = None
    seconds: float | None = None


class Step(Record):
    """One turn of the conversation, with its tool calls and their results."""

    source: Literal["system", "user", "agent"]
    text: str
    tool_calls: tuple[ToolCall, ...] = ()


class Trajectory(Record):
    """Normalised conversation of one attempt."""

    steps: tuple[Step, ...] = ()
    final_message: str | None = None


class DiffStat(Record):
    """The agent's change against the base commit, including committed and untracked work."""

    files: tuple[str, ...]
    added: int
    deleted: int
    sha256: str
    skipped: Annotated[tuple[str, ...], Field(description="what is no file, link or folder, so not in the diff")] = ()


class BlockedCall(Record):
    """Call that the safety net blocked: the rule, and the command or path, cut at 300 characters."""

    rule: str
    tool: str
    command: str


class SafetyNetSummary(Record):
    """Calls that the safety net judged in an attempt."""

    calls: Annotated[int, Field(description="that it was asked about, those of sub-agents included")] = 0
    blocked: tuple[BlockedCall, ...] = ()
    unread: Annotated[int, Field(description="allowed, though they could not be read whole or the net had a fault")] = 0
    unguarded: Annotated[int, Field(description="calls that ran without an event of its hook, as far as is told")] = 0


class GitHubUse(GitHubTraffic):
    """Use of a cell's GitHub in an attempt."""

    writes: Annotated[int, Field(description="changes of records and refs")] = 0


class Attempt(Record):
    """One start of the agent on a cell. All attempts are stored, and their cost counts."""

    number: Annotated[int, Field(ge=1)]
    outcome: Outcome
    reason: str
    retryable: bool
    started_at: datetime.datetime
    seconds: float
    usage: Usage
    requests: Annotated[int, Field(description="that reached the gateway")] = 0
    repeated_requests: Annotated[int, Field(description="those of them that followed a failed one")] = 0
    side_requests: Annotated[int | None, Field(description="of other models than the arm's; None: unknown")] = None
    side_usd: Annotated[float | None, Field(description="what they cost, a part of the usage; None: unknown")] = None
    first_byte_seconds: Annotated[float | None, Field(description="mean wait for an answer's first byte")] = None
    generation_seconds: Annotated[float, Field(description="from an answer's first byte to its last, summed")] = 0.0
    tool_seconds: Annotated[float | None, Field(description="from answers to the next requests; None: no request")] = (
        None
    )
    characters: Annotated[dict[str, int], Field(description="of all requests, by component")] = {}
    adjusted: Annotated[tuple[str, ...], Field(description="model settings that requests were given")] = ()
    unadjusted: Annotated[tuple[str, ...], Field(description="those that some went without: refused by the model")] = ()
    subscription: Annotated[bool, Field(description="USD are list prices of what a subscription paid for")] = False
    turns: int | None = None
    tool_calls: dict[str, int] = {}
    failed_tool_calls: int = 0
    safety_net: Annotated[SafetyNetSummary | None, Field(description="None: there was none")] = None
    network: Annotated[HostContact | None, Field(description="hosts sought by the proxy; None: it had none")] = None
    github: Annotated[GitHubUse | None, Field(description="its use of GitHub; None: the task has none")] = None
    agent_version: str | None = None
    exit_code: int | None = None
    delivery: Annotated[Delivery | None, Field(description="None: nothing was to be delivered, or none started")] = None
    base_commit: str | None = None
    workspace_digest: str | None = None
    agent_files: Annotated[
        tuple[str, ...] | None,
        Field(description="files for agents that the workspace had at the start, such as CLAUDE.md; None: not stored"),
    ] = None
    diff: DiffStat | None = None
    files: Annotated[dict[str, FileDigest], Field(description="it left, by name; empty: of an older version")] = {}
    redactions: Annotated[
        int, Field(description="places in its files where a secret stood, or what looks like one")
    ] = 0


class Trial(Record):
    """Trial of a cell: the last attempt, which counts, and all before it."""

    schema_version: int = 1
    cell: str
    key: str
    sandbox: str
    isolation: Annotated[Isolation | None, Field(description="that the sandbox gave; None: of an older record")] = None
    versions: dict[str, str]
    attempts: Annotated[tuple[Attempt, ...], Field(min_length=1)]

    @property
    def last(self) -> Attempt:
        """The last attempt, which counts."""
        return self.attempts[-1]

    def is_older_than(self, when: datetime.datetime | None) -> bool:
        """Return whether the last attempt began before `when`; None is no limit."""
        return when is not None and self.last.started_at < when

    @property
    def usage(self) -> Usage:
        """Usage of all attempts together, since failed ones were paid too."""
        return functools.reduce(Usage.plus, (attempt.usage for attempt in self.attempts), NO_USAGE)

    @property
    def outcome(self) -> Outcome:
        """Outcome of the last attempt."""
        return self.last.outcome
