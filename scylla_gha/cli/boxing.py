"""Which sandbox the agents and checks of a run work in, and, where that is containers, in which images.

Agents with a model work in containers where an engine answers. An experiment has one sandbox, for all arms and all
checks alike, so that arms are compared in the same place. The built-in agents prove scenarios, and are no strangers:
an experiment of theirs alone stays on the host, unless it asks for containers.
"""

import contextlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import click

from scylla_gha.agents import AGENTS
from scylla_gha.agents.base import Agent
from scylla_gha.config.library import Library
from scylla_gha.errors import SandboxError
from scylla_gha.images import layers, store
from scylla_gha.images.archive import Image
from scylla_gha.model.experiment import Experiment, Limits, SandboxName
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.model.scenario import Tools
from scylla_gha.plan import Boxing
from scylla_gha.sandboxes import SANDBOXES, bubblewrap, engine
from scylla_gha.sandboxes.base import Place
from scylla_gha.sandboxes.container import GATEWAY_URL, size_of
from scylla_gha.sandboxes.docker import DockerSandbox
from scylla_gha.seeding.cache import cache_root

_HOST: Final = Place(SANDBOXES["host"])


def choose(experiment: Experiment, agents: Iterable[Agent], library: Library) -> SandboxName:
    """The experiment's sandbox. Where that is the host though agents with a model are to be run, says why."""
    if experiment.sandbox != "auto":
        return experiment.sandbox
    if all(agent.package is None for agent in agents):
        return "host"
    return strongest(library, "`sandbox: {}` in the experiment")


def strongest(library: Library, wish: str) -> SandboxName:
    """The sandbox that isolates most of those that can be had here. Where it is not Docker's, says why.

    Args:
        library: holds the recipe of the images.
        wish: how another sandbox is asked for, with {} for its name.
    """
    why = _no_containers(library)
    if why is None:
        return "docker"
    lack = bubblewrap.lacking()
    found: SandboxName = "host" if lack else "bubblewrap"
    what = f"the host itself, which isolates nothing, since {why}, and {lack}" if lack else f"bubblewrap, since {why}"
    click.echo(f"sandbox: {what}; {wish.format('docker')} refuses that, {wish.format(found)} is silent", err=True)
    return found


def _no_containers(library: Library) -> str | None:
    """Why containers cannot be had here, or None."""
    if not engine.answers():
        return "no container engine answers"
    return None if layers.is_base_made(library.image(), cache_root()) else layers.lacking()


@dataclass
class Boxes:
    """The sandbox of one run with its images."""

    sandbox: SandboxName
    library: Library
    limits: Limits = field(default_factory=Limits)
    _drawn: dict[str, Image] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def boxing(self) -> Boxing:
        """What planning has to know of it."""
        return Boxing(self.sandbox, self.digest) if self.sandbox == "docker" else Boxing(self.sandbox)

    def digest(self, tools: Tools, arm: Arm | None) -> str:
        """What stands in keys for the image of an arm, or of checks; its layers are made where they are missing.

        Raises:
            ToolError: a layer cannot be made.
        """
        return self.image(tools, arm).digest

    def place(self, tools: Tools, arm: Arm | None = None) -> Place:
        """Where an arm's agent works, or where checks run; the engine has the image afterwards.

        Raises:
            ToolError: a layer cannot be made, or the engine does not take the image.
            SandboxError: no engine answers.
        """
        if self.sandbox == "host":
            return _HOST
        address = None if arm is None else GATEWAY_URL
        if self.sandbox == "bubblewrap":
            return Place(SANDBOXES[self.sandbox], address=address)
        image = self.image(tools, arm)
        with self._lock:
            if image.name not in self._ids:
                with contextlib.closing(engine.connect()) as api:
                    self._ids[image.name] = store.ensure(api, image, cache_root())
        return Place(DockerSandbox(size_of(self.limits)), self._ids[image.name], image.digest, address)

    def make_ready(self, plan: Plan) -> None:
        """Remove what killed runs left in the engine, and let it have all images of a plan, before a first cell starts.

        Raises:
            ToolError: as `place`.
        """
        self.check()
        if self.sandbox != "docker":
            return
        for name in dict.fromkeys(cell.scenario for cell in plan.cells):
            tools = self.library.scenario(name).scenario.tools
            for arm in (None, *plan.arms):
                self.place(tools, arm)

    def check(self) -> None:
        """See that the sandbox can be had, and remove what killed runs left in it.

        Raises:
            SandboxError: no engine answers, or no box can be made.
        """
        if self.sandbox == "bubblewrap" and (lack := bubblewrap.lacking()):
            raise SandboxError(lack)
        if self.sandbox == "docker":
            with contextlib.closing(engine.connect()) as api:
                engine.reap(api)

    def image(self, tools: Tools, arm: Arm | None) -> Image:
        """The image of an arm, or of checks; its layers are made where they are missing.

        Raises:
            ToolError: a layer cannot be made.
        """
        wanted = store.Wanted(self.library.image(), tools.python, _cli(arm))
        with self._lock:
            if wanted.title not in self._drawn:
                if not layers.is_base_made(wanted.recipe, cache_root()):
                    click.echo("making the system of the images; this takes a minute or two, once ...", err=True)
                self._drawn[wanted.title] = store.draw(wanted, cache_root())
            return self._drawn[wanted.title]


def _cli(arm: Arm | None) -> store.Cli | None:
    """The command line of an arm's agent; None for checks and built-in agents."""
    if arm is None or arm.model is None or arm.version is None:
        return None
    package = AGENTS[arm.agent].package
    if package is None:
        return None
    return store.Cli(package.npm, arm.version, package.program)
