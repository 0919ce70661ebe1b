"""Variant: one agent configuration under test, and the resources that it names, such as MCP servers and agent files."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal, Self

from pydantic import Field, JsonValue, StringConstraints, model_validator

from scylla_gha.model import Record, Slug, Text, digest
from scylla_gha.model.sandbox import NamedHost
from scylla_gha.model.scenario import TierName
from scylla_gha.path_patterns import PathPatterns

FOLDER: Final = "{folder}"
WORKSPACE: Final = "{workspace}"
NODE: Final = "/opt/node/bin/node"  # path in sandboxes with their own files
_PACKAGES: Final = "/opt/mcp"
_BARE: Final = frozenset("/{}")

ExactVersion = Annotated[str, StringConstraints(pattern=r"^[0-9][0-9A-Za-z.+-]*$", max_length=60)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([_-][a-z0-9]+)*$", max_length=60)]
BlockName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$", max_length=60)]
SettingSource = Literal["user", "project", "local"]
ServerTool = Literal["web_search", "web_fetch", "code_execution"]
Assumption = Literal["skill_descriptions", "tool_definitions"]
BEST_OF = "best of "
Inherited = Annotated[str, StringConstraints(pattern=r"^(T[0-6]/[0-9]{2}-[a-z0-9._-]+|best of T[0-6])$")]
_LISTS: Final = ("mcp_servers", "skills", "agents", "hosts", "models", "server_tools")
_UNKEYED_IF_NONE: Final = ("agent_files", "instructions")
_UNKEYED_IF_UNSET: Final = ("models", "server_tools", "orchestration", "verification", "hosts", "skill_listing")
_SKILL_DELIVERY: Final = "own name"  # part of the keys of variants with skills; "plugin team" before, without a mark
MCP_FILE: Final = ".mcp.json"
# Files that each CLI reads by itself, as patterns of a `.gitignore`. Tools other than Codex read AGENTS.md too; Claude
# Code 2.1.332 reads it in a folder without CLAUDE.md.
PLACES: Final = {
    "claude-code": ("CLAUDE.md", "/.claude", f"/{MCP_FILE}"),
    "codex": ("AGENTS.md", "/.agents", "/.codex"),
    "copilot": (
        "/.github/copilot-instructions.md",
        "/.github/instructions",
        "/.github/prompts",
        "/.github/skills",
        "/.github/agents",
    ),
    "gemini-cli": ("GEMINI.md", "/.gemini"),
    "cursor": ("/.cursor", "/.cursorrules"),
    "opencode": ("/.opencode", "/opencode.json"),
    "qwen-code": ("QWEN.md", "/.qwen"),
    "kimi-code": ("/.kimi-code",),
}
# Files of one person or one machine, which may contain secrets.
_PERSONAL: Final = PathPatterns(["*.local.*", "/.claude/worktrees", ".env", ".env.*", "__pycache__"])
_SKILL_FOLDER: Final = re.compile(r"(?:^|.*/)\.(?:claude|agents|github)/skills/[^/]+/(.+)")
# Paths below a skill's folder that hold answers which its evals expect, or earlier results.
_ANSWERS: Final = re.compile(
    r"(?:evals|evals?\.(?:jsonl?|ya?ml)|tests?|testing|results|[^/]*-workspace|references/evals)(?:/.*)?", re.IGNORECASE
)
_AGENT_FILES: Final = PathPatterns([pattern for patterns in PLACES.values() for pattern in patterns])


class ServerPackages(Record):
    """npm or PyPI packages of an MCP server; a lock beside the file pins them and their dependencies."""

    npm: dict[str, ExactVersion] = Field(
        default={}, description="npm packages with exact versions, locked by `package-lock.json`"
    )
    pypi: dict[str, ExactVersion] = Field(
        default={}, description="PyPI packages with exact versions, locked by `requirements.txt` with hashes"
    )
    node: ExactVersion | None = Field(
        default=None, description="Version of Node.js that runs the npm packages; null: no npm packages"
    )

    @model_validator(mode="after")
    def _one_registry(self) -> Self:
        if bool(self.npm) == bool(self.pypi):
            raise ValueError("give packages from exactly one of npm and pypi")
        if bool(self.npm) != bool(self.node):
            raise ValueError("`node` (an exact version such as 22.23.3) needs npm packages, and they need `node`")
        return self


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """Command line and environment of a started MCP server, with paths in its sandbox."""

    command: str
    args: tuple[str, ...]
    env: dict[str, str]


class McpServer(Record):
    """MCP server over standard input and output (`config/mcp/<name>/server.yaml`)."""

    description: Text
    command: Text = Field(description="Program to start; with `packages`, the name of a program in them")
    args: tuple[str, ...] = Field(
        default=(),
        description="Arguments of the program; {folder} stands for the folder of this file, {workspace} for "
        "the workspace",
    )
    env: dict[str, str] = Field(
        default={}, description="Environment variables of the program, with the same placeholders as `args`"
    )
    packages: ServerPackages | None = Field(
        default=None, description="Packages to install before a trial; null: the server needs only its folder"
    )
    programs: tuple[Text, ...] = Field(
        default=(), description="Debian packages to install, each with a program of the same name"
    )
    tools: tuple[Text, ...] | None = Field(
        default=None, description="Names of all tools that the server must offer; null: at least one tool"
    )
    hosts: tuple[NamedHost, ...] = Field(
        default=(), description="Hosts that the server needs; the agent may reach them too"
    )

    @model_validator(mode="after")
    def _program_of_packages(self) -> Self:
        if self.packages and _BARE & set(self.command):
            raise ValueError("with packages, command must be the name of one of their programs, without a path")
        return self

    def started(
        self, name: str, folder: str, workspace: str, installed: Mapping[str, str] = MappingProxyType({})
    ) -> ServerCommand:
        """Return the command that starts the server.

        Args:
            name: name of the server, equal to its folder's name in `config/mcp/`.
            folder: path of the server's folder in the sandbox.
            workspace: path of the workspace in the sandbox.
            installed: paths of installed programs on the host, by their paths in sandboxes with their own files.
        """

        def fill(text: str) -> str:
            return text.replace(FOLDER, folder).replace(WORKSPACE, workspace)

        def path(inside: str) -> str:
            return installed.get(inside, inside)

        args = tuple(map(fill, self.args))
        env = {key: fill(value) for key, value in self.env.items()}
        if self.packages is None:
            return ServerCommand(fill(self.command), args, env)
        packages = path(packages_folder(name))
        if self.packages.npm:
            return ServerCommand(path(NODE), (f"{packages}/node_modules/.bin/{self.command}", *args), env)
        return ServerCommand(f"{packages}/bin/{self.command}", args, env)


def packages_folder(name: str) -> str:
    """Return the folder of a server's packages in sandboxes with their own files."""
    return f"{_PACKAGES}/{name}"


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
            raise ValueError("`mode` needs `blocks`; for a text, use replace or append")
        return self

    @property
    def replaces(self) -> bool:
        """True if the CLI's own system prompt is replaced."""
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
        description="Patterns, as in .gitignore, for the repository's own files for agents (CLAUDE.md, "
        ".claude/skills/NAME, .mcp.json, ...) that the workspace has; empty: none; null: those of "
        "the scenario's start state",
    )
    instructions: Name | None = Field(
        default=None,
        exclude_if=lambda name: name is None,
        description="Name of a file in config/instructions/ that the workspace has as the instruction file of the "
        "agent (CLAUDE.md, AGENTS.md, GEMINI.md), beside `agent_files` and in place of the start state's files "
        "for agents; null: none",
    )
    skills: tuple[Name, ...] = Field(default=(), description="Skills, as names of folders in config/skills/")
    skills_folder: Slug = Field(
        default="skills",
        exclude_if=lambda folder: folder == "skills",
        description="Folder in config/ that has the skills, such as one with another version of them",
    )
    skill_listing: Literal["whole", "default"] | None = Field(
        default=None,
        description="Descriptions of skills in each request: `whole`, or `default`, within the CLI's own limit, which "
        "may leave names only; null: whole",
    )
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
        if (self.agent_files or self.instructions) and not self.reads_project:
            name = "agent_files" if self.agent_files else "instructions"
            raise ValueError(
                f"`{name}` needs `project` in setting_sources, otherwise Claude Code reads none of them; add it"
            )
        return self

    @property
    def reads_project(self) -> bool:
        """True if the CLI reads the files for agents in its workspace."""
        return self.setting_sources is None or "project" in self.setting_sources

    def folder(self, kind: str) -> str:
        """Return the folder in `config/` that has the resources of a kind."""
        return self.skills_folder if kind == "skills" else kind

    @property
    def reads_user(self) -> bool:
        """True if the CLI reads the user's files, among which a variant's skills are."""
        return self.setting_sources is None or "user" in self.setting_sources

    def keyed(self) -> dict[str, JsonValue]:
        """Return the compared and keyed settings, without newer fields that are unset."""
        unset = {name for name in _UNKEYED_IF_UNSET if not getattr(self, name)}
        unset |= {name for name in _UNKEYED_IF_NONE if getattr(self, name) is None}
        fields = self.model_dump(mode="json", exclude={*unset, "skills_folder"})  # digests tell versions apart
        if self.skills:
            fields["skill_delivery"] = _SKILL_DELIVERY
        if self.system_prompt and not self.system_prompt.blocks:
            fields["system_prompt"] = self.system_prompt.model_dump(mode="json", exclude={"blocks", "mode"})
        return fields

    @property
    def parts(self) -> frozenset[str]:
        """Parts of the treatment: each block, each item of a list, and each other setting with its value."""
        settings = self.model_dump(mode="json", exclude={"system_prompt", "skills_folder", *_LISTS}, exclude_none=True)
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
            raise ValueError("inherits: a sub-test is listed twice; remove one")
        return self


