"""Variant: one agent configuration under test, and the resources that it names."""

import json
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue, StringConstraints, model_validator

from scylla_gha.model import Record, Slug, Text, digest
from scylla_gha.model.mcp_server import McpServer, ServerCommand
from scylla_gha.model.sandbox import NamedHost
from scylla_gha.model.scenario import TierName

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=60)]
BlockName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$", max_length=60)]
SettingSource = Literal["user", "project", "local"]
ServerTool = Literal["web_search", "web_fetch", "code_execution"]
Assumption = Literal["skill_descriptions", "tool_definitions"]
BEST_OF = "best of "
Inherited = Annotated[str, StringConstraints(pattern=r"^(T[0-6]/[0-9]{2}-[a-z0-9._-]+|best of T[0-6])$")]
_LISTS: Final = ("mcp_servers", "skills", "agents", "hosts", "models", "server_tools")
_UNKEYED_IF_NONE: Final = ("agent_files",)
_UNKEYED_IF_UNSET: Final = ("models", "server_tools", "orchestration", "verification", "hosts")


class SystemPrompt(Record):
    """Replacement of, or addition to, the agent CLI's system prompt: a text, or blocks."""

    replace: str | None = Field(
        default=None, description="Text that replaces the CLI's system prompt, may be empty; null: no replacement"
    )
    append: Text | None = Field(
        default=None, description="Text that is added to the CLI's own system prompt; null: none"
    )
    blocks: tuple[BlockName, ...] = Field(
        default=(), description="Prompt blocks, as names of files in config/blocks/, joined in this order"
    )
    mode: Literal["append", "replace"] | None = Field(
        default=None,
        description="Use of the blocks: add them to the CLI's own system prompt, or replace it; null: append",
    )

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

    lead: Name = Field(description="Name of a file in config/agents/ whose prompt the main conversation gets")


class Treatment(Record):
    """Settings that a variant changes; None leaves the CLI's default."""

    system_prompt: SystemPrompt | None = None
    setting_sources: tuple[SettingSource, ...] | None = Field(
        default=None, description="Settings files that the CLI reads; empty: none; null: the CLI's default"
    )
    tools: tuple[Text, ...] | None = Field(
        default=None, description="Built-in tools of the CLI; empty: none; null: the CLI's default"
    )
    settings: dict[str, JsonValue] | None = Field(
        default=None, description="Settings that are passed to the CLI; null: none"
    )
    mcp_servers: tuple[Name, ...] = Field(default=(), description="MCP servers, as names of folders in config/mcp/")
    agent_files: tuple[Text, ...] | None = Field(
        default=None,
        description="Patterns, as in .gitignore, of the repository's own files for agents (CLAUDE.md, "
        ".claude/skills/NAME, .mcp.json, ...) that the workspace has; empty: none; null: those of "
        "the scenario's start state",
    )
    skills: tuple[Name, ...] = Field(default=(), description="Skills, as names of folders in config/skills/")
    agents: tuple[Name, ...] = Field(default=(), description="Sub-agents, as names of files in config/agents/")
    orchestration: Orchestration | None = None
    verification: Literal["selective", "always"] | None = Field(
        default=None,
        description="Rule for when the agent checks results before it ends, from "
        "config/blocks/verification-<value>.md; null: none",
    )
    hosts: tuple[NamedHost, ...] = Field(
        default=(), description="Hosts that the agent may reach, in addition to those of the scenario"
    )
    models: tuple[Text, ...] = Field(
        default=(),
        description="Ids of models that the agent may request, in addition to the arm's model and the CLI's "
        "side models",
    )
    server_tools: tuple[ServerTool, ...] = Field(
        default=(), description="Tools that run at the provider and reach the open network"
    )

    @model_validator(mode="after")
    def _reads_agent_files(self) -> "Treatment":
        if self.agent_files and not self.reads_project:
            raise ValueError("agent_files needs `project` in setting_sources; else Claude Code reads none of them")
        return self

    @property
    def reads_project(self) -> bool:
        """True if the CLI reads the files for agents in its workspace."""
        return self.setting_sources is None or "project" in self.setting_sources

    def keyed(self) -> dict[str, JsonValue]:
        """Return what is compared and keyed, without newer fields that are not set."""
        unset = {name for name in _UNKEYED_IF_UNSET if not getattr(self, name)}
        unset |= {name for name in _UNKEYED_IF_NONE if getattr(self, name) is None}
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
    inherits: tuple[Inherited, ...] = Field(
        default=(),
        description="Sub-tests whose treatments are merged into this one, such as T0/05-full or `best of T1`",
    )
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
    hypothesis: Text | None = Field(
        default=None, description="Result that the tier is expected to show, written down before any data; null: none"
    )
    assumes: tuple[Assumption, ...] = Field(
        default=(),
        description="Assumptions of the hypothesis about each first request, which `tiers measure` checks: "
        "all skills have whole descriptions, or all tools have definitions",
    )
    representative: Slug | None = Field(
        default=None,
        description="Id of the sub-test that stands for `best of` this tier until results decide; null: none",
    )
    sub_tests: tuple[SubTest, ...] = ()

    @model_validator(mode="after")
    def _assumed_by_a_hypothesis(self) -> "Tier":
        if self.assumes and not self.hypothesis:
            raise ValueError("`assumes` needs `hypothesis`; add one")
        return self


class Variant(Record):
    """A resolved sub-test: its name, such as `T0/00-empty`, and its treatment."""

    id: str
    treatment: Treatment
    materials: dict[str, str] = Field(
        default={}, description="Digests of the files that the variant uses, as skills/<name>"
    )
    chosen: dict[str, str] = Field(default={}, description="Sub-test that was chosen for each `best of`, by tier")
    alias_of: str | None = Field(
        default=None, description="Sub-test with the same configuration, to which a choice led; None: none"
    )

    @property
    def digest(self) -> str:
        """Digest of the configuration, independent of its name."""
        return digest([self.treatment.keyed(), self.materials])


class SubAgent(Record):
    """Sub-agent (`config/agents/<name>.md`): front matter, and the text below it as its prompt."""

    name: Name
    description: Text
    tools: tuple[Text, ...] | None = Field(
        default=None, description="Tools of the sub-agent; null: all tools of the agent"
    )
    model: str | None = None
    prompt: Text


class AgentResources(Record):
    """Resources that a treatment or a mode names, by name; `folders` has skills and MCP servers, as `skills/<name>`."""

    mcp_servers: dict[str, McpServer] = {}
    agents: dict[str, SubAgent] = {}
    folders: dict[str, Path] = {}
    programs: dict[str, Path] = Field(default={}, description="Files of the mode's programs, by name")
    agent_files: dict[str, Path] | None = Field(
        default=None, description="Files for agents, by path in the workspace; None: those of the start state"
    )
    project_servers: dict[str, ServerCommand] = Field(default={}, description="MCP servers of .mcp.json, by name")
    descriptions: dict[str, tuple[str, ...]] = Field(
        default={}, description="Texts that say what a skill is for, by the skill's name"
    )
    system_prompt: SystemPrompt | None = Field(
        default=None, description="System prompt as one text; None: the CLI's own"
    )
