"""Faults of a scenario that one file alone does not show: names, references, patterns, weights and files."""

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from scylla_gha.conditions import pattern_fault
from scylla_gha.config import did_you_mean, there_are
from scylla_gha.config.github_conditions import condition_faults
from scylla_gha.errors import ConfigError
from scylla_gha.model.scenario import WEIGHT_TOLERANCE, Checkpoint, Rubric, Scenario
from scylla_gha.path_patterns import gitignore_fault

ONLY_ONE: Final = "# only: no other wrong solution could be made of the change\n"
_UNMET: Final = re.compile(r"^# unmet:(.*)$", re.MULTILINE)
_ONLY: Final = re.compile(r"^# only: \S", re.MULTILINE)


def unmet_items(solution: Path) -> tuple[str, ...]:
    """Return the items that judges must find unmet in a wrong solution, from its line `# unmet: F2, F3`."""
    line = _UNMET.search(solution.read_text(encoding="utf-8", errors="replace"))
    return tuple(name.strip() for name in line[1].split(",")) if line else ()


def is_only_one(solution: Path) -> bool:
    """Return True if a wrong solution has a line `# only: REASON`, the reason why it is the scenario's only one."""
    return _ONLY.search(solution.read_text(encoding="utf-8", errors="replace")) is not None


def unmet_faults(path: Path, rubric: Rubric) -> Iterator[str]:
    """Yield the faults of the lines `# unmet:` in a scenario's folder."""
    judged = {item.id for item in rubric.items if item.required and not item.checks}
    for folder in ("solution", "right", "wrong"):
        for file in sorted((path / folder).glob("*.*")):
            names = unmet_items(file)
            if names and folder != "wrong":
                yield f"{file}: '# unmet:' is for wrong solutions; remove the line"
            for name in (name for name in names if name not in judged):
                known = did_you_mean(name, judged) or there_are(sorted(judged))
                yield f"{file}: unmet: {name!r} is not a required item without checks{known}"


def source_root(path: Path) -> Path:
    """Return the folder that a scenario's local sources are relative to: the parent of `scenarios/`."""
    return path.parents[2]


def check_scenario(path: Path, scenario: Scenario, rubric: Rubric) -> None:
    """Check a scenario against its folder and its rubric; the error has one line per fault."""
    file = path / "scenario.yaml"
    faults = [f"{file}: {fault}" for fault in (*_folder_faults(path, scenario), *_references(scenario, rubric))]
    if scenario.github is None:
        faults += [f"{file}: {fault}" for fault in condition_faults(scenario, {})]
    faults += [f"{path / scenario.validation.rubric_file}: {fault}" for fault in _rubric(scenario, rubric)]
    if faults:
        raise ConfigError("\n".join(faults))


def check_rubric(file: Path, scenario: Scenario, rubric: Rubric) -> None:
    """Check a rubric that replaces a scenario's own; the error has one line per fault."""
    faults = (*_rubric(scenario, rubric), *_references(scenario, rubric))
    if faults:
        raise ConfigError("\n".join(f"{file}: for {scenario.id}: {fault}" for fault in faults))


def _folder_faults(path: Path, scenario: Scenario) -> Iterator[str]:
    if scenario.id != path.name:
        yield f"id: is {scenario.id!r}, but the folder is named {path.name!r}; make them equal"
    prompt, text = path / scenario.task.prompt_file, ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        text = prompt.read_text(encoding="utf-8")
    if not text.strip():
        yield f"task.prompt_file: {prompt} is missing, empty, or not UTF-8; write the task there"
    yield from _overrides(path, scenario)
    yield from _local_source(path, scenario)
    for kind, packages in (("python", scenario.tools.python), ("node", scenario.tools.node)):
        for name, version in packages.items():
            if not re.fullmatch(r"[0-9][0-9A-Za-z.+!-]*", version):
                yield f"tools.{kind}.{name}: pin one version, such as 1.2.3, not {version!r}"
    yield from (
        f"checkpoints: the id {name!r} is given twice" for name in _duplicates(c.id for c in scenario.checkpoints)
    )
    for checkpoint in scenario.checkpoints:
        yield from _patterns(checkpoint)
    if all(checkpoint.guard or not checkpoint.required for checkpoint in scenario.checkpoints):
        yield "checkpoints: only guards are required, so a trial that changes nothing could pass; require another"


def _local_source(path: Path, scenario: Scenario) -> Iterator[str]:
    repo = scenario.source.repo
    if repo is not None and repo.startswith("./"):
        root = source_root(path)
        if not (root / repo).exists():
            yield f"source.repo: {root / repo} is missing; the path begins at the folder that holds scenarios/"
        elif not (root / repo).resolve().is_relative_to(root.resolve()):
            yield f"source.repo: {root / repo} is stored outside of {root}, by a symbolic link; put a copy in its place"


def _overrides(path: Path, scenario: Scenario) -> Iterator[str]:
    for target, source in scenario.overrides.items():
        if not (path / source).is_file():
            yield f"overrides: {path / source} is missing"
        if PurePosixPath(target).is_absolute() or ".." in PurePosixPath(target).parts:
            yield f"overrides: {target!r} must be a path inside HOME"


def _patterns(checkpoint: Checkpoint) -> Iterator[str]:
    if "# TODO" in (checkpoint.run or ""):
        yield f"checkpoints.{checkpoint.id}: the check is not written yet; put a command in place of {checkpoint.run!r}"
    for pattern in (checkpoint.stdout_matches, checkpoint.stdout_never_matches, checkpoint.matches):
        if fault := pattern_fault(pattern):
            yield f"checkpoints.{checkpoint.id}: {fault}"
    changes = checkpoint.changes
    for pattern in (*changes.only, *changes.never) if changes else ():
        if fault := gitignore_fault(pattern):
            yield f"checkpoints.{checkpoint.id}: {fault}"


def _references(scenario: Scenario, rubric: Rubric) -> Iterator[str]:
    checkpoints = {checkpoint.id for checkpoint in scenario.checkpoints}
    items = {item.id for item in rubric.items}
    for step in scenario.progress:
        known, name = (checkpoints, step.checkpoint) if step.checkpoint else (items, step.item or "")
        if name not in known:
            yield f"progress: {step.step!r} is bound to {name!r}, which does not exist{did_you_mean(name, known)}"


def _rubric(scenario: Scenario, rubric: Rubric) -> Iterator[str]:
    total = sum(category.weight for category in rubric.categories)
    if abs(total - 1) > WEIGHT_TOLERANCE:
        yield f"categories: the weights sum to {total:.6g}, not 1"
    yield from (f"categories: {name!r} is given twice" for name in _duplicates(c.id for c in rubric.categories))
    yield from (f"items: the id {name!r} is given twice" for name in _duplicates(item.id for item in rubric.items))
    known = {checkpoint.id for checkpoint in scenario.checkpoints}
    for item in rubric.items:
        for name in (*item.checks, *((item.applies_if,) if item.applies_if else ())):
            if name not in known:
                yield f"item {item.id}: the checkpoint {name!r} does not exist{did_you_mean(name, known)}"


def _duplicates(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
