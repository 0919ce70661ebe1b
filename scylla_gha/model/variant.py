"""A variant: one agent configuration under test."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints, model_validator

from scylla_gha.model.record import Record, Slug, Text, digest
from scylla_gha.model.scenario import TierName

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=60)]
SettingSource = Literal["user", "project", "local"]
ServerTool = Literal["web_search", "web_fetch", "code_execution"]


class SystemPrompt(Record):
    """What the agent CLI's own system prompt becomes."""

    replace: Annotated[str | None, Field(description="the whole system prompt; may be empty")] = None
    append: Annotated[Text | None, Field(description="added to the CLI's own")] = None

    @model_validator(mode="after")
    def _one_way(self) -> "SystemPrompt":
        if (self.replace is None) == (self.append is None):
            raise ValueError("give exactly one of replace and append")
        return self


class Treatment(Record):
    """All that a variant changes; None leaves the CLI's default."""

    system_prompt: SystemPrompt | None = None
    setting_sources: Annotated[
        tuple[SettingSource, ...] | None, Field(description="settings files that the CLI reads; [] is none of them")
    ] = None
    tools: Annotated[tuple[Text, ...] | None, Field(description="the CLI's built-in tools; [] is none")] = None
    settings: Annotated[dict[str, JsonValue] | None, Field(description="settings given to the CLI")] = None
    mcp_servers: Annotated[tuple[Name, ...], Field(description="folders of config/mcp/")] = ()
    skills: Annotated[tuple[Name, ...], Field(description="folders of config/skills/")] = ()
    agents: Annotated[tuple[Name, ...], Field(description="sub-agents, files of config/agents/")] = ()
    models: Annotated[
        tuple[Text, ...], Field(description="ids that the agent may ask for beside the arm's and the CLI's side models")
    ] = ()
    server_tools: Annotated[
        tuple[ServerTool, ...], Field(description="tools that the provider runs: they reach the open network")
    ] = ()

    def keyed(self) -> dict[str, JsonValue]:
        """What is compared and keyed: a permission that is not given leaves no trace."""
        without = {name for name in ("models", "server_tools") if not getattr(self, name)}
        return self.model_dump(mode="json", exclude=without)


class SubTest(Record):
    """A numbered configuration inside a tier."""

    id: Annotated[Slug, Field(pattern=r"^[0-9]{2}-[a-z0-9]+([._-][a-z0-9]+)*$")]
    description: Text
    treatment: Treatment


class Tier(Record):
    """A step of the ablation ladder, with its sub-tests (`config/tiers/<tier>.yaml`)."""

    id: TierName
    name: Text
    focus: Text
    sub_tests: Annotated[tuple[SubTest, ...], Field(min_length=1)]


class Variant(Record):
    """A sub-test resolved: its name `T0/00-empty`, and what it changes."""

    id: str
    treatment: Treatment
    materials: Annotated[dict[str, str], Field(description="digests of what it names, as skills/<name>")] = {}

    @property
    def digest(self) -> str:
        """Equal for equal configurations, whatever they are called."""
        return digest([self.treatment.keyed(), self.materials])
