"""The files of a scaffold, from a task: a scenario with its fixture, and an experiment that asks about it."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import yaml

from scylla_gha.adoption.languages import LANGUAGES
from scylla_gha.adoption.mining import fixture_of
from scylla_gha.adoption.task import Check, File, Start, Task
from scylla_gha.adoption.templates import filled
from scylla_gha.adoption.writing import write
from scylla_gha.config.library import toolkit_root
from scylla_gha.model.scenario import size_of
from scylla_gha.seeding.start import commit_of


def scenario_files(task: Task, name: str, schemas: str) -> list[File]:
    """The scenario's folder and its fixture; `scenario.yaml` comes last, so it is there only where all is.

    Args:
        task: what it consists of.
        name: of the suite.
        schemas: the address of the folder of JSON Schemas, for editors.
    """
    folder = f"scenarios/{name}/{task.id}"
    rubric = filled("rubric.yaml", schema=f"{schemas}rubric.json", items="\n".join(_items(task.checks)))
    beside = [
        File("prompt.md", task.prompt.encode()),
        File("rubric.yaml", rubric.encode()),
        File("solution/solution.patch", task.solution),
        *(File(f"wrong/{wrong}.patch", patch) for wrong, patch in task.wrong.items()),
        *(each.within("checks") for each in task.hidden),
        File("scenario.yaml", _scenario(task, name, folder, schemas).encode()),
    ]
    fixture = [each.within(f"fixtures/{fixture_of(task.id, name)}") for each in task.start.files]
    return [*fixture, *(each.within(folder) for each in beside)]


def _scenario(task: Task, name: str, folder: str, schemas: str) -> str:
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
        progress="\n".join(f"  - {{step: {_text(each.what)}, checkpoint: {each.id}}}" for each in task.checks
                           if not each.guard or each is first),
    )  # fmt: skip


def _source(start: Start, name: str) -> str:
    if start.repo is not None:
        return (f"  repo: {_text(start.repo)}  # it is fetched from there; a private one needs git's credentials\n"
                f"  hash: {start.commit}")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "fixture", start.files)
        made = commit_of(Path(folder) / "fixture")
    return f"  fixture: {name}  # the folder fixtures/{name}/, made of files of this repository\n  hash: {made}"


def _checkpoints(checks: Iterable[Check]) -> Iterator[str]:
    for check in checks:
        yield f"  - id: {check.id}"
        yield f"    what: {_text(check.what)}"
        yield f"    run: {_text(check.run)}"
        if check.shows:
            yield f"    stdout_matches: {_text(check.shows)}"
        if check.guard:
            yield "    guard: true             # holds on the start state already; a change that breaks it has failed"


def _items(checks: Iterable[Check]) -> Iterator[str]:
    for number, check in enumerate(checks, 1):
        yield f"      - {{id: F{number}, text: {_text(check.what)}, type: binary, checks: [{check.id}]}}"


def _text(text: str) -> str:
    """A text as YAML takes it, on one line."""
    return json.dumps(text, ensure_ascii=False)


def ignored_runs() -> File:
    """Keeps what evaluations leave out of commits."""
    return File(
        "runs/.gitignore",
        b"# What evaluations leave here is not committed; the results branch keeps rows.\n*\n!.gitignore\n",
    )


def experiment_file(name: str, scenarios: Sequence[str], schemas: str) -> File:
    """The experiment, which needs no key."""
    text = filled("experiment.yaml", name=name, scenario=", ".join(scenarios), schema=f"{schemas}experiment.json")
    return File(f"config/experiments/{name}.yaml", text.encode())


def beside_files(tasks: Sequence[Task], root: Path) -> Iterator[File]:
    """What tasks need elsewhere in the repository: packages in the image, and to be left alone by pytest."""
    system = {program for task in tasks for program in task.system}
    wanted = {package for language in LANGUAGES if set(language.system) & system for package in language.packages}
    if wanted:
        recipe = yaml.safe_load((toolkit_root() / "config/images/base.yaml").read_text(encoding="utf-8"))
        every = ", ".join(sorted({*recipe["packages"], *wanted}))
        text = filled("image.yaml", packages=", ".join(sorted(wanted)), all=every)
        yield File("config/images/base.yaml", text.encode())
    if any("pytest" in task.python for task in tasks) and not (root / "fixtures").exists():
        yield File("fixtures/conftest.py", filled("conftest.py").encode())


def scenarios_here(root: Path, name: str) -> list[str]:
    """The ids of the suite's scenarios that earlier calls have written."""
    return sorted(path.parent.name for path in (root / "scenarios" / name).glob("*/scenario.yaml"))
