"""Variant: one agent configuration under test, the resources that it names, and the proof of its delivery."""

import json
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue, StringConstraints, model_validator

from scylla_gha.model import Record, Slug, Text, digest
from scylla_gha.model.mcp_server import McpServer
from scylla_gha.model.sandbox import NamedHost
from scylla_gha.model.scenario import TierName

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=60)]
BlockName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$", max_length=60)]
SettingSource = Literal["user", "project", "local"]
ServerTool = Literal["web_search", "web_fetch", "code_execution"]
Source = Literal["start event", "first request", "hook events", "search of PATH"]
BEST_OF = "best of "
Inherited = Annotated[str, StringConstraints(pattern=r"^(T[0-6]/[0-9]{2}-[a-z0-9._-]+|best of T[0-6])$")]
_LISTS: Final = ("mcp_servers", "skills", "agents", "hosts", "models", "server_tools")
_UNKEYED_IF_UNSET: Final = ("models", "server_tools", "orchestration", "verification", "hosts")


class SystemPrompt(Record):
    """Replacement of, or addition to, the agent CLI's system prompt: a text, or blocks."""

    replace: Annotated[str | None, Field(description="The whole system prompt; may be empty")] = None
    append: Annotated[Text | None, Field(description="Text added to the CLI's own system prompt")] = None
    blocks: Annotated[tuple[BlockName, ...], Field(description="Files in config/blocks/, joined in this order")] = ()
    mode: Annotated[
        Literal["append", "replace"] | None, Field(description="What blocks do to the CLI's own prompt; null: append")
    ] = None

    @model_validator(mode="after")
    def _one_way(self) -> "SystemPrompt":
        if [self.replace is not None, self.append is not None, bool(self.blocks)].count(True) != 1:
            raise ValueError("give exactly one of replace, append and blocks")
        if self.mode and not self.blocks:
            raise ValueError("mode is for blocks; for a text use replace or append")
        return self

    @property
    def replaces(self) -> bool:
        """True if the CLI's own system prompt is left out."""
        return self.replace is not None or self.mode == "replace"


class Orchestration(Record):
    """Hierarchy of agents: the lead's prompt is added to the main conversation, which then directs the sub-agents."""

    lead: Annotated[Name, Field(description="A file in config/agents/")]


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
    orchestration: Orchestration | None = None
    verification: Annotated[
        Literal["selective", "always"] | None,
        Field(description="When results are checked before the end; adds config/blocks/verification-<value>.md"),
    ] = None
    hosts: Annotated[
        tuple[NamedHost, ...], Field(description="Hosts that the agent may reach, beside those of the scenario")
    ] = ()
    models: Annotated[
        tuple[Text, ...],
        Field(description="Model ids that the agent may request beside the arm's model and the CLI's side models"),
    ] = ()
    server_tools: Annotated[
        tuple[ServerTool, ...], Field(description="Tools that the provider runs: they reach the open network")
    ] = ()

    def keyed(self) -> dict[str, JsonValue]:
        """Return what is compared and keyed, without newer fields that are not set."""
        unset = {name for name in _UNKEYED_IF_UNSET if not getattr(self, name)}
        fields = self.model_dump(mode="json", exclude=unset)
        if self.system_prompt and not self.system_prompt.blocks:
            fields["system_prompt"] = self.system_prompt.model_dump(mode="json", exclude={"blocks", "mode"})
        return fields

    @property
    def parts(self) -> frozenset[str]:
        """Parts of the treatment: each block, each item of a list, and each other setting with its value."""
        settings = self.model_dump(mode="json", exclude={"system_prompt", *_LISTS}, exclude_none=True)
        parts = [f"{name}={json.dumps(value, sort_keys=True)}" for name, value in settings.items()]
        parts += [f"{name}/{item}" for name in _LISTS for item in getattr(self, name)]
        prompt = self.system_prompt
        if prompt and prompt.blocks:
            parts += [f"blocks/{block}" for block in prompt.blocks] + (["blocks=replace"] if prompt.replaces else [])
        elif prompt:
            parts.append(f"system_prompt={prompt.model_dump_json()}")
        return frozenset(parts)


