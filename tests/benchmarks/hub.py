"""Speed of the hub, and 200 cells at once: `python tests/benchmarks/hub.py`. Two processors, one run.

Targets: attach and restore 20 ms at the median; cold process 1.5 s; a list of 100 issues 30 ms; `gh pr view`'s query
25 ms; clone and push 250 ms each; 200 cells, in which no answer comes from another cell.
"""

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from scylla_gha.hub.client import HubProcess
from scylla_gha.hub.clients import git_environment
from scylla_gha.hub.control import AttachedCell, AttachRequest
from tests.support.hub_server import connected

FIXTURE = Path(__file__).parents[1] / "support/hub_fixture/github.yaml"
REPO = "octo-org/demo"
CELLS, ROUNDS, WORKERS = 200, 5, 16
ISSUES = """query{repository(owner:"octo-org",name:"demo"){issues(first:100,states:[OPEN]){totalCount nodes{
number title state url updatedAt labels(first:100){nodes{name color}} author{login} comments{totalCount}}}}}"""
VIEW = """query{repository(owner:"octo-org",name:"demo"){pullRequest(number:2){number title body state url isDraft
author{login} headRefName baseRefName additions deletions changedFiles mergeable reviewDecision
labels(first:100){nodes{name}} assignees(first:100){nodes{login}} milestone{title}
reviews(first:100){nodes{author{login} state body}} comments(first:100){nodes{author{login} body}}
statusCheckRollup:commits(last:1){nodes{commit{statusCheckRollup{contexts(first:100){nodes{__typename
...on CheckRun{name status conclusion detailsUrl}...on StatusContext{context state}}}}}}}}}}"""


def fixture(folder: Path) -> Path:
    """The tests' fixture with a hundred issues more."""
    folder.mkdir()
    steps = "".join(f"  - issue: {{title: Issue {number}, author: reader, labels: [bug]}}\n" for number in range(100))
    (folder / "github.yaml").write_text(FIXTURE.read_text() + steps)
    return folder


def timed(call: Callable[[], Any], times: int = 30) -> list[float]:
    milliseconds = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        milliseconds.append((time.perf_counter() - started) * 1000)
    return milliseconds


def show(name: str, values: list[float], target: float) -> None:
    median = statistics.median(values)
    print(f"{name:28} median {median:7.1f} ms   worst {max(values):7.1f} ms   target {target:g} ms"
          f"   {'ok' if median <= target else 'MISSED'}")  # fmt: skip


class Bench:
    """A hub, a fixture and cells of it."""

    def __init__(self, hub: HubProcess, root: Path) -> None:
        self.hub, self.root, self.fixture = hub, root, fixture(root / "fixture")

    def attach(self, name: str) -> AttachedCell:
        folder = self.root / name
        folder.mkdir()
        return self.hub.attach(
            AttachRequest(cell=name, fixture=self.fixture, cache=self.root / "cache", folder=folder / "hub",
                          socket=folder / "s", log=folder / "requests.jsonl", loopback=True)
        )  # fmt: skip


def ask(connection: HTTPConnection, cell: AttachedCell, method: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"token {cell.tokens['author']}", "User-Agent": "benchmark"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status < 300, (answer.status, content[:300])
    return json.loads(content)


def graphql(connection: HTTPConnection, cell: AttachedCell, query: str) -> Any:
    answer = ask(connection, cell, "POST", "/graphql", {"query": query})
    assert "errors" not in answer, answer["errors"]
    return answer["data"]["repository"]


def requests(cell: AttachedCell) -> None:
    with connected(cell.socket) as connection:
        assert len(graphql(connection, cell, ISSUES)["issues"]["nodes"]) == 100
        show("list of 100 by GraphQL", timed(lambda: graphql(connection, cell, ISSUES)), 30)
        show(
            "list of 100 by REST", timed(lambda: ask(connection, cell, "GET", f"/repos/{REPO}/issues?per_page=100")), 30
        )
        show("pr view", timed(lambda: graphql(connection, cell, VIEW)), 25)


def git(cell: AttachedCell, root: Path) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        **git_environment(cell.port or 0, cell.tokens["author"], root),
    }
    work = root / "work"

    def run(*argv: str, cwd: Path = root) -> None:
        subprocess.run(argv, cwd=cwd, env=env, check=True, capture_output=True)

    def clone() -> None:
        run("rm", "-rf", str(work))
        run("git", "clone", "-q", f"https://github.com/{REPO}", str(work))

    def push() -> None:
        run("git", "commit", "-q", "--allow-empty", "-m", "x", cwd=work)
        run("git", "push", "-q", "origin", "HEAD:refs/heads/bench", cwd=work)

    show("clone", timed(clone, 8), 250)
    show("commit and push", timed(push, 8), 250)


def script(cell: AttachedCell) -> int:
    """Write and read in a cell; return how many of its answers name what it has not written."""
    strange = 0
    with connected(cell.socket) as connection:
        for number in range(ROUNDS):
            title = f"{cell.cell} {number}"
            made = ask(connection, cell, "POST", f"/repos/{REPO}/issues", {"title": title})
            read = ask(connection, cell, "GET", f"/repos/{REPO}/issues/{made['number']}")
            listed = graphql(
                connection, cell, ISSUES.replace("states:[OPEN]", "orderBy:{field:CREATED_AT,direction:DESC}")
            )
            titles = {node["title"] for node in listed["issues"]["nodes"]}
            own = {title for title in titles if title.startswith("cell")}
            strange += read["title"] != title or own != {f"{cell.cell} {before}" for before in range(number + 1)}
    return strange


def crowd(bench: Bench) -> None:
    cells = [bench.attach(f"cell{number}") for number in range(CELLS)]
    started = time.perf_counter()
    with ThreadPoolExecutor(WORKERS) as pool:
        strange = sum(pool.map(script, cells))
    seconds = time.perf_counter() - started
    print(f"{CELLS} cells, {CELLS * ROUNDS * 3} requests in {seconds:.1f} s; {strange} answers of another cell"
          f"   {'ok' if strange == 0 else 'MISSED'}")  # fmt: skip
    for cell in cells:
        assert bench.hub.detach(cell).traffic.foreign == 0


def main() -> None:
    starts = []
    for _ in range(3):
        started = time.perf_counter()
        HubProcess.start().stop()
        starts.append((time.perf_counter() - started) * 1000)
    show("cold process, with its end", starts, 1500)
    with tempfile.TemporaryDirectory() as name, HubProcess.start() as hub:
        root = Path(name)
        bench = Bench(hub, root)
        started = time.perf_counter()
        first = bench.attach("first")
        print(f"first attach, seed made      {(time.perf_counter() - started) * 1000:14.1f} ms")
        numbers = iter(range(1000))
        show("attach and restore", timed(lambda: bench.attach(f"a{next(numbers)}"), 50), 20)
        requests(first)
        git(first, root)
        crowd(bench)


if __name__ == "__main__":
    main()
