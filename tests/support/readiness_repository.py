"""Three small code bases with tests, from which readiness tasks are made; two have history.

`python`: parcels, with pytest. `typescript`: seats, with vitest; `javascript`: the same with node's own test runner,
which needs no installation. `go`: tickets of a ferry, in one commit. Same bytes and same commits each time.
"""

import re
import subprocess
from pathlib import Path
from typing import Final, Literal

from tests.support.readiness_history import PYTHON, SCRIPT, Revision
from tests.support.repository import write_tree

CodeBase = Literal["python", "javascript", "typescript", "go"]
SOURCES: Final = Path(__file__).with_name("readiness_code")
_TYPES: Final = re.compile("«.*?»", re.DOTALL)
_RUNNERS: Final = {"javascript": "node:test", "typescript": "vitest"}
_SUFFIXES: Final = {"javascript": "js", "typescript": "ts"}


def readiness_repository(root: Path, language: CodeBase, *, history: bool = True) -> Path:
    """Write the code base into the folder as a git repository, whose working tree is clean.

    Args:
        root: a folder that does not exist, or is empty.
        language: which of the code bases.
        history: with a commit for each revision; False: one commit of all.
    """
    files, revisions = _code_base(language)
    root.mkdir(parents=True, exist_ok=True)
    _git(root, 0, "init", "-q", "-b", "main")
    for revision in reversed(revisions if history else ()):
        files[revision.path] = _replaced(files[revision.path], revision.after, revision.before)
    write_tree(root, files)
    _commit(root, 0, "Begin")
    for number, revision in enumerate(revisions if history else (), 1):
        path = root / revision.path
        path.write_text(_replaced(path.read_text(encoding="utf-8"), revision.before, revision.after), encoding="utf-8")
        _commit(root, number, revision.subject)
    return root


def _replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def _code_base(language: CodeBase) -> tuple[dict[str, str], tuple[Revision, ...]]:
    if language in {"javascript", "typescript"}:
        return _script(language)
    return _read(SOURCES / language), PYTHON if language == "python" else ()


def _script(language: Literal["javascript", "typescript"]) -> tuple[dict[str, str], tuple[Revision, ...]]:
    """TypeScript's types stand between « and »; `.x` is the suffix of either language."""
    files = _read(SOURCES / "script")
    package = files[f"package.json.{language}"]
    files = {
        _named(path, language): _typed(text, language) for path, text in files.items() if "package.json" not in path
    }
    revisions = tuple(
        Revision(revision.subject, _named(revision.path, language), revision.before, revision.after)
        for revision in SCRIPT
    )
    return {**files, "package.json": package, ".gitignore": "node_modules/\n"}, revisions


def _read(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*.txt"))
    return {str(path.relative_to(folder)).removesuffix(".txt"): path.read_text(encoding="utf-8") for path in paths}


def _named(path: str, language: str) -> str:
    return re.sub(r"\.x$", f".{_SUFFIXES[language]}", path)


def _typed(text: str, language: str) -> str:
    plain = _TYPES.sub("", text) if language == "javascript" else text.replace("«", "").replace("»", "")
    imported = re.sub(r'(from "[^"]+)\.x"', rf'\1.{_SUFFIXES[language]}"', plain)
    return imported.replace('from "TESTING"', f'from "{_RUNNERS[language]}"')


def _commit(root: Path, number: int, message: str) -> None:
    _git(root, number, "add", "-A")
    _git(root, number, "commit", "-q", "--allow-empty", "-m", message)


def _git(root: Path, number: int, *args: str) -> None:
    date = f"2025-03-{number // 24 + 1:02d}T{number % 24:02d}:00:00Z"
    who = {f"GIT_{role}_{part}": text for role in ("AUTHOR", "COMMITTER")
           for part, text in (("NAME", "Dev"), ("EMAIL", "dev@example.com"), ("DATE", date))}  # fmt: skip
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "GIT_CONFIG_GLOBAL": "/dev/null", **who}
    subprocess.run(["git", "-C", str(root), *args], env=env, check=True, capture_output=True)
