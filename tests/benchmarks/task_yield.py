"""Tasks that `scylla-gha init` finds in public projects, by hand.

    .venv/bin/python -m tests.benchmarks.task_yield FOLDER [NAME ...]

FOLDER holds the clones that `public_projects.yaml` lists. Each is cloned again at the listed commit, and `init` is
ended by Ctrl-C after 15 minutes. A table in Markdown is printed: tasks, commits that were looked at, minutes, and the
most frequent reasons why commits made no task.
"""

import argparse
import re
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

PROJECTS = Path(__file__).with_name("public_projects.yaml")
REASONS = 2  # that are shown of a project


@dataclass(frozen=True)
class Yield:
    """What `init` found in a project."""

    name: str
    tasks: int
    commits: int
    seconds: float
    reasons: tuple[str, ...]

    @property
    def row(self) -> str:
        per_50 = f"{50 * self.tasks / self.commits:.1f}" if self.commits else "?"
        reasons = "; ".join(self.reasons)
        return f"| {self.name} | {self.tasks} | {self.commits} | {per_50} | {self.seconds / 60:.1f} | {reasons} |"


def measure(clone: Path, commit: str, name: str, options: argparse.Namespace) -> Yield:
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder, name)
        subprocess.run(["git", "clone", "--quiet", "--local", str(clone), str(checkout)], check=True)
        subprocess.run(["git", "-C", str(checkout), "checkout", "--quiet", "-B", "measured", commit], check=True)
        tasks, toolkit = ("--tasks", str(options.tasks)), ("--toolkit", "octo-org/scylla-gha@v1")
        argv = [options.program, "init", str(checkout), *tasks, *toolkit]
        started = time.monotonic()
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            _, text = process.communicate(timeout=options.minutes * 60)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            _, text = process.communicate()
        seconds = time.monotonic() - started
        (options.logs / f"{name}.txt").write_text(text)
        scenarios = checkout.glob("scenarios/*/*/scenario.yaml")
        count = sum("an example on" not in scenario.read_text() for scenario in scenarios)
    looked_at = re.search(r"found in (\d[\d,]*) commit", text)
    tried = re.findall(r"^trying commit", text, re.MULTILINE)
    commits = int(looked_at[1].replace(",", "")) if looked_at else len(tried)
    reasons = re.findall(r"^  (\d+ commits?: .+)$", text, re.MULTILINE)
    return Yield(name, count, commits, seconds, tuple(reasons[:REASONS]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--program", default=str(Path(sys.executable).with_name("scylla-gha")))
    parser.add_argument("--tasks", type=int, default=6)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--logs", type=Path, default=Path(tempfile.gettempdir()))
    options = parser.parse_args()
    options.logs.mkdir(parents=True, exist_ok=True)
    print("| project | tasks | commits looked at | tasks per 50 commits | minutes | commits that made no task |")
    print("|---|---|---|---|---|---|")
    for project in yaml.safe_load(PROJECTS.read_text(encoding="utf-8")):
        if not options.names or project["name"] in options.names:
            found = measure(options.folder / project["name"], project["commit"], project["name"], options)
            print(found.row, flush=True)


if __name__ == "__main__":
    main()
