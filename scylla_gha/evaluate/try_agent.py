"""One session of an agent CLI with a scripted model, for the author of its manifest."""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scylla_gha.agents.manifest import ManifestAgent
from scylla_gha.agents.manifest.transcript import unread_events
from scylla_gha.config.library import Library
from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.measure_agents import startable
from scylla_gha.gateway.settings import GatewaySettings
from scylla_gha.model.experiment import SandboxWish
from scylla_gha.model.trial import Attempt, Outcome, Trajectory
from scylla_gha.providers.scripted import SHELL_TEXT, scripted_provider
from scylla_gha.store import read_record

_MAX_LISTED = 12
_FILES = ("transcript.jsonl", "stderr.txt", "first-request.json", "trajectory.json", "attempt.json")


@dataclass(frozen=True, slots=True)
class TriedAgent:
    """Result of one session with a scripted model that asks for one use of the shell.

    Attributes:
        model: id of the model.
        attempt: record of the attempt.
        has_shell_text: True if the conversation has the output of the shell.
        has_events: True if the CLI writes events, by which its manifest reads calls of tools.
        unread: number of output lines that match no rule of the manifest, by their kind.
    """

    model: str
    attempt: Attempt
    has_shell_text: bool
    has_events: bool
    unread: Counter[str]

    def lines(self) -> Iterator[str]:
        """Yield the facts of the session."""
        attempt, delivery = self.attempt, self.attempt.delivery
        yield f"outcome: {attempt.outcome} ({attempt.reason})"
        yield f"requests: {attempt.requests}, of which {counted(attempt.turns or 0, 'turn')} of the main conversation"
        calls = ", ".join(f"{name} ({times})" for name, times in attempt.tool_calls.items())
        yield f"tool calls: {calls or 'none'}"
        yield f"defined tools: {'not seen' if delivery is None or delivery.tools is None else delivery.tools}"
        if self.unread:
            listed = ", ".join(f"{kind} ({times})" for kind, times in self.unread.most_common(_MAX_LISTED))
            yield f"lines without a rule: {listed}"
        if attempt.network and attempt.network.refused:
            yield f"refused hosts: {', '.join(attempt.network.refused)}"

    def faults(self) -> Iterator[str]:
        """Yield what is to be corrected in the manifest."""
        attempt, delivery = self.attempt, self.attempt.delivery
        if attempt.outcome is not Outcome.COMPLETED:
            yield f"a session that ends well is read as {attempt.outcome}: {attempt.reason}"
        if delivery is None or not delivery.proved:
            yield delivery.shortfall if delivery else "there is no proof of what the model got"
        if not self.has_events:
            if delivery and delivery.tools and attempt.requests == 1:
                yield "the CLI asked the model once, so it did not use the shell; it may wait for a confirmation"
            return
        if not attempt.tool_calls:
            yield "no tool call was read: the CLI offers no shell to the model, or `events` has no rule for its calls"
        elif not self.has_shell_text:
            yield f"the conversation has no result of the shell ({SHELL_TEXT!r}): `events` has no rule for results"


def try_agent(
    agent: str, model: str | None, sandbox: SandboxWish, library: Library, into: Path | None = None
) -> TriedAgent:
    """Start an agent CLI (name@version) once with a scripted model.

    Args:
        agent: name of the agent, with a version unless it is on PATH.
        model: id of the model; None: the first of `config/models/` whose API the agent speaks.
        sandbox: sandbox of the agent.
        library: the configuration.
        into: folder for the files of the session; None: they are removed.

    Raises:
        ConfigError: there is no such agent or model.
        ToolError: the agent cannot be installed or started.
    """
    with scripted_provider() as url, startable(agent, sandbox, library, GatewaySettings.local(url)) as start:
        models = start.models(library)
        chosen = model or next(iter(models), None)
        if chosen not in models:
            spoken = " and ".join(start.installed.agent.api_styles)
            raise ConfigError(f"--model: {agent} speaks {spoken}, and so can use: {', '.join(models) or 'none'}")
        with start.attempt(start.arm("try", chosen)) as (attempt, folder):
            trajectory = read_record(folder.file("trajectory.json"), Trajectory) or Trajectory()
            results = [call.result or "" for step in trajectory.steps for call in step.tool_calls]
            known, transcript = start.installed.agent, folder.file("transcript.jsonl")
            manifest = known.manifest if isinstance(known, ManifestAgent) else None
            unread = unread_events(manifest, transcript) if manifest and transcript.is_file() else Counter[str]()
            if into is not None:
                into.mkdir(parents=True, exist_ok=True)
                for name in _FILES:
                    if folder.file(name).is_file():
                        shutil.copyfile(folder.file(name), into / name)
            has_events = manifest is None or bool(manifest.event_rules)
            return TriedAgent(chosen, attempt, any(SHELL_TEXT in result for result in results), has_events, unread)
