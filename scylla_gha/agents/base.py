"""What the harness asks of an agent: how to start it, and how to read what it left."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from scylla_gha.model.delivery import Declared, Observed
from scylla_gha.model.experiment import Limits
from scylla_gha.model.outfit import Outfit
from scylla_gha.model.trial import Outcome, Trajectory, Watched
from scylla_gha.model.variant import Treatment
from scylla_gha.proc import Finished


@dataclass(frozen=True, slots=True)
class Access:
    """How an agent reaches its model: the gateway's address, and the dummy key that names the trial there."""

    url: str
    token: str


@dataclass(frozen=True, slots=True)
class Task:
    """A cell as the agent gets it. `patch` is the reference solution, which only the oracle may use.

    `names` are what folders are called where the agent works. Where their paths stand in its command, the sandbox puts
    those; in files that are laid for it, `seen` has to. `managed` is a folder for what only the machine's
    administrator may change; None where the agent could write anywhere.
    """

    prompt: str
    home: Path
    patch: Path
    limits: Limits
    access: Access | None = None
    model: str | None = None
    treatment: Treatment = Treatment()
    outfit: Outfit = Outfit()
    names: Mapping[Path, str] = field(default_factory=dict)
    managed: Path | None = None

    def seen(self, path: Path) -> str:
        """What a path is called where the agent works."""
        for folder, name in self.names.items():
            if path.is_relative_to(folder):
                return str(Path(name) / path.relative_to(folder))
        return str(path)


@dataclass(frozen=True, slots=True)
class Command:
    """How to start an agent; the prompt goes in on standard input, as text. `secrets` must not be kept anywhere.

    `managed` are folders of the administrator's, as of a box.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    managed: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """What an agent's process left: how it ended, its limit in seconds, and its outputs."""

    finished: Finished
    limit_seconds: float
    transcript: Path
    stderr: Path

    def complaint(self, length: int = 300) -> str:
        """The end of what it said on standard error, or else on standard output."""
        for path in (self.stderr, self.transcript):
            text = path.read_bytes()[-10_000:].decode(errors="replace").strip()
            if text:
                return text[-length:]
        return "it said nothing"


@dataclass(frozen=True, slots=True)
class Reading:
    """An attempt as the transcript tells it. `retryable`: the same cell may end otherwise if it is run again.

    What it cost is not the agent's to tell: for a model it does not know, Claude Code invents a price.
    """

    outcome: Outcome
    reason: str
    retryable: bool = False
    trajectory: Trajectory = Trajectory()
    turns: int | None = None
    version: str | None = None
    safety_net: Watched | None = None


@dataclass(frozen=True, slots=True)
class Package:
    """Where an agent CLI comes from: npm package, program in it, and the oldest version that is understood.

    `side_models` are those that it asks for by itself, whatever model it is started with. `aliases` are its short
    names of models, with what it asks for by them; a name that stands in the id of its own model means that one.
    """

    npm: str
    program: str
    oldest: tuple[int, ...]
    side_models: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)


class Agent(Protocol):
    """An agent CLI, or a built-in agent."""

    @property
    def package(self) -> Package | None:
        """None: the agent is built in, uses no model and costs nothing."""

    def version(self, program: str) -> str:
        """The version of the program, or of the built-in agent. ToolError where it is too old or not known."""

    def command(self, task: Task, program: str) -> Command:
        """How to start it on a task; may lay files into the task's HOME."""

    def read(self, ended: Ended) -> Reading:
        """What happened, by rule."""

    def declare(self, task: Task, workspace: Path) -> Declared | None:
        """What the treatment gives it, in its own names, before it starts; None: there is nothing to prove."""

    def observe(self, transcript: Path, request: Path) -> tuple[Observed, ...]:
        """What it really had, as its transcript and its first request to the model say."""


def read_plain(ended: Ended) -> Reading:
    """The reading of a built-in agent, which uses no model; where it fails, the scenario is at fault."""
    if ended.finished.timed_out:
        outcome, reason = Outcome.TIMEOUT, f"ended at the limit of {ended.limit_seconds:g} s"
    elif ended.finished.code:
        outcome, reason = Outcome.FIXTURE_ERROR, f"exit code {ended.finished.code}: {ended.complaint()}"
    else:
        outcome, reason = Outcome.COMPLETED, "done"
    return Reading(outcome, reason, turns=0)
