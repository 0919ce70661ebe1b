"""Limits of time and memory of readiness, each with its figure:

    .venv/bin/python -m tests.benchmarks.readiness_limits                          # all; a quarter of an hour
    .venv/bin/python -m tests.benchmarks.readiness_limits index                    # 400 and 50,000 files
    .venv/bin/python -m tests.benchmarks.readiness_limits humanize --anchors 192   # tests and items of a package

A code base of 50,000 files is written by `generated_code`; packages are fetched as for the validity table. Seconds are
wall time, and in brackets processor time of all processes: with two idle cores the first is at least half the second.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.config.library import Library
from scylla_gha.images import SandboxPool
from scylla_gha.model.readiness import DIMENSIONS
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.dimension_items import make_items
from scylla_gha.readiness.environment import detect_environment
from scylla_gha.readiness.make_suite import main_language
from scylla_gha.readiness.material import ReadinessMaterial, repository_of, working_copy
from scylla_gha.readiness.test_map import record_tests, runner_of
from tests.benchmarks.readiness_validity_sources import ROOT, SOURCES, Source, fetched

_INDEXED: Final = ((400, 2.0, math.inf), (50_000, 90.0, 1000.0))  # files, seconds, megabytes
_MAP_TIMES: Final = 3.0
_PLAN_SECONDS: Final = 30.0
_ANCHORS: Final = 192


@dataclass
class Duration:
    """Wall and processor time in seconds, known at the end of a `timed` block."""

    wall: float = 0.0
    processor: float = 0.0

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.processor:.1f} s)"


def main() -> None:
    names = [source.name for source in SOURCES]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", help=f"index, or of {', '.join(map(repr, names))}; default: all")
    parser.add_argument("--anchors", type=int, default=_ANCHORS, help=f"in all four dimensions; default {_ANCHORS}")
    parser.add_argument("--folder", type=Path, help="in which packages are fetched, and kept; default: a new one")
    options = parser.parse_args()
    print("| what | limit | figure |\n|---|---|---|", flush=True)
    if not options.parts or "index" in options.parts:
        measure_index()
    with tempfile.TemporaryDirectory(prefix="limits-") as scratch:
        for source in SOURCES:
            if not options.parts or source.name in options.parts:
                folder = (options.folder or Path(scratch)).resolve() / source.folder_name
                folder.mkdir(parents=True, exist_ok=True)
                measure_plan(source, folder, Path(scratch) / f"copy-{source.folder_name}", options.anchors // 4)


def measure_index() -> None:
    for files, seconds, megabytes in _INDEXED:
        argv = [sys.executable, "-m", "tests.benchmarks.readiness_index", "--json", "--files", str(files)]
        figures = json.loads(subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, timeout=1800).stdout)
        limit = f"{seconds:g} s" + (f", {megabytes:.0f} MB" if megabytes < math.inf else "")
        row(f"index of {figures['files']:,} files, {figures['lines']:,} lines", limit,
            f"{figures['seconds']} s ({figures['processor_seconds']} s), {figures['memory_mb']} MB")  # fmt: skip


def measure_plan(source: Source, folder: Path, scratch: Path, wanted: int) -> None:
    checkout = repository_of(fetched(source, folder))
    copy = working_copy(checkout, scratch)
    index = build_index(copy.root)
    language = main_language(index)
    environment = detect_environment(copy.root, language, SandboxPool("bubblewrap", Library.here(ROOT)).target)
    files = [path for path, file in index.files.items() if file.is_test]
    patterns = [path for path in files if any(Path(path).match(pattern) for pattern in source.tests)]
    with timed() as recording:
        tests = record_tests(copy.root, environment, index, tests=patterns or None)
    times = recording.wall / tests.seconds if tests.seconds else math.nan
    row(f"recorded tests of {source.name}, {len(tests.tests):,} tests, one run {tests.seconds:.1f} s",
        f"{_MAP_TIMES:g} runs", f"{times:.1f} runs: {recording}")  # fmt: skip
    runner = runner_of(environment) if tests.tests else None
    material = ReadinessMaterial(copy.root, index, tests, runner, checkout, 0, wanted, language)
    with timed() as planning:
        made = make_items(material, tuple(DIMENSIONS), copy.tree)
    counts = [made.counts.get(f"anchors of {name}", 0) for name in DIMENSIONS.values()]
    row(f"{sum(counts)} of {4 * wanted} anchors of {source.name} ({' + '.join(map(str, counts))})",
        f"{_PLAN_SECONDS:g} s for {_ANCHORS}", f"{planning}")  # fmt: skip


def row(name: str, limit: str, figure: str) -> None:
    print(f"| {name} | {limit} | {figure} |", flush=True)


@contextmanager
def timed() -> Iterator[Duration]:
    duration = Duration()
    start, before = time.monotonic(), os.times()
    yield duration
    duration.wall, duration.processor = time.monotonic() - start, sum(os.times()[:4]) - sum(before[:4])


if __name__ == "__main__":
    main()
