"""Time and memory of the index: `.venv/bin/python -m tests.benchmarks.readiness_index [--files 400] [--root DIR]`.

Without a folder it writes a code base of `generated_code`. Processor time counts all processes, memory is the most that
this process and those that it started had at once.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scylla_gha.readiness.anchors import sample
from scylla_gha.readiness.code_index import build_index
from scylla_gha.readiness.entry_points import entries, sinks
from scylla_gha.readiness.refutation import refutes
from scylla_gha.readiness.source_code import CodeIndex
from tests.benchmarks.generated_code import write_code_base

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_INTERVAL_SECONDS: Final = 0.1


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", type=int, default=400, help="of the written code base; default 400")
    parser.add_argument("--root", type=Path, help="an own code base instead")
    parser.add_argument("--json", action="store_true", help="print the figures of the index alone, as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="index-") as folder:
        if options.root is None:
            write_code_base(Path(folder), options.files)
        index, figures = measured(options.root or Path(folder))
        print(json.dumps(figures), flush=True)
        if not options.json:
            measure_use(index)
        os._exit(0)  # millions of objects need not be given back one by one


def measured(root: Path) -> tuple[CodeIndex, dict[str, float]]:
    """Return the index, and its figures."""
    peak: list[int] = [0]
    start, before = time.monotonic(), os.times()
    with memory_watched(peak):
        index = build_index(root)
    after, seconds = os.times(), time.monotonic() - start
    edges = Counter(edge.certainty for edge in index.edges)
    return index, {
        "files": len(index.files),
        "lines": sum(file.text.count("\n") for file in index.files.values()),
        "megabytes": round(sum(len(file.text) for file in index.files.values()) / 1e6, 1),
        "functions": len(index.functions),
        "certain_calls": edges["certain"],
        "unknown_calls": edges["unknown"],
        "seconds": round(seconds, 1),
        "processor_seconds": round(sum(after[:4]) - sum(before[:4]), 1),
        "memory_mb": round(peak[0] / 1e6),
    }


@contextmanager
def memory_watched(peak: list[int]) -> Iterator[None]:
    """Note the most bytes of memory that this process and its children have at once."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_INTERVAL_SECONDS):
            peak[0] = max(peak[0], _resident_bytes())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        peak[0] = max(peak[0], _resident_bytes())
        ended.set()
        thread.join()


def _resident_bytes() -> int:
    """Return the resident memory of this process and its children; pages that they share count once for each."""
    processes = [os.getpid()]
    for task in Path("/proc/self/task").iterdir():
        try:
            processes += map(int, (task / "children").read_text().split())
        except OSError:  # the thread has ended
            continue
    total = 0
    for process in processes:
        try:
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
        except OSError:  # it has ended
            continue
    return total


def measure_use(index: CodeIndex) -> None:
    started = time.process_time()
    drawn = sample(index.functions.values(), 1, 192)
    ends = len(entries(index)), len(sinks(index))
    print(f"anchors {len(drawn)}, entries and sinks {ends}: {time.process_time() - started:.1f} s")
    started = time.process_time()
    refuted = sum(refutes(index, first.id, second.id) for first in drawn for second in drawn)
    print(f"{len(drawn) ** 2:,} refutations, {refuted:,} hold: {time.process_time() - started:.1f} s")


if __name__ == "__main__":
    main()
