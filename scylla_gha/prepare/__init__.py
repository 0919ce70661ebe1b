"""Step `prepare`: makes a scenario's start state and tools, a trial's workspace, and a copy of it for inspection.

A repository's own setup command (`--setup`) installs what its tests need, in a copy of the code base.
"""

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
from scylla_gha.errors import ToolError, is_lack_of_the_host
from scylla_gha.model import digest
from scylla_gha.model.judgment import Judgment
from scylla_gha.model.sandbox import Tools
from scylla_gha.model.trial import Attempt, Outcome, Trial
from scylla_gha.prepare.start_state import StartState, scan_tree, start_state
from scylla_gha.prepare.tools import (
    GO_BUILD,
    GO_MODULES,
    install_packages,
    prepare_once,
    prepared_code,
    search_path,
    tool_folders,
    virtual_environment,
    write_finder,
)
from scylla_gha.prepare.workspace import Workspace, open_workspace
from scylla_gha.redaction import RedactionSession, Redactor
from scylla_gha.store import write_bytes
from scylla_gha.store.run_folder import AttemptFolder, CellFolder
from scylla_gha.system import process
from scylla_gha.system.process import ProcessLimits, ProcessStreams

Keep = Literal["none", "failed", "all"]
_FOLDER: Final = "workspace"
_VARIABLES: Final = {"GOMODCACHE": f"/{GO_MODULES}", "GO_LIBRARY": f"/{GO_BUILD}"}
_LEFT_OUT: Final = "workspace-left-out.txt"
_GIT: Final = ".git"
_RENAMED_GIT: Final = "dot-git"
_MAX_DEPTH: Final = 100  # levels of folders
_CHUNK_BYTES: Final = 1 << 20
_PLAIN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_SETUP_SECONDS: Final = 1800.0
_SHOWN_CHARACTERS: Final = 1500
_UNCOPIED_FOLDERS: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", ".git"})
_KEPT_VARIABLES: Final = frozenset(
    {"PATH", "HOME", "USER", "LANG", "TMPDIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"}
)
_KEPT_PREFIXES: Final = (
    "PIP_",
    "UV_",
    "npm_config_",
    "NPM_CONFIG_",
    "XDG_",
    "GOPROXY",
    "GOSUMDB",
    "SSL_CERT_",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
)
_MAX_FILES: Final = 500
_MAX_FILE_BYTES: Final = 2_000_000  # of a file


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
    """Make a scenario's start state and install its tools.

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

    Left out are special files, unreadable files, and files beyond the limits of `_WorkspaceCopy`. `.git` becomes
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
        if path.count("/") >= _MAX_DEPTH:
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
            shutil.copyfileobj(source, copy, _CHUNK_BYTES)
            os.fchmod(copy.fileno(), 0o700 if status.st_mode & stat.S_IXUSR else 0o600)

    def _leave_out(self, path: str, error: OSError) -> None:
        if is_lack_of_the_host(error):
            raise error
        self.left_out.append(path)


def run_setup(tree: Path, command: str, cache: Path, tools: str = "") -> str:
    """Run the command in a copy of the tree, unless it has run there before; return the name for `Tools.prepared`.

    It runs on this machine, with its network and as this user. Folders of `tools` come first on PATH. It gets only the
    environment variables that installers read, so no key of a provider or of GitHub.

    Raises:
        ToolError: the command fails.
    """

    def make(folder: Path) -> None:
        shutil.copytree(tree, folder / "code", symlinks=True)
        _run(command, folder, tools)

    name = digest([scan_tree(tree).tree, command])[:16]
    prepare_once(name, cache, make)
    return name


def _run(command: str, folder: Path, tools: str) -> None:
    streams = ProcessStreams(folder / "stdout", folder / "stderr")
    limits = ProcessLimits(_SETUP_SECONDS)
    ended = process.run(
        ("/bin/sh", "-c", command), cwd=folder / "code", env=_environment(tools), streams=streams, limits=limits
    )
    if ended.code or ended.timed_out:
        output = "".join(
            path.read_text(encoding="utf-8", errors="replace") for path in (streams.stdout, streams.stderr)
        )
        why = f"no end within {_SETUP_SECONDS:.0f} s" if ended.timed_out else f"exit code {ended.code}"
        raise ToolError(f"the setup command failed ({why}): {output.strip()[-_SHOWN_CHARACTERS:]}")


def _environment(tools: str) -> dict[str, str]:
    variables = {
        name: value for name, value in os.environ.items() if name in _KEPT_VARIABLES or name.startswith(_KEPT_PREFIXES)
    }
    variables["PATH"] = f"{tools}:{variables.get('PATH', '')}" if tools else variables.get("PATH", "")
    # Builds take their versions from tags, which a clone does not have.
    return {"SETUPTOOLS_SCM_PRETEND_VERSION": "0.0.0", "LANG": "C.UTF-8", **variables}


def install_editable(tools: Tools, cache: Path) -> None:
    """Make programs of the setup command's environment import the project that they run in, not the copy."""
    environment = virtual_environment(prepared_code(tools.prepared, cache)) if tools.prepared else None
    if environment and tools.editable:
        (packages,) = environment.glob("lib/python*/site-packages")
        write_finder(tools.editable, packages)


def add_packages(code: Path, requirements: tuple[str, ...]) -> None:
    """Install the test runner's requirements into the virtual environment of the setup command, if it made one.

    Raises:
        ToolError: a package cannot be installed.
    """
    if environment := virtual_environment(code):
        fault = f"--setup: {', '.join(requirements)} cannot be installed into its environment"
        install_packages(environment, requirements, fault)


def added_files(tree: Path, code: Path) -> dict[str, bytes]:
    """Return files that the setup command added, such as compiled modules; skip packages, caches and large files."""
    files: dict[str, bytes] = {}
    for path in sorted(code.rglob("*")):
        name = path.relative_to(code)
        is_new = path.is_file() and not path.is_symlink() and not (tree / name).exists()
        if is_new and _UNCOPIED_FOLDERS.isdisjoint(name.parts) and path.stat().st_size <= _MAX_FILE_BYTES:
            files[name.as_posix()] = path.read_bytes()
        if len(files) >= _MAX_FILES:
            break
    return files
