"""Trial: the attempts of an agent on one cell, with outcome, usage, diff, and the proof of delivery.

The proof compares the treatment that a variant declares with the observed one.
"""

import datetime
import functools
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from scylla_gha.counting import counted
from scylla_gha.model import Amounts, FileDigest, Record, known_sum
from scylla_gha.model.github_requests import GitHubTraffic
from scylla_gha.model.safety_net import SafetyNetSummary
from scylla_gha.model.sandbox import HostContact, Isolation
from scylla_gha.model.variant import Assumption, SystemPrompt

Source = Literal["start event", "first request", "hook events", "search of PATH"]


class Inventory(Record):
    """Default tools, skills and agents of an agent CLI (`config/inventories/<agent>-<version>.yaml`)."""

    agent: str
    version: str
    models: tuple[str, ...] = Field(
        description="Model ids of the measurement, since the CLI's prompt depends on the model"
    )
    tools: tuple[str, ...]
    deferred_tools: tuple[str, ...] = Field(
        default=(), description="Tools that requests list by name only until the model loads their definitions"
    )
    skills: tuple[str, ...]
    agents: tuple[str, ...]
    plugins: tuple[str, ...] = ()
    aliases: dict[str, str] = Field(default={}, description="Model ids, by the CLI's short names for them")
    prompt_lines: tuple[str, ...] = Field(
        description="First 8 hex digits of the SHA-256 of each line of the CLI's system prompt"
    )


class SessionFacts(Record):
    """An agent CLI's sessions with a scripted model (`config/agent-sessions/AGENT-VERSION.yaml`)."""

    agent: str
    version: str
    events: dict[str, tuple[str, ...]] = Field(description="Fields of the transcript's events, by kind of event")
    models: dict[str, str] = Field(default={}, description="Model id that the CLI requests, by its short name")
    usd: dict[str, float] = Field(
        default={}, description="Cost in USD that the CLI reports for the same session, by model"
    )


class Declared(Record):
    """Treatment that a variant declares, in the CLI's own names. None: the CLI's default."""

    model: str | None
    system_prompt: SystemPrompt | None
    tools: tuple[str, ...] | None
    least_tools: tuple[str, ...] = Field(default=(), description="Default tools that every version of the CLI has")
    side_tools: tuple[str, ...] = Field(default=(), description="Tools that the CLI may add to the declared ones")
    mcp_servers: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    unlisted: dict[str, tuple[Source, ...]] = Field(
        default={}, description="Sources that do not list a skill because of its own settings, by skill"
    )
    may_cut_skills: bool = Field(
        default=False, description="True if the CLI's own limit may cut descriptions of skills"
    )
    agents: tuple[str, ...] = ()
    descriptions: dict[str, tuple[str, ...]] = Field(
        default={},
        description="Texts that the list of skills or sub-agents must contain, by skills/NAME or agents/NAME; "
        "the first begins with the name",
    )
    programs: tuple[str, ...] = Field(default=(), description="Programs of any mode that are on PATH")
    own_skills: tuple[str, ...] = Field(
        default=(), description="Skills of the start state, which count neither as treatment nor as fault"
    )
    own_agents: tuple[str, ...] = Field(
        default=(), description="Sub-agents of the start state, which count neither as treatment nor as fault"
    )
    repeated_skills: tuple[str, ...] = Field(
        default=(), description="Declared skills of which the start state has another one with the same name"
    )
    plugins: tuple[str, ...] = ()
    forked_skill: str | None = Field(default=None, description="Skill that the prompt calls and a sub-agent runs")
    usual_tools: bool = Field(default=True, description="True if no setting can change the CLI's choice of tools")
    usual_prompt: bool = Field(default=True, description="True if the treatment leaves the CLI's own prompt as it is")
    safety_net: bool = Field(default=False, description="True if a hook judges each call that can destroy something")
    net_is_managed: bool = Field(
        default=True, description="True if the hook is configured where the agent cannot change it"
    )
    instruction_files: tuple[str, ...] = Field(
        default=(), description="Instruction files that the agent must read, as paths in one of the places"
    )
    places: tuple[str, ...] = Field(
        default=(), description="Instruction files that the agent may read, or folders of them"
    )
    texts: dict[str, str] = Field(default={}, description="Texts that the first request must have, by what they prove")
    sources: tuple[Source, ...] = Field(default=("start event", "first request"), description="Sources of a session")


class Observed(Record):
    """Observation of the agent by one source. None: this source does not report it."""

    source: Source
    model: str | None = None
    system_prompt: str | None = Field(default=None, description="System prompt without the CLI's line about itself")
    prompt_lines: tuple[str, ...] | None = Field(
        default=None, description="Digests of the prompt's lines, without those that depend on the machine or folder"
    )
    tools: tuple[str, ...] | None = Field(default=None, description="Tools, without the tools of MCP servers")
    offered: int | None = Field(default=None, description="Number of all tools that are defined in full")
    deferred: tuple[str, ...] = Field(
        default=(), description="Tools that are listed by name only, including tools of MCP servers"
    )
    mcp_servers: tuple[str, ...] | None = Field(default=None, description="MCP servers that offer tools")
    idle_servers: tuple[str, ...] = Field(default=(), description="MCP servers that have offered no tool so far")
    skills: tuple[str, ...] | None = None
    programs: tuple[str, ...] | None = Field(default=None, description="Programs of any mode that are on PATH")
    agents: tuple[str, ...] | None = None
    plugins: tuple[str, ...] | None = None
    built_in_plugins: tuple[str, ...] = Field(default=(), description="Plug-ins that the CLI reports as built-in")
    instructions: tuple[str, ...] | None = Field(
        default=None, description="Instruction files that are part of the prompt"
    )
    guarded: int | None = Field(default=None, description="Number of calls that the safety net judged")
    unguarded: tuple[str, ...] = Field(default=(), description="Calls that ran without the safety net")
    remarks: tuple[str, ...] = Field(default=(), description="The source's reasons why parts are missing")
    characters: dict[str, int] = Field(
        default={},
        description="Number of characters in the request, by part: system_prompt, tools/NAME, mcp/SERVER, ...",
    )
    listings: dict[str, str] = Field(default={}, description="Texts of the lists of `skills` and `agents`")
    texts: tuple[str, ...] = Field(default=(), description="All texts of the request; empty: they are not compared")


