"""Manifest of an agent CLI: data to install it, start it, read its transcript and prove its treatment.

Texts have placeholders such as `{model}`; `PLACEHOLDERS` has their meaning.
"""

import datetime
import json
import re
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from scylla_gha.model import Record, Slug, Text, digest
from scylla_gha.model.safety_net import GuardedTool
from scylla_gha.model.trial import Outcome
from scylla_gha.model.variant import ExactVersion

PLACEHOLDERS: Final = {
    "model": "id of the model",
    "gateway": "address of the model gateway, without a path",
    "token": "dummy key of the trial",
    "home": "HOME of the agent",
    "workspace": "folder in which the agent works",
    "prompt": "text of the task",
    "prompt_file": "file in HOME with the text of the task",
    "turns": "limit of turns",
    "api_retries": "number of retries that the CLI itself may make",
    "settings_json": "settings of the treatment, as an object of JSON",
    "text": "text of the system prompt",
    "text_json": "text of the system prompt, as a string of JSON or TOML",
    "text_file": "file in HOME with the text of the system prompt",
    "names": "names of tools: a list in a file, joined by commas in a flag",
    "name": "name of the MCP server, skill or sub-agent",
    "description": "description of the sub-agent",
    "agent_model": "model of the sub-agent",
    "tools": "tools of the sub-agent, in the CLI's names",
    "tools_text": "the same, joined by commas and spaces",
    "agents_json": "all sub-agents by name, as an object of JSON",
    "plugin": "name of the skill's plug-in",
    "command": "program of the MCP server",
    "args": "arguments of the MCP server, as a list",
    "argv": "program and arguments of the MCP server, as a list",
    "env": "environment of the MCP server, as an object",
    "env_toml": "environment of the MCP server, as an inline table of TOML",
}
PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")


def _require_known(text: str) -> str:
    unknown = [name for name in PLACEHOLDER.findall(text) if name not in PLACEHOLDERS]
    if unknown:
        raise ValueError(f"unknown placeholder {{{unknown[0]}}}; there are: {', '.join(PLACEHOLDERS)}")
    return text


def _require_pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


def _require_group(text: str) -> str:
    if not re.compile(_require_pattern(text)).groups:
        raise ValueError(f"{text!r} has no group; put the name to be found into (...)")
    return text


def _require_known_in(value: JsonValue) -> JsonValue:
    _require_known(json.dumps(value))
    return value


Template = Annotated[str, AfterValidator(_require_known)]
JsonTemplate = Annotated[JsonValue, AfterValidator(_require_known_in)]
Pattern = Annotated[str, AfterValidator(_require_pattern)]
NamePattern = Annotated[str, AfterValidator(_require_group)]
StyleName = Literal["anthropic-messages", "openai-responses", "openai-chat", "gemini"]
JsonPath = Annotated[str, Field(min_length=1, description="Keys and list positions, joined by dots")]
EventKind = Literal["start", "message", "delta", "blocks", "chat", "call", "result", "error", "end"]


class CliPackage(Record):
    """Package of the CLI, from npm or PyPI; without one, the program is found on PATH only."""

    npm: Text | None = Field(default=None, description="Name of the npm package")
    pypi: Text | None = Field(default=None, description="Name of the PyPI package")
    program: Text = Field(description="Name of the program that the package installs")
    oldest: Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)*$")] = Field(description="Oldest supported version")
    node: ExactVersion | None = Field(
        default=None, description="Version of Node.js that runs the program; null: it is not a script of Node.js"
    )
    native: Text | None = Field(
        default=None,
        description="Path of the program in the optional npm package for this platform, if the package's own script "
        "would place it; null: the program works without that script",
    )
    path: tuple[Text, ...] = Field(
        default=(),
        exclude_if=lambda folders: not folders,
        description="Folders of npm packages, as patterns below node_modules, with programs that the CLI finds on PATH",
    )
    extra: dict[str, ExactVersion] = Field(
        default={}, description="Further packages of the same registry that the program needs"
    )
    dates: dict[str, datetime.date] = Field(
        default={},
        description="Day whose newest dependencies are installed, by version of the CLI; other versions get today's",
    )

    @model_validator(mode="after")
    def _one_registry(self) -> Self:
        if self.npm and self.pypi:
            raise ValueError("give npm or pypi, not both")
        return self

    @property
    def registry(self) -> Literal["npm", "pypi"] | None:
        """Registry of the package; None: there is none."""
        return "npm" if self.npm else "pypi" if self.pypi else None

    @property
    def id(self) -> str:
        """Name of the package in its registry, or of the program if there is no package."""
        return self.npm or self.pypi or self.program

    @property
    def install_options(self) -> dict[str, JsonValue]:
        """Options of the installation beside name and version."""
        return self.model_dump(mode="json", include={"node", "native", "path", "extra", "dates"}, exclude_defaults=True)


