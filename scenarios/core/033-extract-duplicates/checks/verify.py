"""Checks of the package: verify.py CHECK, in the repository, with BASE in the environment."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import closed  # noqa: E402, F401
import cases  # noqa: E402
import duplication  # noqa: E402
import ownsuite  # noqa: E402

BASE = Path(os.environ["BASE"]).resolve()
ROOT = Path.cwd().resolve()
LARGEST_SIZE = 0.8  # of the size at the start


def results(root: Path, jobs: list[dict], home: str) -> list:
    """What the package of a tree returns for each job; empty when it does not answer."""
    return _report(root, jobs, home)[0]


def _report(root: Path, jobs: list[dict], home: str) -> tuple[list, list | None]:
    """The answers, and where the package runs code that is not in its files; None when it does not answer."""
    with tempfile.TemporaryFile() as questions, tempfile.TemporaryFile() as answers:
        questions.write(json.dumps(jobs).encode())
        questions.seek(0)
        descriptor = answers.fileno()
        process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-S", str(HERE / "driver.py"), str(root / "src"), str(descriptor)],
            cwd=home,
            env={"PATH": "/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1"},
            stdin=questions,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[descriptor],
        )
        try:
            process.wait(timeout=10)
            answers.seek(0)
            report = json.loads(answers.read())
        except (subprocess.TimeoutExpired, ValueError):
            report = {}
        finally:
            process.kill()
            process.wait()
    answers, made = (report.get(key) if isinstance(report, dict) else None for key in ("answers", "made"))
    return (answers, made) if isinstance(answers, list) and isinstance(made, list) else ([], None)


def behaviour() -> int:
    """For each group, print the first difference, then whether the group is kept; the last line is a count."""
    kept = 0
    with tempfile.TemporaryDirectory() as directory:
        groups = cases.groups(Path(directory))
        jobs = [job for group in groups.values() for job in group]
        expected = results(BASE, jobs, directory)
        found = results(ROOT, jobs, directory)
    if len(expected) != len(jobs) or len(found) != len(jobs):
        print(f"expected {len(jobs)} answers from the package, found {len(found)}")
        print(f"0/{len(groups)}")
        return 0
    position = 0
    for name, group in groups.items():
        part = range(position, position + len(group))
        position += len(group)
        different = [index for index in part if expected[index] != found[index]]
        for index in different[:1]:
            print(f"{_shown(jobs[index])}: expected {_short(expected[index])}, found {_short(found[index])}")
        kept += not different
        print(f"{name} differ in {len(different)} of {len(group)} cases" if different else f"{name} kept")
    print(f"{kept}/{len(groups)}")
    return 0


def _shown(job: dict) -> str:
    arguments = ", ".join(map(repr, job.get("args", [])))
    if job["kind"] in ("api", "same"):
        return f"{job['module']}.{job.get('name') or job['names'][0]}"
    settings = f" with {job['set']}" if "set" in job else ""
    return f"{job['module']}.{job['name']}({arguments}){settings}"[:150]


def _short(value: object) -> str:
    return repr(value)[:110]


def repeated() -> int:
    pairs = duplication.repeated(ROOT / "src")
    for first, second in pairs[:10]:
        print(f"{first.file}:{first.line} {first.function} is like {second.file}:{second.line} {second.function}")
    before = len(duplication.repeated(BASE / "src"))
    print(f"expected no run of more than {duplication.LONGEST} statements twice, found {len(pairs)} (before: {before})")
    with tempfile.TemporaryDirectory() as directory:
        jobs = [job for group in cases.groups(Path(directory)).values() for job in group]
        made = _report(ROOT, jobs, directory)[1]
    if made:
        print(f"expected that all code is in the files under src, found code made at run time: {', '.join(made[:5])}")
    if made is None:
        print("expected answers from the package, found none")
    return 1 if pairs or made or made is None else 0


def size() -> int:
    before, after = duplication.size(BASE / "src"), duplication.size(ROOT / "src")
    most = int(before * LARGEST_SIZE)
    print(f"expected at most {most} statements in functions, found {after} (before: {before})")
    return 0 if after <= most else 1


def suite() -> int:
    return ownsuite.run(BASE, ROOT)


CHECKS = {"behaviour": behaviour, "repeated": repeated, "size": size, "own-tests": suite}

if __name__ == "__main__":
    raise SystemExit(CHECKS[sys.argv[1]]())
