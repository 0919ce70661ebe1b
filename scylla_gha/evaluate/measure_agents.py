"""Measurement of agent CLIs: their defaults, the delivery of variants, and changes in a newer version.

No provider is asked. A scripted provider on this machine answers the CLI's sessions; the starts of sub-tests get no
answer.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from scylla_gha.agents import AGENTS, InstalledAgent, find_agent
from scylla_gha.attempt import run_attempt
from scylla_gha.attempt.equip import AgentRunner, with_instructions
from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.config.materials import material_names, material_path
from scylla_gha.counting import counted, dollars, first_of
from scylla_gha.errors import ConfigError, ToolError
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.gateway.settings import GatewaySettings
from scylla_gha.images import SandboxPool, most_isolated
from scylla_gha.model import one_line
from scylla_gha.model.agent_manifest import CliPackage
from scylla_gha.model.experiment import SandboxWish, TrialLimits, agent_name
from scylla_gha.model.plan import Arm
from scylla_gha.model.publication import AgentDifference, AgentUpdate
from scylla_gha.model.trial import Attempt, Inventory, Observed, Outcome, SessionFacts, Trajectory
from scylla_gha.model.variant import AgentResources, Variant
from scylla_gha.plan.selection import select
from scylla_gha.prepare import prepare_scenario, prepare_workspace
from scylla_gha.prepare.agent_programs import newest_version
from scylla_gha.prepare.tools import cache_root
from scylla_gha.prepare.workspace import scratch
from scylla_gha.providers import PROVIDERS, shared_style
from scylla_gha.providers.base import parse_object
from scylla_gha.providers.scripted import SHELL_TEXT, scripted_provider
from scylla_gha.report.document import clipped
from scylla_gha.store import read_record
from scylla_gha.store.run_folder import AttemptFolder
from scylla_gha.system.process import Cancel
from scylla_gha.variants import agent_resources, line_hash

NO_PROVIDER: Final = GatewaySettings.local("http://127.0.0.1:9")  # the discard port: nothing answers
_CHARACTERS_PER_TOKEN: Final = 4  # mean for English, code and JSON
_LIMITS: Final = TrialLimits(timeout_seconds=180, api_retries=0, safety_net=False)
_LONGEST: Final = 2_000  # characters of a difference's text
_MOST_NAMES: Final = 20  # names in a text
_LONGEST_NAME: Final = 120
_LONGEST_LINE: Final = 1_000_000  # bytes of an event; longer events are skipped
_CENT: Final = 1e-6  # USD; smaller differences are rounding
_TURNS: Final = 2  # turns of a session: the use of the shell, and the text


@dataclass(frozen=True, slots=True)
class FileSize:
    """Number of parts of one kind in a variant, and of their files, lines and bytes."""

    parts: int
    files: int
    lines: int
    bytes: int


def file_sizes(variant: Variant, library: Library) -> dict[str, FileSize]:
    """Return the sizes of a variant's parts by kind (blocks, skills, agents, mcp), without empty kinds."""
    sizes = {}
    for kind, names in material_names(variant.treatment).items():
        paths = [material_path(library.roots, kind, name) for name in names]
        texts = [file.read_bytes() for path in paths for file in (_files(path) if path.is_dir() else [path])]
        if paths:
            lines = sum(text.count(b"\n") for text in texts)
            sizes[kind] = FileSize(len(paths), len(texts), lines, sum(map(len, texts)))
    return sizes


def tokens_of(characters: int) -> int:
    """Estimate the number of tokens in this number of characters."""
    return round(characters / _CHARACTERS_PER_TOKEN)


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]


