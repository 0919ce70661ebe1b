"""`scylla-gha agent-baseline`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import yaml

from scylla_gha.cli import options
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
from scylla_gha.store.records import write_text
from scylla_gha.store.run_folder import AttemptFolder
from scylla_gha.variants.delivery import ALWAYS_SEEN, line_hash

_NOWHERE = "http://127.0.0.1:9"  # the discard port: what is asked gets no answer, and costs nothing
_LIMITS = TrialLimits(timeout_seconds=60, api_retries=0, safety_net=False)


@click.command()
@click.argument("agent")
@click.option("--into", type=click.Path(path_type=Path, file_okay=False), default=Path("config/inventories"),
              show_default=True, help="The folder to write to.")  # fmt: skip
@options.sandbox("auto", "Where it is measured.")
def command(agent: str, into: Path, sandbox: SandboxWish) -> None:
    """Measure what AGENT (name@version) brings by itself: tools, skills, sub-agents, lines of its system prompt.

    The proof of delivery tells by it what a trial's agent had and nobody declared. It is measured where trials run:
    in Docker, where an engine answers. Nothing is asked of a provider.

    \b
    scylla-gha agent-baseline claude-code@2.1.197
    """  # noqa: D301
    library = options.library()
    installed = find_agent(agent, install=True)
    if installed.agent.package is None:
        raise ConfigError(f"{agent} is built in, and brings nothing")
    models = sorted(library.models())
    sandboxes = SandboxPool(most_isolated(library, "--sandbox {}") if sandbox == "auto" else sandbox, library)
    sandboxes.check()
    with GatewayProcess.start(GatewaySettings(upstream=_NOWHERE)) as gateway:
        observations = [name for model in models for name in _observe(agent, installed, model, gateway, sandboxes)]
    inventory = _inventory(agent_name(agent)[0], str(installed.version), models, observations)
    path = into / f"{inventory.agent}-{inventory.version}.yaml"
    head = "# yaml-language-server: $schema=../schemas/inventory.json\n"
    write_text(
        path,
        head + yaml.safe_dump(inventory.model_dump(mode="json"), sort_keys=False, default_flow_style=None, width=110),
    )
    click.echo(str(path))


def _observe(
    name: str, installed: InstalledAgent, model: str, gateway: GatewayProcess, sandboxes: SandboxPool
) -> Sequence[Observed]:
    """Start it without any treatment on a start state that brings nothing for agents, and see what it says."""
    own = Library((toolkit_root(),))  # a user's scenario may bring skills, which are not the CLI's
    prepared = prepare_scenario(own.scenario(next(iter(own.scenarios))), own, cache_root())
    arm = Arm(id="inventory", agent=agent_name(name)[0], version=installed.version, model=model)
    target = sandboxes.place(prepared.folder.scenario.tools, arm)
    runner = AgentRunner(arm, installed.agent, installed.program_in(target), gateway, target, _LIMITS, Cancel())
    with scratch() as root:
        folder = AttemptFolder(root / "inventory" / "attempt-1")
        attempt = run_attempt(runner, prepared, prepare_workspace(prepared, root / "ground"), folder)
        observations = installed.agent.observe(folder.file("transcript.jsonl"), folder.file("first-request.json"))
    if not {observation.source for observation in observations} >= ALWAYS_SEEN:
        raise ToolError(f"{name}: with {model} it did not come as far as a request: {attempt.reason}")
    return observations


def _inventory(agent: str, version: str, models: Sequence[str], observations: Sequence[Observed]) -> Inventory:
    return Inventory(
        agent=agent,
        version=version,
        models=tuple(models),
        tools=_union(observation.tools for observation in observations),
        skills=_union(observation.skills for observation in observations),
        agents=_union(observation.agents for observation in observations),
        prompt_lines=_union(tuple(map(line_hash, observation.prompt_lines or ())) for observation in observations),
    )


def _union(lists: Iterable[tuple[str, ...] | None]) -> tuple[str, ...]:
    return tuple(sorted({name for names in lists for name in names or ()}))
