"""Proof that an agent had what its variant declares: what was declared, what was observed, and the result."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.counting import counted
from scylla_gha.model import Record
from scylla_gha.model.variant import Assumption, SystemPrompt

Source = Literal["start event", "first request", "hook events", "search of PATH"]


class Inventory(Record):
    """Tools, skills and agents of an agent CLI by default (`config/inventories/<agent>-<version>.yaml`)."""

    agent: str
    version: str
    models: Annotated[tuple[str, ...], Field(description="for which it was measured: the CLI's prompt differs")]
    tools: tuple[str, ...]
    deferred_tools: Annotated[
        tuple[str, ...],
        Field(description="those that requests list by name only until the model loads them"),
    ] = ()
    skills: tuple[str, ...]
    agents: tuple[str, ...]
    plugins: tuple[str, ...] = ()
    aliases: Annotated[dict[str, str], Field(description="ids of the models that its short names stand for")] = {}
    prompt_lines: Annotated[
        tuple[str, ...], Field(description="of its system prompt: the first 8 hex digits of each line's SHA-256")
    ]


class Declared(Record):
    """Treatment that a variant declares, in the CLI's own names. None: the CLI's default."""

    model: str | None
    system_prompt: SystemPrompt | None
    tools: tuple[str, ...] | None
    least_tools: Annotated[tuple[str, ...], Field(description="of the default, what no version lacks")] = ()
    side_tools: Annotated[tuple[str, ...], Field(description="what may come along with something declared")] = ()
    mcp_servers: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    descriptions: Annotated[
        dict[str, tuple[str, ...]],
        Field(
            description="texts that the list of skills or sub-agents must hold, by skills/NAME or agents/NAME; the "
            "first begins with the name"
        ),
    ] = {}
    programs: Annotated[tuple[str, ...], Field(description="on PATH, of all that any mode has")] = ()
    own_skills: Annotated[tuple[str, ...], Field(description="of the start state: neither treatment nor fault")] = ()
    own_agents: Annotated[tuple[str, ...], Field(description="of the start state")] = ()
    plugins: tuple[str, ...] = ()
    usual_tools: Annotated[bool, Field(description="no settings might change the CLI's choice of tools")] = True
    usual_prompt: Annotated[bool, Field(description="the CLI's own prompt is as without any treatment")] = True
    safety_net: Annotated[bool, Field(description="a hook judges each call that can destroy something")] = False
    net_is_managed: Annotated[bool, Field(description="the hook stands where the agent cannot change it")] = True
    instruction_files: Annotated[tuple[str, ...], Field(description="that must be read, as paths in a place")] = ()
    places: Annotated[tuple[str, ...], Field(description="instruction files that may be read, or folders of them")] = ()


class Observed(Record):
    """Observation of the agent by one source. None: this source does not report it."""

    source: Source
    model: str | None = None
    system_prompt: Annotated[str | None, Field(description="without the CLI's line about itself")] = None
    prompt_lines: Annotated[
        tuple[str, ...] | None, Field(description="of that, without what differs from place to place")
    ] = None
    tools: Annotated[tuple[str, ...] | None, Field(description="without those of MCP servers")] = None
    offered: Annotated[int | None, Field(description="number of all tools that are defined in full")] = None
    deferred: Annotated[
        tuple[str, ...], Field(description="tools that are listed by name only, those of MCP servers among them")
    ] = ()
    mcp_servers: Annotated[tuple[str, ...] | None, Field(description="those that offer tools")] = None
    idle_servers: Annotated[tuple[str, ...], Field(description="those that are there, without a tool so far")] = ()
    skills: tuple[str, ...] | None = None
    programs: Annotated[tuple[str, ...] | None, Field(description="on PATH, of all that any mode has")] = None
    agents: tuple[str, ...] | None = None
    plugins: tuple[str, ...] | None = None
    built_in_plugins: Annotated[tuple[str, ...], Field(description="those that the CLI calls its own")] = ()
    instructions: Annotated[tuple[str, ...] | None, Field(description="instruction files that were put in")] = None
    guarded: Annotated[int | None, Field(description="calls that the safety net was asked about")] = None
    unguarded: Annotated[tuple[str, ...], Field(description="calls that ran without it")] = ()
    remarks: Annotated[tuple[str, ...], Field(description="what it says of a thing that is not there")] = ()
    characters: Annotated[
        dict[str, int], Field(description="of what the request has: system_prompt, tools/NAME, mcp/SERVER, ...")
    ] = {}
    listings: Annotated[dict[str, str], Field(description="lists of `skills` and of sub-agents (`agents`)")] = {}


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
    tools: Annotated[
        int | None, Field(description="that the first request defined in full, of MCP servers included")
    ] = None
    deferred_tools: Annotated[
        tuple[str, ...], Field(description="that it listed by name only; the model may load their definitions")
    ] = ()
    loaded_tools: Annotated[
        tuple[str, ...], Field(description="deferred ones whose definitions a later request held")
    ] = ()
    characters: Annotated[
        dict[str, int],
        Field(description="of the first request, by part: declared prompt, skills, sub-agents and servers; all tools"),
    ] = {}
    short_skills: Annotated[
        tuple[str, ...], Field(description="declared skills listed by name only, or with a cut description")
    ] = ()

    @property
    def shortfall(self) -> str:
        """Why it is not proved, in a sentence; empty if it is proved."""
        unknown = f"what the agent had is not proved: {'; '.join(self.unverified) or 'no source says why'}"
        return "" if self.proved else self.reason or self.claims or unknown

    def contradiction(self, assumption: Assumption) -> str:
        """Return what the first request shows against an assumption; empty if nothing does."""
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
        return f"as its output says: {', '.join(self.claimed)}" if self.claimed else ""
