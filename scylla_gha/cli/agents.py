"""Agent CLIs and their images: `scylla-gha agents`, `agent-baseline`, `agent-updates` and `image`."""

import contextlib
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path

import click

from scylla_gha.agents import AGENTS
from scylla_gha.cli import options
from scylla_gha.config.library import ConfigSources
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, RefusedError, ToolError
from scylla_gha.evaluate.model_access import confirm
from scylla_gha.images import SandboxPool, archive, layers
from scylla_gha.images.archive import ImageLayer, pack_layers, unpack_layers
from scylla_gha.model.experiment import Experiment, SandboxWish, agent_name
from scylla_gha.model.plan import Plan
from scylla_gha.plan.selection import select_scenarios
from scylla_gha.prepare.tools import cache_root
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.docker import engine
from scylla_gha.store.run_folder import stored_plan


@click.group(cls=options.CommandGroup)
def image() -> None:
    """Build, list and remove the images of the Docker sandbox.

    \b
    scylla-gha image build
    scylla-gha image build 001-hello-world --agent claude-code@2.1.332
    scylla-gha image pack hello-claude --to DIR    (and `unpack --from DIR` on another machine)
    """  # noqa: D301


@image.command()
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME@VERSION",
    help="Also build the image with this agent's CLI; may be repeated.",
)
@click.option("--recipe", default="base", show_default=True, help="Name of a recipe in config/images/.")
@click.option("--fresh", is_flag=True, help="Install today's packages instead of those in the cache.")
def build(scenarios: tuple[str, ...], agents: tuple[str, ...], recipe: str, *, fresh: bool) -> None:
    """Build the images of scenarios (all, or SCENARIO), for checks and for each agent.

    Prints one JSON object per line: the id in the engine, the digest that is part of keys, and the content.

    \b
    scylla-gha image build 001-hello-world --agent claude-code@2.1.332
    """  # noqa: D301
    library = options.library()
    base = library.image(recipe)
    names = select_scenarios(scenarios or ("*",), library)
    pins = [library.scenario(name).scenario.tools for name in names]
    toolsets = {(tuple(sorted(tools.python.items())), tuple(sorted(tools.node.items()))) for tools in pins}
    clis = [(None, None), *((agent, _cli(agent)) for agent in agents)]
    with contextlib.closing(engine.connect()) as api:
        for (tools, node), (agent, cli) in itertools.product(sorted(toolsets), clis):
            spec = layers.ImageSpec(base, dict(tools), cli, node=dict(node))
            built = layers.build_image(spec, cache_root(), fresh=fresh)
            fresh = False  # today's packages are in the cache now
            description = {
                "id": archive.ensure_image(api, built, cache_root()),
                "digest": built.digest,
                "recipe": recipe,
                "agent": agent,
                "tools": dict(tools) | dict(node),
            }
            click.echo(json.dumps(description))


def _cli(agent: str) -> layers.AgentCli:
    name, version = agent_name(agent)
    package = AGENTS[name].package if name in AGENTS else None
    if package is None:
        known = [name for name, agent_class in AGENTS.items() if agent_class.package is not None]
        raise ConfigError(f"--agent {agent}: is not an agent CLI; there are: {', '.join(known)}")
    if version is None:
        raise ConfigError(f"--agent {agent}: an image needs a version; write  {name}@VERSION")
    return layers.AgentCli(package, version)


@image.command("list")
@options.as_json
def list_(*, as_json: bool) -> None:
    """List the toolkit's images in the engine.

    \b
    scylla-gha image list --json
    """  # noqa: D301
    with contextlib.closing(engine.connect()) as api:
        images = list(archive.list_images(api))
    if as_json:
        click.echo(json.dumps([{"id": image.id, "title": image.title, "bytes": image.bytes} for image in images]))
        return
    for image in images:
        click.echo(f"{image.id[:19]}  {image.bytes / 1e6:6.0f} MB  {image.title}")
    if not images:
        click.echo("no images; `scylla-gha image build` makes them", err=True)


@image.command()
@options.yes("images are removed")
def prune(*, yes: bool) -> None:
    """Remove the toolkit's images that no container uses, its cached layers, and leftovers of killed runs.

    \b
    scylla-gha image prune --yes
    """  # noqa: D301
    with contextlib.closing(engine.connect()) as api:
        if not (yes or confirm("Remove all images of scylla-gha and the cached layers?")):
            raise RefusedError("not confirmed; nothing was removed; --yes removes without asking")
        reaped = engine.remove_stale(api)
        images, cached = archive.prune_images(api, cache_root())
    click.echo(
        f"removed {counted(images, 'image')}, {counted(cached, 'cached layer')}, "
        f"{counted(len(reaped), 'leftover')} of killed runs",
        err=True,
    )