@dataclass(frozen=True, slots=True)
class AgentStart:
    """An installed agent CLI (name@version), with the gateway, the sandboxes and the limits of its starts."""

    name: str
    installed: InstalledAgent
    gateway: GatewayProcess
    sandboxes: SandboxPool
    limits: TrialLimits = _LIMITS

    @property
    def aliases(self) -> list[str]:
        """The agent's short names of models, sorted."""
        return sorted(self.installed.agent.models.aliases)

    def models(self, library: Library) -> list[str]:
        """Return the ids of the models whose API the agent speaks, sorted."""
        spoken = self.installed.agent.api_styles
        return sorted(name for name, model in library.models().items() if shared_style(spoken, model.provider))

    def measured_models(self, library: Library) -> list[str]:
        """Return the models that an inventory has: those of providers whose main API, the first, the agent speaks.

        Models that other providers serve by that API too are left out: there may be hundreds.
        """
        spoken, models = self.installed.agent.api_styles, library.models()
        return [name for name in self.models(library) if next(iter(PROVIDERS[models[name].provider].styles)) in spoken]

    def takes(self, variant: Variant, model: str, library: Library) -> bool:
        """Return whether the agent can take all parts of a variant's treatment."""
        return not list(self.installed.agent.unsupported(self.arm("variant", model, variant), library.roots))

    def arm(self, arm_id: str, model: str, variant: Variant | None = None) -> Arm:
        """Return an arm of the agent."""
        name, version = agent_name(self.name)[0], self.installed.version
        digest = self.installed.agent.digest
        return Arm(id=arm_id, agent=name, version=version, model=model, variant=variant, manifest=digest)

    @contextmanager
    def attempt(
        self, arm: Arm, resources: AgentResources = AgentResources(), inventory: Inventory | None = None
    ) -> Iterator[tuple[Attempt, AttemptFolder]]:
        """Start the agent once, on a start state without files for agents; yield attempt and temporary folder."""
        own = Library((toolkit_root(),))  # a user's scenario may contain skills, which are not defaults of the CLI
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
            workspace = prepare_workspace(prepared, root / "ground")
            yield run_attempt(with_instructions(runner), prepared, workspace, folder), folder


@contextmanager
def startable(
    agent: str, sandbox: SandboxWish, library: Library, settings: GatewaySettings = NO_PROVIDER
) -> Iterator[AgentStart]:
    """Install an agent (name@version), and start a gateway for it, which has no provider by default.

    Raises:
        ConfigError: the agent is built in.
    """
    installed = find_agent(agent, install=True)
    if installed.agent.package is None:
        raise ConfigError(f"{agent} is built in, so it has no inventory and no variants; name an agent CLI")
    sandboxes = SandboxPool(most_isolated(library, "--sandbox {}") if sandbox == "auto" else sandbox, library)
    sandboxes.check()
    known = settings.model_copy(update={"models": tuple(library.models().values())})  # by which it knows providers
    with GatewayProcess.start(known) as gateway:
        yield AgentStart(agent, installed, gateway, sandboxes)


def start_variants(
    variants: Sequence[Variant],
    model: str,
    start: AgentStart,
    library: Library,
    jobs: int,
    measured: Inventory | None = None,
) -> Iterator[tuple[Variant, Attempt]]:
    """Start the agent once with each variant, `jobs` at once; yield the attempts in the order of the variants.

    The proof of delivery uses the inventory `measured`; None: the stored one.
    """
    inventory = measured or library.inventory(agent_name(start.name)[0], start.installed.version)

    def attempt(variant: Variant) -> Attempt:
        arm = start.arm(f"variant-{variant.id.replace('/', '-').lower()}", model, variant)
        with start.attempt(arm, agent_resources(variant, library.roots), inventory) as (record, _):
            return record

    with ThreadPoolExecutor(jobs) as workers:
        yield from zip(variants, workers.map(attempt, variants), strict=True)


def measure_baseline(agent: str, sandbox: SandboxWish, library: Library) -> Inventory:
    """Start an agent without any treatment, once with each model, and return its inventory.

    Args:
        agent: name@version.
        sandbox: sandbox of the agent; auto: the sandbox of trials.
        library: the configuration.

    Raises:
        ConfigError: the agent is built in.
        ToolError: the agent sent no model request.
    """
    with ExitStack() as opened:
        settings = NO_PROVIDER
        if find_agent(agent, install=False).agent.digest:  # such CLIs may repeat a refused request until their limit
            settings = GatewaySettings.local(opened.enter_context(scripted_provider()))
        start = opened.enter_context(startable(agent, sandbox, library, settings))
        models = start.measured_models(library)
        observations = [seen for model in models for seen in _observe(start, model)]
        aliases = {name: _requested_model(_observe(start, name)) or name for name in start.aliases}
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
    with start.attempt(start.arm("inventory", model)) as (attempt, folder):
        files = folder.file("transcript.jsonl"), folder.file("first-request.json")
        observations = start.installed.agent.observe(*files)
    if not {observation.source for observation in observations} >= {*start.installed.agent.delivery_sources}:
        raise ToolError(f"{start.name}: sent no model request with {model}: {attempt.reason}")
    return observations


def _requested_model(observations: Iterable[Observed]) -> str | None:
    """Return the id of the model in the first request."""
    return next((seen.model for seen in observations if seen.source == "first request"), None)


