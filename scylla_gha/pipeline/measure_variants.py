"""Measurement without a provider: what an agent CLI has by default, what a variant gives it, sizes of files."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.agents import InstalledAgent, find_agent
from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.config.materials import material_names, material_path
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.settings import GatewaySettings
from scylla_gha.images import SandboxPool, most_isolated
from scylla_gha.model.delivery import Inventory, Observed
from scylla_gha.model.experiment import SandboxWish, TrialLimits, agent_name
from scylla_gha.model.plan import Arm
from scylla_gha.model.trial import Attempt
from scylla_gha.model.variant import AgentResources, Variant
from scylla_gha.prepare.scenario import prepare_scenario, prepare_workspace
from scylla_gha.prepare.tools import cache_root
from scylla_gha.prepare.workspace import scratch
from scylla_gha.run import run_attempt
from scylla_gha.run.equip import AgentRunner
from scylla_gha.store.run_folder import AttemptFolder
from scylla_gha.system.process import Cancel
from scylla_gha.variants import ALWAYS_SEEN, agent_resources, line_hash

NO_PROVIDER: Final = GatewaySettings.local("http://127.0.0.1:9")  # the discard port: nothing answers
_CHARACTERS_PER_TOKEN: Final = 4  # of English, code and JSON, about
_LIMITS: Final = TrialLimits(timeout_seconds=180, api_retries=0, safety_net=False)


@dataclass(frozen=True, slots=True)
class FileSize:
    """Number of parts of one kind that a variant names, and of their files, lines and bytes."""

    parts: int
    files: int
    lines: int
    bytes: int


def file_sizes(variant: Variant, library: Library) -> dict[str, FileSize]:
    """Return the sizes of what a variant names, by kind (blocks, skills, agents, mcp), without empty kinds."""
    sizes = {}
    for kind, names in material_names(variant.treatment).items():
        paths = [material_path(library.roots, kind, name) for name in names]
        texts = [file.read_bytes() for path in paths for file in (_texts(path) if path.is_dir() else [path])]
        if paths:
            lines = sum(text.count(b"\n") for text in texts)
            sizes[kind] = FileSize(len(paths), len(texts), lines, sum(map(len, texts)))
    return sizes


def tokens_of(characters: int) -> int:
    """Estimate the tokens of a text of so many characters."""
    return round(characters / _CHARACTERS_PER_TOKEN)


def _texts(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


@dataclass(frozen=True, slots=True)
class AgentStart:
    """An agent that is started without a provider: its place, and its limits."""

    name: str
    installed: InstalledAgent
    gateway: GatewayProcess
    sandboxes: SandboxPool
    limits: TrialLimits = _LIMITS

    @property
    def aliases(self) -> Collection[str]:
        """Return the agent's short names of models."""
        package = self.installed.agent.package
        return package.aliases.keys() if package else ()

    @contextmanager
    def attempt(
        self, arm: Arm, resources: AgentResources = AgentResources(), inventory: Inventory | None = None
    ) -> Iterator[tuple[Attempt, AttemptFolder]]:
        """Start it once, on a start state that brings nothing for agents; the folder is there inside of the context."""
        own = Library((toolkit_root(),))  # a user's scenario may bring skills, which are not the CLI's
        prepared = prepare_scenario(own.scenario(next(iter(own.scenarios))), own, cache_root())
        target = self.sandboxes.target(prepared.folder.scenario.tools, arm)
        program = self.installed.program_in(image=target.image is not None)
        runner = AgentRunner(
            arm,
            self.installed.agent,
            program,
            self.gateway,
            target,
            self.limits,
            Cancel(),
            resources=resources,
            inventory=inventory,
        )
        with scratch() as root:
            folder = AttemptFolder(root / "inventory" / "attempt-1")
            yield run_attempt(runner, prepared, prepare_workspace(prepared, root / "ground"), folder), folder


@contextmanager
def startable(
    agent: str, sandbox: SandboxWish, library: Library, settings: GatewaySettings = NO_PROVIDER
) -> Iterator[AgentStart]:
    """Install an agent (name@version), and start a gateway for it, by default without a provider.

    Raises:
        ConfigError: the agent is built in.
    """
    installed = find_agent(agent, install=True)
    if installed.agent.package is None:
        raise ConfigError(f"{agent} is built in: it has no inventory and takes no variant")
    sandboxes = SandboxPool(most_isolated(library, "--sandbox {}") if sandbox == "auto" else sandbox, library)
    sandboxes.check()
    with GatewayProcess.start(settings) as gateway:
        yield AgentStart(agent, installed, gateway, sandboxes)


def start_variants(
    variants: Sequence[Variant],
    model: str,
    start: AgentStart,
    library: Library,
    jobs: int,
    measured: Inventory | None = None,
) -> Iterator[tuple[Variant, Attempt]]:
    """Start the agent once with each variant, several at once; yield the attempts in the order of the variants.

    The proof of delivery uses the inventory `measured`; None: the stored one.
    """  # fmt: skip
    inventory = measured or library.inventory(agent_name(start.name)[0], start.installed.version)

    def attempt(variant: Variant) -> Attempt:
        name = agent_name(start.name)[0]
        arm = Arm(id=f"variant-{variant.id.replace('/', '-').lower()}", agent=name, version=start.installed.version,
                  model=model, variant=variant)  # fmt: skip
        with start.attempt(arm, agent_resources(variant, library.roots), inventory) as (record, _):
            return record

    with ThreadPoolExecutor(jobs) as workers:
        yield from zip(variants, workers.map(attempt, variants), strict=True)


def measure_baseline(agent: str, sandbox: SandboxWish, library: Library) -> Inventory:
    """Start an agent without any treatment, once with each model, and return what it has.

    Args:
        agent: name@version.
        sandbox: where it runs; auto: where trials run.
        library: the configuration.

    Raises:
        ConfigError: the agent is built in.
        ToolError: the agent did not come as far as its first request.
    """
    models = sorted(library.models())
    with startable(agent, sandbox, library) as start:
        observations = [seen for model in models for seen in _observe(start, model)]
        aliases = {name: _requested_model(start, name) for name in sorted(start.aliases)}
    return Inventory(
        agent=agent_name(agent)[0],
        version=str(start.installed.version),
        models=tuple(models),
        tools=_union(seen.tools for seen in observations),
        deferred_tools=_union(seen.deferred for seen in observations),
        skills=_union(seen.skills for seen in observations),
        agents=_union(seen.agents for seen in observations),
        plugins=_union(seen.plugins for seen in observations),
        aliases=aliases,
        prompt_lines=_union(tuple(map(line_hash, seen.prompt_lines or ())) for seen in observations),
    )


def _observe(start: AgentStart, model: str) -> Sequence[Observed]:
    arm = Arm(id="inventory", agent=agent_name(start.name)[0], version=start.installed.version, model=model)
    with start.attempt(arm) as (attempt, folder):
        files = folder.file("transcript.jsonl"), folder.file("first-request.json")
        observations = start.installed.agent.observe(*files)
    if not {observation.source for observation in observations} >= ALWAYS_SEEN:
        raise ToolError(f"{start.name}: with {model} it sent no model request: {attempt.reason}")
    return observations


def _requested_model(start: AgentStart, alias: str) -> str:
    """Return the id of the model that the agent requests if it is started with an alias."""
    ids = [seen.model for seen in _observe(start, alias) if seen.source == "first request"]
    return ids[0] or alias


def _union(lists: Iterable[tuple[str, ...] | None]) -> tuple[str, ...]:
    return tuple(sorted({name for names in lists for name in names or ()}))
