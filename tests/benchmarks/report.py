"""From rows to the whole report, in a cold process: `python tests/benchmarks/report.py --arms 114 --repetitions 10`.

Prints seconds of wall and CPU time and the peak of memory: of all statistics, and of the whole process from the first
import to report.json and report.md on disk.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import numpy as np

from scylla_gha.model.plan import Cell
from scylla_gha.store import write_record
from scylla_gha.store.run_folder import RunFolder
from tests.support.records import make_plan, make_result

SCENARIOS = 47
COMPILED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
JUDGES = ("j1", "j2", "j3")
COLD = "from tests.benchmarks.report import whole; import sys; whole(sys.argv[1])"


def write_rows(path: Path, arms: int, repetitions: int) -> None:
    """Rows in which scenarios differ, and arms a little."""
    rng = np.random.default_rng(1)
    base = make_result().model_dump(mode="json")
    hard = rng.beta(1.5, 1.5, SCENARIOS)
    with path.open("w") as file:
        for arm in range(arms):
            for scenario in range(SCENARIOS):
                for at in range(repetitions):
                    passed = bool(rng.random() < hard[scenario])
                    score = round(float(np.clip(rng.normal(0.8 if passed else 0.4, 0.1), 0, 1)), 4)
                    file.write(json.dumps(base | identity(arm, scenario, at) | drawn(rng, score) | {"passed": passed}))
                    file.write("\n")


def identity(arm: int, scenario: int, at: int) -> dict[str, object]:
    name = f"t{arm % 7}-{arm:05d}.cli.m"
    cell = f"{scenario:03d}-s--{name}--r{at + 1:02d}"
    return {"arm": name, "variant": f"T{arm % 7}/{arm:05d}", "model": "m", "scenario": f"{scenario:03d}-s",
            "cell": cell, "key": cell, "repetition": at + 1,
            "category": ("bug_fixing", "review", "documentation")[scenario % 3],
            "difficulty": ("easy", "hard")[scenario % 2]}  # fmt: skip


def drawn(rng: np.random.Generator, score: float) -> dict[str, object]:
    judged = {judge: float(np.clip(score + rng.normal(0, 0.05), 0, 1)) for judge in JUDGES}
    return {"score": score, "progress": score, "points": 10 * score, "points_max": 10.0, "guards": 2, "threshold": 0.6,
            "broken_guards": int(rng.random() < 0.1), "usd": float(rng.lognormal(-1, 0.5)),
            "seconds": float(rng.lognormal(4, 0.5)), "input_tokens": int(rng.integers(1000, 9000)),
            "output_tokens": 500, "cache_read_tokens": int(rng.integers(1000, 90000)), "cache_write_tokens": 100,
            "tool_calls": int(rng.integers(1, 30)), "failed_tool_calls": 1, "tools": {"Bash": 3, "Edit": 2},
            "judge_scores": judged, "requests": 9, "repeated_requests": 0, "turns": 9}  # fmt: skip


def write_plan(path: Path, arms: int, repetitions: int) -> None:
    """The plan that the rows belong to."""
    names = ("scenario", "arm", "repetition", "key")
    parts = (identity(arm, scenario, at)
             for arm in range(arms) for scenario in range(SCENARIOS) for at in range(repetitions))  # fmt: skip
    cells = [Cell.model_validate({"id": one["cell"], **{name: one[name] for name in names}}) for one in parts]
    experiment = make_plan(*cells[:1]).experiment.model_copy(update={"baseline": cells[0].arm})
    write_record(path, make_plan(*cells, experiment=experiment))


def whole(file: str) -> None:
    """Run what the cold process does: what `scylla-gha aggregate` and `report` do; its last line is what it took."""
    from scylla_gha.aggregate import aggregate
    from scylla_gha.analysis import analyse as analysis
    from scylla_gha.analysis.frame import Frame
    from scylla_gha.evaluate.report_run import render_report
    from scylla_gha.model.analysis import Analysis
    from scylla_gha.model.plan import Plan
    from scylla_gha.model.result import Result
    from scylla_gha.store import read_lines, read_record, without_garbage_collection
    from scylla_gha.store.run_folder import RunFolder

    began, cpu = time.perf_counter(), time.process_time()
    folder = RunFolder(Path(file).parent)
    plan = read_record(folder.plan, Plan)
    assert plan is not None
    statistics, analyse = 0.0, analysis.analyse

    def timed(frame: Frame, question: analysis.Question) -> Analysis:
        nonlocal statistics
        started = time.perf_counter()
        found = analyse(frame, question)
        statistics = time.perf_counter() - started
        return found

    analysis.analyse = timed
    with without_garbage_collection():
        question = analysis.Question(plan.experiment.baseline, {}, 0.05)
        made = aggregate(plan, read_lines(Path(file), Result), question=question)
    write_record(folder.report("json"), made)
    render_report(made, folder, plan)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": len(plan.cells), "statistics_seconds": round(statistics, 2),
                      "seconds_from_files_to_report": round(time.perf_counter() - began, 2),
                      "cpu_seconds": round(time.process_time() - cpu, 2), "peak_mb": round(peak)}))  # fmt: skip


@click.command()
@click.option("--arms", default=114, show_default=True)
@click.option("--repetitions", default=10, show_default=True)
@click.option("--rounds", default=3, show_default=True)
def main(arms: int, repetitions: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "results.jsonl"
        write_rows(file, arms, repetitions)
        write_plan(RunFolder(file.parent).plan, arms, repetitions)
        for _ in range(rounds):
            began = time.perf_counter()
            argv = [sys.executable, "-c", COLD, str(file)]
            done = subprocess.run(argv, capture_output=True, text=True, check=True, env=COMPILED)
            print(done.stdout.strip(), f"whole process {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
