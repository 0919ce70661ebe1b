"""`scylla-gha image`: the images that agents and checks run in."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import click

from scylla_gha.agents import AGENTS
from scylla_gha.cli import options
from scylla_gha.cli.boxing import Boxes
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.images import layers, parcel, store
from scylla_gha.images.archive import Layer
from scylla_gha.model.experiment import Experiment
from scylla_gha.model.plan import Plan
from scylla_gha.plan import agent_name, select
from scylla_gha.sandboxes import engine
from scylla_gha.seeding.cache import cache_root


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
                drawn = store.draw(store.Wanted(base, dict(tools), cli), cache_root(), fresh=fresh)
                fresh = False  # the packages of today are in the cache by now
                found = store.ensure(api, drawn, cache_root())
                told = {"id": found, "digest": drawn.digest, "recipe": recipe, "agent": named, "tools": dict(tools)}
                click.echo(json.dumps(told))


def _cli(named: str) -> store.Cli:
    name, version = agent_name(named)
    agent = AGENTS.get(name)
    if agent is None or agent.package is None:
        able = [known for known, one in AGENTS.items() if one.package is not None]
        raise ConfigError(f"--agent {named}: no agent with a command line; there are: {', '.join(able)}")
    if version is None:
        raise ConfigError(f"--agent {named}: an image needs a version; name it: {name}@VERSION")
    return store.Cli(agent.package.npm, version, agent.package.program)


@command.command("list")
@options.as_json
def show(*, as_json: bool) -> None:
    """List the toolkit's images in the engine."""
    with contextlib.closing(engine.connect()) as api:
        found = list(store.listed(api))
    if as_json:
        click.echo(json.dumps([{"id": one.id, "title": one.title, "bytes": one.bytes} for one in found]))
        return
    for one in found:
        click.echo(f"{one.id[:19]}  {one.bytes / 1e6:6.0f} MB  {one.title}")
    if not found:
        click.echo("no images; `scylla-gha image build` makes them", err=True)


@command.command()
@options.yes("images are removed")
def prune(*, yes: bool) -> None:
    """Remove the toolkit's images that no container uses, its cached layers, and what killed runs left behind."""
    with contextlib.closing(engine.connect()) as api:
        if not (yes or options.confirmed("Remove all images of scylla-gha and the cached layers?")):
            raise RefusedError("not confirmed; nothing was removed; --yes removes without asking")
        reaped = engine.reap(api)
        images, layers = store.prune(api, cache_root())
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
    plan = options.stored_plan(options.run_folder(runs, experiment))
    click.echo(parcel.pack(_layers(plan), into))


def _layers(plan: Plan) -> Iterator[Layer]:
    if plan.sandbox != "docker":
        return
    library = options.library()
    boxes = Boxes(plan.sandbox, library)
    for name in dict.fromkeys(cell.scenario for cell in plan.cells):
        for arm in (None, *plan.arms):
            yield from boxes.image(library.scenario(name).scenario.tools, arm).layers


@command.command()
@click.option("--from", "source", type=click.Path(path_type=Path, file_okay=False), required=True,
              help="A folder that `pack` made; it need not be there.")  # fmt: skip
def unpack(source: Path) -> None:
    """Put the layers in a folder into the cache, where they are what their digests say."""
    click.echo(f"{parcel.unpack(source, cache_root())} layers taken over", err=True)


@command.command()
@options.experiment
@click.option("--sandbox", help="Sandbox of all agents and checks (default: the experiment's).")
def lacking(experiment: str, sandbox: str | None) -> None:
    """Print the Debian packages that are missing to make the images of EXPERIMENT; nothing where none is needed."""
    library = options.library()
    if not ((sandbox == "docker" or _may_be_boxed(library.experiment(experiment))) and engine.answers()):
        return
    if not layers.is_base_made(library.image(), cache_root()) and layers.lacking() is not None:
        click.echo("mmdebstrap uidmap debian-archive-keyring")


def _may_be_boxed(experiment: Experiment) -> bool:
    agents = (AGENTS.get(agent_name(named)[0]) for named in experiment.agents)
    with_model = any(agent is not None and agent.package is not None for agent in agents)
    return experiment.sandbox == "docker" or (experiment.sandbox == "auto" and with_model)
