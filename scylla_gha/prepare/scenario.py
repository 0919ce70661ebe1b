"""Preparation of a scenario, a trial's workspace made from it, and a copy of that workspace for inspection."""

import itertools
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.errors import is_lack_of_the_host
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.trial import Attempt, Outcome, Trial
from scylla_gha.prepare.setup_command import install_editable, run_setup
from scylla_gha.prepare.start_state import StartState, start_state
from scylla_gha.prepare.tools import GO_BUILD, GO_MODULES, search_path, tool_folders
from scylla_gha.prepare.workspace import Workspace, open_workspace
from scylla_gha.redaction import RedactionSession, Redactor
from scylla_gha.store.records import write_bytes
from scylla_gha.store.run_folder import AttemptFolder, CellFolder

Keep = Literal["none", "failed", "all"]
_FOLDER: Final = "workspace"
_VARIABLES: Final = {"GOMODCACHE": f"/{GO_MODULES}", "GO_LIBRARY": f"/{GO_BUILD}"}
_LEFT_OUT: Final = "workspace-left-out.txt"
_GIT: Final = ".git"
_RENAMED_GIT: Final = "dot-git"
_DEEPEST: Final = 100  # levels of folders
_CHUNK: Final = 1 << 20
_PLAIN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class PreparedScenario:
    """A scenario with its start state and its installed tools.

    Attributes:
        path: PATH of agents and checks.
        programs: folders of tools by their path in sandboxes, as in `SandboxMounts.programs`.
    """

    folder: ScenarioFolder
    start: StartState
    path: str
    programs: Mapping[str, Path] = field(default_factory=dict)

    def variables(self, *, has_own_paths: bool) -> dict[str, str]:
        """Return the variables by which Go finds its modules and library; `has_own_paths`: by paths in a sandbox."""
        variables = {
            variable: name if has_own_paths else str(self.programs[name])
            for variable, name in _VARIABLES.items()
            if name in self.programs
        }
        return {**variables, "GOPROXY": "off", "GOTOOLCHAIN": "local"} if variables else {}

    def holds(self, text: bytes) -> bool:
        """Return True if the prompt, the reference solution or a file of the start state contains this text."""
        solution = self.folder.solution
        contents = (self.folder.prompt.encode(), solution.read_bytes() if solution.is_file() else b"")
        return any(text in content for content in contents) or self.start.holds(text)


def prepare_scenario(folder: ScenarioFolder, library: Library, cache: Path) -> PreparedScenario:
    """Make the start state and install the tools of a scenario.

    Raises:
        FixtureError: the start state is not the pinned one.
        ToolError: a tool is not available.
    """
    source = folder.source
    fixture = library.fixture(source.fixture) if source.fixture else None
    tools, start = folder.scenario.tools, start_state(source, fixture, cache)
    if tools.setup:
        name = run_setup(start.clone, tools.setup, cache, search_path(tools, cache))
        tools = tools.model_copy(update={"prepared": name})
        install_editable(tools, cache)
    return PreparedScenario(folder, start, search_path(tools, cache), tool_folders(tools, cache))


def prepare_workspace(prepared: PreparedScenario, root: Path) -> Workspace:
    """Make a trial's workspace in `root`: a copy of the start state, and a HOME with the scenario's overrides.

    Raises:
        FixtureError: the copy is not the pinned commit's tree.
    """
    workspace = open_workspace(prepared.start, root)
    for name, source in prepared.folder.scenario.overrides.items():
        target = workspace.home / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(prepared.folder.path / source, target)
    return workspace


