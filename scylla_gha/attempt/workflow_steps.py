"""Steps of a workflow's job: each runs as a new process in the sandbox, with the job's workspace and HOME.

Files in these two folders stay for the next step; processes and /tmp do not. The agent wrote the step, so any path in
them may be a link: the harness makes its own files there anew for each step.

Output of steps: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.errors import FixtureError, SandboxError, ToolError, is_lack_of_the_host
from scylla_gha.hub.git_objects import fetch
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.workflow_records import JobNote, Level, WorkflowStep
from scylla_gha.prepare.git_directory import check_out_foreign, init
from scylla_gha.prepare.workspace import remove_tree
from scylla_gha.sandboxes.base import SandboxMounts, SandboxTarget
from scylla_gha.system.process import Cancel, LimitHit, ProcessLimits, ProcessStreams

_COMMAND: Final = re.compile(r"::(?P<name>[a-zA-Z-]+)(?: (?P<properties>[^:]*(?::(?!:)[^:]*)*))?::(?P<message>.*)")
_LEVELS: Final[Mapping[str, Level]] = {"error": "failure", "warning": "warning", "notice": "notice"}
_SHOWN: Final[Mapping[str, str]] = {"group": "##[group]{}", "endgroup": "##[endgroup]"}
_HIDDEN: Final = ("debug", "add-mask", "stop-commands", "set-output", "save-state", "echo")
# Lines that the hub would read as the beginning of a step in a job's log.
_BEGIN: Final = re.compile(r"##\[group\]Run |Post job cleanup\.|Cleaning up orphan processes")
_ESCAPES: Final[Mapping[str, str]] = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}
_MAX_NOTES: Final = 10  # of each level in a step, as on GitHub
_MAX_LINE_CHARACTERS: Final = 4_000
_MAX_MESSAGE_CHARACTERS: Final = 4_000
MAX_LOG_BYTES: Final = 200_000  # of a step's log, half of them its end
_MAX_READ_BYTES: Final = 1_000_000
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_PLAIN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
STEP_SECONDS: Final = 600.0
_FILE_BYTES: Final = 64 * 1024 * 1024
_GRACE_SECONDS: Final = 2.0
_MAX_ENVIRONMENT_BYTES: Final = 100_000  # of a command's variables, PATH and folder together
_MAX_FOLDER_CHARACTERS: Final = 4_000
_MAX_OUTPUT_CHARACTERS: Final = 1_000_000  # of all outputs and variables that the steps of a job set
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SHELLS: Final[Mapping[str | None, tuple[str, ...]]] = {
    None: ("bash", "-e"),
    "bash": ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail"),
    "sh": ("sh", "-e"),
    "python": ("python3",),
}
# Arguments: the folder to work in, folders to put before PATH, a folder to put after it, and the command.
_START: Final = 'exec 2>&1; cd "$1" || exit 1; PATH="${2:+$2:}$PATH:$3"; export PATH; shift 3; exec "$@"'
_PYTHON: Final = '#!/bin/sh\nexec python3 "$@"\n'  # `python`, a name that GitHub's runners have too
_FILES: Final[Mapping[str, str]] = {
    "GITHUB_ENV": "env",
    "GITHUB_OUTPUT": "output",
    "GITHUB_PATH": "path",
    "GITHUB_STEP_SUMMARY": "summary",
}


@dataclass
class StepOutput:
    """Log of a step, as GitHub shows it, and its annotations."""

    lines: list[str] = field(default_factory=list)
    notes: list[JobNote] = field(default_factory=list)

    def add(self, line: str) -> None:
        """Add a line of the step's output, which may be a workflow command."""
        matched = _COMMAND.fullmatch(line.strip())
        name = matched["name"].lower() if matched else ""
        if matched and name in _LEVELS:
            self.lines.append(f"##[{name}]{_decoded(matched['message'])}")
            self._note(_LEVELS[name], _properties(matched["properties"] or ""), _decoded(matched["message"]))
        elif matched and name in _SHOWN:
            self._show(_SHOWN[name].format(matched["message"]))
        elif name not in _HIDDEN:
            self._show(line)

    def fail(self, message: str) -> None:
        """Add an error of the runner itself."""
        self.lines.append(f"##[error]{message}")
        self.notes.append(JobNote(path=".github", line=1, end_line=1, level="failure", message=message))

    def _show(self, line: str) -> None:
        self.lines.append(f" {line}" if _BEGIN.match(line) else line)

    def _note(self, level: Level, properties: Mapping[str, str], message: str) -> None:
        if sum(note.level == level for note in self.notes) >= _MAX_NOTES or not message:
            return
        line = _line(properties.get("line"), 1)
        note = JobNote(
            path=properties.get("file", ".github"),
            line=line,
            level=level,
            end_line=max(line, _line(properties.get("endline"), line)),
            message=message[:_MAX_MESSAGE_CHARACTERS],
            title=properties.get("title"),
        )
        self.notes.append(note)

    @property
    def text(self) -> str:
        """Text of the log."""
        return "".join(f"{line}\n" for line in self.lines)


