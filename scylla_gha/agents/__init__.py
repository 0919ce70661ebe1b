"""Agents by name, and their programs and versions on this machine."""

from dataclasses import dataclass
from typing import Final

from scylla_gha.agents.base import Agent
from scylla_gha.agents.builtin import NopAgent, Oracle
from scylla_gha.agents.claude import ClaudeCode
from scylla_gha.config import did_you_mean
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.model.experiment import Experiment, agent_name
from scylla_gha.prepare.tools import cache_root, find_program, npm_program

AGENTS: Final[dict[str, Agent]] = {"oracle": Oracle(), "nop": NopAgent(), "claude-code": ClaudeCode()}


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent on this machine; if it was not installed, `program` is empty and `version` the pinned one or None."""

    agent: Agent
    program: str
    version: str | None

    def program_in(self, *, image: bool) -> str:
        """Return the path of the program; in an image, its name on PATH."""
        return self.agent.package.program if self.agent.package and image else self.program


def find_agents(experiment: Experiment, *, install: bool) -> dict[str, InstalledAgent]:
    """Find the agents of an experiment, by their names in it.

    Args:
        experiment: experiment that names the agents, with or without a version.
        install: True to install pinned versions and to ask each program for its version; False to start nothing.

    Raises:
        ConfigError: there is no such agent.
        ToolError: an agent CLI is missing, too old, or of another version than pinned.
    """
    return {name: find_agent(name, install=install) for name in experiment.agents}


def find_agent(agent_id: str, *, install: bool) -> InstalledAgent:
    """Find one agent by `name` or `name@version`; arguments and errors as in `find_agents`."""
    name, pinned = agent_name(agent_id)
    if name not in AGENTS:
        hint = did_you_mean(name, list(AGENTS))
        raise ConfigError(f"agents: there is no agent {name!r}{hint}; there are: {', '.join(AGENTS)}")
    agent = AGENTS[name]
    program = ""
    if agent.package is not None:
        if not install:
            return InstalledAgent(agent, program, pinned)
        npm, name = agent.package.npm, agent.package.program
        program = str(npm_program(npm, pinned, name, cache_root()) if pinned else find_program(name, npm))
    version = agent.version(program)
    if pinned not in {None, version}:
        raise ToolError(f"agents: {agent_id}: the installed version is {version}; correct the pin, or remove it")
    return InstalledAgent(agent, program, version)
