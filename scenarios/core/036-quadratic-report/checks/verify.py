"""Checks of the report: verify.py CHECK, in the repository, with BASE in the environment."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import ownsuite  # noqa: E402
import samples  # noqa: E402
import workloads  # noqa: E402

BASE = Path(os.environ["BASE"]).resolve()
ROOT = Path.cwd().resolve()
SMALL, LARGE = 160, 640
MOST = 1000 * SMALL  # steps for the small export
FACTOR = 6
EXPECTED = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))


def answers(root: Path, job: dict, home: str) -> list:
    """What the driver reports for a job; empty when it does not answer."""
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as answer:
        question.write(json.dumps(job).encode())
        question.seek(0)
        descriptor = answer.fileno()
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-S", str(HERE / "driver.py"), str(root / "src"), str(descriptor)],
            cwd=home,
            env={"PATH": "/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8", "TZ": "UTC"},
            stdin=question,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[descriptor],
        )
        try:
            process.wait(timeout=15)
            answer.seek(0)
            found = json.loads(answer.read())
        except (subprocess.TimeoutExpired, ValueError):
            found = []
        finally:
            process.kill()
            process.wait()
    return found if isinstance(found, list) else []


def growth() -> int:
    """For each workload, print whether it grows as it should; the last line is a count."""
    names = list(workloads.WORKLOADS)
    with tempfile.TemporaryDirectory() as directory:
        small = _measure(directory, [[name, SMALL, MOST] for name in names])
        fit = [name for name in names if name in small and small[name][0] <= MOST]
        large = _measure(directory, [[name, LARGE, FACTOR * small[name][0]] for name in fit]) if fit else {}
    good = 0
    for name in names:
        problem = _growth_problem(name, small.get(name), large.get(name))
        good += not problem
        print(f"{name}: {problem}" if problem else f"{name} grows as it should")
    print(f"{good}/{len(names)}")
    return 0


def _growth_problem(name: str, small: tuple[int, str] | None, large: tuple[int, str] | None) -> str:
    if small is None:
        return "expected a report, found no answer"
    if small[0] > MOST:
        return f"expected at most {MOST} steps for {SMALL} scans, found more"
    if small[1] != EXPECTED[f"{name} {SMALL}"]:
        return f"expected the same report of {SMALL} scans as before, found another"
    if large is None:
        return f"expected a report of {LARGE} scans, found no answer"
    if large[0] > FACTOR * small[0]:
        return f"expected at most {FACTOR} times {small[0]} steps for {LARGE} scans, found more"
    if large[1] != EXPECTED[f"{name} {LARGE}"]:
        return f"expected the same report of {LARGE} scans as before, found another"
    if small[0] < SMALL or large[0] < 2 * small[0]:
        return f"expected to count steps, found {small[0]} and {large[0]}"
    return ""


def _measure(directory: str, jobs: list[list]) -> dict[str, tuple[int, str]]:
    files = [str(workloads.depot_file(Path(directory), name, size)) for name, size, _ in jobs]
    job = {"workloads": [[*item, file] for item, file in zip(jobs, files, strict=True)]}
    return {name: (steps, digest) for name, steps, digest in answers(ROOT, job, directory)}


def rules() -> int:
    """For each group, print the first difference, then whether the group is kept; the last line is a count."""
    kept = 0
    with tempfile.TemporaryDirectory() as directory:
        groups = samples.groups(Path(directory))
        job = {"cases": [case for group in groups.values() for case in group]}
        expected, found = answers(BASE, job, directory), answers(ROOT, job, directory)
    if len(expected) != len(job["cases"]) or len(found) != len(expected):
        print(f"expected {len(job['cases'])} answers from the package, found {len(found)}")
        print(f"0/{len(groups)}")
        return 0
    position = 0
    for name, group in groups.items():
        part = range(position, position + len(group))
        position += len(group)
        different = [index for index in part if expected[index] != found[index]]
        if different:
            print(_difference(expected[different[0]], found[different[0]]))
        kept += not different
        print(f"{name} differ in {len(different)} of {len(group)} cases" if different else f"{name} kept")
    print(f"{kept}/{len(groups)}")
    return 0


def _difference(expected: object, found: object) -> str:
    """The innermost place where two answers differ."""
    while type(expected) is type(found) and isinstance(expected, (list, dict)) and len(expected) == len(found):
        keys = range(len(expected)) if isinstance(expected, list) else expected
        key = next((key for key in keys if _at(expected, key) != _at(found, key)), None)
        if key is None or not isinstance(_at(expected, key), (list, dict)):
            break
        expected, found = _at(expected, key), _at(found, key)
    return f"expected {repr(expected)[:160]}, found {repr(found)[:160]}"


def _at(value: object, key: object) -> object:
    try:
        return value[key]
    except (KeyError, IndexError):
        return None


def suite() -> int:
    return ownsuite.run(BASE, ROOT)


CHECKS = {"growth": growth, "rules": rules, "own-tests": suite}

if __name__ == "__main__":
    raise SystemExit(CHECKS[sys.argv[1]]())
