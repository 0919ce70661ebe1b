"""A readiness run with the real Claude Code CLI in which some sessions go wrong: the example of docs/readiness.md.

    python -m tests.support.readiness_example FOLDER

measures the built Python repository in FOLDER and prints what the command prints. A scripted provider stands in for the
model: it solves most items, answers a quarter wrong, and does in five sessions what `FAULTS` says.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.command import Said, scylla
from tests.support.provider import Body, Provider, Say, serve, tool_results
from tests.support.readiness_repository import readiness_repository
from tests.support.readiness_solver import Solver, session_folder

AGENT = "claude-code@2.1.332"
KEY = "sk-ant-canary-0123456789"
WRONG = 0.25  # share of the items of each dimension
REFUSED = Say("I cannot help with that.", stop_reason="refusal")
_LIMIT = "timeout_seconds: 300"

Step = Callable[[Body, Say], Say]  # of a request and its right answer, the answer that is given


def _sleep(_: Body, __: Say) -> Say:
    return Say("I wait.", "Bash", {"command": "sleep 600", "timeout": 600000})


def _break_other_tests(_: Body, right: Say) -> Say:
    """Repair the function, and end its module with an error."""
    if right.tool != "Edit":
        return right
    return Say(right.text, right.tool, {**right.arguments, "new_string": f"{right.arguments['new_string']}    oops(\n"})


def _write_malformed(body: Body, _: Say) -> Say:
    if tool_results(body):
        return Say("Done.")
    path = f"{session_folder(body)}/ANSWER.json"
    return Say("I answer.", "Write", {"file_path": path, "content": '{"chain": ["parcels/orders.py::'})


def _read_everything(body: Body, right: Say) -> Say:
    """Read all files of the code base for each file that is needed."""
    if right.tool not in {"Read", "Grep"}:
        return right
    everything = {"pattern": ".", "path": session_folder(body), "output_mode": "content", "head_limit": 250}
    return Say(right.text, "Grep", everything)


FAULTS: Mapping[str, Step] = {
    "401": _sleep,
    "402": _break_other_tests,
    "601": _write_malformed,
    "602": lambda _, __: REFUSED,
    "603": _read_everything,
}


def faulty(solver: Solver) -> Callable[[Body], Say]:
    """Return the script of a provider that solves all items but those with faults."""

    def answer(body: Body) -> Say:
        right = solver.answer(body)
        tasks = solver.tasks_of(body) if body.get("tools") else []
        fault = FAULTS.get(tasks[0].item.id[:3]) if tasks else None
        return fault(body, right) if fault else right

    return answer


@contextmanager
def example_provider(runs: Path) -> Iterator[Provider]:
    """Serve the example's provider for the run in a folder of runs."""
    with Solver.of(runs / "readiness", WRONG) as solver, serve(faulty(solver)) as provider:
        yield provider


def measured(repository: Path, runs: Path, *options: str, **env: str) -> Said:
    """Run the command on a repository with the real CLI; `env` says where the provider is."""
    where = ("--runs", str(runs), "--yes", "--sandbox", "bubblewrap", "--anchors", "8", "--agent", AGENT)
    return scylla("readiness", str(repository), *where, *options, cwd=runs.parent, env=env, seconds=3600)


def shorten_limit(runs: Path, item: str, seconds: int) -> None:
    """Give the sessions of an item of the written suite less time."""
    for path in (runs / "readiness/suite/scenarios/readiness").glob(f"{item}-*/scenario.yaml"):
        text = path.read_text(encoding="utf-8")
        assert text.count(_LIMIT) > 0, f"{path} has another limit"
        path.write_text(text.replace(_LIMIT, f"timeout_seconds: {seconds}", 1), encoding="utf-8")


def summary(text: str) -> str:
    """Return what is printed of a measurement, without the path of its page."""
    return re.sub(r"^page: .*\n", "", text, flags=re.MULTILINE)


def main(folder: Path) -> int:
    """Print the example."""
    repository = readiness_repository(folder / "parcels", "python")
    with example_provider(folder / "runs") as provider:
        said = measured(repository, folder / "runs", ANTHROPIC_BASE_URL=provider.url, ANTHROPIC_API_KEY=KEY)
    sys.stdout.write(summary(said.err + said.out))
    return said.code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
