"""The report job: `python tests/benchmarks/intake.py --arms 114 --repetitions 10 --shards 250`.

Rows come in artifacts. Prints seconds and the peak of memory of each command, in a cold process as the job runs it:
`collect --from`, `aggregate`, `report`, and `publish` to a bare repository beside it.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import click

from scylla_gha.model.plan import Arm, Cell
from scylla_gha.model.variant import Treatment, Variant
from scylla_gha.store.run_folder import RunFolder
from tests.benchmarks.report import SCENARIOS, identity, write_rows
from tests.support.command import COMMAND
from tests.support.records import make_plan
from tests.support.sent import make_run, plan_digest, send

NAMES = ("scenario", "arm", "repetition", "key")


def lay(root: Path, arms: int, repetitions: int, shards: int) -> RunFolder:
    """A plan, its shards, and an artifact of each."""
    rows = root / "rows.jsonl"
    write_rows(rows, arms, repetitions)
    parts = [identity(arm, scenario, at)
             for arm in range(arms) for scenario in range(SCENARIOS) for at in range(repetitions)]  # fmt: skip
    cells = [Cell.model_validate({"id": one["cell"], **{name: one[name] for name in NAMES}}) for one in parts]
    known = {str(one["arm"]): str(one["variant"]) for one in parts}
    planned = tuple(Arm(id=arm, agent="nop", version="1", model="m", variant=Variant(id=variant, treatment=Treatment()))
                    for arm, variant in known.items())  # fmt: skip
    experiment = make_plan(*cells[:1]).experiment.model_copy(update={"baseline": cells[0].arm})
    size = -(-len(cells) // shards)
    packed = [[cell.id for cell in cells[at : at + size]] for at in range(0, len(cells), size)]
    folder = make_run(root / "runs" / "demo", make_plan(*cells, experiment=experiment, arms=planned), packed)
    with rows.open("rb") as lines:
        for shard in range(len(packed)):
            send(root / "artifacts", b"".join(islice(lines, size)), shard, 1, {"plan": plan_digest(folder)})
    rows.unlink()
    return folder


def timed(argv: Sequence[str], cwd: Path) -> dict[str, object]:
    """Run a command to its end: seconds, peak memory."""
    began = time.perf_counter()
    process = subprocess.Popen(argv, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    return {"command": argv[1], "code": os.waitstatus_to_exitcode(status), "seconds": round(seconds, 2),
            "cpu_seconds": round(cpu, 2), "peak_mb": round(peak)}  # fmt: skip


@click.command()
@click.option("--arms", default=114, show_default=True)
@click.option("--repetitions", default=10, show_default=True)
@click.option("--shards", default=250, show_default=True)
@click.option("--rounds", default=1, show_default=True)
def main(arms: int, repetitions: int, shards: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        folder = lay(root, arms, repetitions, shards)
        subprocess.run(["git", "init", "--quiet", "--bare", str(root / "server.git")], check=True)
        for number in range(rounds):
            to = ["--branch", "scylla-results", "--remote", "server.git", "--run", str(number)]
            journey = (["collect", "demo", "--from", "artifacts"], ["aggregate", "demo"], ["report", "demo"],
                       ["publish", "branch", "demo", *to])  # fmt: skip
            steps = [timed([COMMAND, *args], root) for args in journey]
            for step in steps:
                print(json.dumps(step))
            whole = sum(float(str(step["seconds"])) for step in steps[:3])
            counts = json.loads(folder.report("json").read_bytes())["counts"]
            print(json.dumps({"report_job_seconds": round(whole, 2), "counts": counts,
                              "rows_mb": round(folder.results.stat().st_size / 1e6, 1),
                              "report_json_mb": round(folder.report("json").stat().st_size / 1e6, 2),
                              "branch_mb": round(_size(root / "server.git") / 1e6, 2),
                              "sha256": hashlib.sha256(folder.results.read_bytes()).hexdigest()[:12]}))  # fmt: skip
        sys.stdout.flush()


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


if __name__ == "__main__":
    main()
