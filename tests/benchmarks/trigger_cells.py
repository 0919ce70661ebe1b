"""Time of trigger cells with the real Claude Code and a scripted provider: `python -m tests.benchmarks.trigger_cells`.

Rounds of cells and of the bare CLI take turns, one after the other. The CLI is timed from its start until the provider
answers; a cell from the last file of the cell before it, once until the provider answers (workspace, sandbox, gateway)
and once in all (end of the CLI, judging, records). Then 20 queries x 3 run in parallel. At the end: requests after the
decision, each of which would be paid for.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from scylla_gha.agents import find_agent
from tests.support.command import scylla
from tests.support.git import shell
from tests.support.provider import Body, Provider, Say, serve, user_texts
from tests.support.skills import FRONT, write_evals, write_skill

KEY: Final = "sk-ant-canary-0123456789"
AGENT: Final = "claude-code@2.1.332"
ASK: Final = "Sum the columns of ledger"
GOAL_SECONDS, GOAL_MINUTES = 0.4, 3.0


class Model:
    """Calls the skill at once, and notes when."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def __call__(self, body: Body) -> Say:
        if ASK not in " ".join(user_texts(body)):
            return Say("Hi.")
        self.at.append(time.time())
        return Say("I count.", "Skill", {"skill": "tally"})


def author(root: Path, queries: int) -> None:
    skill = write_skill(root / "skills" / "tally", FRONT)
    entries = [{"query": f"{ASK} {number}", "should_trigger": number % 2 == 0} for number in range(queries)]
    write_evals(skill, entries, "triggers.json")
    shell(root, "git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm tally")


def environment(provider: Provider) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}


def triggers(root: Path, provider: Provider, repetitions: int, jobs: int) -> float:
    started = time.time()
    options = ("--trigger-repetitions", str(repetitions), "--jobs", str(jobs), "--agent", AGENT)
    said = scylla("skill", "skills", "--yes", "--only", "triggers", *options, cwd=root, env=environment(provider))
    assert said.code == 0, said.err
    return time.time() - started


def bare(folder: Path, provider: Provider, model: Model) -> float:
    """Seconds from the start of the CLI with the same skill until the provider answers."""
    program = find_agent(AGENT, install=True).program
    home = folder / "home"
    write_skill(home / ".claude" / "skills" / "tally", FRONT)
    argv = [
        program,
        "--print",
        "--verbose",
        "--output-format",
        "stream-json",
        "--permission-mode",
        "bypassPermissions",
        "--strict-mcp-config",
        "--model",
        "claude-sonnet-5",
    ]
    own = {
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "IS_SANDBOX": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    no_network = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}  # as in a cell; else it waits for hosts
    env = {**os.environ, **environment(provider), **own, **no_network}
    before, started = len(model.at), time.time()
    with subprocess.Popen(
        argv, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin
        process.stdin.write(f"{ASK} 1".encode())
        process.stdin.close()
        while len(model.at) == before:
            time.sleep(0.002)
        seconds = model.at[-1] - started
        process.kill()
    return seconds


def cell_ends(runs: Path) -> list[float]:
    """Return when the last file of each cell was written, in order."""
    folders = [path.parent for path in runs.rglob("trial.json")]
    return sorted(max(file.stat().st_mtime for file in folder.rglob("*")) for folder in folders)


def measured(work: Callable[[Path, Provider, Model], None]) -> Model:
    model = Model()
    with tempfile.TemporaryDirectory() as folder, serve(model) as provider:
        work(Path(folder), provider, model)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cells", type=int, default=8, help="cells that run one after the other, in each of two rounds"
    )
    parser.add_argument("--queries", type=int, default=20)
    options = parser.parse_args()
    alone: list[float] = []

    def run_bare(folder: Path, provider: Provider, model: Model) -> None:
        alone.extend(bare(folder, provider, model) for _ in range(options.cells))

    def run_cells(folder: Path, provider: Provider, _: Model) -> None:
        author(folder, options.cells)
        triggers(folder, provider, 1, 1)
        ends.append(cell_ends(folder / "runs"))

    ends: list[list[float]] = []
    whole: list[float] = []

    def run_all(folder: Path, provider: Provider, _: Model) -> None:
        author(folder, options.queries)
        whole.append(triggers(folder, provider, 3, 2))

    periods: list[float] = []
    decided: list[float] = []
    for _ in range(2):
        cells = measured(run_cells)
        periods += [after - before for before, after in zip(cells.at, cells.at[1:], strict=False)]
        decided += [at - end for end, at in zip(ends.pop(), cells.at[1:], strict=False)]
        measured(run_bare)
    cli, cell, until = (statistics.median(seconds) for seconds in (alone, periods, decided))
    print(f"until the deciding answer: bare CLI {cli:.2f} s, cell {until:.2f} s; a whole cell {cell:.2f} s")
    print(f"a cell takes {until - cli:+.2f} s more until the decision (goal: at most {GOAL_SECONDS} s)")
    many = measured(run_all)
    trials = options.queries * 3
    print(f"{trials} cells with 2 jobs: {whole[0]:.0f} s (goal: at most {60 * GOAL_MINUTES:.0f} s)")
    print(f"requests after the decision: {len(many.at) - trials} of {len(many.at)} (goal: 0)")


if __name__ == "__main__":
    main()