class SubTest(Record):
    """Numbered configuration inside a tier (`config/tiers/<tier>/<id>.yaml`, or in the file of the tier)."""

    id: Annotated[Slug, Field(pattern=r"^[0-9]{2}-[a-z0-9]+([._-][a-z0-9]+)*$")]
    description: Text
    inherits: Annotated[
        tuple[Inherited, ...],
        Field(description="Sub-tests whose treatments are united with this one, such as T0/05-full, or `best of T1`"),
    ] = ()
    treatment: Treatment = Treatment()

    @model_validator(mode="after")
    def _one_best_of_each(self) -> "SubTest":
        if len(set(self.inherits)) != len(self.inherits):
            raise ValueError("inherits: names a sub-test twice; remove one")
        return self


class Tier(Record):
    """Step of the ablation ladder (`config/tiers/<tier>.yaml`); its sub-tests stand here or in a folder beside it."""

    id: TierName
    name: Text
    focus: Text
    hypothesis: Annotated[Text | None, Field(description="What the tier is expected to show, before any data")] = None
    representative: Annotated[
        Slug | None, Field(description="Sub-test that stands for `best of` this tier until results decide")
    ] = None
    sub_tests: tuple[SubTest, ...] = ()


class Variant(Record):
    """A resolved sub-test: its name, such as `T0/00-empty`, and its treatment."""

    id: str
    treatment: Treatment
    materials: Annotated[dict[str, str], Field(description="digests of what it names, as skills/<name>")] = {}
    chosen: Annotated[dict[str, str], Field(description="sub-test that each `best of` stands for, by tier")] = {}
    alias_of: Annotated[
        str | None, Field(description="sub-test that is the same configuration, since a choice led to it")
    ] = None

    @property
    def digest(self) -> str:
        """Digest of the configuration, independent of its name."""
        return digest([self.treatment.keyed(), self.materials])


class SubAgent(Record):
    """Sub-agent (`config/agents/<name>.md`): front matter, and the text below it as its prompt."""

    name: Name
    description: Text
    tools: Annotated[tuple[Text, ...] | None, Field(description="Tools; null: all tools of the agent")] = None
    model: str | None = None
    prompt: Text


class AgentResources(Record):
    """Resources that a treatment or a mode names, by name; `folders` has skills and MCP servers, as `skills/<name>`."""

    mcp_servers: dict[str, McpServer] = {}
    agents: dict[str, SubAgent] = {}
    folders: dict[str, Path] = {}
    programs: Annotated[dict[str, Path], Field(description="files of the mode's programs")] = {}
    system_prompt: Annotated[SystemPrompt | None, Field(description="as one text; None: the CLI's own")] = None


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
    programs: Annotated[tuple[str, ...], Field(description="on PATH, of all that any mode has")] = ()
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
    programs: Annotated[tuple[str, ...] | None, Field(description="on PATH, of all that any mode has")] = None
    agents: tuple[str, ...] | None = None
    plugins: tuple[str, ...] | None = None
    instructions: Annotated[tuple[str, ...] | None, Field(description="instruction files that were put in")] = None
    guarded: Annotated[int | None, Field(description="calls that the safety net was asked about")] = None
    unguarded: Annotated[tuple[str, ...], Field(description="calls that ran without it")] = ()
    remarks: Annotated[tuple[str, ...], Field(description="what it says of a thing that is not there")] = ()
    characters: Annotated[
        dict[str, int], Field(description="of what the request has: system_prompt, tools/NAME, mcp/SERVER, ...")
    ] = {}
    short_skills: Annotated[tuple[str, ...], Field(description="listed by name only, or with a cut description")] = ()


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
    characters: Annotated[
        dict[str, int],
        Field(description="of the first request, by part: declared prompt, skills, sub-agents and servers; all tools"),
    ] = {}
    short_skills: Annotated[
        tuple[str, ...], Field(description="declared skills listed by name only, or with a cut description")
    ] = ()

    @property
    def reason(self) -> str:
        """The faults in a sentence, without claims."""
        parts = [("missing", self.missing), ("not declared", self.undeclared)]
        return "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)

    @property
    def claims(self) -> str:
        """The claimed faults in a sentence."""
        return f"as its output says: {', '.join(self.claimed)}" if self.claimed else ""
