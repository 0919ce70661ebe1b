"""The real command line, as a person starts it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NO_ENGINE = "unix:///nowhere/docker.sock"
COMMAND = str(Path(sys.executable).with_name("scylla-gha"))


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


def scylla(*args: str, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 300) -> Said:
    """Run `scylla-gha` to its end with `env` added to the environment; an engine is only found where `env` tells it."""
    whole = {**os.environ, "DOCKER_HOST": NO_ENGINE, **(env or {})}
    done = subprocess.run(
        [COMMAND, *args], cwd=cwd, env=whole, capture_output=True, text=True, timeout=seconds, check=False
    )
    return Said(done.returncode, done.stdout, done.stderr)
