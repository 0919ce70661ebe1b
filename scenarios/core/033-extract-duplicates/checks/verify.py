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
LARGEST_SIZE = 7 / 8  # of the size at the start
LEAST_SHARED = 2 / 5  # of the code that a function runs
LEAST_REACHED = 4 / 5  # of the code that functions have
SUPPLIERS = ("acme", "borealis", "corvid")


def results(root: Path, jobs: list[dict], home: str) -> list:
    """What the package of a tree returns for each job; empty when it does not answer."""
    return _report(root, jobs, home).get("answers", [])


def _report(root: Path, jobs: list[dict], home: str, *options: str) -> dict:
    """What the driver reports of a tree; empty when the package does not answer."""
    argv = [sys.executable, "-I", "-B", "-S", str(HERE / "driver.py")]
    with tempfile.TemporaryFile() as questions, tempfile.TemporaryFile() as answers:
        questions.write(json.dumps(jobs).encode())
        questions.seek(0)
        descriptor = answers.fileno()
        process = subprocess.Popen(
            [*argv, str(root / "src"), str(descriptor), *options],
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
    is_whole = isinstance(report, dict) and all(isinstance(report.get(key), list) for key in ("answers", "made"))
    return report if is_whole else {}


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
    made = _traced().get("made")
    if made:
        print(f"expected that all code is in the files under src, found code made at run time: {', '.join(made[:5])}")
    if made is None:
        print("expected answers from the package, found none")
    return 1 if pairs or made or made is None else 0


def _traced() -> dict:
    with tempfile.TemporaryDirectory() as directory:
        jobs = [job for group in cases.groups(Path(directory)).values() for job in group]
        return _report(ROOT, jobs, directory, "traced")


def shared() -> int:
    """Compare what runs for each supplier: code that was extracted runs for all of them."""
    report = _traced()
    ran = {name: {tuple(place) for place in places} for name, places in report.get("ran", {}).items()}
    reached = report.get("reached") or 0
    print(f"expected that the cases reach at least {LEAST_REACHED:.0%} of the functions' code, found {reached:.0%}")
    is_kept = reached >= LEAST_REACHED
    for function in ("parse_price", "parse_line", "summary"):
        runs = {f"{supplier}.{function}": ran.get(f"pricefeed.{supplier}.{function}", set()) for supplier in SUPPLIERS}
        common = set.intersection(*runs.values())
        if function == "parse_price":
            runs["till.sheet_price"] = ran.get("pricefeed.till.sheet_price", set())
        for name, places in runs.items():
            share = len(places & common) / len(places) if places else 0
            is_kept = is_kept and share >= LEAST_SHARED
            print(f"{name}: expected at least {LEAST_SHARED:.0%} code that all suppliers run, found {share:.0%}")
    return 0 if is_kept else 1


def size() -> int:
    before, after = duplication.size(BASE / "src"), duplication.size(ROOT / "src")
    most = int(before * LARGEST_SIZE)
    print(f"expected at most {most} syntax nodes, found {after} (before: {before})")
    return 0 if after <= most else 1


def suite() -> int:
    return ownsuite.run(BASE, ROOT)


CHECKS = {"behaviour": behaviour, "repeated": repeated, "size": size, "shared": shared, "own-tests": suite}

if __name__ == "__main__":
    raise SystemExit(CHECKS[sys.argv[1]]())
