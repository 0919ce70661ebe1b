"""What a scaffolded scenario consists of, before it is written as files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.model.scenario import WorkflowCategory

PLAIN: Final = "100644"
PROGRAM: Final = "100755"


@dataclass(frozen=True, slots=True)
class File:
    """A file to write, by its path from some folder; `mode` is git's. A link's content is where it leads."""

    path: str
    content: bytes
    mode: str = PLAIN

    def within(self, folder: str) -> "File":
        """The same file, by its path from above `folder`."""
        return File(f"{folder}/{self.path}", self.content, self.mode)


@dataclass(frozen=True, slots=True)
class Check:
    """A checkpoint that runs a command; a guard holds on the start state already. `shows` is a regex of its output."""

    id: str
    what: str
    run: str
    guard: bool = False
    shows: str = ""


@dataclass(frozen=True, slots=True)
class Start:
    """What the task begins with: files for a fixture, or a commit of a repository that is fetched."""

    files: tuple[File, ...] = ()
    repo: str | None = None
    commit: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A scenario to be; `origin` tells people where it comes from."""

    id: str
    title: str
    origin: str
    category: WorkflowCategory
    prompt: str
    start: Start
    solution: bytes
    wrong: Mapping[str, bytes]
    checks: tuple[Check, ...]
    hidden: tuple[File, ...]
    python: Mapping[str, str] = field(default_factory=dict)
    system: tuple[str, ...] = ()
    is_example: bool = False


def new_file(path: str, text: str) -> bytes:
    """A patch that adds a file; the text ends with a line's end."""
    lines = text.splitlines()
    body = "".join(f"+{line}\n" for line in lines)
    head = f"diff --git a/{path} b/{path}\nnew file mode {PLAIN}\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{len(lines)} @@\n{body}".encode()
