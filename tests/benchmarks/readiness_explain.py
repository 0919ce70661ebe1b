"""Yields of the questions on what a fault breaks and what calls return, by hand, in bubblewrap.

    .venv/bin/python -m tests.benchmarks.readiness_explain [FOLDER ...]     # default: the built Python repository

FOLDER is a git repository of Python code, such as the unpacked source distribution of a package.
"""

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

from scylla_gha.readiness.predicted_failures import functions_tried, predicted_failures
from scylla_gha.readiness.predicted_outputs import predicted_outputs
from tests.support.readiness_material import material_of
from tests.support.readiness_repository import readiness_repository


def measure(repository: Path, folder: Path, anchors: int) -> None:
    material, counts = material_of(repository, folder, wanted=anchors), Counter[str]()
    started = time.monotonic()
    faults = predicted_failures(material, counts)
    between = time.monotonic()
    outputs = predicted_outputs(material, functions_tried(material), {fault.function.id for fault in faults}, counts)
    ended = time.monotonic()
    told_apart = sum(question.returning is not None for question in outputs)
    print(f"{repository.name}: {len(material.tests.tests)} stable tests, {material.tests.seconds:.1f} s a run")
    print(f"  faults: {len(faults)} of {counts['functions tried for questions on tests']} functions, "
          f"{between - started:.1f} s")  # fmt: skip
    print(f"  outputs: {len(outputs)} of {counts['functions tried for questions on outputs']} further functions, "
          f"{told_apart} of them told apart, {ended - between:.1f} s")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--anchors", type=int, default=12)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        built = [] if options.folders else [readiness_repository(Path(scratch) / "built", "python")]
        for number, folder in enumerate(options.folders or built):
            measure(folder.resolve(), Path(scratch) / f"copy-{number}", options.anchors)


if __name__ == "__main__":
    main()
