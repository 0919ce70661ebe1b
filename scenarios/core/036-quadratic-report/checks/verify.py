"""Checks of the report: verify.py CHECK, in the repository, with BASE in the environment."""

import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import closed  # noqa: E402, F401
import ownsuite  # noqa: E402
import samples  # noqa: E402
import workloads  # noqa: E402

BASE = Path(os.environ["BASE"]).resolve()
ROOT = Path.cwd().resolve()
SMALL, LARGE = 160, 640
MOST = 1000 * SMALL  # steps for the small export
FACTOR = 6
EACH_SMALL, EACH_LARGE = 2_000, 8_000  # scans of each kind in the exports for the command
LONGEST = 3  # seconds of processor time for the small one; a linear solution takes well below one
TIME_FACTOR = 8  # what is quadratic takes more than eleven times as long
TRIES = 4  # a machine that is busy may stretch one measurement, not all of them
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
    problem = _command_problem() if good == len(names) else "not measured, since the steps above are not as they should"
    print(f"command: {problem}" if problem else "command grows as it should")
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


def _command_problem() -> str:
    """What is wrong with the time that `python3 -m scanlog` takes for exports of all kinds at once.

    Steps are counted in the package's own code only. Here the processor time counts, wherever it is spent.
    """
    with tempfile.TemporaryDirectory() as directory:
        times = []
        for each in (EACH_SMALL, EACH_LARGE):
            export, depots = workloads.export_files(Path(directory), each)
            most = LONGEST if each == EACH_SMALL else TIME_FACTOR * times[0]
            used, digest = _fastest(["python3", "-m", "scanlog", str(export), str(depots)], most, directory)
            if used > most:
                return f"expected at most {most:.1f} s of processor time for {9 * each} scans, found more"
            if digest != EXPECTED[f"command {each}"]:
                return f"expected another report of {9 * each} scans"
            times.append(used)
    return ""


def _fastest(command: list[str], most: float, home: str) -> tuple[float, str]:
    """The least processor time of a few runs, until one is good enough; and the digest of the output."""
    best, digest = float("inf"), ""
    for _ in range(TRIES):
        used, digest, stopped = _timed(command, most, home)
        best = min(best, used)
        if best <= most or stopped:
            break
    return best, digest


def _timed(command: list[str], most: float, home: str) -> tuple[float, str, bool]:
    """Processor time, digest of the output, and whether it was stopped for taking far too long."""
    seconds = int(1.5 * most) + 1
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": "src", "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, hashlib.sha256(done.stdout).hexdigest()[:16], done.returncode < 0


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
