"""A scaffolded scenario before it is written as files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.model.scenario import WorkflowCategory

PLAIN: Final = "100644"
PROGRAM: Final = "100755"


@dataclass(frozen=True, slots=True)
class ScaffoldFile:
    """A file to write, with a relative path and git's mode. The content of a link is its target."""

    path: str
    content: bytes
    mode: str = PLAIN

    def within(self, folder: str) -> "ScaffoldFile":
        """Return the same file with a path that starts with `folder`."""
        return ScaffoldFile(f"{folder}/{self.path}", self.content, self.mode)


@dataclass(frozen=True, slots=True)
class TaskCheck:
    """A checkpoint that runs a command. A guard holds at the start; `shows` is a regular expression for the output."""

    id: str
    what: str
    run: str
    guard: bool = False
    shows: str = ""


@dataclass(frozen=True, slots=True)
class TaskStart:
    """The start state of a task: files of a fixture, or a commit of a remote repository."""

    files: tuple[ScaffoldFile, ...] = ()
    repo: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class ScaffoldTask:
    """The content of a scenario; `origin` says in words where it comes from."""

    id: str
    title: str
    origin: str
    category: WorkflowCategory
    prompt: str
    start: TaskStart
    solution: bytes
    wrong: Mapping[str, bytes]
    checks: tuple[TaskCheck, ...]
    hidden: tuple[ScaffoldFile, ...]
    python: Mapping[str, str] = field(default_factory=dict)
    system: tuple[str, ...] = ()
    is_example: bool = False


def new_file(path: str, text: str) -> bytes:
    """Return a patch that adds a file; the text must end with a newline."""
    lines = text.splitlines()
    body = "".join(f"+{line}\n" for line in lines)
    head = f"diff --git a/{path} b/{path}\nnew file mode {PLAIN}\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{len(lines)} @@\n{body}".encode()
