"""`scylla-gha inventory`."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import yaml

from scylla_gha.cli import options
from scylla_gha.cli.boxing import Boxes, strongest
from scylla_gha.cli.planning import Installed, find_agent
from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.gateway.client import Gateway
from scylla_gha.gateway.settings import Settings
from scylla_gha.model.delivery import Inventory, Observed
from scylla_gha.model.experiment import Limits, SandboxWish
from scylla_gha.model.plan import Arm
from scylla_gha.plan import agent_name
from scylla_gha.prepare import lay_ground, prepare
from scylla_gha.proc import Cancel
from scylla_gha.run import Runner, run
from scylla_gha.seeding.cache import cache_root
from scylla_gha.seeding.workspace import scratch
from scylla_gha.store import AttemptFolder, write_text
from scylla_gha.variants.delivery import ALWAYS_SEEN, line_hash

_NOWHERE = "http://127.0.0.1:9"  # the discard port: what is asked gets no answer, and costs nothing
_LIMITS = Limits(timeout_seconds=60, api_retries=0, safety_net=False)


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
    scylla-gha inventory claude-code@2.1.197
    """  # noqa: D301
    library = options.library()
    installed = find_agent(agent, install=True)
    if installed.agent.package is None:
        raise ConfigError(f"{agent} is built in, and brings nothing")
    models = sorted(library.models())
    boxes = Boxes(strongest(library, "--sandbox {}") if sandbox == "auto" else sandbox, library)
    boxes.check()
    with Gateway.start(Settings(upstream=_NOWHERE)) as gateway:
        seen = [each for model in models for each in _look(agent, installed, model, gateway, boxes)]
    made = _inventory(agent_name(agent)[0], str(installed.version), models, seen)
    path = into / f"{made.agent}-{made.version}.yaml"
    head = "# yaml-language-server: $schema=../schemas/inventory.json\n"
    write_text(
        path, head + yaml.safe_dump(made.model_dump(mode="json"), sort_keys=False, default_flow_style=None, width=110)
    )
    click.echo(str(path))


def _look(name: str, installed: Installed, model: str, gateway: Gateway, boxes: Boxes) -> Sequence[Observed]:
    """Start it without any treatment on a start state that brings nothing for agents, and see what it says."""
    own = Library((toolkit_root(),))  # a user's scenario may bring skills, which are not the CLI's
    ground = lay_ground(own.scenario(next(iter(own.scenarios))), own, cache_root())
    arm = Arm(id="inventory", agent=agent_name(name)[0], version=installed.version, model=model)
    place = boxes.place(ground.folder.scenario.tools, arm)
    runner = Runner(arm, installed.agent, installed.started_by(place), gateway, place, _LIMITS, Cancel())
    with scratch() as root:
        folder = AttemptFolder(root / "inventory" / "attempt-1")
        attempt = run(runner, ground, prepare(ground, root / "ground"), folder)
        seen = installed.agent.observe(folder.file("transcript.jsonl"), folder.file("first-request.json"))
    if not {one.source for one in seen} >= ALWAYS_SEEN:
        raise ToolError(f"{name}: with {model} it did not come as far as a request: {attempt.reason}")
    return seen


def _inventory(agent: str, version: str, models: Sequence[str], seen: Sequence[Observed]) -> Inventory:
    return Inventory(
        agent=agent,
        version=version,
        models=tuple(models),
        tools=_all(one.tools for one in seen),
        skills=_all(one.skills for one in seen),
        agents=_all(one.agents for one in seen),
        prompt_lines=_all(tuple(map(line_hash, one.prompt_lines or ())) for one in seen),
    )


def _all(lists: Iterable[tuple[str, ...] | None]) -> tuple[str, ...]:
    return tuple(sorted({each for names in lists for each in names or ()}))
