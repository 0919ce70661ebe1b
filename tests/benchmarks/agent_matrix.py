"""All agent CLIs at their pinned versions: plain runs, replays, treatments and faults, as tables of docs/agents.md.

python -m tests.benchmarks.agent_matrix                      # prints the rows of all; about 50 minutes on two cores
python -m tests.benchmarks.agent_matrix --write              # also puts them into docs/agents.md
python -m tests.benchmarks.agent_matrix codex aider --write  # runs these, and keeps the other rows of the page

CLIs that are not in the cache are installed. The model is a server on this machine, so no key is needed. A container
engine is started if none answers.
"""

import argparse
import datetime
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from scylla_gha.agents import find_agent
from scylla_gha.config.library import toolkit_root
from scylla_gha.prepare.tools import cache_root
from tests.support.agent_clis import CLIS, MANIFESTS, pinned
from tests.support.agent_matrix import (
    FAULT_RUNS,
    PROVED,
    TAKEN_AWAY,
    Attempt,
    is_same_elsewhere,
    run_faults,
    run_plain,
    run_replay,
    run_treatments,
)
from tests.support.engine import an_engine

PAGE = Path(__file__).parents[2] / "docs/agents.md"
CASES = [case for run in FAULT_RUNS for case in run.cases]
SESSIONS = ("on", "installed", "manifest and code", "plain run", "in Docker", "replays", "unsupported")
TREATMENTS = (*PROVED, *(f"misplaced {name}" for name, sub_test in PROVED.items() if sub_test in TAKEN_AWAY))
FAULTS = tuple(f"{case.title}: `{case.outcome}`" for case in CASES)
PARTS = {
    "system_prompt_replace": "prompt",
    "system_prompt_append": "added prompt",
    "tools": "tools",
    "settings": "settings",
    "skills": "skills",
    "agents": "sub-agents",
    "mcp_servers": "MCP servers",
    "agent_files": "repository's files",
}


def sessions(name: str, folder: Path) -> Iterator[str]:
    """Yield the cells about the CLI, and about sessions without a fault."""
    yield str(datetime.datetime.now(datetime.UTC).date())
    yield f"{installed_megabytes(name)} MB"
    yield f"{lines_of_definition(name)} lines"
    recorded = new(folder)
    plain = run_plain(recorded, name)
    yield cell(plain, "completed", f"{plain['seconds']:.1f} s, requests: {plain['requests']}")
    boxed = run_plain(new(folder), name, sandbox="docker")
    yield cell(boxed, "completed", f"{boxed['seconds']:.1f} s")
    replays = [run_replay(new(folder, f"replay-in-another-folder-{number}"), name, recorded) for number in range(2)]
    yield replayed(plain, replays, is_same=is_same_elsewhere(recorded, name))
    yield ", ".join(unsupported(name)) or "-"


def treatments(name: str, folder: Path) -> Iterator[str]:
    """Yield the cells about treatments that arrive, and about treatments that are put where the CLI does not look."""
    proved = run_treatments(new(folder), name, tuple(PROVED.values()))
    for sub_test in PROVED.values():
        yield cell(proved[sub_test], "completed", "proved") if sub_test in proved else "-"
    misplaced = run_treatments(new(folder), name, TAKEN_AWAY, broken=True)
    for sub_test in TAKEN_AWAY:
        yield cell(misplaced[sub_test], "delivery_error", "`delivery_error`") if sub_test in misplaced else "-"


def faults(name: str, folder: Path) -> Iterator[str]:
    """Yield a cell for each fault: the number of requests, and the seconds of the session."""
    for run in FAULT_RUNS:
        attempts = run_faults(new(folder), name, run)
        for case in run.cases:
            attempt = attempts[case.model]
            yield cell(attempt, case.outcome, f"{attempt['requests']}, {attempt['seconds']:.0f} s")


Rows = Callable[[str, Path], Iterator[str]]
TABLES: dict[tuple[str, ...], Rows] = {SESSIONS: sessions, TREATMENTS: treatments, FAULTS: faults}


def cell(attempt: Attempt, outcome: str, text: str) -> str:
    """Return the text, with the attempt's outcome before it if it is another one."""
    return text if attempt["outcome"] == outcome else f"**{attempt['outcome']}**, {text}"


def replayed(recorded: Attempt, replays: Sequence[Attempt], *, is_same: bool) -> str:
    """Return how many replays the recording answered alone, and if it would on another day or machine."""
    equal = [again["outcome"] == "completed" and again["requests"] == recorded["requests"] for again in replays]
    return f"{sum(equal)} of {len(equal)}" + ("" if is_same else ", on the same day and machine")


def new(folder: Path, name: str = "run") -> Path:
    """Return a new folder."""
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder))


def unsupported(name: str) -> Iterator[str]:
    """Yield the parts of a treatment and other things that a CLI does not have."""
    manifest = MANIFESTS.get(name)
    if manifest is not None:
        yield from (text for part, text in PARTS.items() if getattr(manifest.treatment, part) is None)
        yield from ["turn limit of its own"] if manifest.turns is None else []
        yield from [] if manifest.events else ["events"]


def installed_megabytes(name: str) -> int:
    """Return the size of the CLI's packages, with its own Node.js; a file with several names counts once."""
    program = Path(find_agent(pinned(name), install=True).program)
    folder = next(path for path in program.parents if path.parent.parent == cache_root())
    sizes = {entry.lstat().st_ino: entry.lstat().st_blocks * 512 for entry in folder.rglob("*")}
    return round(sum(sizes.values()) / 1e6)


def lines_of_definition(name: str) -> int:
    """Return the number of lines of the manifest, and of the code of a CLI that has code."""
    code = (Path(__file__).parents[2] / "scylla_gha/agents" / name.partition("-")[0]).glob("*.py")
    files = [toolkit_root() / "config/agent-clis" / f"{name}.yaml", *code]
    return sum(len(path.read_text().splitlines()) for path in files)


def row_of(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def head_of(table: Sequence[str]) -> str:
    """Return the first line of a table."""
    return row_of(("agent", "version", *table))


def with_row(page: str, table: Sequence[str], row: str) -> str:
    """Return the page with the row in its table; it replaces an earlier row of the same agent."""
    lines = page.splitlines()
    start = lines.index(head_of(table)) + 2
    end = next(at for at in range(start, len(lines)) if not lines[at].startswith("| "))
    rows = {old.split(" | ")[0]: old for old in (*lines[start:end], row)}
    return "\n".join((*lines[:start], *(rows[agent] for agent in sorted(rows)), *lines[end:], ""))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", metavar="AGENT")
    parser.add_argument("--write", action="store_true", help="put the rows into docs/agents.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, an_engine(Path(folder) / "engine"):
        for name in options.agents or CLIS:
            for table, cells in TABLES.items():
                row = row_of((name, pinned(name).partition("@")[2], *cells(name, Path(folder))))
                print(row, flush=True)
                if options.write:
                    PAGE.write_text(with_row(PAGE.read_text(), table, row))


if __name__ == "__main__":
    main()
