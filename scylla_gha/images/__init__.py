"""Select a run's sandbox, and build and load its images.

Agents with a model run in containers if an engine answers. An experiment has the same sandbox for all arms and checks,
so that arms are compared under equal conditions. Built-in agents are trusted, so an experiment with only built-in
agents runs on the host unless it names another sandbox.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import click

from scylla_gha.agents import AGENTS
from scylla_gha.agents.base import Agent
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.errors import ToolError
from scylla_gha.images import archive, layers
from scylla_gha.images.archive import ImageArchive
from scylla_gha.model.experiment import Experiment, SandboxName, TrialLimits
from scylla_gha.model.mode import NO_MODE
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.model.sandbox import ImageRecipe, Tools
from scylla_gha.model.variant import AgentResources
from scylla_gha.prepare.mcp_packages import installed_programs, mode_programs, packaged_servers, programs_folder
from scylla_gha.prepare.tools import cache_root
from scylla_gha.sandboxes import SANDBOXES
from scylla_gha.sandboxes.base import GATEWAY_URL, Sandbox, SandboxTarget
from scylla_gha.sandboxes.docker import engine
from scylla_gha.variants import arm_resources


def _no_digest(tools: Tools, arm: Arm | None) -> str | None:  # noqa: ARG001 the signature of `SandboxImages.image`
    return None


@dataclass(frozen=True, slots=True)
class SandboxImages:
    """Sandbox of a plan, with a function that returns an image's digest by tools and arm (None: the checks' image).

    A digest is None if the sandbox needs no image, or if images are not built because the plan is not run.
    """

    sandbox: SandboxName = "host"
    image: Callable[[Tools, Arm | None], str | None] = _no_digest


def select_sandbox(experiment: Experiment, agents: Iterable[Agent], library: Library) -> SandboxName:
    """Return the experiment's sandbox; print why if agents with a model get less isolation than in containers."""
    if experiment.sandbox != "auto":
        return experiment.sandbox
    if not any(agent.uses_model for agent in agents):
        return "host"
    return most_isolated(library, "`sandbox: {}` in the experiment")


def most_isolated(library: Library, option: str) -> SandboxName:
    """Return the most isolated sandbox that works here; print the reason if it is not the first choice.

    Args:
        library: library with the recipe of the images.
        option: option that selects a sandbox, for the message, with {} for the sandbox's name.
    """
    best, reasons = next(iter(SANDBOXES)), list[str]()
    for sandbox in SANDBOXES.values():
        reason = sandbox.missing_reason()
        if reason is None and sandbox.needs_image and not layers.is_base_made(library.image(), cache_root()):
            reason = layers.missing_build_tool()
        if reason is None:
            if reasons:
                label = "the host itself, which isolates nothing" if sandbox.has_network else sandbox.name
                click.echo(
                    f"sandbox: {label}, since {', and '.join(reasons)}; to fail instead, use {option.format(best)}; "
                    f"to hide this message, {option.format(sandbox.name)}",
                    err=True,
                )
            return sandbox.name
        reasons.append(reason)
    raise AssertionError("the host is always available")


