"""Variant: one agent configuration under test, the resources that it names, and the proof of its delivery."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints, model_validator

from scylla_gha.model.record import Record, Slug, Text, digest
from scylla_gha.model.scenario import TierName

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=60)]
SettingSource = Literal["user", "project", "local"]
ServerTool = Literal["web_search", "web_fetch", "code_execution"]
Source = Literal["start event", "first request", "hook events"]
FOLDER = "{folder}"


class SystemPrompt(Record):
    """Replacement of, or addition to, the agent CLI's system prompt."""

    replace: Annotated[str | None, Field(description="The whole system prompt; may be empty")] = None
    append: Annotated[Text | None, Field(description="Text added to the CLI's own system prompt")] = None

    @model_validator(mode="after")
    def _one_way(self) -> "SystemPrompt":
        if (self.replace is None) == (self.append is None):
            raise ValueError("give exactly one of replace and append")
        return self


class Treatment(Record):
    """Settings that a variant changes; None leaves the CLI's default."""

    system_prompt: SystemPrompt | None = None
    setting_sources: Annotated[
        tuple[SettingSource, ...] | None, Field(description="Settings files that the CLI reads; []: none")
    ] = None
    tools: Annotated[tuple[Text, ...] | None, Field(description="Built-in tools of the CLI; []: none")] = None
    settings: Annotated[dict[str, JsonValue] | None, Field(description="Settings passed to the CLI")] = None
    mcp_servers: Annotated[tuple[Name, ...], Field(description="Folders in config/mcp/")] = ()
    skills: Annotated[tuple[Name, ...], Field(description="Folders in config/skills/")] = ()
    agents: Annotated[tuple[Name, ...], Field(description="Sub-agents: files in config/agents/")] = ()
    models: Annotated[
        tuple[Text, ...],
        Field(description="Model ids that the agent may request beside the arm's model and the CLI's side models"),
    ] = ()
    server_tools: Annotated[
        tuple[ServerTool, ...], Field(description="Tools that the provider runs: they reach the open network")
    ] = ()

    def keyed(self) -> dict[str, JsonValue]:
        """Return what is compared and keyed, without permissions that are not given."""
        without = {name for name in ("models", "server_tools") if not getattr(self, name)}
        return self.model_dump(mode="json", exclude=without)


class SubTest(Record):
    """Numbered configuration inside a tier."""

    id: Annotated[Slug, Field(pattern=r"^[0-9]{2}-[a-z0-9]+([._-][a-z0-9]+)*$")]
    description: Text
    treatment: Treatment


class Tier(Record):
    """Step of the ablation ladder, with its sub-tests (`config/tiers/<tier>.yaml`)."""

    id: TierName
    name: Text
    focus: Text
    sub_tests: Annotated[tuple[SubTest, ...], Field(min_length=1)]


class Variant(Record):
    """A resolved sub-test: its name, such as `T0/00-empty`, and its treatment."""

    id: str
    treatment: Treatment
    materials: Annotated[dict[str, str], Field(description="digests of what it names, as skills/<name>")] = {}

    @property
    def digest(self) -> str:
        """Digest of the configuration, independent of its name."""
        return digest([self.treatment.keyed(), self.materials])


class McpServer(Record):
    """MCP server over standard input and output (`config/mcp/<name>/server.yaml`)."""

    description: Text
    command: Text
    args: Annotated[tuple[str, ...], Field(description="Arguments; {folder} stands for the folder of this file")] = ()
    env: dict[str, str] = {}


class SubAgent(Record):
    """Sub-agent (`config/agents/<name>.md`): front matter, and the text below it as its prompt."""

    name: Name
    description: Text
    tools: Annotated[tuple[Text, ...] | None, Field(description="Tools; null: all tools of the agent")] = None
    model: str | None = None
    prompt: Text


class AgentResources(Record):
    """Resources that a treatment names, by name; `folders` has skills and MCP servers, as `skills/<name>`."""

    mcp_servers: dict[str, McpServer] = {}
    agents: dict[str, SubAgent] = {}
    folders: dict[str, Path] = {}


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
    """Treatment that a variant declares, in the CLI's own names. None: the CLI's default."""

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
    """Observation of the agent by one source. None: this source does not report it."""

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