def _union(lists: Iterable[tuple[str, ...] | None]) -> tuple[str, ...]:
    return tuple(sorted({name for names in lists for name in names or ()}))


@dataclass(frozen=True, slots=True)
class UpdateOptions:
    """Options of a measurement: sandbox, model and globs of the sub-tests' starts, and starts at once."""

    sandbox: SandboxWish
    model: str
    sub_tests: tuple[str, ...]
    jobs: int


def packaged_agents(names: Sequence[str]) -> dict[str, CliPackage]:
    """Return the packages of agent CLIs by `name` or `name@version`; without names, of all CLIs.

    Raises:
        ConfigError: there is no such agent CLI.
    """
    packages = {name: agent.package for name, agent in AGENTS.items() if agent.package is not None}
    for name in names:
        if agent_name(name)[0] not in packages:
            raise ConfigError(f"--agent: {name!r} is not an agent CLI; there are: {', '.join(packages)}")
    return {name: packages[agent_name(name)[0]] for name in names or packages}


def measure_update(
    agent: str, package: CliPackage, library: Library, options: UpdateOptions, report: Callable[[str], None]
) -> AgentUpdate:
    """Measure an agent CLI at its newest version (or `name@version`), and compare it with the stored measurements.

    Raises:
        ToolError: the registry or the sandbox cannot be used.
    """
    name, pinned = agent_name(agent)
    version = pinned or newest_version(package)
    stored = _newest(library.inventories(), name, version)
    report(f"{name} {version}: compared with {stored.version if stored else 'nothing: no inventory is stored'}")
    update = AgentUpdate(agent=name, version=version, stored=stored.version if stored else None)
    differences: list[AgentDifference] = []
    try:
        inventory = measure_baseline(f"{name}@{version}", options.sandbox, library)
    except ToolError as error:
        return update.model_copy(update={"differences": (_difference("start", str(error)),)})
    differences += inventory_differences(stored, inventory) if stored else ()
    facts, faults = measure_sessions(f"{name}@{version}", options.sandbox, library, options.jobs)
    differences += faults
    earlier = _newest(library.agent_sessions(), name, version)
    differences += session_differences(earlier, facts) if earlier else ()
    variants = [library.tiers.variant(id_) for id_ in select("sub-tests", options.sub_tests, library.tiers.names)]
    report(f"{name} {version}: starting it with {counted(len(variants), 'sub-test')}")
    with startable(f"{name}@{version}", options.sandbox, library) as start:
        variants = [variant for variant in variants if start.takes(variant, options.model, library)]
        attempts = start_variants(variants, options.model, start, library, options.jobs, inventory)
        differences += [
            _difference(f"delivery of {variant.id}", attempt.delivery.shortfall if attempt.delivery else attempt.reason)
            for variant, attempt in attempts
            if not (attempt.delivery and attempt.delivery.proved)
        ]
    return update.model_copy(update={"differences": tuple(differences[:500]), "sub_tests": len(variants)})


def measure_sessions(
    agent: str, sandbox: SandboxWish, library: Library, jobs: int
) -> tuple[SessionFacts, Sequence[AgentDifference]]:
    """Run one session of an agent CLI (name@version) with each model and each short name of a model.

    Return the facts, and the faults of reading its transcripts.
    """
    with scripted_provider() as url, startable(agent, sandbox, library, GatewaySettings.local(url)) as start:
        models, aliases = start.measured_models(library), start.aliases
        with ThreadPoolExecutor(jobs) as workers:
            results = workers.map(partial(_session, start), (*models, *aliases))
            sessions = dict(zip((*models, *aliases), results, strict=True))
    events: dict[str, set[str]] = {}
    faults: dict[str, AgentDifference] = {}
    for model in models:
        for kind, fields in sessions[model].events.items():
            events.setdefault(kind, set()).update(fields)
        for fault in sessions[model].faults:
            faults.setdefault(fault, _difference("transcript", f"with {model}: {fault}"))
    facts = SessionFacts(
        agent=agent_name(agent)[0],
        version=str(start.installed.version),
        events={kind: tuple(sorted(fields)) for kind, fields in sorted(events.items())},
        models={alias: requested for alias in aliases if (requested := sessions[alias].model)},
        usd={model: usd for model in models if (usd := sessions[model].usd) is not None},
    )
    return facts, tuple(faults.values())


@dataclass(frozen=True, slots=True)
class _Session:
    events: dict[str, set[str]]
    usd: float | None
    model: str | None
    faults: tuple[str, ...]


