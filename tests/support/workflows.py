"""The project's workflows and actions as data."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
Node = Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """`at` names it for people: file, job where there is one, and number."""

    at: str
    job: str
    node: Node

    @property
    def script(self) -> str:
        return str(self.node.get("run", ""))


def load(path: Path) -> Node:
    """A file's content; `on` is a key, not a truth."""
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    if True in found:
        found["on"] = found.pop(True)
    return found


WORKFLOWS = {path.stem: load(path) for path in sorted(GITHUB.glob("workflows/*.yml"))}
ACTIONS = {path.parent.name: load(path) for path in sorted(GITHUB.glob("actions/*/action.yml"))}
SIMPLE = load(ROOT / "action.yml")
FILES = [*sorted(path for path in GITHUB.rglob("*.yml") if path.stem != "dependabot"), ROOT / "action.yml"]


def jobs() -> Iterator[tuple[str, str, Node]]:
    """Workflow, job, and what it says."""
    for name, workflow in WORKFLOWS.items():
        for job, node in workflow["jobs"].items():
            yield name, job, node


def steps() -> Iterator[Step]:
    """All steps of workflows and actions."""
    for name, job, node in jobs():
        for number, step in enumerate(node.get("steps", ())):
            yield Step(f"{name}.yml {job} {number}", job, step)
    for name, action in {**ACTIONS, "action.yml": SIMPLE}.items():
        for number, step in enumerate(action["runs"]["steps"]):
            yield Step(f"{name} {number}", "", step)


def expressions(text: str) -> list[str]:
    """Return what stands between `${{` and `}}`."""
    return re.findall(r"\$\{\{(.*?)\}\}", text, re.DOTALL)


def texts(node: Any) -> Iterator[str]:
    """All strings below a node."""
    if isinstance(node, Mapping):
        for value in node.values():
            yield from texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from texts(value)
    elif isinstance(node, str):
        yield node
