"""Agents by name, and their programs and versions on this machine.

An agent is built in, or a CLI with a manifest in `config/agent-clis/` of the current folder's project, or else of the
toolkit.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.agents.base import Agent
from scylla_gha.agents.builtin import NopAgent, Oracle
from scylla_gha.agents.claude import ClaudeCode
from scylla_gha.agents.manifest import ManifestAgent
from scylla_gha.config import did_you_mean
from scylla_gha.config.library import Library, project_root, toolkit_root
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.model.agent_manifest import AgentManifest, CliPackage
from scylla_gha.model.experiment import Experiment, agent_name
from scylla_gha.prepare.agent_programs import cli_program
from scylla_gha.prepare.tools import cache_root, find_program

_BUILT_IN: Final[dict[str, Agent]] = {"oracle": Oracle(), "nop": NopAgent()}
# CLIs of which a manifest cannot say everything. Their keys have no digest of it, so it is always the toolkit's.
_WITH_CODE: Final[dict[str, Callable[[AgentManifest], Agent]]] = {"claude-code": ClaudeCode}


class AgentMap(Mapping[str, Agent]):
    """All agents by name. A manifest is read when its agent is looked up."""

    def __getitem__(self, name: str) -> Agent:
        """Return an agent.

        Raises:
            KeyError: there is no such agent.
            ConfigError: its manifest is not valid.
        """
        if name in _BUILT_IN:
            return _BUILT_IN[name]
        library = _toolkit() if name in _WITH_CODE else _library()
        if name not in library.agent_names():
            raise KeyError(name)
        return _manifest_agent(library, name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(dict.fromkeys((*_BUILT_IN, *_WITH_CODE, *_library().agent_names())))

    def __len__(self) -> int:
        """Return the number of agents."""
        return len(list(iter(self)))


def _library() -> Library:
    return Library.here(project_root(Path.cwd()))


@functools.cache
def _toolkit() -> Library:
    return Library((toolkit_root(),))


@functools.cache
def _manifest_agent(library: Library, name: str) -> Agent:
    return _WITH_CODE.get(name, ManifestAgent)(library.agent_manifest(name))


AGENTS: Final = AgentMap()


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
        program = _program(agent.package, pinned)
    version = agent.version(program)
    if pinned not in {None, version}:
        raise ToolError(f"agents: {agent_id}: the installed version is {version}; correct the pin, or remove it")
    return InstalledAgent(agent, program, version)


def _program(package: CliPackage, version: str | None) -> str:
    """Return the path of an agent's program: install a given version, or find the program on PATH."""
    if version is None:
        return find_program(package.program, package.id, package.registry)
    return str(cli_program(package, version, cache_root()))
