"""Whole-process speed, run by hand: `python tests/benchmarks/speed.py [start|cells|plan ...]`.

Each figure is the median of several runs of the real command, side by side with what it is compared with.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

COMMAND = Path(sys.executable).with_name("scylla-gha")
ENV = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
CELLS = """\
id: cells
question: How long does a cell take?
scenarios: [001-hello-world]
agents: [oracle]
repetitions: COUNT
baseline: oracle
"""
LADDER = """\
id: ladder
question: How long does planning take?
scenarios: ["*"]
agents: [claude-code@2.1.332]
variants: ["T*/*"]
models: [claude-sonnet-5]
repetitions: 10
baseline: t0-00-test.claude-code.claude-sonnet-5
"""


def seconds(argv: Sequence[str | Path], cwd: Path) -> float:
    started = time.perf_counter()
    subprocess.run(argv, cwd=cwd, env=ENV, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def start(folder: Path) -> dict[str, float]:
    """`--help` against the import of click, in turn."""
    pairs = [(seconds([COMMAND, "--help"], folder), seconds([sys.executable, "-c", "import click"], folder))
             for _ in range(21)]  # fmt: skip
    ours, clicks = (statistics.median(column) for column in zip(*pairs[1:], strict=True))
    return {"help_ms": 1000 * ours, "import_click_ms": 1000 * clicks, "ratio": ours / clicks}


def cells(folder: Path, count: int = 1000) -> dict[str, float]:
    """Oracle cells of 001-hello-world, two at once, everything included; memory after few and after many."""
    peaks = {}
    wall = 0.0
    for number in (count // 10, count):
        (folder / "cells.yaml").write_text(CELLS.replace("COUNT", str(number)))
        argv: list[str | Path] = [COMMAND, "evaluate", "cells.yaml", "--runs", f"runs-{number}", "--jobs", "2"]
        began = time.perf_counter()
        with (folder / "log.txt").open("wb") as log:
            process = subprocess.Popen(argv, cwd=folder, env=ENV, stdout=log, stderr=log)
        peaks[number] = _peak_mb(process)
        assert process.wait() == 0, (folder / "log.txt").read_text()
        wall = time.perf_counter() - began
    return {"cells": count, "ms_per_cell": 1000 * wall / count, "peak_mb": peaks[count],
            "peak_mb_of_a_tenth": peaks[count // 10]}  # fmt: skip


def _peak_mb(process: subprocess.Popen[bytes]) -> float:
    """The process's own peak (the kernel's high-water mark), read until it ends."""
    peak = 0.0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        peak = max([peak, *(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))])
        time.sleep(0.05)
    return peak


def plan(folder: Path) -> dict[str, float]:
    """114 sub-tests x 47 scenarios x 10 repetitions into a written plan."""
    _ladder(folder)
    walls = [seconds([COMMAND, "plan", "ladder"], folder) for _ in range(5)]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"cells": 114 * 47 * 10, "wall_s": statistics.median(walls), "peak_mb": peak}


def _ladder(folder: Path) -> None:
    """A repository with 47 scenarios and 114 sub-tests, all copies of the first."""
    toolkit = Path(__file__).parents[2]
    first = toolkit / "scenarios/core/001-hello-world"
    for number in range(1, 48):
        target = folder / f"scenarios/core/{number:03d}-test"
        target.mkdir(parents=True)
        for name in ("prompt.md", "rubric.yaml", "scenario.yaml"):
            text = (first / name).read_text().replace("001-hello-world", target.name)
            (target / name).write_text(text)
    tiers = {"T0": 24, "T1": 11, "T2": 15, "T3": 41, "T4": 7, "T5": 15, "T6": 1}
    (folder / "config/tiers").mkdir(parents=True)
    for tier, count in tiers.items():
        tests = [{"id": f"{n:02d}-test", "description": "d", "treatment": {"system_prompt": {"append": f"{tier} {n}"}}}
                 for n in range(count)]  # fmt: skip
        text = json.dumps({"id": tier, "name": "n", "focus": "f", "sub_tests": tests})
        (folder / f"config/tiers/{tier}.yaml").write_text(text)
    (folder / "config/experiments").mkdir()
    (folder / "config/experiments/ladder.yaml").write_text(LADDER.replace('"*"', '"*-test"'))


def main() -> None:
    every: dict[str, Callable[[Path], dict[str, float]]] = {"start": start, "cells": cells, "plan": plan}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", metavar="|".join(every))
    for name in parser.parse_args().what or every:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps({name: {key: round(value, 3) for key, value in every[name](Path(folder)).items()}}))


if __name__ == "__main__":
    main()
