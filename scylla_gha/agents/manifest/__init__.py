"""Agent CLIs that a manifest describes (`config/agent-clis/NAME.yaml`); `ManifestAgent` is the code for all of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import AgentCommand, AgentTask, ProcessResult, TranscriptSummary
from scylla_gha.agents.manifest.command import manifest_command
from scylla_gha.agents.manifest.delivery import declared_delivery, observed_delivery
from scylla_gha.agents.manifest.transcript import claimed_outcome, read_session
from scylla_gha.agents.skill_listing import SkillListing
from scylla_gha.agents.uptake import observed_uses, tool_watch
from scylla_gha.config.library import Library
from scylla_gha.config.materials import material_path, read_agent
from scylla_gha.errors import ToolError
from scylla_gha.model.agent_manifest import AgentManifest, CliModels, CliPackage, SubAgentForm
from scylla_gha.model.plan import Arm
from scylla_gha.model.safety_net import GuardedTool
from scylla_gha.model.scenario import SkillStop
from scylla_gha.model.traffic import StopRule, ToolWatch, WatchedTraffic
from scylla_gha.model.trial import Declared, Observed, Source, Trajectory, Uses
from scylla_gha.model.variant import AgentResources, Treatment
from scylla_gha.path_patterns import PathPatterns
from scylla_gha.system import process

_VERSION_SECONDS: Final = 60.0
_YAML_NAMES: Final = {"system_prompt_replace": "system_prompt.replace", "system_prompt_append": "system_prompt.append"}


@dataclass(frozen=True, slots=True)
class ManifestAgent:
    """An agent CLI with a manifest."""

    manifest: AgentManifest

    @property
    def package(self) -> CliPackage:
        """The manifest's package."""
        return self.manifest.package

    @property
    def models(self) -> CliModels:
        """The manifest's models."""
        return self.manifest.models

    @property
    def uses_model(self) -> bool:
        """True: every CLI uses a model."""
        return True

    @property
    def digest(self) -> str | None:
        """Digest of the manifest."""
        return self.manifest.digest

    @property
    def api_styles(self) -> tuple[str, ...]:
        """Styles of model APIs for which the manifest has additions."""
        return tuple(self.manifest.api_styles)

    @property
    def instruction_file(self) -> str | None:
        """The first of the files that it reads in a repository."""
        files = self.manifest.treatment.agent_files
        return files[0].removeprefix("/") if files else None

    @property
    def skill_listing(self) -> SkillListing | None:
        """None: its rules for lists of skills are unknown."""

    @property
    def skills_folder(self) -> str | None:
        """Folder of skills in a repository."""
        return self.manifest.treatment.skills.project if self.manifest.treatment.skills else None

    @property
    def prompt_commands(self) -> tuple[str, ...] | None:
        """None: a prompt that begins with `/` is plain text."""

    def unsupported(self, arm: Arm, roots: Sequence[Path]) -> Iterator[str]:
        """Yield the parts of an arm's treatment that the manifest does not describe."""
        treatment = arm.variant.treatment if arm.variant else Treatment()
        prompt, mode, forms = treatment.system_prompt, arm.mode, self.manifest.treatment
        replaces = prompt is not None and prompt.replaces
        added = (prompt, treatment.orchestration, treatment.verification, mode.instructions if mode else None)
        parts = {
            "system_prompt_replace": replaces,
            "system_prompt_append": not replaces and any(part is not None for part in added),
            "tools": treatment.tools is not None,
            "settings": treatment.settings is not None,
            "skills": bool(treatment.skills),
            "agents": bool(treatment.agents),
            "mcp_servers": bool(treatment.mcp_servers or (mode and mode.mcp_servers)),
            "agent_files": bool(treatment.agent_files),
            "setting_sources": treatment.setting_sources is not None,
        }
        if treatment.instructions and self.instruction_file is None:
            yield "instructions"
        refused = [part for part, is_set in parts.items() if is_set and getattr(forms, part, None) is None]
        yield from (_YAML_NAMES.get(part, part) for part in refused)
        if treatment.agents and forms.agents:
            yield from self._unsupported_in_agents(treatment, roots)
        if arm.variant and treatment.agent_files and forms.agent_files is not None:
            files = (name.partition("/")[2] for name in arm.variant.materials if name.startswith("agent_files/"))
            yield from () if any(map(PathPatterns(forms.agent_files).match, files)) else ("agent_files",)

    def _unsupported_in_agents(self, treatment: Treatment, roots: Sequence[Path]) -> Iterator[str]:
        """Yield the tools and models of sub-agents that the manifest gives the CLI no way to take."""
        form = self.manifest.treatment.agents or SubAgentForm(file="")
        takes_models = any("{agent_model}" in str(value) for value in form.front.values())
        for name in treatment.agents:
            agent = read_agent(material_path(roots, "agents", name))
            unknown = (tool for tool in agent.tools or () if form.tools is not None and tool not in form.tools)
            yield from (f"agents: tool {tool} of {name}" for tool in unknown)
            yield from (f"agents: model of {name}",) if agent.model and not takes_models else ()

    @property
    def circumstances(self) -> Mapping[str, str]:
        """Patterns of the manifest."""
        return self.manifest.circumstances

    @property
    def guarded_tools(self) -> Mapping[str, GuardedTool] | None:
        """Tools of the manifest that the gateway judges; empty: the CLI has no safety net."""
        return self.manifest.safety_net

    def path_aliases(self, workspace: str) -> Mapping[str, str]:  # noqa: ARG002 the Protocol's signature
        """Return no aliases."""
        return {}

    def version(self, program: str) -> str:
        """Return the version that the program prints.

        Raises:
            ToolError: the program is missing, too old, or answers in an unknown form.
        """
        output = process.capture([program, "--version"], seconds=_VERSION_SECONDS)
        text = output.stdout.decode(errors="replace").strip()
        match = re.search(self.manifest.version, text)
        if not match:  # some CLIs print their version with every failure, and have no option for it
            raise ToolError(
                f"{program} --version: unknown answer {(text or output.message)[:300]!r}; is this {self.manifest.name}?"
            )
        version = match[1]
        if _numbers(version) < _numbers(self.package.oldest):
            raise ToolError(
                f"{program} is version {version}, older than {self.package.oldest}; update it, "
                f"or pin a version in the experiment: agents: [{self.manifest.name}@VERSION]"
            )
        return version

    def command(self, task: AgentTask, program: str) -> AgentCommand:
        """Return the command with the additions of the manifest."""
        return manifest_command(self.manifest, task, program)

    def read(self, ended: ProcessResult) -> TranscriptSummary:
        """Summarise the transcript, with the outcome that it claims."""
        session = read_session(self.manifest, ended.transcript)
        outcome, reason = claimed_outcome(self.manifest, session, ended)
        trajectory = session.trajectory
        return TranscriptSummary(
            outcome,
            reason,
            trajectory=trajectory,
            turns=len(trajectory.steps),
            version=session.version,
            proves_end=False,
        )

    def conversation(self, transcript: Path) -> Trajectory:
        """Return the messages and tool calls so far."""
        return read_session(self.manifest, transcript).trajectory

    def stated_usd(self, transcript: Path) -> float | None:  # noqa: ARG002 the Protocol's signature
        """Return None: the gateway knows the cost."""
        return None

    @property
    def delivery_sources(self) -> tuple[Source, ...]:
        """The first request, and the start event if the CLI writes one."""
        starts = any(rule.kind == "start" for rule in self.manifest.event_rules)
        return ("start event", "first request") if starts else ("first request",)

    def declare(self, task: AgentTask, workspace: Path) -> Declared:
        """Return the treatment with the texts that the first request must contain."""
        return declared_delivery(self.manifest, task, workspace, self.delivery_sources)

    def observe(self, transcript: Path, request: Path) -> tuple[Observed, ...]:
        """Return the treatment that the start event and the first request show."""
        return observed_delivery(self.manifest, read_session(self.manifest, transcript), request)

    def stop_rule(self, resources: AgentResources, stop: SkillStop) -> StopRule | None:
        """Return the calls of the tool for skills with these names, as the CLI accepts them; None: it has no tool."""
        form = self.manifest.uses
        if form is None or not form.skills:
            return None
        plugins = {name: (f"{plugin}:{name}", f"/{plugin}:{name}") for name, plugin in resources.plugins.items()}
        names = tuple((name, f"/{name}", *plugins.get(name, ())) for name in stop.skills)
        tool, argument = next(iter(form.skills.items()))
        return StopRule(tool=tool, argument=argument, names=names, answers=stop.answers)

    def watch(self, resources: AgentResources) -> ToolWatch:
        """Return the calls and texts that show uses of the resources."""
        return tool_watch(self.manifest, resources)

    def uses(self, resources: AgentResources, watched: WatchedTraffic, request: Path) -> Uses | None:
        """Return the uses of the declared resources."""
        return observed_uses(self.manifest, resources, watched, request)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


