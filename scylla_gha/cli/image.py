"""`scylla-gha image`: the images that agents and checks run in."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import click

from scylla_gha.agents import AGENTS
from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.images import engine_images, layer_bundle, layers
from scylla_gha.images.archive import ImageLayer
from scylla_gha.images.sandbox_pool import SandboxPool
from scylla_gha.model.experiment import Experiment, SandboxName
from scylla_gha.model.plan import Plan
from scylla_gha.pipeline.confirm import confirm
from scylla_gha.pipeline.report import stored_plan
from scylla_gha.plan.cells import agent_name, select
from scylla_gha.prepare.tools import cache_root
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.docker import engine


@click.group()
def command() -> None:
    """Build, list and remove the images of the Docker sandbox.

    \b
    scylla-gha image build
    scylla-gha image build 001-hello-world --agent claude-code@2.1.197
    scylla-gha image pack hello-claude --to DIR    (and `unpack --from DIR` on another machine)
    """  # noqa: D301


@command.command()
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option("--agent", "agents", multiple=True, metavar="NAME@VERSION", help="Also with this agent's command line.")
@click.option("--recipe", default="base", show_default=True, help="A recipe in config/images/.")
@click.option("--fresh", is_flag=True, help="Take the packages of today, not those in the cache.")
def build(scenarios: tuple[str, ...], agents: tuple[str, ...], recipe: str, *, fresh: bool) -> None:
    """Make the images that scenarios need (all, or those named), for checks and for each agent.

    Prints one JSON object a line: the id in the engine, the digest that stands in keys, and what is in the image.
    """
    library = options.library()
    base = library.image(recipe)
    names = select("scenarios", scenarios or ("*",), list(library.scenarios))
    toolsets = {tuple(sorted(library.scenario(name).scenario.tools.python.items())) for name in names}
    clis = [(None, None), *((named, _cli(named)) for named in agents)]
    with contextlib.closing(engine.connect()) as api:
        for tools in sorted(toolsets):
            for named, cli in clis:
                archive = engine_images.load_image(
                    engine_images.ImageSpec(base, dict(tools), cli), cache_root(), fresh=fresh
                )
                fresh = False  # the packages of today are in the cache by now
                images = engine_images.ensure_image(api, archive, cache_root())
                description = {
                    "id": images,
                    "digest": archive.digest,
                    "recipe": recipe,
                    "agent": named,
                    "tools": dict(tools),
                }
                click.echo(json.dumps(description))


def _cli(named: str) -> engine_images.AgentCli:
    name, version = agent_name(named)
    agent = AGENTS.get(name)
    if agent is None or agent.package is None:
        able = [known for known, image in AGENTS.items() if image.package is not None]
        raise ConfigError(f"--agent {named}: no agent with a command line; there are: {', '.join(able)}")
    if version is None:
        raise ConfigError(f"--agent {named}: an image needs a version; name it: {name}@VERSION")
    return engine_images.AgentCli(agent.package.npm, version, agent.package.program)


@command.command("list")
@options.as_json
def show(*, as_json: bool) -> None:
    """List the toolkit's images in the engine."""
    with contextlib.closing(engine.connect()) as api:
        images = list(engine_images.list_images(api))
    if as_json:
        click.echo(json.dumps([{"id": image.id, "title": image.title, "bytes": image.bytes} for image in images]))
        return
    for image in images:
        click.echo(f"{image.id[:19]}  {image.bytes / 1e6:6.0f} MB  {image.title}")
    if not images:
        click.echo("no images; `scylla-gha image build` makes them", err=True)


@command.command()
@options.yes("images are removed")
def prune(*, yes: bool) -> None:
    """Remove the toolkit's images that no container uses, its cached layers, and what killed runs left behind."""
    with contextlib.closing(engine.connect()) as api:
        if not (yes or confirm("Remove all images of scylla-gha and the cached layers?")):
            raise RefusedError("not confirmed; nothing was removed; --yes removes without asking")
        reaped = engine.remove_stale(api)
        images, layers = engine_images.prune_images(api, cache_root())
    click.echo(
        f"removed {counted(images, 'image')}, {counted(layers, 'cached layer')}, "
        f"{counted(len(reaped), 'leftover')} of killed runs",
        err=True,
    )


@command.command()
@options.experiment
@options.runs
@click.option("--to", "into", type=click.Path(path_type=Path, file_okay=False), required=True,
              help="A folder; what is in it is removed.")  # fmt: skip
def pack(experiment: str, runs: Path, into: Path) -> None:
    """Put the layers of the images of EXPERIMENT's plan into a folder, for the machines that work on it.

    Prints a digest of them; nothing where the plan needs no containers.
    """
    plan = stored_plan(options.run_folder(runs, experiment))
    click.echo(layer_bundle.pack_layers(_layers(plan), into))


def _layers(plan: Plan) -> Iterator[ImageLayer]:
    if not SANDBOXES[plan.sandbox].needs_image:
        return
    library = options.library()
    sandboxes = SandboxPool(plan.sandbox, library)
    for name in dict.fromkeys(cell.scenario for cell in plan.cells):
        for arm in (None, *plan.arms):
            yield from sandboxes.image(library.scenario(name).scenario.tools, arm).layers


@command.command()
@click.option("--from", "source", type=click.Path(path_type=Path, file_okay=False), required=True,
              help="A folder that `pack` made; it need not be there.")  # fmt: skip
def unpack(source: Path) -> None:
    """Put the layers in a folder into the cache, where they are what their digests say."""
    click.echo(f"{counted(layer_bundle.unpack_layers(source, cache_root()), 'layer')} taken over", err=True)


@command.command()
@options.experiment
@click.option("--sandbox", type=click.Choice(list(SANDBOXES)),
              help="Sandbox of all agents and checks (default: the experiment's).")  # fmt: skip
def lacking(experiment: str, sandbox: SandboxName | None) -> None:
    """Print the Debian packages that are missing to make the images of EXPERIMENT; nothing where none is needed."""
    library = options.library()
    if not (_may_need_images(library.experiment(experiment), sandbox) and engine.answers()):
        return
    if not layers.is_base_made(library.image(), cache_root()) and layers.missing_build_tool() is not None:
        click.echo("mmdebstrap uidmap debian-archive-keyring")


def _may_need_images(experiment: Experiment, sandbox: SandboxName | None) -> bool:
    """Return True if the sandbox that is given, or else the experiment's, needs images; `auto` with a model may."""
    wishes = [name for name in (sandbox, experiment.sandbox) if name is not None]
    if any(wish != "auto" and SANDBOXES[wish].needs_image for wish in wishes):
        return True
    agents = (AGENTS.get(agent_name(named)[0]) for named in experiment.agents)
    return experiment.sandbox == "auto" and any(agent is not None and agent.uses_model for agent in agents)
