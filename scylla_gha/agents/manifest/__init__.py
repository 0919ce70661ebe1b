"""Agent CLIs that a manifest describes (`config/agent-clis/NAME.yaml`); `ManifestAgent` is the code for all of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import AgentCommand, AgentPackage, AgentTask, ProcessResult, TranscriptSummary
from scylla_gha.agents.manifest.command import manifest_command
from scylla_gha.agents.manifest.delivery import declared_delivery, observed_delivery
from scylla_gha.agents.manifest.transcript import claimed_outcome, read_session
from scylla_gha.config.library import Library
from scylla_gha.config.materials import material_path, read_agent
from scylla_gha.errors import ToolError
from scylla_gha.model.agent_manifest import AgentManifest
from scylla_gha.model.plan import Arm
from scylla_gha.model.scenario import SkillStop
from scylla_gha.model.traffic import ToolWatch, WatchedTraffic
from scylla_gha.model.trial import Declared, Observed, Trajectory
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
    def package(self) -> AgentPackage:
        """The manifest's package."""
        package = self.manifest.package
        oldest = tuple(int(part) for part in package.oldest.split("."))
        return AgentPackage(package.npm or "", package.program, oldest, source=package)

    @property
    def uses_model(self) -> bool:
        """True: every CLI uses a model."""
        return True

    @property
    def digest(self) -> str:
        """Digest of the manifest."""
        return self.manifest.digest

    @property
    def api_styles(self) -> tuple[str, ...]:
        """Styles of model APIs for which the manifest has additions."""
        return tuple(self.manifest.api_styles)

    @property
    def skill_listing(self) -> None:
        """None: its rules for lists of skills are unknown."""

    @property
    def skills_folder(self) -> str | None:
        """Folder of skills in a repository."""
        return self.manifest.treatment.skills.project if self.manifest.treatment.skills else None

    @property
    def prompt_commands(self) -> None:
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
            "skill_listing": treatment.skill_listing == "default",
        }
        refused = [part for part, is_set in parts.items() if is_set and getattr(forms, part, None) is None]
        yield from (_YAML_NAMES.get(part, part) for part in refused)
        if treatment.agents and forms.agents:
            yield from self._unknown_tools(treatment, roots)
        if arm.variant and treatment.agent_files and forms.agent_files is not None:
            files = (name.partition("/")[2] for name in arm.variant.materials if name.startswith("agent_files/"))
            yield from () if any(map(PathPatterns(forms.agent_files).match, files)) else ("agent_files",)

    def _unknown_tools(self, treatment: Treatment, roots: Sequence[Path]) -> Iterator[str]:
        """Yield the tools of sub-agents whose names in the CLI the manifest does not state."""
        known = self.manifest.treatment.agents.tools if self.manifest.treatment.agents else {}
        for name in treatment.agents:
            tools = read_agent(material_path(roots, "agents", name)).tools or ()
            yield from (f"agents: tool {tool} of {name}" for tool in tools if tool not in known)

    @property
    def circumstances(self) -> Mapping[str, str]:
        """Patterns of the manifest."""
        return self.manifest.circumstances

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
        if tuple(int(part) for part in re.findall(r"\d+", version)) < self.package.oldest:
            raise ToolError(
                f"{program} is version {version}, older than {self.manifest.package.oldest}; update it, "
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

    def stated_usd(self, transcript: Path) -> None:
        """Return None: the gateway knows the cost."""

    def declare(self, task: AgentTask, workspace: Path) -> Declared:
        """Return the treatment with the texts that the first request must contain."""
        return declared_delivery(self.manifest, task, workspace)

    def observe(self, transcript: Path, request: Path) -> tuple[Observed, ...]:
        """Return the treatment that the start event and the first request show."""
        return observed_delivery(self.manifest, read_session(self.manifest, transcript), request)

    def stop_rule(self, resources: AgentResources, stop: SkillStop) -> None:
        """Return None: calls of skills cannot be recognised."""

    def watch(self, resources: AgentResources) -> ToolWatch:  # noqa: ARG002 the Protocol's signature
        """Return an empty watch."""
        return ToolWatch()

    def uses(self, resources: AgentResources, watched: WatchedTraffic, request: Path) -> None:
        """Return None: uses of resources cannot be recognised."""


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
    return [head, *(_matrix_row(library.agent_manifest(name)) for name in library.agent_names())]


def _matrix_row(manifest: AgentManifest) -> tuple[str, ...]:
    versions = ", ".join(manifest.package.dates) or "-"
    apis = ", ".join(style.rpartition("-")[2] for style in manifest.api_styles)
    turns = "own" if manifest.turns else "gateway"
    parts = ("yes" if getattr(manifest.treatment, part) is not None else "-" for part in _SHOWN_PARTS)
    return (manifest.name, versions, apis, turns, *parts)
