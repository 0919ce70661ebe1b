"""Cost of the Docker sandbox, run by hand: `python tests/benchmarks/docker_sandbox.py [trial|copy ...]`.

An engine has to answer.
`trial`: `true` in a sandbox, workspace in and out, in turn with a bare `docker run --rm --network none`;
the median of each, without the removal of the sandbox, which goes on behind the run, and with it.
`copy`: the same with 100 MB in 1,000 files, in and out.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from scylla_gha.config.library import Library
from scylla_gha.images import archive, layers
from scylla_gha.prepare.tools import cache_root
from scylla_gha.sandboxes.base import SandboxMounts
from scylla_gha.sandboxes.docker import DockerSandbox, engine
from scylla_gha.system.process import ProcessLimits, ProcessStreams

ROOT = Path(__file__).parents[2]


def in_a_sandbox(image: str, size: int = 0, files: int = 1) -> tuple[float, float]:
    """Seconds of a run in a fresh workspace of so many bytes, and until its container was gone."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        box = SandboxMounts(top / "workspace", top / "home", "", image=image)
        box.cwd.mkdir()
        box.home.mkdir()
        for number in range(files):
            (box.cwd / f"{number}.bin").write_bytes(os.urandom(size // files))
        began = time.perf_counter()
        done = DockerSandbox().run(("true",), box, ProcessStreams(top / "out", top / "err"), ProcessLimits(60))
        taken = time.perf_counter() - began
        assert (done.code, done.hits) == (0, frozenset()), done
        engine.await_removals()
        gone = time.perf_counter() - began
    return taken, gone


def bare(image: str) -> float:
    began = time.perf_counter()
    subprocess.run(["docker", "run", "--rm", "--network", "none", image, "true"], check=True)
    return time.perf_counter() - began


def trial(image: str) -> dict[str, float]:
    rows = [(*in_a_sandbox(image), bare(image)) for _ in range(21)][1:]
    ours, gone, bares = (statistics.median(column) for column in zip(*rows, strict=True))
    return {"trial_ms": 1000 * ours, "gone_ms": 1000 * gone, "bare_ms": 1000 * bares,
            "allowed_ms": 1300 * bares + 150, "ratio": ours / bares,
            "within": sum(ours <= 1.3 * bares + 0.15 for ours, _, bares in rows) / len(rows)}  # fmt: skip


def copy(image: str) -> dict[str, float]:
    mega = 100
    empty = statistics.median(in_a_sandbox(image)[0] for _ in range(5))
    full = statistics.median(in_a_sandbox(image, mega * 10**6, 1000)[0] for _ in range(5))
    return {"empty_ms": 1000 * empty, "full_ms": 1000 * full, "mb_per_s_in_and_out": mega / (full - empty)}


def main() -> None:
    every: dict[str, Callable[[str], dict[str, float]]] = {"trial": trial, "copy": copy}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", metavar="|".join(every))
    drawn = layers.build_image(layers.ImageSpec(Library.here(ROOT).image(), {}), cache_root())
    chosen = parser.parse_args().what or every
    with contextlib.closing(engine.connect()) as api:
        image = archive.ensure_image(api, drawn, cache_root())
    for name in chosen:
        print(json.dumps({name: {key: round(value, 2) for key, value in every[name](image).items()}}))


if __name__ == "__main__":
    main()
