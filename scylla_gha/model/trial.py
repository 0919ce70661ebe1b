"""Trial: the attempts of an agent on one cell, with outcome, usage and diff."""

import datetime
import functools
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from scylla_gha.model import Amounts, FileDigest, Record, known_sum
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

    @property
    def prompt_tokens(self) -> int | None:
        """Tokens of the prompt, cached ones included; None if one kind is unknown."""
        return known_sum(self.input_tokens, self.cache_read_tokens, self.cache_write_tokens)


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
    skipped: tuple[str, ...] = Field(
        default=(), description="Paths that the diff leaves out, since they are not files, links or folders"
    )


class BlockedCall(Record):
    """Call that the safety net blocked: the rule, and the command or path, cut at 300 characters."""

    rule: str
    tool: str
    command: str


class SafetyNetSummary(Record):
    """Calls that the safety net judged in an attempt."""

    calls: int = Field(
        default=0, description="Number of tool calls that the safety net judged, those of sub-agents included"
    )
    blocked: tuple[BlockedCall, ...] = ()
    unread: int = Field(
        default=0,
        description="Number of calls allowed although the safety net could not read them completely, or had a fault",
    )
    unguarded: int = Field(
        default=0,
        description="Number of calls that ran without an event of the safety net's hook, as far as the sources tell",
    )


class GitHubUse(GitHubTraffic):
    """Use of a cell's GitHub in an attempt."""

    writes: int = Field(default=0, description="Number of changed records and refs")


class Attempt(Record):
    """One start of the agent on a cell. All attempts are stored, and their cost counts."""

    number: Annotated[int, Field(ge=1)]
    outcome: Outcome
    reason: str
    retryable: bool
    started_at: datetime.datetime
    seconds: float
    usage: Usage
    requests: int = Field(default=0, description="Number of requests that reached the gateway")
    repeated_requests: int = Field(default=0, description="Number of requests that followed a failed request")
    side_requests: int | None = Field(
        default=None, description="Number of requests to models other than the arm's; None: unknown"
    )
    side_usd: float | None = Field(
        default=None,
        description="Cost in USD of requests to models other than the arm's, a part of the usage; None: unknown",
    )
    first_byte_seconds: float | None = Field(
        default=None, description="Mean time in seconds until the first byte of an answer; None: no answer"
    )
    generation_seconds: float = Field(
        default=0.0, description="Total time in seconds from the first to the last byte of answers"
    )
    tool_seconds: float | None = Field(
        default=None, description="Total time in seconds between an answer and the next request; None: no request"
    )
    characters: dict[str, int] = Field(default={}, description="Number of characters in all requests, by component")
    adjusted: tuple[str, ...] = Field(
        default=(), description="Configured model settings that the gateway put into requests"
    )
    unadjusted: tuple[str, ...] = Field(
        default=(),
        description="Configured model settings that some requests did not have, since the model refuses them",
    )
    subscription: bool = Field(default=False, description="True if a subscription paid, so that USD are list prices")
    turns: int | None = None
    tool_calls: dict[str, int] = {}
    failed_tool_calls: int = 0
    safety_net: SafetyNetSummary | None = Field(
        default=None, description="Calls that the safety net judged; None: no safety net"
    )
    network: HostContact | None = Field(
        default=None, description="Hosts that the agent tried to reach through the proxy; None: no proxy"
    )
    github: GitHubUse | None = Field(
        default=None, description="Use of the trial's GitHub; None: the task has no GitHub"
    )
    agent_version: str | None = None
    exit_code: int | None = None
    delivery: Delivery | None = Field(
        default=None,
        description="Proof of the treatment; None: nothing was to be delivered, or the agent did not start",
    )
    base_commit: str | None = None
    workspace_digest: str | None = None
    agent_files: tuple[str, ...] | None = Field(
        default=None,
        description="Files for agents in the workspace at the start, such as CLAUDE.md; None: not recorded",
    )
    diff: DiffStat | None = None
    files: dict[str, FileDigest] = Field(
        default={}, description="Digests of the attempt's files, by name; empty: written by an older version"
    )
    redactions: int = Field(
        default=0,
        description="Number of places in the attempt's files where a secret, or text that looks like one, was removed",
    )


class Trial(Record):
    """Trial of a cell: the last attempt, which counts, and all before it."""

    schema_version: int = 1
    cell: str
    key: str
    sandbox: str
    isolation: Isolation | None = Field(
        default=None, description="Isolation that the sandbox gave; None: written by an older version"
    )
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
