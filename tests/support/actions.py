"""A step of a workflow: the runner's variables and files, and the files as the runner reads them."""

import itertools
from dataclasses import dataclass
from pathlib import Path

SHA = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True)
class Step:
    """The files are as the runner makes them: there, and empty."""

    root: Path

    @property
    def outputs(self) -> Path:
        return self.root / "output"

    @property
    def summary(self) -> Path:
        return self.root / "summary"

    def environment(self, **given: str) -> dict[str, str]:
        return {
            "GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "4711", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_SHA": SHA,
            "GITHUB_REPOSITORY": "octo/repo", "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_OUTPUT": str(self.outputs), "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_ENV": str(self.root / "env"), **given,
        }  # fmt: skip

    def given(self) -> dict[str, str]:
        """The outputs; a later value of the same name stands."""
        return read_values(self.outputs.read_text(encoding="utf-8"))


def step_in(root: Path) -> Step:
    root.mkdir(parents=True, exist_ok=True)
    made = Step(root)
    for name in ("output", "summary", "env"):
        (root / name).touch()
    return made


def read_outputs(path: Path) -> dict[str, str]:
    """Return what a step gave in a file; nothing if there is none."""
    return read_values(path.read_text(encoding="utf-8")) if path.exists() else {}


def read_values(text: str) -> dict[str, str]:
    """As the runner does: `NAME=VALUE`, or `NAME<<WORD`, lines, and WORD alone in a line."""
    lines = iter(text.split("\n"))
    found: dict[str, str] = {}
    for line in lines:
        if not line:
            continue
        is_plain = "=" in line and ("<<" not in line or line.index("=") < line.index("<<"))
        name, rest = line.split("=" if is_plain else "<<", 1)
        found[name] = rest if is_plain else "\n".join(itertools.takewhile(rest.__ne__, lines))
    return found