@dataclass
class SandboxPool:
    """Sandbox of a run, with its images, each of which is built and loaded once."""

    sandbox: SandboxName
    library: Library
    limits: TrialLimits = field(default_factory=TrialLimits)
    sources: ConfigSources | None = None  # where a pull request's variants are; None: all variants are in the library
    _archives: dict[str, ImageArchive] = field(default_factory=dict)
    _ids: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def _kind(self) -> Sandbox:
        return SANDBOXES[self.sandbox]

    @property
    def image_digests(self) -> SandboxImages:
        """The sandbox and its images' digests, for planning."""
        if not self._kind.needs_image:
            return SandboxImages(self.sandbox)
        return SandboxImages(self.sandbox, lambda tools, arm: self.image(tools, arm).digest)

    def target(self, tools: Tools, arm: Arm | None = None) -> SandboxTarget:
        """Return the target of an arm's agent, or of the checks (None); load its image into the engine, if any.

        Raises:
            ToolError: a layer cannot be built, or the engine does not accept the image.
            SandboxError: no engine answers.
        """
        address = None if arm is None or self._kind.has_network else GATEWAY_URL
        if not self._kind.needs_image:
            return SandboxTarget(self._kind.sized(self.limits), address=address)
        image = self.image(tools, arm)
        with self._lock:
            if image.name not in self._ids:
                with contextlib.closing(engine.connect()) as api:
                    self._ids[image.name] = archive.ensure_image(api, image, cache_root())
        return SandboxTarget(self._kind.sized(self.limits), self._ids[image.name], image.digest, address)

    def make_ready(self, plan: Plan) -> None:
        """Check the sandbox, and load a plan's images or install its programs, before the first cell starts.

        Raises:
            ToolError: a layer or a package cannot be installed, or the engine does not accept an image.
            SandboxError: the sandbox cannot be used here.
        """
        self.check()
        folders = [self.library.scenario(name) for name in dict.fromkeys(cell.scenario for cell in plan.cells)]
        if not self._kind.needs_image:
            equipped = (folder.arm(arm) for folder in folders for arm in plan.arms)
            for arm in {(arm.id, arm.mode and arm.mode.id): arm for arm in equipped}.values():
                installed_programs(resources := self._resources(arm), cache_root())
                if arm.mode and (programs := mode_programs(arm.mode, resources)):
                    programs_folder(programs, cache_root())
            return
        for folder in folders:
            for planned in (None, *map(folder.arm, plan.arms)):
                self.target(folder.scenario.tools, planned)

    def _resources(self, arm: Arm | None) -> AgentResources:
        if arm is None:
            return AgentResources()
        sources = self.sources or ConfigSources(self.library)
        return arm_resources(arm, sources.variant(arm).roots)

    def check(self) -> None:
        """Check that the sandbox can be used, and remove leftovers of killed runs.

        Raises:
            SandboxError: no engine answers, or bubblewrap cannot be used.
        """
        self._kind.check()

    def image(self, tools: Tools, arm: Arm | None) -> ImageArchive:
        """Return the image of an arm or of the checks (None); build its layers if they are missing.

        Raises:
            ToolError: a layer cannot be built, or the tools need a command on the machine.
        """
        if tools.prepared or tools.setup:
            raise ToolError(
                "tools.setup: tools that a command installs on the machine cannot be put into an image; "
                "use the sandbox bubblewrap or host"
            )
        resources, mode = self._resources(arm), (arm and arm.mode) or NO_MODE
        system = (*mode.system, *(["nodejs"] if tools.node or "node" in tools.system else []))
        recipe = _with_programs(self.library.image(), resources, system)
        programs = mode_programs(mode, resources)
        python, servers = {**tools.python, **mode.python}, packaged_servers(resources)
        spec = layers.ImageSpec(recipe, python, _agent_cli(arm), servers, programs, tools.node, tools.editable)
        with self._lock:
            if spec.title not in self._archives:
                if not layers.is_base_made(spec.recipe, cache_root()):
                    click.echo("building the images' base system once; this takes a minute or two ...", err=True)
                self._archives[spec.title] = layers.build_image(spec, cache_root())
            return self._archives[spec.title]


def _with_programs(recipe: ImageRecipe, resources: AgentResources, packages: Iterable[str]) -> ImageRecipe:
    """Return the recipe with the Debian packages of MCP servers and `packages` added."""
    programs = {program for server in resources.mcp_servers.values() for program in server.programs}
    added = sorted({*programs, *packages} - set(recipe.packages))
    if not added:
        return recipe
    return recipe.model_copy(update={"id": "-".join((recipe.id, *added)), "packages": (*recipe.packages, *added)})


def _agent_cli(arm: Arm | None) -> layers.AgentCli | None:
    """Return the CLI of an arm's agent; None for checks and built-in agents."""
    if arm is None or arm.model is None or arm.version is None:
        return None
    package = AGENTS[arm.agent].package
    return None if package is None else layers.AgentCli(package, arm.version)
