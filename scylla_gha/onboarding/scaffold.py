"""Hold the content of a new scenario, and make and write its files."""

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

import yaml

from scylla_gha.config.library import Library, toolkit_root
from scylla_gha.config.scenario_folder import changed_lines
from scylla_gha.mining.languages import RUNNERS
from scylla_gha.mining.repository import LINK
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.scenario import Checkpoint, WorkflowCategory, size_of
from scylla_gha.prepare.start_state import commit_of
from scylla_gha.providers import PROVIDERS, provider_name

PLAIN: Final = "100644"
PROGRAM: Final = "100755"
FIRST: Final = 101  # number of a suite's first scenario
MOST_TASKS: Final = 99  # scenarios of a suite
_EXAMPLE_MODEL: Final = "claude-sonnet-5"
_TOOLS: Final = {
    "python": "packages of PyPI with exact versions",
    "node": "packages of npm with exact versions",
    "editable": "the package of the start state, installed as by `pip install -e`",
    "setup": "runs once on each machine in a copy of the start state, with its network",
    "system": "programs that must be installed",
}
_TEMPLATES: Final = Path(__file__).parent / "templates"
_CONFTEST: Final = b'''\
"""Keep pytest out of this folder: it contains the start states of tasks, not this repository's tests."""

collect_ignore_glob = ["*"]
'''

FileState = Literal["new", "overwritten", "unchanged"]


@dataclass(frozen=True, slots=True)
class ScaffoldFile:
    """A file to write, with a relative path and git's mode. A link's content is its target."""

    path: str
    content: bytes
    mode: str = PLAIN

    def within(self, folder: str) -> "ScaffoldFile":
        """Return the same file with a path that starts with `folder`."""
        return replace(self, path=f"{folder}/{self.path}")


@dataclass(frozen=True, slots=True)
class TaskStart:
    """The start state of a task: files of a fixture, or `commit` of the remote repository `repo`."""

    files: tuple[ScaffoldFile, ...] = ()
    repo: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class ScaffoldTask:
    """The content of a scenario; `origin` describes where it comes from."""

    id: str
    title: str
    origin: str
    category: WorkflowCategory
    prompt: str
    start: TaskStart
    solution: bytes
    wrong: Mapping[str, bytes]
    checks: tuple[Checkpoint, ...]
    hidden: tuple[ScaffoldFile, ...]
    tools: Tools = field(default_factory=Tools)
    is_example: bool = False


def new_file(path: str, text: str) -> bytes:
    """Return a patch that adds a file; the text must end with a newline."""
    lines = text.splitlines()
    body = "".join(f"+{line}\n" for line in lines)
    head = f"diff --git a/{path} b/{path}\nnew file mode {PLAIN}\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{len(lines)} @@\n{body}".encode()


def fixture_of(scenario: str, name: str) -> str:
    """Return the name of a scenario's fixture: the suite's name, plus the scenario's number except for the first."""
    number = scenario.partition("-")[0]
    return name if number == str(FIRST) else f"{name}-{number}"


def folders_of(name: str) -> tuple[str, ...]:
    """Return the folders of a suite's scenarios and fixtures; files in them are never part of a task."""
    numbered = (f"fixtures/{fixture_of(f'{number}-', name)}/" for number in range(FIRST, FIRST + MOST_TASKS))
    return (f"scenarios/{name}/", *numbered)


def filled(template: str, /, **words: str) -> str:
    """Return a file of `templates/` with each `<<name>>` replaced by the argument of that name."""
    text = (_TEMPLATES / template).read_text(encoding="utf-8")
    return re.sub("<<([a-z_]+)>>", lambda gap: words[gap[1]], text)


def file_states(root: Path, files: Iterable[ScaffoldFile]) -> dict[FileState, list[ScaffoldFile]]:
    """Group files by whether they are new on disk, would overwrite another content, or are unchanged."""
    states: dict[FileState, list[ScaffoldFile]] = {"new": [], "overwritten": [], "unchanged": []}
    for file in files:
        path = root / file.path
        if not os.path.lexists(path):
            states["new"].append(file)
        else:
            states["unchanged" if _is_same(path, file) else "overwritten"].append(file)
    return states


def _is_same(path: Path, file: ScaffoldFile) -> bool:
    if file.mode == LINK or path.is_symlink():
        return file.mode == LINK and path.is_symlink() and os.fsencode(path.readlink()) == file.content
    is_program = file.mode == PROGRAM
    return path.is_file() and path.read_bytes() == file.content and os.access(path, os.X_OK) == is_program


