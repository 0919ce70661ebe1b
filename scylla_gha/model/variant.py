"""Variant: one agent configuration under test, and the resources that it names."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints, model_validator

from scylla_gha.model.record import Record, Slug, Text, digest
from scylla_gha.model.scenario import TierName

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=60)]
SettingSource = Literal["user", "project", "local"]
ServerTool = Literal["web_search", "web_fetch", "code_execution"]
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