class CliModels(Record):
    """Models that the CLI chooses by itself."""

    side: tuple[Text, ...] = Field(
        default=(), description="Models that some version requests by itself, whatever model it is started with"
    )
    aliases: dict[str, Text] = Field(
        default={},
        description="Models by their short names, as a version without an inventory is expected to request them; a "
        "short name that is part of the id of the trial's own model means that model",
    )


class ManifestFile(Record):
    """Content of a file in HOME: `json`, merged with other parts of the same file, or a text."""

    data: JsonTemplate = Field(default=None, alias="json", description="Content of a JSON file, with placeholders")
    text: Template | None = Field(default=None, description="Content of another file, with placeholders")


class Additions(Record):
    """Additions of a part to the start of the CLI: flags, environment variables, and files in HOME."""

    flags: tuple[Template, ...] = ()
    env: dict[str, Template] = {}
    files: dict[str, ManifestFile] = Field(default={}, description="Files by their paths in HOME")


class ServerForm(Record):
    """Form in which the CLI gets MCP servers: an entry of each in a JSON file in HOME, or flags."""

    file: Text | None = Field(default=None, description="JSON file in HOME with the entries; null: only flags")
    key: Text = Field(default="mcpServers", description="Key of the object in the file that has the entries, by name")
    entry: JsonTemplate = Field(
        default_factory=lambda: dict[str, JsonValue](command="{command}", args="{args}", env="{env}"),
        description="Entry of a server",
    )
    flags: tuple[Template, ...] = Field(default=(), description="Flags if there is a server")
    env: dict[str, Template] = Field(default={}, description="Environment variables if there is a server")
    project: bool = Field(
        default=False, description="True: the servers of a repository's .mcp.json are given in the same form"
    )
    each: tuple[Template, ...] = Field(default=(), description="Flags of each server")


class SubAgentForm(Record):
    """Form in which the CLI gets sub-agents: a Markdown file in HOME for each, with front matter and the prompt."""

    file: Template = Field(description="Path in HOME, with {name}")
    project: Text | None = Field(default=None, description="Folder in a repository; null: it reads none there")
    front: dict[str, JsonTemplate] = Field(
        default={"name": "{name}", "description": "{description}"},
        description="Front matter; an entry is left out if the sub-agent has no value for it",
    )
    flags: tuple[Template, ...] = Field(
        default=(),
        description="Flags with {agents_json} in place of files for a variant that does not read the user's settings",
    )
    tools: dict[str, Text] | None = Field(
        default={},
        description="The CLI's name of each tool that files of sub-agents may name; others are refused. Null: the CLI "
        "has the names of the files",
    )


class PluginForm(Record):
    """Form in which the CLI gets the skills of an author's plug-in, so that they have the author's names."""

    folder: Template = Field(description="Folder in HOME, with {plugin}, that has a folder for each skill")
    start: Additions = Field(description="Additions of each plug-in, with {plugin}")


class SkillForm(Record):
    """Folders in which the CLI finds Agent Skills."""

    folder: Text = Field(description="Folder in HOME that has a folder for each skill")
    project: Text | None = Field(default=None, description="Folder in a repository; null: it reads none there")
    flags: tuple[Template, ...] = Field(default=(), description="Flags if there is a skill")
    plugin: PluginForm | None = Field(default=None, description="Form of plug-ins; null: their skills are plain ones")


