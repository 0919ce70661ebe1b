"""Whole-process speed, run by hand: `python tests/benchmarks/speed.py [start|cells|plan|modules|first-report ...]`.

Each figure is measured on the real command, side by side with what it is compared with. `first-report --against COMMIT`
measures clean clones of HEAD and of another commit in turn, and prints their ratios too.
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
variants: ["T*/*-test"]
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
    """114 sub-tests x 47 scenarios x 10 repetitions into a written plan, against the import of click, in turn."""
    write_ladder(folder)
    pairs = [(seconds([COMMAND, "plan", "ladder"], folder), seconds([sys.executable, "-c", "import click"], folder))
             for _ in range(5)]  # fmt: skip
    ours, clicks = (statistics.median(column) for column in zip(*pairs, strict=True))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    cells = len(json.loads((folder / "runs/ladder/plan.json").read_text())["cells"])
    assert cells == 114 * 47 * 10
    return {"cells": cells, "wall_s": ours, "import_click_s": clicks, "ratio": ours / clicks, "peak_mb": peak}


def write_ladder(folder: Path) -> None:
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


ENTERED = """\
import inspect, json, sys, threading
from pathlib import Path

import scylla_gha

root, entered = Path(scylla_gha.__file__).parent, set()

def profile(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_flags & inspect.CO_OPTIMIZED:  # a function's, not a module's or a class's
        entered.add(code.co_filename)

sys.argv[0] = "scylla-gha"
threading.setprofile(profile)
sys.setprofile(profile)
try:
    from scylla_gha.cli.main import main

    main()
finally:
    sys.setprofile(None)
    paths = [path for path in map(Path, entered) if path.suffix == ".py" and path.is_relative_to(root)]
    names = sorted(".".join(path.relative_to(root).with_suffix("").parts) for path in paths)
    Path("entered.json").write_text(json.dumps(names))
"""


def modules(folder: Path) -> dict[str, float]:
    """Modules entered by one cell: those in which a function runs while `evaluate` takes it from plan to report.

    Child processes (gateway, checks, git) are not counted. The names are printed on standard error.
    """
    argv = ["evaluate", "quickstart", "--only", "001-hello-world--oracle--r01", "--runs", "runs"]
    subprocess.run([sys.executable, "-c", ENTERED, *argv], cwd=folder, env=ENV, check=True, stdout=subprocess.DEVNULL)
    names = json.loads((folder / "entered.json").read_text())
    print(*names, sep="\n", file=sys.stderr)
    return {"modules_entered_by_one_cell": len(names)}


def first_report(folder: Path, commits: Sequence[str]) -> dict[str, float]:
    """The README's first command in clean clones, then the quickstart anew in each: wall and processor seconds.

    The caches of uv and pip are the user's own, which an earlier run has filled; all else is made anew.
    """
    figures: dict[str, float] = {}
    for number, commit in enumerate(commits):
        clone = folder / f"clone-{number}"
        subprocess.run(["git", "clone", "-q", Path(__file__).parents[2], clone], check=True)
        subprocess.run(["git", "checkout", "-q", "--detach", commit], cwd=clone, check=True)
        for name in ("first_report", "quickstart"):
            wall, processor = _evaluation(clone, folder / f"cache-{number}", folder / f"{name}-{number}")
            figures |= {f"{name}_s{'_before' * number}": wall, f"{name}_cpu_s{'_before' * number}": processor}
    before = [name for name in figures if name.endswith("_before")]
    ratios = {
        name.replace("_s_before", "_ratio"): figures[name.removesuffix("_before")] / figures[name] for name in before
    }
    return figures | ratios


def _evaluation(clone: Path, cache: Path, runs: Path) -> tuple[float, float]:
    """Wall and processor seconds of `./scylla evaluate`, outside of this environment."""
    own = str(COMMAND.parent)
    path = os.pathsep.join(part for part in ENV["PATH"].split(os.pathsep) if part != own)
    env = {**ENV, "PATH": path, "SCYLLA_CACHE": str(cache)}
    env.pop("VIRTUAL_ENV", None)
    before, began = _processor_seconds(), time.perf_counter()
    done = subprocess.run(
        ["./scylla", "evaluate", "--runs", runs], cwd=clone, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "16 planned, 16 ran, 16 judged, 16 scored" in done.stdout, done.stdout
    return time.perf_counter() - began, _processor_seconds() - before


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", metavar="start|cells|plan|modules|first-report")
    parser.add_argument("--against", metavar="COMMIT")
    options = parser.parse_args()
    commits = ["HEAD", *([options.against] if options.against else [])]
    every: dict[str, Callable[[Path], dict[str, float]]] = {
        "start": start,
        "cells": cells,
        "plan": plan,
        "modules": modules,
        "first-report": lambda folder: first_report(folder, commits),
    }
    for name in options.what or every:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps({name: {key: round(value, 3) for key, value in every[name](Path(folder)).items()}}))


if __name__ == "__main__":
    main()