def read_output(output: StepOutput, path: Path) -> None:
    """Add the content of a step's output file; if it is too long, only its beginning and its end."""
    size = path.stat().st_size
    with path.open("rb") as file:
        content = file.read(MAX_LOG_BYTES)
        if size > MAX_LOG_BYTES:
            content = content[: MAX_LOG_BYTES // 2]
            file.seek(-(MAX_LOG_BYTES // 2), os.SEEK_END)
            content += b"\n... [the middle of this log is left out]\n" + file.read()
    for line in (
        content.decode(errors="replace").replace("\r\n", "\n").split("\n")[: None if content[-1:] != b"\n" else -1]
    ):
        output.add(line.replace("\x00", "")[:_MAX_LINE_CHARACTERS])


def _properties(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(",") if "=" in part)
    return {key.strip().lower(): _decoded(value) for key, _, value in pairs}


def _decoded(text: str) -> str:
    return re.sub(r"%(?:0D|0A|3A|2C|25)", lambda matched: _ESCAPES[matched[0].upper()], text, flags=re.IGNORECASE)


def _line(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"[1-9]\d{0,6}", text.strip()) else default


def read_variables(path: Path) -> dict[str, str]:
    """Return the variables that a step wrote to a file such as `$GITHUB_ENV`, as `NAME=text` or `NAME<<END`."""
    variables: dict[str, str] = {}
    lines = iter(read_lines(path))
    for line in lines:
        name, mark, end = line.partition("<<")
        if mark and "=" not in name:
            variables[name] = "\n".join(_until(lines, end))
        else:
            name, _, text = line.partition("=")
            variables[name] = text
    return {name: text for name, text in variables.items() if _NAME.fullmatch(name)}


def _until(lines: Iterator[str], end: str) -> Iterator[str]:
    for line in lines:
        if line == end:
            return
        yield line


def read_lines(path: Path) -> Sequence[str]:
    """Return the lines of a file that a step wrote; no lines if it is not a plain file."""
    try:
        descriptor = os.open(path, _PLAIN)
    except OSError:
        return ()
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)  # `fdopen` of a folder fails
        return ()
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(_MAX_READ_BYTES)
    return [line for line in content.decode(errors="replace").replace("\x00", "").splitlines() if line]


@contextlib.contextmanager
def _faults_of_agent() -> Iterator[None]:
    """Report errors of the agent's files and commits as a FixtureError of the step; a full disk stays an OSError."""
    try:
        yield
    except SandboxError:
        raise
    except ToolError as error:  # git, of a commit that is fetched
        raise FixtureError(f"The step cannot be run: {error}") from None
    except OSError as error:
        if is_lack_of_the_host(error):
            raise
        raise FixtureError(f"The step cannot be run: {error.strerror}") from None


@dataclass(frozen=True, slots=True)
class WorkflowBox:
    """Sandbox without network in which jobs run, and the PATH of its programs; `cancel` ends all jobs."""

    target: SandboxTarget
    path: str
    cancel: Cancel | None = None


@dataclass(frozen=True, slots=True)
class StepEnd:
    """End of a step's script; `ended` is `cancelled` or `timed_out`, or None if it ended by itself."""

    code: int
    ended: str | None
    outputs: Mapping[str, str]


@dataclass
class JobBox:
    """Folders of one job below `root`, and the variables that its steps have set."""

    box: WorkflowBox
    root: Path
    cancel: Cancel
    variables: dict[str, str] = field(default_factory=dict)
    search_path: list[str] = field(default_factory=list)
    _output_characters: int = 0

    def __post_init__(self) -> None:
        """Make the folders."""
        self.workspace.mkdir()
        self._home.mkdir()

    @property
    def workspace(self) -> Path:
        """Folder of the checkout."""
        return self.root / "workspace"

    @property
    def _home(self) -> Path:
        return self.root / "home"

    @property
    def _runner(self) -> Path:
        return self._home / "_runner"

    @_faults_of_agent()
    def check_out(self, repository: Path, commit: str) -> None:
        """Replace the workspace by a repository with a commit and its history.

        Raises:
            FixtureError: the commit cannot be checked out.
        """
        remove_tree(self.workspace)
        git_dir = self.workspace / ".git"
        init(git_dir)
        fetch(GitRepository(git_dir), GitRepository(repository), commit, "+refs/tags/*:refs/tags/*")
        check_out_foreign(git_dir, commit, self.workspace)

    @_faults_of_agent()
    def run_script(self, step: WorkflowStep, env: Mapping[str, str], seconds: float, output: StepOutput) -> StepEnd:
        """Run a step's script.

        Args:
            step: the step, with values in place of its expressions.
            env: all variables of the step.
            seconds: remaining time of the job.
            output: log to which the script's output is added.

        Raises:
            SandboxError: the sandbox cannot be started, or was lost.
            FixtureError: files that an earlier step left cannot be passed on to this step.
        """
        limit = min(seconds, STEP_SECONDS, 60 * step.minutes if step.minutes else STEP_SECONDS)
        if fault := self._argument_fault(step, env):
            output.fail(fault)
            return StepEnd(1, None, {})
        mounts, argv = self._mounts(env), self._command(step)
        streams = ProcessStreams(self.root / "stdout", self.root / "stderr")
        limits = ProcessLimits(max(0.1, limit), _FILE_BYTES, grace_seconds=_GRACE_SECONDS)
        finished = self.box.target.sandbox.run(argv, mounts, streams, limits, self.cancel)
        if LimitHit.LOST in finished.hits:
            raise SandboxError(f"the sandbox of a workflow's step was lost: {finished.note}")
        for path in (streams.stdout, streams.stderr):
            read_output(output, path)
        for hit in sorted(finished.hits):
            output.fail(f"The runner has reached a limit: {hit}. {finished.note}".strip())
        ended = "cancelled" if finished.cancelled else "timed_out" if finished.timed_out else None
        outputs = self._collected()
        if self._output_characters > _MAX_OUTPUT_CHARACTERS:
            output.fail(f"The outputs and variables of a job have more than {_MAX_OUTPUT_CHARACTERS} characters.")
            return StepEnd(finished.code or 1, ended, {})
        return StepEnd(finished.code, ended, outputs)

    def _argument_fault(self, step: WorkflowStep, env: Mapping[str, str]) -> str | None:
        """Return why no program can be started with the step's texts, or None."""
        texts = [*env, *env.values(), *self.search_path, step.folder or ""]
        if any("\0" in text for text in texts) or not all(map(_is_unicode, (*texts, step.script or ""))):
            return "A variable, a folder or the script is not valid text"
        if (
            len(step.folder or "") > _MAX_FOLDER_CHARACTERS
            or sum(len(text.encode()) for text in texts) > _MAX_ENVIRONMENT_BYTES
        ):
            return "Argument list too long: the environment is too large"
        return None

    def _mounts(self, env: Mapping[str, str]) -> SandboxMounts:
        self._make_runner()
        files = {variable: self._runner / name for variable, name in _FILES.items()}
        for path in files.values():
            path.touch(exist_ok=False)
        extra = {name: text for name, text in env.items() if _VARIABLE.fullmatch(name)}
        extra |= {variable: str(path) for variable, path in files.items()}
        extra |= {"GITHUB_WORKSPACE": str(self.workspace), "RUNNER_TEMP": str(self._home / "_temp")}
        return SandboxMounts(self.workspace, self._home, self.box.path, extra, image=self.box.target.image)

    def _make_runner(self) -> None:
        """Make the folder of the harness's files anew, after removing what an earlier step left there."""
        self._home.chmod(0o700)
        remove_tree(self._runner)
        (self._runner / "bin").mkdir(parents=True)
        shim = self._runner / "bin/python"
        shim.write_text(_PYTHON)
        shim.chmod(0o755)
        temporary = self._home / "_temp"
        if not os.path.lexists(temporary):
            temporary.mkdir()

    def _command(self, step: WorkflowStep) -> tuple[str, ...]:
        script = self._runner / f"script-{time.monotonic_ns()}"
        script.write_text(step.script or "")
        folder = self.workspace / (step.folder or ".")
        before = ":".join(reversed(self.search_path))
        return (
            "/bin/sh",
            "-c",
            _START,
            "sh",
            str(folder),
            before,
            str(self._runner / "bin"),
            *_SHELLS[step.shell],
            str(script),
        )

    def _collected(self) -> dict[str, str]:
        """Store the variables and folders that the step set for later steps, and return its outputs."""
        if self._runner.is_symlink():
            return {}
        variables, outputs = (read_variables(self._runner / name) for name in ("env", "output"))
        folders = [line for line in read_lines(self._runner / "path") if ":" not in line]
        self._output_characters += sum(
            map(len, (*variables, *variables.values(), *outputs, *outputs.values(), *folders))
        )
        if self._output_characters <= _MAX_OUTPUT_CHARACTERS:
            self.variables |= variables
            self.search_path += folders
        return outputs


def _is_unicode(text: str) -> bool:
    try:
        return bool(text.encode()) or True
    except UnicodeEncodeError:
        return False