class Tier(Record):
    """Step of the ablation ladder (`config/tiers/<tier>.yaml`), with its sub-tests there or in a folder beside it."""

    id: TierName
    name: Text
    focus: Text
    hypothesis: Text | None = Field(
        default=None, description="Expected result of the tier, written down before any data; null: none"
    )
    assumes: tuple[Assumption, ...] = Field(
        default=(),
        description="Assumptions of the hypothesis about each first request, which `tiers measure` checks: "
        "all skills have whole descriptions, or all tools have definitions",
    )
    representative: Slug | None = Field(
        default=None,
        description="Id of the sub-test that represents `best of` this tier until results decide; null: none",
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
    """Resources of a treatment or a mode, by name; `folders` has skills and MCP servers, such as `skills/<name>`."""

    mcp_servers: dict[str, McpServer] = {}
    agents: dict[str, SubAgent] = {}
    folders: dict[str, Path] = {}
    programs: dict[str, Path] = Field(default={}, description="Files of the mode's programs, by name")
    agent_files: dict[str, Path] | None = Field(
        default=None, description="Files for agents, by path in the workspace; None: those of the start state"
    )
    instructions: Path | None = Field(default=None, description="Text of the agent's instruction file; None: none")
    project_servers: dict[str, ServerCommand] = Field(default={}, description="MCP servers of .mcp.json, by name")
    descriptions: dict[str, tuple[str, ...]] = Field(
        default={}, description="Texts about a skill's purpose, by the skill's name"
    )
    plugins: dict[str, str] = Field(default={}, description="Plugin of the author, by the skill's name")
    system_prompt: SystemPrompt | None = Field(
        default=None, description="System prompt as one text; None: the CLI's own"
    )


def is_agent_file(path: str) -> bool:
    """Return whether an agent CLI reads this path of a repository by itself; personal files are left out.

    Evals and tests of skills are left out too, since they hold expected answers.
    """
    in_skill = _SKILL_FOLDER.fullmatch(path)
    return _AGENT_FILES.match(path) and not _PERSONAL.match(path) and not (in_skill and holds_answers(in_skill[1]))


def holds_answers(path: str) -> bool:
    """Return whether a path below a skill's folder is of its evals, tests or results, which no agent gets."""
    return bool(_ANSWERS.fullmatch(path))


def reads_by_itself(agent: str, path: str, files: Collection[str]) -> bool:
    """Return whether an agent CLI reads one of these files for agents; True for unknown agents."""
    folder, _, name = path.rpartition("/")
    preferred = f"{folder}/CLAUDE.md".removeprefix("/")
    if name == "AGENTS.md" and agent == "claude-code":
        return preferred not in files
    return agent not in PLACES or PathPatterns(PLACES[agent]).match(path)


def file_changes(before: dict[str, str], after: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the added, changed and removed paths, by one of these words; arguments are digests by path."""
    changes = {
        "added": tuple(path for path in sorted(after) if path not in before),
        "changed": tuple(path for path in sorted(after) if path in before and after[path] != before[path]),
        "removed": tuple(path for path in sorted(before) if path not in after),
    }
    return {word: paths for word, paths in changes.items() if paths}