class Delivery(Record):
    """Proof of one attempt. `proved`: start event and first request were seen, and no source shows a difference.

    `missing` and `undeclared` come from what the agent cannot have written; `claimed` only from its own output.
    """

    proved: bool
    seen: tuple[Source, ...] = Field(default=(), description="Sources that were available")
    missing: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    claimed: tuple[str, ...] = Field(default=(), description="Faults that only the agent's own output reports")
    unverified: tuple[str, ...] = Field(default=(), description="Parts of the treatment that no source proves, and why")
    system_prompt_bytes: int | None = Field(
        default=None, description="Size in bytes of the system prompt that the model got; None: not seen"
    )
    tools: int | None = Field(
        default=None,
        description="Number of tools that the first request defined in full, including tools of MCP servers; "
        "None: not seen",
    )
    deferred_tools: tuple[str, ...] = Field(
        default=(), description="Tools that the first request listed by name only; the model may load their definitions"
    )
    loaded_tools: tuple[str, ...] = Field(
        default=(), description="Deferred tools whose definitions were in a later request"
    )
    characters: dict[str, int] = Field(
        default={},
        description="Number of characters in the first request, by part: declared prompt, skills, sub-agents "
        "and servers, and all tools",
    )
    short_skills: tuple[str, ...] = Field(
        default=(), description="Declared skills that are listed by name only, or with a cut description"
    )

    @property
    def shortfall(self) -> str:
        """Reason why the delivery is not proved, in a sentence; empty if it is proved."""
        unknown = (
            f"the delivery of the treatment is not proved: {'; '.join(self.unverified) or 'no source gives a reason'}"
        )
        return "" if self.proved else self.reason or self.claims or unknown

    def contradiction(self, assumption: Assumption) -> str:
        """Return the fact in the first request that contradicts an assumption; empty if none does."""
        if assumption == "skill_descriptions":
            skills = counted(len(self.short_skills), "skill")
            return f"{skills} without a whole description" if self.short_skills else ""
        tools = counted(len(self.deferred_tools), "tool")
        return f"{tools} by name only, without a definition" if self.deferred_tools else ""

    @property
    def reason(self) -> str:
        """The faults in a sentence, without claims."""
        parts = [("missing", self.missing), ("not declared", self.undeclared)]
        return "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)

    @property
    def claims(self) -> str:
        """The claimed faults in a sentence."""
        return f"the agent's own output reports: {', '.join(self.claimed)}" if self.claimed else ""


class Outcome(StrEnum):
    """End of a trial. The first five outcomes measure the agent; the others are counted and shown, but not in rates."""

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
        default=(), description="Paths that the diff omits, since they are not files, links or folders"
    )


class GitHubUse(GitHubTraffic):
    """Use of a cell's GitHub in an attempt."""

    writes: int = Field(default=0, description="Number of changed records and refs")


SessionEnd = Literal["decided", "undecided"]


class Uses(Record):
    """Uses of the declared resources in an attempt; resources are `skill/NAME`, `mcp/NAME` or `agent/NAME`."""

    counts: dict[str, int] = Field(description="Number of uses of each declared resource; 0: it was never used")
    first_turn: int | None = Field(
        default=None, description="Turn of the main conversation in which the first use was; None: no use"
    )
    by_prompt: tuple[str, ...] = Field(
        default=(), description="Skills that the prompt called by name, which count as used"
    )
    read: tuple[str, ...] = Field(
        default=(), description="Skills whose text a tool's result had, and that were never used"
    )
    refused: dict[str, int] = Field(default={}, description="Number of calls that the agent CLI refused, by resource")
    turns: dict[str, int] = Field(
        default={},
        description="Turn of the main conversation in which each used or read resource was first used or read, those "
        "that are not declared included",
    )


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
        default=(), description="Configured model settings that the gateway added to requests"
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
        description="Proof of the treatment; None: there was no treatment, or the agent did not start",
    )
    uses: Uses | None = Field(
        default=None,
        description="Uses of the declared skills, MCP servers and sub-agents; None: the agent CLI has none of "
        "these, or their uses are unknown",
    )
    stopped: SessionEnd | None = Field(
        default=None, description="How the scenario's stop rule ended the attempt; None: the agent ended it"
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
    """Trial of a cell: the last attempt, which counts, and all earlier ones."""

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
        """Return whether the last attempt began before `when`; False if `when` is None."""
        return when is not None and self.last.started_at < when

    @property
    def usage(self) -> Usage:
        """Usage of all attempts together, since failed attempts cost money too."""
        return functools.reduce(Usage.plus, (attempt.usage for attempt in self.attempts), NO_USAGE)

    @property
    def outcome(self) -> Outcome:
        """Outcome of the last attempt."""
        return self.last.outcome
