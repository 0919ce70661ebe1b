"""Variants and modes: the resources of an agent, and in a module of its own the proof that it had them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from scylla_gha.config.agent_files import agent_file_digests, chosen_agent_files, project_servers
from scylla_gha.config.materials import (
    material_path,
    prompt_blocks,
    read_agent,
    read_block,
    read_materials,
    skill_description,
)
from scylla_gha.config.mcp_servers import read_server
from scylla_gha.config.modes import program_files, read_mode
from scylla_gha.errors import FixtureError
from scylla_gha.model.agent_files import MCP_FILE
from scylla_gha.model.plan import Arm
from scylla_gha.model.variant import AgentResources, SystemPrompt, Treatment, Variant


def agent_resources(variant: Variant | None, roots: Sequence[Path]) -> AgentResources:
    """Read the resources that a variant names.

    Raises:
        FixtureError: a resource changed since the experiment was planned.
        ConfigError: a resource is missing.
    """
    if variant is None or (not variant.materials and variant.treatment.agent_files is None):
        return AgentResources()
    treatment = variant.treatment
    now = read_materials(treatment, roots)
    files = None if treatment.agent_files is None else chosen_agent_files(treatment.agent_files, roots[0])
    of_files = agent_file_digests(files or {})
    digests = {name: material.digest for name, material in now.items()} | of_files
    changed = [name for name in {**variant.materials, **of_files} if variant.materials.get(name) != digests.get(name)]
    if changed:
        raise FixtureError(f"{variant.id}: {', '.join(changed)} changed since it was planned; plan again")
    folders = {f"mcp/{name}": now[f"mcp/{name}"].path for name in treatment.mcp_servers}
    folders |= {f"skills/{name}": now[f"skills/{name}"].path for name in treatment.skills}
    return AgentResources(
        system_prompt=_prompt_text(treatment, roots),
        mcp_servers={name: read_server(folders[f"mcp/{name}"]) for name in treatment.mcp_servers},
        agents={name: read_agent(now[f"agents/{name}"].path) for name in treatment.agents},
        descriptions={name: skill_description(folders[f"skills/{name}"]) for name in treatment.skills},
        folders=folders,
        agent_files=files,
        project_servers=project_servers(files[MCP_FILE]) if files and MCP_FILE in files else {},
    )


def arm_resources(arm: Arm, roots: Sequence[Path]) -> AgentResources:
    """Read the resources that an arm's variant and mode name; the mode's instructions end the system prompt.

    Raises:
        FixtureError: a resource changed since the experiment was planned.
        ConfigError: a resource is missing.
    """
    resources, mode = agent_resources(arm.variant, roots), arm.mode
    if mode is None:
        return resources
    if mode.materials and read_mode(mode.id, roots).materials != mode.materials:
        raise FixtureError(f"the mode {mode.id} changed since it was planned; plan again")
    folders = {name: material_path(roots, "mcp", name) for name in mode.mcp_servers}
    declared = resources.system_prompt or (arm.variant.treatment.system_prompt if arm.variant else None)
    return resources.model_copy(update={
        "system_prompt": _with_instructions(declared, mode.instructions),
        "mcp_servers": {**resources.mcp_servers, **{name: read_server(path) for name, path in folders.items()}},
        "folders": {**resources.folders, **{f"mcp/{name}": path for name, path in folders.items()}},
        "programs": program_files(mode, roots),
    })  # fmt: skip


def _with_instructions(prompt: SystemPrompt | None, instructions: str | None) -> SystemPrompt | None:
    """Return a system prompt, which is one text, with the instructions of a mode at its end."""
    if instructions is None:
        return prompt
    own = (prompt.append if prompt.replace is None else prompt.replace) if prompt else None
    text = "\n\n".join(filter(None, ((own or "").strip(), instructions))) + "\n"
    return SystemPrompt(replace=text) if prompt and prompt.replaces else SystemPrompt(append=text)


def _prompt_text(treatment: Treatment, roots: Sequence[Path]) -> SystemPrompt | None:
    """Return the system prompt as one text: what is declared, the lead's prompt, and the rule of verification.

    None: only a text is declared, or nothing.
    """
    names, lead = prompt_blocks(treatment), treatment.orchestration
    if not names and lead is None:
        return None
    declared = treatment.system_prompt
    texts = [declared.replace or declared.append or ""] if declared else []
    blocks = [read_block(material_path(roots, "blocks", name)) for name in names]
    last = [blocks.pop()] if treatment.verification else []
    leads = [read_agent(material_path(roots, "agents", lead.lead)).prompt] if lead else []
    text = "\n\n".join(filter(None, (*texts, *blocks, *leads, *last))) + "\n"
    return SystemPrompt(replace=text) if declared and declared.replaces else SystemPrompt(append=text)


def arm_treatment(arm: Arm, resources: AgentResources) -> Treatment:
    """Return an arm's treatment, with its system prompt as one text, its mode's servers, and all servers' hosts."""
    treatment = arm.variant.treatment if arm.variant else Treatment()
    servers = dict.fromkeys((*treatment.mcp_servers, *(arm.mode.mcp_servers if arm.mode else ())))
    of_servers = (host for server in resources.mcp_servers.values() for host in server.hosts)
    hosts = tuple(dict.fromkeys((*treatment.hosts, *of_servers)))
    prompt = resources.system_prompt or treatment.system_prompt
    return treatment.model_copy(update={"system_prompt": prompt, "hosts": hosts, "mcp_servers": tuple(servers)})


def allowed_models(
    arm: Arm, resources: AgentResources, side_models: Sequence[str], aliases: Mapping[str, str]
) -> tuple[str, ...] | None:
    """Return the models that a session may request: the arm's, those of its variant, and the CLI's side models.

    Sub-agents may name their model by the CLI's `aliases`. None allows any model: the arm's agent has its own.
    """
    if arm.model is None:
        return None
    declared = arm.variant.treatment.models if arm.variant else ()
    names = [agent.model for agent in resources.agents.values() if agent.model]
    # An alias of the family of the arm's own model is that model.
    inherited = {name for name in names if name == "inherit" or (name in aliases and name in arm.model)}
    of_agents = (arm.model if name in inherited else aliases.get(name, name) for name in names)
    return tuple(dict.fromkeys((arm.model, *declared, *of_agents, *side_models)))
