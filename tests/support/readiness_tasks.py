"""Tasks of a readiness suite as somebody who knows the answers sees them: texts before and after each solution."""

import hashlib
import json
import os
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from scylla_gha.model.readiness import ItemSet, ReadinessItem, scenario_id
from scylla_gha.readiness.suite import items_file
from scylla_gha.store import read_record


@dataclass(frozen=True)
class Change:
    """Text of a file before and after; None: there is no such file."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class SuiteTask:
    """Item of a suite with its scenario's files.

    Attributes:
        objects: bare repository with the start states of the suite.
        language: main language of the code base.
    """

    item: ReadinessItem
    scenario: Path
    objects: Path
    language: str

    @cached_property
    def start(self) -> str:
        """Hash of the start state."""
        hashed: str = yaml.safe_load((self.scenario / "scenario.yaml").read_text())["source"]["hash"]
        return hashed

    def text(self, path: str) -> bytes | None:
        """Return a file's content in the start state."""
        done = _git(self.objects, "cat-file", "blob", f"{self.start}:{path}", check=False)
        return done.stdout if done.returncode == 0 else None

    @cached_property
    def solution(self) -> tuple[Change, ...]:
        """Changes that solve the item."""
        return self._changes(self.patch("solution/solution.patch"))

    @cached_property
    def wrong(self) -> tuple[Change, ...]:
        """Changes of the most plausible wrong answer of the suite."""
        names = ("other-answers", "blank-line-alone", "no-answer", "note-alone")
        existing = [f"wrong/{name}.patch" for name in names if (self.scenario / f"wrong/{name}.patch").is_file()]
        return self._changes(self.patch(existing[0]))

    def patch(self, name: str) -> bytes:
        """Return a patch of the scenario."""
        return (self.scenario / name).read_bytes()

    def _changes(self, patch: bytes) -> tuple[Change, ...]:
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": f"{folder}/index"}
            _git(self.objects, "read-tree", self.start, env=index)
            _git(self.objects, "apply", "--cached", "--whitespace=nowarn", "-", stdin=patch, env=index)
            tree = _git(self.objects, "write-tree", env=index).stdout.decode().strip()
        changed = _git(self.objects, "diff-tree", "-r", "-z", "--no-renames", "--name-only", self.start, tree).stdout
        paths = [os.fsdecode(name) for name in changed.split(b"\0") if name]
        return tuple(Change(path, self.text(path), self._blob(tree, path)) for path in paths)

    def _blob(self, tree: str, path: str) -> bytes | None:
        done = _git(self.objects, "cat-file", "blob", f"{tree}:{path}", check=False)
        return done.stdout if done.returncode == 0 else None

    @property
    def rank(self) -> str:
        """Seeded place in an order of all items: the first ones are answered wrong."""
        return hashlib.sha256(self.item.id.encode()).hexdigest()


def suite_tasks(suite: Path, objects: Path) -> list[SuiteTask]:
    """Return the tasks of all sides of a written suite.

    Args:
        suite: folder `suite` of a run.
        objects: folder of a bare repository, which is made if it is missing; it gets the start states.
    """
    if not objects.exists():
        subprocess.run(["git", "init", "--quiet", "--bare", str(objects)], check=True)
    for bundle in sorted((suite / "fixtures").glob("*.bundle")):
        _git(objects, "fetch", "--quiet", str(bundle), f"+refs/*:refs/{hashlib.sha256(bytes(bundle)).hexdigest()}/*")
    written = json.loads((suite / "suite.json").read_text())
    return [task for facts in written["sides"] for task in _side(suite, facts["side"], objects)]


def _side(suite: Path, side: str, objects: Path) -> Iterator[SuiteTask]:
    items = read_record(items_file(suite, side), ItemSet)
    assert items is not None, f"{suite} has no items of the side {side!r}"
    for item in items.items:
        yield SuiteTask(item, suite / "scenarios/readiness" / scenario_id(item.id, side), objects, items.language)


def wrong_tasks(tasks: list[SuiteTask], share: float) -> frozenset[Path]:
    """Return the scenarios that a given share of wrong answers of each dimension and side falls on."""
    groups: dict[str, list[SuiteTask]] = defaultdict(list)
    for task in tasks:
        groups[f"{task.item.dimension}{task.scenario.suffix}"].append(task)
    return frozenset(
        task.scenario
        for group in groups.values()
        for task in sorted(group, key=lambda task: task.rank)[: round(share * len(group))]
    )


def _git(
    folder: Path, *args: str, stdin: bytes | None = None, env: dict[str, str] | None = None, check: bool = True
) -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-c", "core.quotePath=false", "--git-dir", str(folder), *args]
    return subprocess.run(command, input=stdin, env={**os.environ, **(env or {})}, capture_output=True, check=check)
