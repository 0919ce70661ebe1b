"""A variant's names become what an agent is started with."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from scylla_gha.config.load import load_yaml
from scylla_gha.config.materials import material_path, materials, read_agent
from scylla_gha.errors import FixtureError
from scylla_gha.model.plan import Arm
from scylla_gha.model.variant import AgentResources, McpServer, Variant


def agent_resources(variant: Variant | None, roots: Sequence[Path]) -> AgentResources:
    """Read what the variant names, as it was when it was planned.

    Raises:
        FixtureError: something has changed since.
        ConfigError: something is missing.
    """
    if variant is None or not variant.materials:
        return AgentResources()
    named = variant.treatment
    now = materials(named, roots)
    changed = [name for name, digest in variant.materials.items() if now.get(name) != digest]
    if changed:
        raise FixtureError(f"{variant.id}: {', '.join(changed)} changed since it was planned; plan again")
    folders = {f"mcp/{name}": material_path(roots, "mcp", name) for name in named.mcp_servers}
    folders |= {f"skills/{name}": material_path(roots, "skills", name) for name in named.skills}
    return AgentResources(
        mcp_servers={name: load_yaml(folders[f"mcp/{name}"] / "server.yaml", McpServer) for name in named.mcp_servers},
        agents={name: read_agent(material_path(roots, "agents", name)) for name in named.agents},
        folders=folders,
    )


def allowed_models(
    arm: Arm, worn: AgentResources, side_models: Sequence[str], aliases: Mapping[str, str]
) -> tuple[str, ...] | None:
    """What a session may ask for: the arm's model, what its variant declares, and the CLI's side models.

    Sub-agents may name their model by the CLI's `aliases`. None is any: of an arm without a model, whose agent has one
    of its own.
    """
    if arm.model is None:
        return None
    declared = arm.variant.treatment.models if arm.variant else ()
    of_agents = (_meant(agent.model, arm.model, aliases) for agent in worn.agents.values() if agent.model)
    return tuple(dict.fromkeys((arm.model, *declared, *of_agents, *side_models)))


def _meant(name: str, own: str, aliases: Mapping[str, str]) -> str:
    """The model that a sub-agent's file means: an alias of the family of the arm's own model is that one."""
    if name == "inherit" or (name in aliases and name in own):
        return own
    return aliases.get(name, name)