def keep_workspace(attempt: Attempt, workspace: Path, folder: AttemptFolder, redactor: Redactor) -> Attempt:
    """Copy the workspace, without secrets, into the attempt's folder; list the files that were left out.

    Left out are special files, unreadable files, and those beyond the limits of `_WorkspaceCopy`. `.git` becomes
    `dot-git`: if a person ran git in the copy, git would obey the agent's settings in it.
    """
    target = folder.file(_FOLDER)
    shutil.rmtree(target, ignore_errors=True)
    copy = _WorkspaceCopy()
    copy.copy_folder(workspace, target)
    if copy.left_out:
        write_bytes(folder.file(_LEFT_OUT), b"".join(os.fsencode(path) + b"\n" for path in copy.left_out))
    redaction = RedactionSession(redactor)
    redaction.folder(target)
    redaction.file(folder.file(_LEFT_OUT))
    return attempt.model_copy(update={"redactions": attempt.redactions + redaction.count})


def drop_workspaces(trial: Trial, judgment: Judgment | None, cell: CellFolder) -> None:
    """Remove the copied workspaces of a trial that completed and, if it was judged, passed."""
    failed = judgment is not None and (judgment.result is None or not judgment.result.passed)
    if trial.outcome is Outcome.COMPLETED and not failed:
        for attempt in cell.attempts():
            shutil.rmtree(attempt.file(_FOLDER), ignore_errors=True)
            attempt.file(_LEFT_OUT).unlink(missing_ok=True)


@dataclass(slots=True)
class _WorkspaceCopy:
    """Copy of an agent's folder with limits of entries and bytes. It follows no link and skips unreadable entries."""

    entries: int = 100_000
    size: int = 2_000_000_000
    left_out: list[str] = field(default_factory=list)

    def copy_folder(self, source: Path, target: Path) -> None:
        """Copy a folder to a new one, in which this user can change and remove every file and folder."""
        target.mkdir(parents=True)
        waiting = [""]
        names = {"": str(source)}
        while waiting:
            parent = waiting.pop()
            for item, name in self._entries(names.pop(parent), parent):
                path = f"{parent}/{name}" if parent else name
                if not self.entries:
                    self.left_out.append(f"{path}, and everything after it")
                    return
                self.entries -= 1
                if self._copy_entry(item, path, target):
                    waiting.append(path)
                    names[path] = item.path

    def _entries(self, source: str, path: str) -> Iterator[tuple[os.DirEntry[str], str]]:
        """List a folder's entries, each with its name in the copy."""
        if path.count("/") >= _DEEPEST:
            self.left_out.append(path)
            return
        try:
            with os.scandir(source) as items:
                entries = sorted(items, key=lambda item: item.name)
        except OSError as error:
            self._leave_out(path or "the workspace", error)
            return
        used = {item.name for item in entries}
        numbered = (f"{_RENAMED_GIT}-{number}" for number in itertools.count(2))
        renamed = next(name for name in itertools.chain([_RENAMED_GIT], numbered) if name not in used)
        yield from ((item, renamed if item.name == _GIT else item.name) for item in entries)

    def _copy_entry(self, item: os.DirEntry[str], path: str, root: Path) -> bool:
        """Copy one entry; return True for a folder, whose entries have to follow."""
        target = root / path
        try:
            if item.is_symlink():
                target.symlink_to(os.readlink(item.path))  # noqa: PTH115 a Path would write `./a` as `a`
            elif item.is_dir(follow_symlinks=False):
                target.mkdir()
                return True
            elif item.is_file(follow_symlinks=False):
                self._copy_file(item, path, target)
            else:
                self.left_out.append(path)
        except OSError as error:
            self._leave_out(path, error)
        return False

    def _copy_file(self, item: os.DirEntry[str], path: str, target: Path) -> None:
        status = item.stat(follow_symlinks=False)
        if status.st_size > self.size:
            self.left_out.append(path)
            return
        self.size -= status.st_size
        with open(os.open(item.path, _PLAIN), "rb") as source, target.open("xb") as copy:  # noqa: PTH123
            shutil.copyfileobj(source, copy, _CHUNK)
            os.fchmod(copy.fileno(), 0o700 if status.st_mode & stat.S_IXUSR else 0o600)

    def _leave_out(self, path: str, error: OSError) -> None:
        if is_lack_of_the_host(error):
            raise error
        self.left_out.append(path)
