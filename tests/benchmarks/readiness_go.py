"""Readiness of Go code with the real toolchain, by hand: `python tests/benchmarks/readiness_go.py [DIR ...]`.

Without a folder it measures the built code base. It prints what the command prints: the built-in oracle must score 100
in each dimension. The toolchain and Go's compiled library are installed into the cache first (about 250 and 70 MB).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support.readiness_repository import readiness_repository

ROOT = Path(__file__).resolve().parents[2]


def measure(repository: Path, folder: Path) -> None:
    """Run the command on a repository and print its output."""
    started = time.monotonic()
    command = [sys.executable, "-m", "scylla_gha", "readiness", str(repository), "--agent", "oracle", "--anchors", "8",
               "--yes", "--sandbox", "bubblewrap", "--runs", str(folder / "runs")]  # fmt: skip
    done = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    print(f"{repository.name}: exit code {done.returncode}, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=Path)
    folders = parser.parse_args().folders
    with tempfile.TemporaryDirectory() as name:
        for number, repository in enumerate(folders or [readiness_repository(Path(name) / "ferry", "go")]):
            target = Path(name) / f"run-{number}"
            target.mkdir()
            measure(repository.resolve(), target)