class ManifestTreatment(Record):
    """Forms in which the CLI gets parts of a treatment. A treatment with a part that has no line here is refused."""

    system_prompt_replace: Additions | None = None
    system_prompt_append: Additions | None = None
    setting_sources: Additions | None = None
    tools: Additions | None = None
    settings: Text | Additions | None = Field(
        default=None, description="JSON file in HOME into which settings are merged, or additions with {settings_json}"
    )
    skill_listing: Additions | None = Field(
        default=None,
        description="Additions that list all skills with their descriptions, unless the treatment sets skill_listing",
    )
    skills: SkillForm | None = None
    agents: SubAgentForm | None = None
    mcp_servers: ServerForm | None = None
    agent_files: tuple[Text, ...] | None = Field(
        default=None,
        description="Files of a repository that the CLI reads, as patterns of a .gitignore; the first one is the path "
        "of the file that gets a treatment's `instructions`; null: none",
    )


class EventRule(Record):
    """Meaning of a line of the CLI's JSON output; the first rule that fits a line is used.

    `start`: the session began. `message`: a whole text of the model. `delta`: a part of one. `blocks`: texts, calls and
    results as content blocks of the Messages API. `chat`: a message of chat completions. `call` and `result`: of a
    tool; a `call` with `result` has both. `error`: the CLI reports a failure. `end`: the session ended.
    """

    kind: EventKind
    when: dict[str, JsonValue] = Field(default={}, description="Values that the line has, by path")
    matches: dict[str, Pattern] = Field(default={}, description="Regular expressions that values contain, by path")
    unless: dict[str, Pattern] = Field(default={}, description="Regular expressions that exclude the line, by path")
    text: JsonPath | None = Field(default=None, description="Path of the text, or of the failure's message")
    blocks: JsonPath | None = None
    id: JsonPath | None = Field(default=None, description="Path of the call's id")
    name: JsonPath | None = Field(default=None, description="Path of the tool's name")
    arguments: JsonPath | None = None
    result: JsonPath | None = None
    failed: JsonPath | None = Field(default=None, description="Path of a value that is true if it failed")
    code: JsonPath | None = Field(default=None, description="Path of the failure's code or kind")
    version: JsonPath | None = None
    model: JsonPath | None = None
    tools: JsonPath | None = Field(default=None, description="Path of the list of tools' names")
    agents: JsonPath | None = Field(default=None, description="Path of the list of sub-agents' names")


class OutcomeRule(Record):
    """Outcome that the CLI's end claims; all conditions that are set must hold, and the first such rule is used."""

    exit: tuple[int, ...] | None = Field(default=None, description="Exit codes")
    error: Pattern | None = Field(default=None, description="Found in the message of the last failure")
    code: Pattern | None = Field(default=None, description="Found in the code of the last failure")
    stderr: Pattern | None = Field(default=None, description="Found at the end of standard error")
    output: Pattern | None = Field(default=None, description="Found at the end of standard output")
    ended: bool | None = Field(default=None, description="True if the session's end was reported without a failure")
    outcome: Outcome


class DeliveryForm(Record):
    """Patterns by which the first request shows what the CLI has beside the declared treatment."""

    has_model: bool = Field(default=True, description="False if the model is in the address of requests alone")
    tool_of_server: NamePattern | None = Field(
        default=None, description="Regular expression for names of tools of MCP servers; group 1: the server"
    )
    server: NamePattern | None = Field(
        default=None, description="The same for all texts of the request, if servers' tools have no definitions there"
    )
    skill: NamePattern | None = Field(
        default=None, description="Regular expression for a listed skill; group 1: its name"
    )
    agent: NamePattern | None = Field(
        default=None, description="Regular expression for a listed sub-agent; group 1: its name"
    )
    instructions: NamePattern | None = Field(
        default=None, description="Regular expression for a read instruction file; group 1: its path"
    )
    unstable: tuple[Pattern, ...] = Field(
        default=(), description="Parts of the system prompt that depend on the day, machine or folder"
    )


