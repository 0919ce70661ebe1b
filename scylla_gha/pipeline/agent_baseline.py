"""Measurement of what an agent CLI has by default: tools, skills, sub-agents, lines of its system prompt."""

from collections.abc import Iterable, Sequence

from scylla_gha.config.library import Library
from scylla_gha.errors import ToolError
from scylla_gha.model.delivery import Inventory, Observed
from scylla_gha.model.experiment import SandboxWish, agent_name
from scylla_gha.model.plan import Arm
from scylla_gha.pipeline.measure_variants import AgentStart, startable
from scylla_gha.variants.delivery import ALWAYS_SEEN, line_hash


def measure_baseline(agent: str, sandbox: SandboxWish, library: Library) -> Inventory:
    """Start an agent without any treatment, once with each model, and return what it has.

    Args:
        agent: name@version.
        sandbox: where it runs; auto: where trials run.
        library: the configuration.

    Raises:
        ConfigError: the agent is built in.
        ToolError: the agent did not come as far as its first request.
    """
    models = sorted(library.models())
    with startable(agent, sandbox, library) as start:
        observations = [seen for model in models for seen in _observe(start, model)]
        aliases = {name: _requested_model(start, name) for name in sorted(start.aliases)}
    return Inventory(
        agent=agent_name(agent)[0],
        version=str(start.installed.version),
        models=tuple(models),
        tools=_union(seen.tools for seen in observations),
        deferred_tools=_union(seen.deferred for seen in observations),
        skills=_union(seen.skills for seen in observations),
        agents=_union(seen.agents for seen in observations),
        plugins=_union(seen.plugins for seen in observations),
        aliases=aliases,
        prompt_lines=_union(tuple(map(line_hash, seen.prompt_lines or ())) for seen in observations),
    )


def _observe(start: AgentStart, model: str) -> Sequence[Observed]:
    arm = Arm(id="inventory", agent=agent_name(start.name)[0], version=start.installed.version, model=model)
    with start.attempt(arm) as (attempt, folder):
        files = folder.file("transcript.jsonl"), folder.file("first-request.json")
        observations = start.installed.agent.observe(*files)
    if not {observation.source for observation in observations} >= ALWAYS_SEEN:
        raise ToolError(f"{start.name}: with {model} it sent no model request: {attempt.reason}")
    return observations


def _requested_model(start: AgentStart, alias: str) -> str:
    """Return the id of the model that the agent requests if it is started with an alias."""
    ids = [seen.model for seen in _observe(start, alias) if seen.source == "first request"]
    return ids[0] or alias


def _union(lists: Iterable[tuple[str, ...] | None]) -> tuple[str, ...]:
    return tuple(sorted({name for names in lists for name in names or ()}))
