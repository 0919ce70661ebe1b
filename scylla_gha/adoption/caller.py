"""The workflow that a user's repository calls the toolkit's reusable one by."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.adoption.task import File
from scylla_gha.adoption.templates import filled

PATH: Final = ".github/workflows/scylla.yml"
COMMENT_PATH: Final = ".github/workflows/scylla-comment.yml"
REGRESSION_PATH: Final = ".github/workflows/scylla-regression.yml"
PULL_PATH: Final = ".github/workflows/scylla-pull-request.yml"
_TOOLKIT: Final = re.compile(r"([A-Za-z0-9-]+/[\w.-]+)@([\w./-]+)")
_CALL: Final = re.compile(
    r"^\s*-?\s*uses:\s*[\"']?([A-Za-z0-9-]+/[\w.-]+)/\.github/(?:workflows|actions)/[\w.-]+@([\w./-]+)", re.MULTILINE
)
_SHA: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Toolkit:
    """The repository that has the reusable workflow, and the tag, branch or commit of it."""

    repository: str
    ref: str

    @property
    def is_pinned(self) -> bool:
        """Whether the ref is a commit, which nobody can move."""
        return bool(_SHA.fullmatch(self.ref))

    @property
    def schemas(self) -> str:
        """The address of the JSON Schemas, for editors."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.ref}/config/schemas/"

    def __str__(self) -> str:
        """As a workflow names it."""
        return f"{self.repository}@{self.ref}"


def toolkit_named(text: str) -> Toolkit | None:
    """`OWNER/REPO@REF` taken apart; None where it is not of that form."""
    found = _TOOLKIT.fullmatch(text)
    return Toolkit(found[1], found[2]) if found else None


def toolkits_called(text: str) -> list[Toolkit]:
    """The toolkits that a workflow's text calls, as far as that is written down and not commented out."""
    return [Toolkit(repository, ref) for repository, ref in _CALL.findall(text)]


def toolkit_here(root: Path) -> Toolkit | None:
    """The one that the repository's own caller workflow calls; None where it has no such workflow."""
    place = root / PATH
    text = place.read_text(encoding="utf-8", errors="replace") if place.is_file() else ""
    return next(iter(toolkits_called(text)), None)


def workflow_files(name: str, toolkit: Toolkit) -> list[File]:
    """The workflows by hand, by a comment, on a schedule and for pull requests; the triggers of three are commented."""
    words = {"name": name, "toolkit": toolkit.repository, "ref": toolkit.ref}
    paths = (PATH, COMMENT_PATH, REGRESSION_PATH, PULL_PATH)
    return [File(path, filled(path.rpartition("/")[2], **words).encode()) for path in paths]