_SHOWN_PARTS: Final = {
    "system_prompt_replace": "prompt",
    "system_prompt_append": "added prompt",
    "tools": "tools",
    "settings": "settings",
    "skills": "skills",
    "agents": "sub-agents",
    "mcp_servers": "MCP servers",
    "agent_files": "repository's files",
}


def agent_matrix(library: Library) -> list[tuple[str, ...]]:
    """Return a table of all manifests, with headings: APIs, and the parts of a treatment that each CLI can take."""
    head = ("agent", "measured", "APIs", "turn limit", *_SHOWN_PARTS.values())
    measured = {name: library.agent_manifest(name) for name in library.agent_names()}
    versions = {name: [*manifest.package.dates] for name, manifest in measured.items()}
    for inventory in library.inventories():
        versions.setdefault(inventory.agent, []).append(inventory.version)
    return [head, *(_matrix_row(manifest, sorted({*versions[name]})) for name, manifest in measured.items())]


def _matrix_row(manifest: AgentManifest, measured: Sequence[str]) -> tuple[str, ...]:
    versions = ", ".join(measured) or "-"
    apis = ", ".join(style.rpartition("-")[2] for style in manifest.api_styles)
    turns = "own" if manifest.turns else "gateway"
    parts = ("yes" if getattr(manifest.treatment, part) is not None else "-" for part in _SHOWN_PARTS)
    return (manifest.name, versions, apis, turns, *parts)
