"""Resources that a variant names, read for the start of an agent."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from scylla_gha.config.load import load_yaml
from scylla_gha.config.materials import material_path, materials, read_agent
from scylla_gha.errors import FixtureError
from scylla_gha.model.plan import Arm
from scylla_gha.model.variant import AgentResources, McpServer, Variant


def agent_resources(variant: Variant | None, roots: Sequence[Path]) -> AgentResources:
    """Read the resources that a variant names.

    Raises:
        FixtureError: a resource changed since the experiment was planned.
        ConfigError: a resource is missing.
    """
    if variant is None or not variant.materials:
        return AgentResources()
    treatment = variant.treatment
    now = materials(treatment, roots)
    changed = [name for name, digest in variant.materials.items() if now.get(name) != digest]
    if changed:
        raise FixtureError(f"{variant.id}: {', '.join(changed)} changed since it was planned; plan again")
    folders = {f"mcp/{name}": material_path(roots, "mcp", name) for name in treatment.mcp_servers}
    folders |= {f"skills/{name}": material_path(roots, "skills", name) for name in treatment.skills}
    servers = {name: folders[f"mcp/{name}"] / "server.yaml" for name in treatment.mcp_servers}
    return AgentResources(
        mcp_servers={name: load_yaml(path, McpServer) for name, path in servers.items()},
        agents={name: read_agent(material_path(roots, "agents", name)) for name in treatment.agents},
        folders=folders,
    )


def allowed_models(
    arm: Arm, resources: AgentResources, side_models: Sequence[str], aliases: Mapping[str, str]
) -> tuple[str, ...] | None:
    """Return the models that a session may request: the arm's, those of its variant, and the CLI's side models.

    Sub-agents may name their model by the CLI's `aliases`. None allows any model: the arm's agent has its own.
    """
    if arm.model is None:
        return None
    declared = arm.variant.treatment.models if arm.variant else ()
    of_agents = (_sub_agent_model(a.model, arm.model, aliases) for a in resources.agents.values() if a.model)
    return tuple(dict.fromkeys((arm.model, *declared, *of_agents, *side_models)))


def _sub_agent_model(name: str, own: str, aliases: Mapping[str, str]) -> str:
    """Return the model that a sub-agent's file names: an alias of the family of the arm's own model is that one."""
    if name == "inherit" or (name in aliases and name in own):
        return own
    return aliases.get(name, name)