@image.command()
@options.experiment
@options.runs
@click.option(
    "--to",
    "into",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder for the layers; its earlier content is removed.",
)
@click.option(
    "--head",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Checkout of the change that the plan compares (default: no change).",
)
def pack(experiment: str, runs: Path, into: Path, head: Path | None) -> None:
    """Copy the layers of the images of EXPERIMENT's plan into a folder, for the machines that run its cells.

    Prints a digest of the layers, and nothing if the plan needs no containers.

    \b
    scylla-gha image pack hello-claude --to layers
    """  # noqa: D301
    plan = stored_plan(options.run_folder(runs, experiment))
    click.echo(pack_layers(_layers(plan, head), into))


def _layers(plan: Plan, head: Path | None) -> Iterator[ImageLayer]:
    if not SANDBOXES[plan.sandbox].needs_image:
        return
    library = options.library()
    sandboxes = SandboxPool(plan.sandbox, library, sources=ConfigSources.of(library, head))
    for folder in map(library.scenario, dict.fromkeys(cell.scenario for cell in plan.cells)):
        for arm in (None, *map(folder.arm, plan.arms)):
            yield from sandboxes.image(folder.scenario.tools, arm).layers


@image.command()
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder that `pack` made; nothing is done if it does not exist.",
)
def unpack(source: Path) -> None:
    """Copy layers from a folder into the cache, if they match their digests.

    \b
    scylla-gha image unpack --from layers
    """  # noqa: D301
    click.echo(f"{counted(unpack_layers(source, cache_root()), 'layer')} copied", err=True)


@image.command()
@options.experiment
@click.option(
    "--sandbox",
    type=click.Choice(["auto", *SANDBOXES]),
    help="Sandbox of all agents and checks (default: the experiment's).",
)
def lacking(experiment: str, sandbox: SandboxWish | None) -> None:
    """Print the Debian packages that this machine lacks for building the images of EXPERIMENT.

    \b
    sudo apt-get install $(scylla-gha image lacking hello-claude)
    """  # noqa: D301
    library = options.library()
    if not (_may_need_images(library.experiment(experiment), sandbox) and engine.answers()):
        return
    if not layers.is_base_made(library.image(), cache_root()) and layers.missing_build_tool() is not None:
        click.echo("mmdebstrap uidmap debian-archive-keyring")


def _may_need_images(experiment: Experiment, sandbox: SandboxWish | None) -> bool:
    """Return True if --sandbox or the experiment's sandbox needs images; `auto` may need them for a model's agent."""
    names = [name for name in (sandbox, experiment.sandbox) if name is not None]
    if any(name != "auto" and SANDBOXES[name].needs_image for name in names):
        return True
    agents = (AGENTS.get(agent_name(agent)[0]) for agent in experiment.agents)
    return "auto" in names and any(agent is not None and agent.uses_model for agent in agents)


@click.command("agent-baseline")
@click.argument("agent")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("config/inventories"),
    show_default=True,
    help="Folder to write the inventory to.",
)
@options.sandbox("auto", "Sandbox that the agent is started in; auto: the one that trials get.")
def agent_baseline(agent: str, into: Path, sandbox: SandboxWish) -> None:
    """Measure the defaults of AGENT (name@version): tools, skills, sub-agents, lines of its system prompt.

    The proof of delivery needs the inventory to recognise the agent's defaults. No provider is asked.

    \b
    scylla-gha agent-baseline claude-code@2.1.332
    """  # noqa: D301
    import yaml

    from scylla_gha.evaluate.measure_agents import measure_baseline
    from scylla_gha.store import write_text

    inventory = measure_baseline(agent, sandbox, options.library())
    path = into / f"{inventory.agent}-{inventory.version}.yaml"
    content = inventory.model_dump(mode="json")
    write_text(
        path,
        "# yaml-language-server: $schema=../schemas/inventory.json\n"
        + yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=110),
    )
    click.echo(str(path))


@click.group("agent-updates")
def agent_updates() -> None:
    """Compare the newest version of each agent CLI with the stored facts, and keep one issue about them.

    \b
    scylla-gha agent-updates measure --into updates.json
    """  # noqa: D301


