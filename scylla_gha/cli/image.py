"""`scylla-gha image`: the images that agents and checks run in."""

import contextlib
import json

import click

from scylla_gha.agents import AGENTS
from scylla_gha.cli import options
from scylla_gha.errors import ConfigError, RefusedError
from scylla_gha.images import store
from scylla_gha.plan import agent_name, select
from scylla_gha.sandboxes import engine
from scylla_gha.seeding.cache import cache_root


@click.group()
def command() -> None:
    """Build, list and remove the images of the Docker sandbox.

    \b
    scylla-gha image build
    scylla-gha image build 001-hello-world --agent claude-code@2.1.197
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
@options.yes
def prune(*, yes: bool) -> None:
    """Remove the toolkit's images that no container uses, its cached layers, and what killed runs left behind."""
    with contextlib.closing(engine.connect()) as api:
        if not (yes or options.confirmed("Remove all images of scylla-gha and the cached layers?")):
            raise RefusedError("not confirmed; nothing was removed; --yes removes without asking")
        reaped = engine.reap(api)
        images, layers = store.prune(api, cache_root())
    click.echo(f"removed {images} images, {layers} cached layers, {len(reaped)} leftovers of killed runs", err=True)