def write_files(root: Path, files: Iterable[ScaffoldFile]) -> None:
    """Write files in order, each atomically; an existing link is replaced, not followed."""
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
    items = (
        f"      - {{id: F{number}, text: {_quoted(check.what)}, type: binary, checks: [{check.id}]}}"
        for number, check in enumerate(task.checks, 1)
    )
    rubric = filled("rubric.yaml", schema=f"{schemas}rubric.json", items="\n".join(items))
    files = [
        ScaffoldFile("prompt.md", task.prompt.encode()),
        ScaffoldFile("rubric.yaml", rubric.encode()),
        *([ScaffoldFile("solution/solution.patch", task.solution)] if task.solution else []),
        *(ScaffoldFile(f"wrong/{wrong}.patch", patch) for wrong, patch in task.wrong.items()),
        *(file.within("checks") for file in task.hidden),
        ScaffoldFile("scenario.yaml", _scenario(task, name, folder, schemas).encode()),
    ]
    fixture = [file.within(f"fixtures/{fixture_of(task.id, name)}") for file in task.start.files]
    return [*fixture, *(file.within(folder) for file in files)]


def _scenario(task: ScaffoldTask, name: str, folder: str, schemas: str) -> str:
    return filled(
        "scenario.yaml",
        folder=folder,
        origin=task.origin,
        schema=f"{schemas}scenario.json",
        id=task.id,
        title=_quoted(task.title),
        category=task.category,
        size=size_of(changed_lines(task.solution)),
        source=_source(task.start, fixture_of(task.id, name)),
        tools=_tools(task.tools),
        checkpoints="\n".join(_checkpoints(task.checks)),
        progress="\n".join(
            f"  - {{step: {_quoted(check.what)}, checkpoint: {check.id}}}"
            for check in task.checks
            if not check.guard or check is task.checks[0]
        ),
    )


def _tools(tools: Tools) -> str:
    """Return the YAML lines of the tools that are set, and of `python` and `system`, which people change most."""
    fields = {"python": {}, "system": [], **tools.model_dump(mode="json", exclude_defaults=True)}
    lines = {name: f"  {name}: {json.dumps(fields[name], sort_keys=True)}" for name in fields}
    return "\n".join(f"{line:<31} # {_TOOLS[name]}" if name in _TOOLS else line for name, line in sorted(lines.items()))


def _source(start: TaskStart, name: str) -> str:
    if start.repo is not None:
        return (
            f"  repo: {_quoted(start.repo)}  # fetched from there; a private repository needs git credentials\n"
            f"  hash: {start.commit}"
        )
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder) / "fixture", start.files)
        commit = commit_of(Path(folder) / "fixture")
    return f"  fixture: {name}  # the folder fixtures/{name}/, with files of this repository\n  hash: {commit}"


def _checkpoints(checks: Iterable[Checkpoint]) -> Iterator[str]:
    for check in checks:
        yield f"  - id: {check.id}"
        yield f"    what: {_quoted(check.what)}"
        yield f"    run: {_quoted(check.run or '')}"
        if check.stdout_matches:
            yield f"    stdout_matches: {_quoted(check.stdout_matches)}"
        if check.guard:
            yield "    guard: true             # holds at the start; a change that breaks it has failed"


def _quoted(text: str) -> str:
    """Quote a text for YAML on a single line."""
    return json.dumps(text, ensure_ascii=False)


def example_key() -> str:
    """Return the environment variable with the key of the model that a new experiment's file proposes."""
    provider = provider_name(_EXAMPLE_MODEL, Library((toolkit_root(),)).models())
    return PROVIDERS[provider].credential_variables[0]


def suite_files(name: str, scenarios: Sequence[str], schemas: str) -> list[ScaffoldFile]:
    """Return the file of an experiment that needs no key, and a `.gitignore` that keeps run folders out of commits."""
    words = {"scenario": ", ".join(scenarios), "model": _EXAMPLE_MODEL, "key": example_key()}
    text = filled("experiment.yaml", name=name, schema=f"{schemas}experiment.json", **words)
    ignore = b"# Run folders are not committed; the results branch keeps their rows.\n*\n!.gitignore\n"
    return [ScaffoldFile(f"config/experiments/{name}.yaml", text.encode()), ScaffoldFile("runs/.gitignore", ignore)]


def beside_files(task: ScaffoldTask, root: Path) -> Iterator[ScaffoldFile]:
    """Yield files that a task needs outside its folders: an image recipe with packages, and fixtures/conftest.py."""
    runners = (runner for runner in RUNNERS.values() if set(runner.system) & set(task.tools.system))
    packages = {package for runner in runners for package in runner.packages}
    if packages:
        recipe = yaml.safe_load((toolkit_root() / "config/images/base.yaml").read_text(encoding="utf-8"))
        all_packages = ", ".join(sorted({*recipe["packages"], *packages}))
        text = filled("image.yaml", packages=", ".join(sorted(packages)), all=all_packages)
        yield ScaffoldFile("config/images/base.yaml", text.encode())
    if ("pytest" in task.tools.python or task.tools.setup) and not (root / "fixtures").exists():
        yield ScaffoldFile("fixtures/conftest.py", _CONFTEST)
