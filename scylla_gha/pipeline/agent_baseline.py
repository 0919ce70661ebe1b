"""Measurement of what an agent CLI has by default: tools, skills, sub-agents, lines of its system prompt."""

from collections.abc import Iterable, Sequence
from typing import Final

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.settings import GatewaySettings
from scylla_gha.images.sandbox_pool import SandboxPool, most_isolated
from scylla_gha.model.experiment import SandboxWish, TrialLimits
from scylla_gha.model.plan import Arm
from scylla_gha.model.variant import Inventory, Observed
from scylla_gha.plan.build import InstalledAgent, find_agent
from scylla_gha.plan.cells import agent_name
from scylla_gha.prepare.scenario import prepare_scenario, prepare_workspace
from scylla_gha.prepare.tools import cache_root
from scylla_gha.prepare.workspace import scratch
from scylla_gha.process import Cancel
from scylla_gha.run.attempt import AgentRunner, run_attempt
from scylla_gha.store.run_folder import AttemptFolder
from scylla_gha.variants.delivery import ALWAYS_SEEN, line_hash

_NO_PROVIDER: Final = "http://127.0.0.1:9"  # the discard port: requests get no answer, and cost nothing
_LIMITS: Final = TrialLimits(timeout_seconds=60, api_retries=0, safety_net=False)


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
    installed = find_agent(agent, install=True)
    if installed.agent.package is None:
        raise ConfigError(f"{agent} is built in, and has nothing by default")
    models = sorted(library.models())
    sandboxes = SandboxPool(most_isolated(library, "--sandbox {}") if sandbox == "auto" else sandbox, library)
    sandboxes.check()
    with GatewayProcess.start(GatewaySettings(upstream=_NO_PROVIDER)) as gateway:
        observations = [seen for model in models for seen in _observe(agent, installed, model, gateway, sandboxes)]
    return Inventory(
        agent=agent_name(agent)[0],
        version=str(installed.version),
        models=tuple(models),
        tools=_union(seen.tools for seen in observations),
        skills=_union(seen.skills for seen in observations),
        agents=_union(seen.agents for seen in observations),
        prompt_lines=_union(tuple(map(line_hash, seen.prompt_lines or ())) for seen in observations),
    )


def _observe(
    name: str, installed: InstalledAgent, model: str, gateway: GatewayProcess, sandboxes: SandboxPool
) -> Sequence[Observed]:
    """Start an agent on a start state that brings nothing for agents."""
    own = Library((toolkit_root(),))  # a user's scenario may bring skills, which are not the CLI's
    prepared = prepare_scenario(own.scenario(next(iter(own.scenarios))), own, cache_root())
    arm = Arm(id="inventory", agent=agent_name(name)[0], version=installed.version, model=model)
    target = sandboxes.target(prepared.folder.scenario.tools, arm)
    runner = AgentRunner(arm, installed.agent, installed.program_in(target), gateway, target, _LIMITS, Cancel())
    with scratch() as root:
        folder = AttemptFolder(root / "inventory" / "attempt-1")
        attempt = run_attempt(runner, prepared, prepare_workspace(prepared, root / "ground"), folder)
        observations = installed.agent.observe(folder.file("transcript.jsonl"), folder.file("first-request.json"))
    if not {observation.source for observation in observations} >= ALWAYS_SEEN:
        raise ToolError(f"{name}: with {model} it did not come as far as a request: {attempt.reason}")
    return observations


def _union(lists: Iterable[tuple[str, ...] | None]) -> tuple[str, ...]:
    return tuple(sorted({name for names in lists for name in names or ()}))
