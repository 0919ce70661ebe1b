"""Delivery: what a variant declares, what was observed of the agent, and the proof that both agree."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model.record import Record
from scylla_gha.model.variant import SystemPrompt

Source = Literal["start event", "first request", "hook events"]


class Inventory(Record):
    """Tools, skills and agents of an agent CLI by default (`config/inventories/<agent>-<version>.yaml`)."""

    agent: str
    version: str
    models: Annotated[tuple[str, ...], Field(description="for which it was measured: the CLI's prompt differs")]
    tools: tuple[str, ...]
    skills: tuple[str, ...]
    agents: tuple[str, ...]
    prompt_lines: Annotated[
        tuple[str, ...], Field(description="of its system prompt: the first 8 hex digits of each line's SHA-256")
    ]


class Declared(Record):
    """What a variant declares, in the CLI's own names. None: the CLI's default."""

    model: str | None
    system_prompt: SystemPrompt | None
    tools: tuple[str, ...] | None
    least_tools: Annotated[tuple[str, ...], Field(description="of the default, what no version lacks")] = ()
    side_tools: Annotated[tuple[str, ...], Field(description="what may come along with something declared")] = ()
    mcp_servers: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    own_skills: Annotated[tuple[str, ...], Field(description="of the start state: neither treatment nor fault")] = ()
    own_agents: Annotated[tuple[str, ...], Field(description="of the start state")] = ()
    plugins: tuple[str, ...] = ()
    usual_tools: Annotated[bool, Field(description="no settings might change the CLI's choice of tools")] = True
    usual_prompt: Annotated[bool, Field(description="the CLI's own prompt is as without any treatment")] = True
    safety_net: Annotated[bool, Field(description="a hook judges each call that can destroy something")] = False
    net_is_managed: Annotated[bool, Field(description="the hook stands where the agent cannot change it")] = True
    places: Annotated[tuple[str, ...], Field(description="instruction files that may be read, or folders of them")] = ()


class Observed(Record):
    """What one source reports of the agent. None: this source does not report it."""

    source: Source
    model: str | None = None
    system_prompt: Annotated[str | None, Field(description="without the CLI's line about itself")] = None
    prompt_lines: Annotated[
        tuple[str, ...] | None, Field(description="of that, without what differs from place to place")
    ] = None
    tools: Annotated[tuple[str, ...] | None, Field(description="without those of MCP servers")] = None
    offered: Annotated[int | None, Field(description="number of all tools")] = None
    mcp_servers: Annotated[tuple[str, ...] | None, Field(description="those that offer tools")] = None
    idle_servers: Annotated[tuple[str, ...], Field(description="those that are there, without a tool so far")] = ()
    skills: tuple[str, ...] | None = None
    agents: tuple[str, ...] | None = None
    plugins: tuple[str, ...] | None = None
    instructions: Annotated[tuple[str, ...] | None, Field(description="instruction files that were put in")] = None
    guarded: Annotated[int | None, Field(description="calls that the safety net was asked about")] = None
    unguarded: Annotated[tuple[str, ...], Field(description="calls that ran without it")] = ()
    remarks: Annotated[tuple[str, ...], Field(description="what it says of a thing that is not there")] = ()


class Delivery(Record):
    """Proof of one attempt. `proved`: both sources show all that is declared, and nothing else.

    `missing` and `undeclared` rest on what the agent cannot have written; `claimed` on its own output alone.
    """

    proved: bool
    seen: Annotated[tuple[Source, ...], Field(description="the sources that there were")] = ()
    missing: tuple[str, ...] = ()
    undeclared: tuple[str, ...] = ()
    claimed: Annotated[tuple[str, ...], Field(description="shortfalls that only the agent's output tells")] = ()
    unverified: Annotated[tuple[str, ...], Field(description="what no source tells, and why")] = ()
    system_prompt_bytes: Annotated[int | None, Field(description="as the model was sent it; None: not seen")] = None
    tools: Annotated[int | None, Field(description="that the model was offered, of MCP servers included")] = None

    @property
    def reason(self) -> str:
        """The faults in a sentence, without claims."""
        parts = [("missing", self.missing), ("not declared", self.undeclared)]
        return "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)

    @property
    def claims(self) -> str:
        """The claimed faults in a sentence."""
        return f"as its output says: {', '.join(self.claimed)}" if self.claimed else ""
