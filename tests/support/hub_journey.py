"""Journeys of real clients through a served hub, as transcripts.

A line `octocat$ gh pr list` is run by that user, in a clone that all users share; `octocat! ...` has to fail. Each
indented line after it has to be in what the command printed. `{name}` in a command is replaced by a given value, and
`{last}` by what the command before it printed.
"""

import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.hub import NAME, OWNER
from tests.support.hub_server import ServedHub

JOURNEYS = Path(__file__).parents[1] / "integration/hub_journeys"
_COMMAND = re.compile(r"(?P<user>\w+)(?P<sign>[$!]) (?P<command>.+)")


@dataclass(frozen=True)
class JourneyStep:
    """Command of a user, and what it has to print."""

    user: str
    command: str
    fails: bool
    prints: tuple[str, ...]


def read_journey(name: str) -> list[JourneyStep]:
    """The steps of a transcript."""
    steps: list[JourneyStep] = []
    for line in (JOURNEYS / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            last = steps.pop()
            steps.append(JourneyStep(last.user, last.command, last.fails, (*last.prints, line[2:])))
        elif line and not line.startswith("#"):
            matched = _COMMAND.fullmatch(line)
            assert matched, line
            steps.append(JourneyStep(matched["user"], matched["command"], matched["sign"] == "!", ()))
    return steps


def run_journey(served: ServedHub, name: str, values: Mapping[str, object]) -> Iterator[str]:
    """Run a transcript, and yield what went otherwise."""
    clone = clone_of(served)
    environments = {user: served.environment(user) for user in {step.user for step in read_journey(name)}}
    known = dict(values)
    for step in read_journey(name):
        command = re.sub(r"\{(\w+)\}", lambda part: str(known.get(part[1], part[0])), step.command)
        ran = subprocess.run(shlex.split(command), cwd=clone, env=environments[step.user], capture_output=True,
                             text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)  # fmt: skip
        printed, known["last"] = ran.stdout + ran.stderr, ran.stdout.strip()
        if (ran.returncode != 0) != step.fails:
            yield f"{step.user}: {command}: exit code {ran.returncode}\n{printed}"
        yield from (f"{step.user}: {command}: {text!r} is not in\n{printed}" for text in step.prints
                    if text not in printed)  # fmt: skip


def clone_of(served: ServedHub) -> Path:
    """A clone of the hub's repository over HTTP."""
    clone = served.folder / NAME
    served.run("git", "clone", "--quiet", f"https://github.com/{OWNER}/{NAME}.git", str(clone))
    return clone
