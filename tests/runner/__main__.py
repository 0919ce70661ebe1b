"""Run all tests: `python -m tests.runner [--all]`.

Each test file runs in a process of its own, which records what it reads (`recorder`), and is left out if a record of
the same holds (`records`); with `--all`, none is left out.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from tests.runner import recorder
from tests.runner.processes import ROOT, Finished, TestProcesses
from tests.runner.records import Checkout, RecordStore, TestFileRecord, environment_digest

FOLDERS = ("tests/e2e", "tests/integration", "tests/unit")  # the slowest first
LAST_LINES = 40  # of the output of a failed test file, repeated at the end
PROCESSES = 3  # for each core, since most tests wait for processes more than they compute


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SCYLLA_CACHE") or Path(base) / "scylla-gha") / "tests"


def main() -> int:
    """Run what must run; returns 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="./scylla test")
    parser.add_argument("--all", action="store_true", help="also run test files for which a record holds")
    run_all = parser.parse_args().all
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    recorder.install()
    store, checkout, environment = RecordStore(cache_folder()), Checkout(ROOT), environment_digest()
    names = [f"{folder}/{path.name}" for folder in FOLDERS for path in sorted((ROOT / folder).glob("test_*.py"))]
    held = {name: None if run_all else store.current(name, checkout, environment) for name in names}
    covered = {name: record for name, record in held.items() if record}
    due = [name for name in names if name not in covered]
    due.sort(key=store.seconds, reverse=True)  # stable: new files first, in the order of folders
    runs = f"{len(due)} test file{' runs' if len(due) == 1 else 's run'}"
    print(f"{runs}, {len(covered)} are covered by records", flush=True)
    done = list[Finished]()
    try:
        with TestProcesses() as processes:
            for finished in processes.run(due, PROCESSES * (os.cpu_count() or 1)):
                done.append(finished)
                _tell(finished, f"{len(done)}/{len(due)}")
    finally:
        _record(done, store, checkout, environment)
    return _summary(done, list(covered.values()))


def _record(done: Sequence[Finished], store: RecordStore, checkout: Checkout, environment: str) -> None:
    """Record the test files that passed, unless somebody edited what they read while they ran."""
    after = Checkout(ROOT)
    for finished in done:
        inputs = checkout.inputs(finished.noted)
        if finished.code:
            store.drop(finished.name)
        elif inputs == after.inputs(finished.noted):
            record = TestFileRecord(finished.tests, round(finished.seconds, 1), _now(), environment, inputs)
            store.add(finished.name, record)


def _interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 the interpreter's signature
    raise KeyboardInterrupt


def _tell(finished: Finished, position: str) -> None:
    """Print how a test file ended; all that it printed if it failed."""
    if finished.code:
        print(finished.output, end="")
    how = f"{finished.tests} passed" if finished.code == 0 else "FAILED"
    print(f"[{position}] {finished.name}: {how} in {finished.seconds:.0f} s", flush=True)


def _summary(done: Sequence[Finished], covered: Sequence[TestFileRecord]) -> int:
    failed = [finished.name for finished in done if finished.code]
    for finished in done:
        if finished.code:  # once more: the whole output is far above
            print(f"{finished.name} ended with:", *finished.output.splitlines()[-LAST_LINES:], sep="\n  ")
    print(f"{sum(finished.tests for finished in done)} tests passed in {len(done) - len(failed)} files")
    if covered:
        tests = sum(record.tests for record in covered)
        first, last = min(record.when for record in covered), max(record.when for record in covered)
        print(f"{tests} tests in {len(covered)} files did not run: they passed from {first}")
        print(f"to {last} with the same files, programs and versions; ./scylla test --all runs them")
    for name in failed:
        print(f"FAILED {name}")
    return 1 if failed else 0


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    sys.exit(main())
