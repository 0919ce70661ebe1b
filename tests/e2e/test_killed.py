"""The harness is killed in each step in turn, and the same command goes on: one walk through all of them."""

import contextlib
import json
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.images.layers import base_layer
from scylla_gha.prepare.tools import cache_root
from tests.support.command import Said, forked, scylla
from tests.support.engine import found_by
from tests.support.faults import JUDGES, KEY, ROOT, SHOWS, agents_repository, content, diligent
from tests.support.killing import in_the_engine, is_running, processes_below, writing
from tests.support.processes import wait_for
from tests.support.provider import Body, Hang, Provider, Say, serve
from tests.support.records import make_checkpoint
from tests.support.repository import CHECKPOINTS

SLEEP = ("sleep", "1.0417")  # of a check, long enough to be found
SLOW = make_checkpoint(id="slow", what="It takes a while", run=" ".join(SLEEP), required=False)
EVALUATE = ("evaluate", "greet", "--yes", "--jobs", "1")


@dataclass
class Model:
    """A provider that, while told so, lets agents or judges wait for ever."""

    holds: str = ""
    asked: list[str] = field(default_factory=list)

    def __call__(self, body: Body) -> Say | Hang:
        who = "agent" if body.get("tools") else "judge"
        if who == self.holds:
            self.asked.append(who)
            return Hang()
        return diligent(body) if who == "agent" else content(body)


@dataclass
class Walk:
    """One run that is killed again and again."""

    root: Path
    sandbox: str
    judges: tuple[str, ...]
    provider: Provider
    model: Model

    @property
    def run(self) -> Path:
        return self.root / "repo/runs/greet"

    @property
    def env(self) -> dict[str, str]:
        own = {name: str(self.root / name.lower()) for name in ("SCYLLA_CACHE", "SCYLLA_WORK", "TMPDIR", "HOME")}
        access = {"ANTHROPIC_BASE_URL": self.provider.url, "ANTHROPIC_API_KEY": KEY}
        return {**own, **access, **(found_by() if self.sandbox == "docker" else {})}

    def cell(self, number: int) -> Path:
        plan = json.loads((self.run / "plan.json").read_text())
        return self.run / str(plan["cells"][number]["id"])

    def killed_at(self, held: Callable[[int], AbstractContextManager[object]]) -> None:
        """The same command, which is killed once it is held; nothing of it then runs any longer."""
        with forked(*EVALUATE, cwd=self.root / "repo", env=self.env) as command, held(command.pid):
            said = command.kill()
            assert said.code == -signal.SIGKILL, said
        assert wait_for(lambda: not processes_below(self.root)), processes_below(self.root)
        if self.sandbox == "docker":
            assert wait_for(lambda: not in_the_engine(command.pid)), in_the_engine(command.pid)

    def killed_in_the_writing_of(self, path: Path) -> None:
        self.killed_at(lambda pid: writing(path, pid))

    def killed_once(self, condition: Callable[[], bool]) -> None:
        self.killed_at(lambda _: once(condition))

    def killed_while_waited_for(self, who: str) -> None:
        """Killed when the agent, or a judge, waits for its model."""
        self.model.holds = who
        before = len(self.model.asked)
        self.killed_once(lambda: len(self.model.asked) > before)
        self.model.holds = ""

    def finished(self) -> dict[Path, bytes]:
        """All files of the cells that are judged."""
        cells = [path.parent for path in self.run.glob("*/judgment.json")]
        return {path: path.read_bytes() for cell in cells for path in cell.rglob("*") if path.is_file()}


@contextlib.contextmanager
def once(condition: Callable[[], bool]) -> Iterator[None]:
    assert wait_for(condition)
    yield


