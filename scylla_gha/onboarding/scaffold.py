"""Files that `init` writes for its tasks: scenarios with fixtures, and an experiment."""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from scylla_gha.config.library import toolkit_root
from scylla_gha.model.scenario import size_of
from scylla_gha.onboarding.languages import LANGUAGES
from scylla_gha.onboarding.task import PROGRAM, ScaffoldFile, ScaffoldTask, TaskCheck, TaskStart
from scylla_gha.onboarding.task_from_history import fixture_of
from scylla_gha.onboarding.templates import filled
from scylla_gha.onboarding.user_repository import LINK
from scylla_gha.prepare.start_state import commit_of


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Files that are new, that exist with other content, and that exist unchanged."""

    new: tuple[ScaffoldFile, ...]
    other: tuple[ScaffoldFile, ...]
    same: tuple[ScaffoldFile, ...]


def compare_files(root: Path, files: Iterable[ScaffoldFile]) -> FileChanges:
    """Compare files with those on disk, without writing."""
    new: list[ScaffoldFile] = []
    other: list[ScaffoldFile] = []
    same: list[ScaffoldFile] = []
    for file in files:
        kind = new if not os.path.lexists(root / file.path) else same if _is_same(root / file.path, file) else other
        kind.append(file)
    return FileChanges(tuple(new), tuple(other), tuple(same))


def _is_same(path: Path, file: ScaffoldFile) -> bool:
    if file.mode == LINK or path.is_symlink():
        return file.mode == LINK and path.is_symlink() and os.fsencode(path.readlink()) == file.content
    executable = file.mode == PROGRAM
    return path.is_file() and path.read_bytes() == file.content and os.access(path, os.X_OK) == executable


def write_files(root: Path, files: Iterable[ScaffoldFile]) -> None:
    """Write files in order, each atomically; a link at a path is replaced, not followed."""
    for file in files:
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=".scylla-", dir=path.parent)) / "new"
        try:
            if file.mode == LINK:
                new.symlink_to(os.fsdecode(file.content))
            else:
                new.write_bytes(file.content)
                new.chmod(0o755 if file.mode == PROGRAM else 0o644)
            new.replace(path)
        finally:
            new.unlink(missing_ok=True)
            new.parent.rmdir()


def scenario_files(task: ScaffoldTask, name: str, schemas: str) -> list[ScaffoldFile]:
    """Return the files of a scenario and its fixture.

    `scenario.yaml` comes last, so that it exists only if all other files do.

    Args:
        task: the content of the scenario.
        name: name of the suite.
        schemas: address of the folder of JSON Schemas, for editors.
    """
    folder = f"scenarios/{name}/{task.id}"
    rubric = filled("rubric.yaml", schema=f"{schemas}rubric.json", items="\n".join(_items(task.checks)))
    beside = [
        ScaffoldFile("prompt.md", task.prompt.encode()),
        ScaffoldFile("rubric.yaml", rubric.encode()),
        ScaffoldFile("solution/solution.patch", task.solution),
        *(ScaffoldFile(f"wrong/{wrong}.patch", patch) for wrong, patch in task.wrong.items()),
        *(file.within("checks") for file in task.hidden),
        ScaffoldFile("scenario.yaml", _scenario(task, name, folder, schemas).encode()),
    ]
    fixture = [file.within(f"fixtures/{fixture_of(task.id, name)}") for file in task.start.files]
    return [*fixture, *(file.within(folder) for file in beside)]


def _scenario(task: ScaffoldTask, name: str, folder: str, schemas: str) -> str:
    lines = [
        line for line in task.solution.splitlines() if line[:1] in {b"+", b"-"} and line[:4] not in {b"+++ ", b"--- "}
    ]
    first = task.checks[0]
    return filled(
        "scenario.yaml",
        folder=folder,
        origin=task.origin,
        schema=f"{schemas}scenario.json",
        id=task.id,
        title=_text(task.title),
        category=task.category,
        size=size_of(len(lines)),
        source=_source(task.start, fixture_of(task.id, name)),
        python=json.dumps(dict(sorted(task.python.items()))),
        system=json.dumps(list(task.system)),
        checkpoints="\n".join(_checkpoints(task.checks)),
        progress="\n".join(f"  - {{step: {_text(check.what)}, checkpoint: {check.id}}}" for check in task.checks
                           if not check.guard or check is first),
    )  # fmt: skip


def _source(start: TaskStart, name: str) -> str:
    if start.repo is not None:
        return (f"  repo: {_text(start.repo)}  # fetched from there; a private repository needs git credentials\n"
                f"  hash: {start.commit}")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder) / "fixture", start.files)
        commit = commit_of(Path(folder) / "fixture")
    return f"  fixture: {name}  # the folder fixtures/{name}/, with files of this repository\n  hash: {commit}"


def _checkpoints(checks: Iterable[TaskCheck]) -> Iterator[str]:
    for check in checks:
        yield f"  - id: {check.id}"
        yield f"    what: {_text(check.what)}"
        yield f"    run: {_text(check.run)}"
        if check.shows:
            yield f"    stdout_matches: {_text(check.shows)}"
        if check.guard:
            yield "    guard: true             # holds at the start; a change that breaks it has failed"


def _items(checks: Iterable[TaskCheck]) -> Iterator[str]:
    for number, check in enumerate(checks, 1):
        yield f"      - {{id: F{number}, text: {_text(check.what)}, type: binary, checks: [{check.id}]}}"


def _text(text: str) -> str:
    """Quote a text for YAML, on one line."""
    return json.dumps(text, ensure_ascii=False)


def ignored_runs() -> ScaffoldFile:
    """Return the `.gitignore` that keeps run folders out of commits."""
    return ScaffoldFile(
        "runs/.gitignore",
        b"# Run folders are not committed; the results branch keeps their rows.\n*\n!.gitignore\n",
    )


def experiment_file(name: str, scenarios: Sequence[str], schemas: str) -> ScaffoldFile:
    """Return the experiment, which needs no key."""
    text = filled("experiment.yaml", name=name, scenario=", ".join(scenarios), schema=f"{schemas}experiment.json")
    return ScaffoldFile(f"config/experiments/{name}.yaml", text.encode())


def beside_files(tasks: Sequence[ScaffoldTask], root: Path) -> Iterator[ScaffoldFile]:
    """Yield files that tasks need elsewhere: packages of the image, and a conftest.py that hides fixtures."""
    system = {program for task in tasks for program in task.system}
    packages = {package for language in LANGUAGES if set(language.system) & system for package in language.packages}
    if packages:
        recipe = yaml.safe_load((toolkit_root() / "config/images/base.yaml").read_text(encoding="utf-8"))
        all_packages = ", ".join(sorted({*recipe["packages"], *packages}))
        text = filled("image.yaml", packages=", ".join(sorted(packages)), all=all_packages)
        yield ScaffoldFile("config/images/base.yaml", text.encode())
    if any("pytest" in task.python for task in tasks) and not (root / "fixtures").exists():
        yield ScaffoldFile("fixtures/conftest.py", filled("conftest.py").encode())


def scenarios_here(root: Path, name: str) -> list[str]:
    """Return the ids of the suite's scenarios that earlier calls wrote."""
    return sorted(path.parent.name for path in (root / "scenarios" / name).glob("*/scenario.yaml"))
