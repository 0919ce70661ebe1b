"""Journeys of real clients through a hub, as scripts in the form of Go's testscript.

A line is a command: `exec gh pr list` runs a program, `stdout REGEX` and `stderr REGEX` search what the last program
printed, `stdout2env NAME` keeps it, `exists FILE`, `mkdir DIR`, `cd DIR` and `env NAME=VALUE` do what they say, and
`user LOGIN` signs in another user. `!` before a command means that it must fail. `$NAME` is replaced outside of single
quotes, and `#` begins a comment. The first line that goes otherwise ends the journey.
"""

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.hub import NAME, OWNER
from tests.support.hub_server import ServedHub

JOURNEYS = Path(__file__).parents[1] / "integration/hub_journeys"
_SECONDS = 60


@dataclass(frozen=True)
class JourneyStep:
    """Line of a script; `rest` is what stands behind its first word."""

    number: int
    verb: str
    rest: str
    fails: bool


def read_journey(path: Path) -> list[JourneyStep]:
    """The lines of a script without blank ones and comments."""
    steps = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            sign, text = ("!", line[1:].strip()) if line.startswith("!") else ("", line.strip())
            verb, _, rest = text.partition(" ")
            steps.append(JourneyStep(number, verb, rest, bool(sign)))
    return steps


@dataclass
class Journey:
    """State of a script that runs: folder, variables, user, and what the last program printed."""

    environment_of: Callable[[str], Mapping[str, str]]
    user: str
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)  # variables that the script has set
    stdout: str = ""
    stderr: str = ""

    def first_failure(self, path: Path) -> str | None:
        """Run a script and return its first line that goes otherwise, with what was printed; None if none does."""
        for step in read_journey(path):
            if self._run(step) == step.fails:
                line = f"{'! ' if step.fails else ''}{step.verb} {self._expanded(step.rest)}"
                return f"{path.name}:{step.number}: {line}\n{self.stdout}{self.stderr}"
        return None

    def _run(self, step: JourneyStep) -> bool:
        words = shlex.split(self._expanded(step.rest))
        match step.verb:
            case "exec":
                return self._exec(words)
            case "stdout" | "stderr":
                return re.search(words[0], getattr(self, step.verb), re.MULTILINE) is not None
            case "exists":
                return (self.folder / words[0]).exists()
            case _:
                self._set(step.verb, words[0])
                return True

    def _set(self, verb: str, word: str) -> None:
        match verb:
            case "stdout2env":
                self.own[word] = self.stdout.strip()
            case "env":
                name, _, value = word.partition("=")
                self.own[name] = value
            case "cd":
                self.folder = (self.folder / word).resolve(strict=True)
            case "mkdir":
                (self.folder / word).mkdir(parents=True)
            case "user":
                self.user = word
            case _:
                raise AssertionError(f"{verb}: there is no such command")

    def _exec(self, words: list[str]) -> bool:
        environment = {**self.environment_of(self.user), **self.own}
        ran = subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=_SECONDS,
                             check=False, stdin=subprocess.DEVNULL)  # fmt: skip
        self.stdout, self.stderr = ran.stdout, ran.stderr
        return ran.returncode == 0

    def _expanded(self, text: str) -> str:
        known = {**self.variables, **self.own}
        return "".join(_replaced(text, known))


def _replaced(text: str, known: Mapping[str, str]) -> Iterator[str]:
    for part in re.split(r"('[^']*')", text):
        yield (
            part
            if part.startswith("'")
            else re.sub(r"\$(\w+)|\$\{(\w+)\}", lambda name: known[name[1] or name[2]], part)
        )


def run_journey(served: ServedHub, noun: str, values: Mapping[str, object]) -> str | None:
    """The first line that goes otherwise of a script in a clone of the hub's repository; None if none does."""
    variables = {name: str(value) for name, value in values.items()}
    return Journey(served.environment, "octocat", clone_of(served), variables).first_failure(JOURNEYS / f"{noun}.txtar")


def clone_of(served: ServedHub) -> Path:
    """A clone of the hub's repository over HTTP."""
    clone = served.folder / NAME
    served.run("git", "clone", "--quiet", f"https://github.com/{OWNER}/{NAME}.git", str(clone))
    return clone