class UseForm(Record):
    """Calls by which the agent uses declared skills, sub-agents and MCP servers, in the names of the CLI's tools."""

    skills: dict[str, Text] = Field(default={}, description="Tools that load a skill, with the argument of its name")
    reads_skills: bool = Field(
        default=False, description="True: there is no such tool, and a skill is used by reading its SKILL.md"
    )
    agents: dict[str, Text] = Field(
        default={}, description="Tools that start a sub-agent, with the argument of its name"
    )
    servers: dict[str, Text] = Field(
        default={},
        description="Tools beside the servers' own that ask an MCP server, with the argument that has its name or that "
        "of one of its tools",
    )
    server_tool: Template | None = Field(
        default=None, description="Beginning of the names of a server's tools, with {name}; null: unknown"
    )
    refused: tuple[Text, ...] = Field(
        default=(), description="Beginnings of failed results that the CLI itself writes to refuse a call"
    )
    expanded: NamePattern | None = Field(
        default=None,
        description="Regular expression for the start of a text in the first request that has a skill because the "
        "prompt begins with its name; group 1: the skill",
    )


_ACP_EVENTS: Final = (
    EventRule(kind="delta", when={"sessionUpdate": "agent_message_chunk"}, text="content.text"),
    EventRule(kind="call", when={"sessionUpdate": "tool_call"}, name="title", id="toolCallId", arguments="rawInput"),
    EventRule(
        kind="result",
        when={"sessionUpdate": "tool_call_update"},
        matches={"status": "^(completed|failed)$"},
        id="toolCallId",
        result="content.0.content.text",
        failed="status",
    ),
    EventRule(kind="error", when={"type": "error"}, text="message"),
    EventRule(kind="error", when={"type": "end"}, unless={"stopReason": "^end_turn$"}, code="stopReason"),
    EventRule(kind="end", when={"type": "end"}),
)
_ACP_OUTCOMES: Final = (
    OutcomeRule(code="^refusal$", outcome=Outcome.REFUSED),
    OutcomeRule(code="^max_turn_requests$", outcome=Outcome.BUDGET_EXCEEDED),
)


class AgentManifest(Record):
    """Agent CLI (`config/agent-clis/<name>.yaml`)."""

    name: Slug
    package: CliPackage
    protocol: Literal["acp"] | None = Field(
        default=None,
        exclude_if=lambda protocol: protocol is None,
        description="acp: it speaks the Agent Client Protocol on its standard streams, which needs no `prompt`, "
        "`events` and `outcomes`; null: it is a command that works on one task",
    )
    version: NamePattern = Field(
        default=r"(\d+\.\d+\.\d+)", description="Regular expression for the answer to --version; group 1: the version"
    )
    api_styles: dict[StyleName, Additions] = Field(
        min_length=1, description="Styles of model APIs that the CLI can use, with the additions that choose each"
    )
    start: Additions = Field(default=Additions(), description="Additions of each start")
    model: Additions = Field(default=Additions(), description="Additions that choose the model")
    turns: Additions | None = Field(
        default=None, description="Additions that limit turns; null: only the gateway limits them"
    )
    prompt: tuple[Template, ...] = Field(
        default=(), description="Last arguments, with {prompt} or {prompt_file}; empty: standard input has the prompt"
    )
    models: CliModels = CliModels()
    treatment: ManifestTreatment = ManifestTreatment()
    events: tuple[EventRule, ...] = Field(
        default=(), description="Rules for lines of JSON on standard output; empty: it writes text"
    )
    outcomes: tuple[OutcomeRule, ...] = Field(
        default=(), description="Rules beside those for all CLIs: exit code 0 is completed, another one agent_error"
    )
    delivery: DeliveryForm = DeliveryForm()
    uses: UseForm | None = Field(default=None, description="Calls that show uses of resources; null: unknown")
    safety_net: dict[str, GuardedTool] = Field(
        default={},
        description="Tools whose calls the gateway judges for the safety net; empty: the CLI has no safety net",
    )
    circumstances: dict[Pattern, str] = Field(
        default={}, description="Texts of requests that differ between equal runs, with constant replacements"
    )

    @property
    def event_rules(self) -> tuple[EventRule, ...]:
        """Rules for lines of JSON, with those of the protocol."""
        return (*self.events, *(_ACP_EVENTS if self.protocol == "acp" else ()))

    @property
    def outcome_rules(self) -> tuple[OutcomeRule, ...]:
        """Rules for outcomes, with those of the protocol."""
        return (*self.outcomes, *(_ACP_OUTCOMES if self.protocol == "acp" else ()))

    @property
    def digest(self) -> str:
        """Digest of all that can change what the agent does or how it is read."""
        return digest(self.model_dump(mode="json", by_alias=True, exclude_defaults=True))
