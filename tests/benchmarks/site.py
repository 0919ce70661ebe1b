"""The site of a large branch: `python tests/benchmarks/site.py --arms 114 --repetitions 10 --runs 1`.

Makes a results branch of simulated rows in a bare repository. Prints seconds, the peak of memory and the size of the
site, in a cold process as the job runs it; then, in Chromium, milliseconds until the overview and the page of the
latest run answer, and until a filter of its trials is drawn.
"""

import datetime
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from scylla_gha.aggregate import aggregate, question_of
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.model.publication import Origin, RunName
from scylla_gha.model.result import Result
from scylla_gha.model.variant import Treatment, Variant
from scylla_gha.results_branch.publish_run import RunToPublish, pack_run, run_files
from scylla_gha.store import read_lines, read_record, without_garbage_collection, write_record
from scylla_gha.store.run_folder import RunFolder
from tests.benchmarks.report import COMPILED, write_plan, write_rows
from tests.support.branch import bare, copy_of
from tests.support.browser import chromium

FILTER = """() => ["rename", "t3", "0042", "r01", ""].map((words) => {
  const input = document.getElementById("filter-text");
  const start = performance.now();
  input.value = words;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  document.body.getBoundingClientRect();
  return Math.round(performance.now() - start);
})"""


def fill_branch(root: Path, arms: int, repetitions: int, runs: int) -> Path:
    """Publish the same rows as so many runs; return the server."""
    folder, server = RunFolder(root / "demo"), bare(root)
    folder.root.mkdir()
    write_rows(folder.results, arms, repetitions)
    write_plan(folder.plan, arms, repetitions)
    plan = read_record(folder.plan, Plan)
    assert plan is not None
    names = dict.fromkeys(cell.arm for cell in plan.cells)
    treatment = Treatment()
    planned = tuple(Arm(id=name, agent="cli", version="1", model="m", variant=Variant(
        id=f"T{at % 7}/{at:05d}", treatment=treatment)) for at, name in enumerate(names))  # fmt: skip
    plan = plan.model_copy(update={"arms": planned})
    with without_garbage_collection():
        report = aggregate(plan, read_lines(folder.results, Result), question=question_of(plan))
    write_record(folder.report("json"), report)
    packed = pack_run(folder.results, folder.report("json"))
    files: dict[str, bytes] = {}
    for number in range(runs):
        when = datetime.datetime(2026, 10, 1, tzinfo=datetime.UTC) + datetime.timedelta(days=number)
        run = RunToPublish(
            RunName(experiment="demo", run=str(9000 + number)), Origin(branch="main"), plan, report, packed
        )
        files |= run_files(run, when, f"{when:%Y-%m}")[1]
    copy = copy_of(root, server)
    copy.refresh()
    copy.push(copy.commit(files, "runs"))
    return server


def show(site: Path, runs: int) -> None:
    """Print how fast the pages are from disk."""
    with chromium() as browser:
        for path in ("index.html", f"experiments/demo/runs/{9000 + runs - 1}-1.html"):
            page = browser.new_page()
            began = time.perf_counter()
            page.goto((site / path).as_uri())
            page.wait_for_selector("html[data-ready]")
            print(json.dumps({"page": path, "interactive_ms": round(1000 * (time.perf_counter() - began)),
                              "filter_ms": page.evaluate(FILTER) if "runs" in path else None}))  # fmt: skip
            page.close()


@click.command()
@click.option("--arms", default=114, show_default=True)
@click.option("--repetitions", default=10, show_default=True)
@click.option("--runs", default=1, show_default=True, help="Runs of arms x 47 scenarios x repetitions rows each.")
def main(arms: int, repetitions: int, runs: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        server = fill_branch(root, arms, repetitions, runs)
        site = root / "site"
        argv = [sys.executable, "-m", "scylla_gha", "site", "--remote", str(server), "--into", str(site)]
        began = time.perf_counter()
        subprocess.run(argv, check=True, env=COMPILED, stdout=subprocess.DEVNULL)
        took, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        files = [path for path in site.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        print(json.dumps({"rows": arms * repetitions * 47 * runs, "seconds": round(took, 1),
                          "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
                          "peak_mb": round(used.ru_maxrss / 1024),
                          "files": len(files), "mb": round(size / 1e6, 1)}))  # fmt: skip
        show(site, runs)


if __name__ == "__main__":
    main()