@agent_updates.command()
@click.option(
    "--into",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File to write the differences to, for `post`.",
)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME[@VERSION]",
    help="Agent CLI to measure; may be repeated (default: the newest version of each).",
)
@click.option(
    "--sub-test",
    "sub_tests",
    multiple=True,
    metavar="GLOB",
    help="Sub-tests whose delivery is tested; may be repeated (default: all).",
)
@click.option("--model", default="claude-sonnet-5", show_default=True, help="Model of the sub-tests' agents.")
@options.agents_at_once
@options.sandbox("auto", "Sandbox that agents are started in; auto: the one that trials get.")
def measure(
    into: Path, *, agents: tuple[str, ...], sub_tests: tuple[str, ...], model: str, jobs: int, sandbox: SandboxWish
) -> None:
    """Measure inventory, transcript, models, prices and deliveries, and write the differences from the stored ones.

    No model is asked: answers come from a script on this machine. Differences do not fail the command.

    \b
    scylla-gha agent-updates measure --into updates.json
    """  # noqa: D301
    from scylla_gha.evaluate.measure_agents import UpdateOptions, measure_update, packaged_agents
    from scylla_gha.model.publication import AgentUpdates
    from scylla_gha.store import write_record

    library = options.library()
    wishes = UpdateOptions(sandbox, model, sub_tests or ("*",), jobs)
    updates = tuple(
        measure_update(agent, package, library, wishes, options.report)
        for agent, package in packaged_agents(agents).items()
    )
    write_record(into, AgentUpdates(agents=updates))
    for update in updates:
        click.echo(f"{update.agent} {update.version}: {counted(len(update.differences), 'difference')}")
        for difference in update.differences:
            click.echo(f"  {difference.part}: {difference.text}")


@agent_updates.command()
@click.argument("agent")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("config/agent-sessions"),
    show_default=True,
    help="Folder to write the file to.",
)
@options.sandbox("auto", "Sandbox that the agent is started in; auto: the one that trials get.")
def record(agent: str, into: Path, sandbox: SandboxWish) -> None:
    """Store facts about sessions of AGENT (name@version): transcript events, models of short names, stated costs.

    \b
    scylla-gha agent-updates record claude-code@2.1.332
    """  # noqa: D301
    import yaml

    from scylla_gha.evaluate.measure_agents import measure_sessions
    from scylla_gha.store import write_text

    facts, faults = measure_sessions(agent, sandbox, options.library(), os.cpu_count() or 1)
    path = into / f"{facts.agent}-{facts.version}.yaml"
    content = yaml.safe_dump(facts.model_dump(mode="json"), sort_keys=False, default_flow_style=None, width=110)
    write_text(path, f"# yaml-language-server: $schema=../schemas/agent-session.json\n{content}")
    click.echo(str(path))
    for fault in faults:
        click.echo(f"{fault.part}: {fault.text}", err=True)


@agent_updates.command()
@click.argument("path", type=click.Path(path_type=Path, dir_okay=False))
@options.author
def post(path: Path, author: str | None) -> None:
    """Open, update or close the issue, by the file that `measure` wrote.

    \b
    scylla-gha agent-updates post updates.json
    """  # noqa: D301
    from scylla_gha.github_api.actions import write_outputs
    from scylla_gha.github_api.client import open_repository
    from scylla_gha.github_api.pulls import token_login
    from scylla_gha.model.publication import AgentUpdates
    from scylla_gha.publish.edited_posts import keep_updates_issue
    from scylla_gha.publish.post import run_page_from
    from scylla_gha.store import read_record

    updates = read_record(path, AgentUpdates)
    if updates is None:
        raise ConfigError(f"{path}: there is no such file; `scylla-gha agent-updates measure` writes it")
    with open_repository() as repository:
        page = run_page_from(os.environ)
        state, url = keep_updates_issue(repository, updates, page, author or token_login(repository))
    write_outputs(os.environ, {"state": state, "issue": url})
    click.echo(": ".join(filter(None, (state, url))), err=True)


@click.group()
def agents() -> None:
    """List the agent CLIs and what each can take, and try one with a scripted model.

    \b
    scylla-gha agents list
    """  # noqa: D301


@agents.command("list")
def list_agents() -> None:
    """List agents with the APIs that they speak, and the parts of a treatment that each can take.

    \b
    scylla-gha agents list
    """  # noqa: D301
    from scylla_gha.agents.manifest import agent_matrix

    rows = agent_matrix(options.library())
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@agents.command("try")
@click.argument("agent")
@click.option("--model", help="Id of the model (default: the first one whose API the agent speaks).")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for output, errors and first request of the session (default: they are removed).",
)
@options.sandbox("auto", "Sandbox that the agent is started in; auto: the one that trials get.")
def try_(agent: str, model: str | None, into: Path | None, sandbox: SandboxWish) -> None:
    """Start AGENT (name@version) once with a scripted model, and print how its manifest reads the session.

    The model asks for one use of the shell, and then ends. No key is needed. It fails if something is to be corrected.

    \b
    scylla-gha agents try qwen-code@0.24.4
    """  # noqa: D301
    from scylla_gha.evaluate.try_agent import try_agent

    tried = try_agent(agent, model, sandbox, options.library(), into)
    click.echo(f"{agent} with {tried.model}")
    for line in tried.lines():
        click.echo(f"  {line}")
    if faults := list(tried.faults()):
        raise ToolError(f"{agent}: {'; '.join(faults)}")
    click.echo("  nothing to correct")
