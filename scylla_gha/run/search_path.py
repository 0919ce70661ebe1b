"""Search of PATH in an agent's sandbox for the programs of all modes, before the agent starts."""

import datetime
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Final

from scylla_gha.errors import SandboxError
from scylla_gha.model.delivery import Delivery, Observed
from scylla_gha.model.trial import NO_USAGE, Attempt, Outcome
from scylla_gha.process import ProcessLimits, ProcessStreams
from scylla_gha.run.equip import AgentRunner, EquippedAgent
from scylla_gha.sandboxes.base import Sandbox

GIT: Final = "git"  # in every mode
_SECONDS: Final = 60.0
_OUTPUT_BYTES: Final = 1_000_000
_SEARCH: Final = 'for name; do if command -v "$name" >/dev/null; then echo "$name"; fi; done'


def observe_programs(runner: AgentRunner, equipped: EquippedAgent) -> Observed | None:
    """Return which programs of any mode are on the agent's PATH; None if the run was cancelled meanwhile.

    They are searched in a sandbox of the same image, programs and PATH, whose workspace and HOME are empty.

    Raises:
        SandboxError: the sandbox cannot be started.
    """
    mode = runner.arm.mode
    names = dict.fromkeys((GIT, *(mode.programs if mode else ()), *runner.other_programs))
    with tempfile.TemporaryDirectory() as folder:
        cwd, home, stdin = Path(folder, "cwd"), Path(folder, "home"), Path(folder, "stdin")
        cwd.mkdir()
        home.mkdir()
        stdin.touch()
        streams = ProcessStreams(Path(folder, "stdout"), Path(folder, "stderr"), stdin)
        mounts = replace(equipped.mounts, cwd=cwd, home=home, sockets=None, has_github=False, keep=False, extra={})
        argv, limits = ("/bin/sh", "-c", _SEARCH, "sh", *names), ProcessLimits(_SECONDS, _OUTPUT_BYTES)
        finished = runner.target.sandbox.run(argv, mounts, streams, limits, runner.cancel)
        if finished.cancelled:
            return None
        if finished.code:
            raise SandboxError(f"PATH could not be searched: exit code {finished.code} "
                               f"({streams.stderr.read_text(errors='replace')[-300:].strip()})")  # fmt: skip
        return Observed(source="search of PATH", programs=tuple(streams.stdout.read_text("utf-8").split()))


def not_started(number: int, delivery: Delivery, sandbox: Sandbox) -> Attempt:
    """Return the attempt of an agent that was not started, since its sandbox has other programs than its mode."""
    advice = (
        "" if sandbox.needs_image else "; programs of the machine are on PATH in this sandbox; use the sandbox docker"
    )
    return Attempt(
        number=number,
        outcome=Outcome.DELIVERY_ERROR,
        reason=f"the agent was not started: {delivery.reason}{advice}",
        retryable=False,
        started_at=datetime.datetime.now(datetime.UTC),
        seconds=0.0,
        usage=NO_USAGE,
        delivery=delivery,
    )
