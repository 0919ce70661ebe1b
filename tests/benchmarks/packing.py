"""Planning and packing, run by hand: `python -m tests.benchmarks.packing [spread|plan|cell ...]`.

`spread`: how far packed waves are from the bound, for cells whose minutes are lognormal (as an agent's are), drawn
for each scenario and arm; with drift (see scylla_gha/plan/wave.py) and seconds.
`plan`: `plan --github` for 53,580 cells, the whole process, against 5 seconds.
`cell`: what a job adds to its cells, the whole process: a shard of that plan of which no cell is started, and one of
one oracle cell; with the first start of an installation, whose modules are not compiled. `--command` is that of a base
installation (`uv sync --frozen --no-dev` into an environment of its own).
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from scylla_gha.plan.wave import PackedWave, WaveLimits, drift, pack_shards
from tests.benchmarks.speed import write_ladder
from tests.support.actions import step_in

COMMAND = Path(sys.executable).with_name("scylla-gha")
WAVES = ((5, 10, 1), (47, 10, 3), (114, 47, 1), (114, 47, 10))
PROOF = """\
id: proof
question: What does a job add?
scenarios: ["*-test"]
agents: [oracle, nop]
repetitions: 570
baseline: nop
"""


def cells(arms: int, scenarios: int, repetitions: int, sigma: float) -> Iterator[tuple[str, float]]:
    """In a plan's order."""
    rng = random.Random(f"{arms}:{scenarios}:{repetitions}:{sigma}")
    minutes = {(s, a): rng.lognormvariate(1.5, sigma) for s in range(scenarios) for a in range(arms)}
    for _ in range(repetitions):
        for scenario in range(scenarios):
            for arm in rng.sample(range(arms), arms):
                yield f"arm-{arm}", minutes[scenario, arm]


def spread() -> None:
    print(f"{'cells':>6} {'sigma':>5} {'lanes':>5} {'jobs':>4} {'left':>6} {'minutes':>8} {'ratio':>7} {'drift':>6} "
          f"{'s':>5}")  # fmt: skip
    for wave in WAVES:
        for sigma in (0.3, 0.6, 0.8, 1.2):
            arms, minutes = zip(*cells(*wave, sigma), strict=True)
            for lanes in (1, 4):
                began = time.perf_counter()
                packed = pack_shards(minutes, WaveLimits(lanes=lanes))
                taken = time.perf_counter() - began
                print(_row(minutes, packed, lanes, sigma), f"{drift(packed, arms):>6.4f} {taken:>5.2f}")


def _row(minutes: Sequence[float], packed: PackedWave, lanes: int, sigma: float) -> str:
    return (f"{len(minutes):>6} {sigma:>5} {lanes:>5} {len(packed.shards):>4} {len(minutes) - packed.count:>6} "
            f"{packed.makespan:>8.1f} {packed.makespan / packed.bound:>7.4f}")  # fmt: skip


def seconds(folder: Path, *argv: str | Path) -> tuple[float, float]:
    """Of the clock and of the processor, of one command as a step."""
    shutil.rmtree(folder / "step", ignore_errors=True)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env |= step_in(folder / "step").environment() | {"SCYLLA_WORK": str(folder / "work")}
    before = os.times()
    began = time.perf_counter()
    done = subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - began
    after = os.times()
    assert done.returncode == 0, done.stderr
    return taken, after.children_user + after.children_system - before.children_user - before.children_system


def plan(folder: Path, command: Path) -> None:
    write_ladder(folder)
    found = [seconds(folder, command, "plan", "ladder", "--github") for _ in range(5)]
    _say("plan --github, 53,580 cells", found)


def cell(folder: Path, command: Path) -> None:
    write_ladder(folder)
    (folder / "proof.yaml").write_text(PROOF)
    toolkit = Path(__file__).parents[2] / "scenarios/core/001-hello-world/solution"
    for scenario in (folder / "scenarios/core").iterdir():
        shutil.copytree(toolkit, scenario / "solution")
    seconds(folder, command, "plan", "proof.yaml", "--github")
    first = [_first(folder, command)]
    none = [seconds(folder, command, "cell", "proof", "--shard", "7", "--github", "--minutes", "0") for _ in range(5)]
    _say("cell, no cell started, modules not compiled", first)
    _say("cell, no cell started, of a plan of 53,580", none)
    shutil.rmtree(folder / "runs")
    seconds(folder, command, "plan", "proof.yaml", "--github", "--only", "001-test--oracle--r01")
    _say(
        "cell, one oracle cell with its check", [seconds(folder, command, "cell", "proof", "--shard", "0", "--github")]
    )


def _first(folder: Path, command: Path) -> tuple[float, float]:
    """With the modules of the installation compiled anew, into a place of their own."""
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    try:
        return seconds(folder, command, "cell", "proof", "--shard", "7", "--github", "--minutes", "0")
    finally:
        del os.environ["PYTHONPYCACHEPREFIX"]


def _say(what: str, found: list[tuple[float, float]]) -> None:
    clock, processor = (statistics.median(column) for column in zip(*found, strict=True))
    print(json.dumps({what: {"wall_s": round(clock, 2), "cpu_s": round(processor, 2), "runs": len(found)}}))


def main() -> None:
    every: dict[str, Callable[[Path, Path], None]] = {"plan": plan, "cell": cell}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["spread", *every])
    parser.add_argument("--command", type=Path, default=COMMAND)
    given = parser.parse_args()
    for name in given.what:
        if name == "spread":
            spread()
            continue
        with tempfile.TemporaryDirectory() as folder:
            every[name](Path(folder), given.command.resolve())


if __name__ == "__main__":
    main()