def _session(start: AgentStart, model: str) -> _Session:
    agent = start.installed.agent
    with start.attempt(start.arm("session", model)) as (attempt, folder):
        transcript = folder.file("transcript.jsonl")
        requested = _requested_model(agent.observe(transcript, folder.file("first-request.json")))
        trajectory = read_record(folder.file("trajectory.json"), Trajectory) or Trajectory()
        calls = [call for step in trajectory.steps for call in step.tool_calls]
        faults = []
        if attempt.outcome is not Outcome.COMPLETED:
            faults.append(f"a session that ends normally is read as {attempt.outcome}: {attempt.reason}")
        if attempt.turns != _TURNS:
            faults.append(f"a session of {counted(_TURNS, 'turn')} is read as one of {attempt.turns}")
        if not any(SHELL_TEXT in (call.result or "") for call in calls):
            faults.append("the output of its shell command is not read")
        return _Session(event_fields(transcript), agent.stated_usd(transcript), requested, tuple(faults))


def event_fields(transcript: Path) -> dict[str, set[str]]:
    """Return the fields of a transcript's events by kind (type, subtype, and type of an inner event)."""
    fields: dict[str, set[str]] = {}
    with transcript.open("rb") as lines:
        for line in lines:
            event = parse_object(line) if len(line) <= _LONGEST_LINE else None
            if event is not None:
                inner = event.get("event")
                kinds = (
                    event.get("type"),
                    event.get("subtype"),
                    inner.get("type") if isinstance(inner, dict) else None,
                )
                kind = "/".join(str(part) for part in kinds if part is not None)
                fields.setdefault(kind, set()).update(event)
    return fields


F = TypeVar("F", Inventory, SessionFacts)


def _newest(stored: Iterable[F], name: str, version: str) -> F | None:
    """Return the facts of this version, otherwise of the newest earlier version, otherwise of the newest version."""
    own = [facts for facts in stored if facts.agent == name]
    limit = _numbers(version)
    return max(own, key=lambda facts: (_numbers(facts.version) <= limit, _numbers(facts.version)), default=None)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,9}", version))


def inventory_differences(stored: Inventory, measured: Inventory) -> Iterator[AgentDifference]:
    """Yield the differences between an inventory and the stored one, except agent and version."""
    for field in Inventory.model_fields:
        old, new = getattr(stored, field), getattr(measured, field)
        if field not in {"agent", "version"} and old != new:
            is_prompt = field == "prompt_lines"
            lines = (counted(len({*new} - {*old}), "new line"), counted(len({*old} - {*new}), "old line"))
            yield _difference(
                f"inventory, {field}", f"{lines[0]}; {lines[1]} missing" if is_prompt else _changes(old, new)
            )


def session_differences(stored: SessionFacts, measured: SessionFacts) -> Iterator[AgentDifference]:
    """Yield differences of sessions from the stored ones: transcript events, models of short names, stated costs."""
    for kind in sorted(stored.events.keys() | measured.events.keys()):
        fields = stored.events.get(kind, ()), measured.events.get(kind, ())
        if fields[0] != fields[1]:
            yield _difference(f"transcript, event {kind}", _changes(*fields))
    for name in sorted(stored.models.keys() | measured.models.keys()):
        old, new = stored.models.get(name), measured.models.get(name)
        if old != new:
            yield _difference("models", f"{name} stands for {new or 'no model'}; {old or 'nothing'} is stored")
    for name in sorted(stored.usd.keys() | measured.usd.keys()):
        costs = stored.usd.get(name), measured.usd.get(name)
        if costs[0] is None or costs[1] is None or abs(costs[0] - costs[1]) > _CENT:
            change = "" if None in costs else f", {dollars((costs[1] or 0.0) - (costs[0] or 0.0), '+')}"
            stated = f"the session with {name} costs {dollars(costs[1])} by the CLI"
            yield _difference("prices", f"{stated}; {dollars(costs[0])} is stored{change}")


def _changes(old: Iterable[str], new: Iterable[str]) -> str:
    """Describe the added and the removed names."""
    changes = {"added": sorted({*new} - {*old}), "removed": sorted({*old} - {*new})}
    lists = {
        word: first_of([clipped(name, _LONGEST_NAME) for name in names], _MOST_NAMES) for word, names in changes.items()
    }
    return "; ".join(f"{word}: {names}" for word, names in lists.items() if names) or "another order"


def _difference(part: str, text: str) -> AgentDifference:
    return AgentDifference(part=one_line(part)[:300], text=one_line(text)[:_LONGEST] or "no reason given")
