"""Comparison of agent CLIs' newest versions with the stored facts: `scylla-gha agent-updates`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError

if TYPE_CHECKING:
    from scylla_gha.model.experiment import SandboxWish


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
    help="Sub-tests whose delivery is tried; may be repeated (default: all).",
)
@click.option(
    "--model", default="claude-sonnet-5", show_default=True, help="Model that the sub-tests' agents would ask."
)
@options.agents_at_once
@options.sandbox("auto", "Sandbox that agents are started in; auto: the one that trials get.")
def measure(
    into: Path, *, agents: tuple[str, ...], sub_tests: tuple[str, ...], model: str, jobs: int, sandbox: "SandboxWish"
) -> None:
    """Measure inventory, transcript, models, prices and deliveries, and write how they differ from what is stored.

    No model is asked: answers come from a script on this machine. Differences are no failure of the command.

    \b
    scylla-gha agent-updates measure --into updates.json
    """  # noqa: D301
    from scylla_gha.evaluate.measure_agents import UpdateOptions, measure_update, packaged_agents
    from scylla_gha.model.publication import AgentUpdates
    from scylla_gha.store.records import write_record

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
def record(agent: str, into: Path, sandbox: "SandboxWish") -> None:
    """Store how sessions of AGENT (name@version) look: events of the transcript, models of short names, stated costs.

    \b
    scylla-gha agent-updates record claude-code@2.1.332
    """  # noqa: D301
    import yaml

    from scylla_gha.evaluate.measure_agents import measure_sessions
    from scylla_gha.store.records import write_text

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
    """Open, update or close the one issue, by the file that `measure` wrote.

    \b
    scylla-gha agent-updates post updates.json
    """  # noqa: D301
    from scylla_gha.github_api.actions import write_outputs
    from scylla_gha.github_api.client import open_repository
    from scylla_gha.github_api.pulls import own_login
    from scylla_gha.model.publication import AgentUpdates
    from scylla_gha.publish.edited_posts import keep_updates_issue
    from scylla_gha.publish.post import run_page_from
    from scylla_gha.store.records import read_record

    updates = read_record(path, AgentUpdates)
    if updates is None:
        raise ConfigError(f"{path}: there is no such file; `scylla-gha agent-updates measure` writes it")
    with open_repository() as repository:
        page = run_page_from(os.environ)
        state, url = keep_updates_issue(repository, updates, page, author or own_login(repository))
    write_outputs(os.environ, {"state": state, "issue": url})
    click.echo(": ".join(filter(None, (state, url))), err=True)
