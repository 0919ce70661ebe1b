"""A program in the place of the `claude` command, and the command line while it runs."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.ask import ASK
from tests.support.claude import DATA
from tests.support.command import COMMAND, NO_ENGINE
from tests.support.repository import environment, write_greet_experiment

CANARY = "sk-canary-0123456789"
ARM = "t0-00-empty.claude-code.claude-sonnet-5"


def stand_in(folder: Path, script: str) -> Path:
    """A folder with a `claude` of version 2.1.197 that does what the shell script does."""
    program = folder / "bin" / "claude"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo "2.1.197 (Claude Code)"; exit; }}\n{script}\n')
    program.chmod(0o755)
    return program.parent


def ask(text: str) -> str:
    """The shell command that asks the model as the CLI does: with the tools that it has."""
    return f'{ASK} claude-sonnet-5 "{text}" Agent,Bash,Edit,Read,Skill,Write'


def tell(name: str) -> str:
    """The shell command that prints a recorded transcript."""
    return f"sed s/claude-sonnet-4-5-20250929/claude-sonnet-5/ {DATA}/{name}.jsonl"


def say(name: str) -> str:
    """The shell command that asks the model in vain, and prints a recorded transcript."""
    return f"{ask('Hello?')} 2>/dev/null; {tell(name)}"


def claude_environment(root: Path, script: str, **given: str) -> dict[str, str]:
    """The environment of the command line with the stand-in first on PATH, a key, and a provider that nobody is at."""
    found = environment(root, ANTHROPIC_API_KEY=CANARY, ANTHROPIC_BASE_URL="http://127.0.0.1:9", **given)
    return {**found, "PATH": f"{stand_in(root, script)}:{found['PATH']}"}


def write_claude_experiment(root: Path, **given: Any) -> Path:
    """The experiment `greet` with the stand-in's arm only, on the host, where its folder is; it asks no hook either."""
    fields = {"sandbox": "host", "agents": ("claude-code",), "variants": ("T0/00-empty",),
              "models": ("claude-sonnet-5",), "baseline": ARM, **given,
              "limits": {"safety_net": False, **given.get("limits", {})}}  # fmt: skip
    return write_greet_experiment(root, **fields)


@contextlib.contextmanager
def running(*args: str, cwd: Path, env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """`scylla-gha` as a process of its own, which is ended where the test does not end it."""
    whole = {**os.environ, "DOCKER_HOST": NO_ENGINE, **env}
    with subprocess.Popen([COMMAND, *args], cwd=cwd, env=whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
