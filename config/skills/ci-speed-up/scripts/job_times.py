#!/usr/bin/env python3
"""Summarise job and step durations of GitHub Actions runs.

Usage:
    gh run view RUN_ID --json jobs > run1.json        # repeat for several runs
    python3 job_times.py run1.json run2.json ...
    gh run view RUN_ID --json jobs | python3 job_times.py -

Prints, per job, the median and maximum over the given runs, its three slowest steps, and per run the
wall time (first job start to last job end) and the sum of the job times (what is billed).
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from datetime import datetime
from statistics import median
from typing import Any

MISSING = {None, "", "0001-01-01T00:00:00Z"}


def seconds(item: dict[str, Any]) -> float | None:
    start, end = item.get("startedAt"), item.get("completedAt")
    if start in MISSING or end in MISSING:
        return None
    return (parse(str(end)) - parse(str(start))).total_seconds()


def parse(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def fmt(value: float) -> str:
    return f"{int(value) // 60}m{int(value) % 60:02d}s"


def main(paths: list[str]) -> int:
    if not paths or paths[0] in {"-h", "--help"}:
        print(__doc__)
        return 0 if paths else 2
    jobs: dict[str, list[float]] = defaultdict(list)
    steps: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in paths:
        if path == "-":
            data = json.load(sys.stdin)
        else:
            with open(path, encoding="utf-8") as handle:
                data = json.load(handle)
        finished = [j for j in data["jobs"] if j.get("conclusion") != "skipped" and seconds(j) is not None]
        if not finished:
            print(f"{path}: no finished job", file=sys.stderr)
            continue
        wall = max(parse(j["completedAt"]) for j in finished) - min(parse(j["startedAt"]) for j in finished)
        billed = sum(seconds(j) or 0 for j in finished)
        print(f"{path}: wall {fmt(wall.total_seconds())}, sum of jobs {fmt(billed)}, {len(finished)} jobs")
        for job in finished:
            jobs[job["name"]].append(seconds(job) or 0)
            for step in job.get("steps") or []:
                took = seconds(step)
                if took is not None and step.get("conclusion") != "skipped":
                    steps[job["name"]][step["name"]].append(took)
    if not jobs:
        return 1
    print()
    for name, times in sorted(jobs.items(), key=lambda kv: -median(kv[1])):
        print(f"{fmt(median(times)):>8} median {fmt(max(times)):>8} max  n={len(times)}  {name}")
        slowest = sorted(steps[name].items(), key=lambda kv: -median(kv[1]))[:3]
        for step_name, step_times in slowest:
            print(f"{'':>10}{fmt(median(step_times)):>8}  {step_name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