@pytest.fixture
def root() -> Iterator[Path]:
    """A folder with a short path, as sockets need it."""
    folder = Path(tempfile.mkdtemp(prefix="killed-"))
    for name in ("scylla_cache", "scylla_work", "tmpdir", "home"):
        (folder / name).mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def give_cache(root: Path) -> None:
    """Take from the user's cache what takes long to make or comes from the network; the rest is made anew."""
    system = base_layer(Library.here(ROOT).image(), cache_root()).path
    own = root / "scylla_cache"
    (own / "layers").mkdir()
    for file in (system, system.with_suffix(".sha256")):
        shutil.copyfile(file, own / "layers" / file.name)
    (cache_root() / "npm").mkdir(parents=True, exist_ok=True)
    (own / "npm").symlink_to(cache_root() / "npm")


@pytest.mark.usefixtures("running_engine")
@pytest.mark.parametrize(("sandbox", "judges"), [("docker", ()), ("bubblewrap", JUDGES)])
def test_killed_in_each_step_it_goes_on_and_leaves_nothing(root: Path, sandbox: str, judges: tuple[str, ...]) -> None:
    checkpoints = {"checkpoints": (*CHECKPOINTS, SHOWS, SLOW)}
    agents_repository(root / "repo", scenario=checkpoints, sandbox=sandbox, repetitions=2, judges=judges)
    give_cache(root)
    model = Model()
    with serve(model) as provider:
        said = walk(Walk(root, sandbox, judges, provider, model))
    assert said.code == 0, said.err
    report = json.loads((root / "repo/runs/greet/report.json").read_text())
    assert report["counts"] == {"planned": 2, "ran": 2, "judged": 2, "scored": 2}
    assert left_over(root) == []


def walk(walk: Walk) -> Said:
    """Killed in one step after the other; what the last run says."""
    cache = walk.root / "scylla_cache"
    if walk.sandbox == "docker":  # images
        walk.killed_once(lambda: any(file.stat().st_size for file in cache.glob("layers/*.making.tar")))
    walk.killed_in_the_writing_of(walk.run / "plan.json")
    walk.killed_once(lambda: any(path.is_dir() for path in cache.glob("starts/*")))  # prepare
    first, second = walk.cell(0), walk.cell(1)
    walk.killed_in_the_writing_of(first / "cell.json")
    walk.killed_while_waited_for("agent")  # run
    walk.killed_in_the_writing_of(first / "trial.json")
    walk.killed_once(lambda: is_running(*SLEEP))  # judge
    trial = (first / "trial.json").read_bytes()
    if walk.judges:
        walk.killed_while_waited_for("judge")
    walk.killed_in_the_writing_of(first / "judgment.json")
    walk.killed_while_waited_for("agent")
    one = walk.finished()
    assert {path.parent for path in one} >= {first}
    assert one[first / "trial.json"] == trial
    walk.killed_in_the_writing_of(walk.run / "results.jsonl")  # collect
    both = walk.finished()
    walk.killed_in_the_writing_of(walk.run / "report.json")  # aggregate
    walk.killed_in_the_writing_of(walk.run / "report.md")
    said = scylla(*EVALUATE, cwd=walk.root / "repo", env=walk.env)
    assert one.items() <= both.items()
    assert walk.finished() == both
    assert [attempts(cell) for cell in (first, second)] == [
        ["cancelled"] * 2 + ["completed"],
        ["cancelled", "completed"],
    ]
    return said


def attempts(cell: Path) -> list[str]:
    return [attempt["outcome"] for attempt in json.loads((cell / "trial.json").read_text())["attempts"]]


def left_over(root: Path) -> list[object]:
    """Unfinished files, workspaces, sockets and processes; a process that ends with its parent has some seconds."""
    end = time.monotonic() + 10
    while processes_below(root) and time.monotonic() < end:
        time.sleep(0.1)
    unfinished = (path for path in root.rglob("*") if path.suffix == ".tmp" or ".making." in path.name)
    found = [path for path in unfinished if not path.is_relative_to(root / "scylla_cache" / "npm")]
    return [*found, *(root / "scylla_work").iterdir(), *(root / "tmpdir").iterdir(), *processes_below(root)]
