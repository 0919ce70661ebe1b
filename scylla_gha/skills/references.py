"""Checks of the files of a skill: paths that SKILL.md names, files that nothing names, links and scripts."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from scylla_gha.counting import counted, first_of
from scylla_gha.model.variant import holds_answers
from scylla_gha.skills import Level, SkillFinding
from scylla_gha.skills.find import SKILL_FILE, SkillFolder, holds_runs
from scylla_gha.skills.skill_file import SkillFile

_LINK: Final = re.compile(r"\]\(<?([^)\s<>]+)>?(?:\s+\"[^\"]*\")?\)")
_PATH: Final = re.compile(
    r"(?<![\w/.{}$<>*~@:-])((?:\./)?(?:references?|scripts?|assets?|evals|tests?)/[\w./-]*\w"
    r"|(?:\.\./)+[\w./-]+\.\w+)(?!\w|[\w./-]*[*{<])"
)
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]*:|[/#<{$]", re.IGNORECASE)
_FENCE: Final = re.compile(r"^\s*(?:```|~~~)")
_UNNAMED: Final = re.compile(
    r"(?:licen[sc]e|notice|readme|changelog|agents|claude|requirements|package|openai\.ya?ml)(?![a-z]).*"
    r"|.*\bOFL\.txt|.*[.-]lock(?:\.\w+)?|pyproject\.toml|__init__\.py|(?:test_.*|.*_test)\.py",
    re.IGNORECASE,
)
_INTERPRETER: Final = r"\b(?:python3?|uv|node|npx|tsx|bun|deno|bash|sh|ruby|perl)\b[^\n`]{0,200}"
UNDELIVERED: Final = frozenset({"evals", "tests", "test", "__pycache__", "node_modules"})
_IMPORT: Final = re.compile(r"^\s*(?:from|import)\b(.*)", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")
_SCRIPTS: Final = frozenset({".sh", ".bash", ".py", ".rb", ".js", ".mjs", ".pl", ""})
_MOST_FILES: Final = 2_000
_MOST_TEXT: Final = 256 * 1024  # bytes of a file that are searched for names of other files
_MOST_NAMED: Final = 3  # files that each get a finding of their own
_LONGEST_LINE: Final = 5_000  # characters of a line that are searched for paths; the search takes quadratic time
_LONGEST_BODY: Final = 500


@dataclass(frozen=True, slots=True)
class SkillContent:
    """Files of a skill, without its evals and tests: paths relative to its folder, and links among them."""

    skill: SkillFolder
    files: tuple[str, ...]
    links: tuple[str, ...]
    cut: bool

    def finding(self, rule: str, level: Level, line: int, message: str) -> SkillFinding:
        """Return a finding about a line of SKILL.md."""
        return SkillFinding(rule, level, self.skill.shown(self.skill.file), line, message)


def skill_content(skill: SkillFolder) -> SkillContent:
    """List the files of a skill."""
    files: list[str] = []
    links: list[str] = []
    for text, folders, names in os.walk(skill.folder):
        folder = Path(text)
        if folder != skill.folder and SKILL_FILE in names:
            folders.clear()  # a nested skill is checked on its own
            continue
        closed = {name for name in folders if folder == skill.folder and holds_answers(name)} | UNDELIVERED
        closed |= {name for name in folders if name.startswith(".") or holds_runs(folder / name)}
        folders[:] = sorted({*folders} - closed)
        for name in (*folders, *sorted(names)):
            path = folder / name
            if path.is_symlink():
                links.append(os.path.relpath(path, skill.folder))
            elif name in names and not name.startswith(".") and path.is_file():
                files.append(os.path.relpath(path, skill.folder))
        if len(files) > _MOST_FILES:
            break
    return SkillContent(skill, tuple(files[:_MOST_FILES]), tuple(links), len(files) > _MOST_FILES)


def file_findings(content: SkillContent, file: SkillFile) -> Iterator[SkillFinding]:
    """Yield findings about the files of a skill, those about references first."""
    yield from _reference_findings(content, file)
    yield from _link_findings(content)
    yield from _unused_findings(content, file)
    yield from _script_findings(content, file.body)
    lines = file.body.strip().count("\n") + 1
    if lines > _LONGEST_BODY:
        message = f"the body has {counted(lines, 'line')}; move parts that are not always needed into references/"
        yield content.finding("body-length", "warning", file.body_line, message)


def _reference_findings(content: SkillContent, file: SkillFile) -> Iterator[SkillFinding]:
    folder = content.skill.folder
    names = {name.lower(): name for name in content.files}
    for path, line in _references(file):
        name = os.path.normpath(path)
        if name.startswith(".."):
            message = f"{path}: leads out of the skill's folder, so a copy of the skill lacks it; copy the file there"
            yield content.finding("reference", "warning", line, message)
        elif Path(name).parts[0] in UNDELIVERED or holds_answers(name):
            if (folder / name).exists():
                message = (
                    f"{path}: agents do not get this file, since evals and tests contain answers; copy it to "
                    "references/"
                )
                yield content.finding("reference", "warning", line, message)
        elif (folder / name).is_symlink() or (folder / name).exists():
            continue
        elif above := next((parent for parent in content.skill.above if (parent / name).exists()), None):
            message = f"{path}: is not in the skill's folder but in {os.path.relpath(above, folder)}; write that path"
            yield content.finding("reference", "note", line, message)
        elif name.lower() in names:
            message = f"{path}: the file is named {names[name.lower()]}; use the same capital letters"
            yield content.finding("reference", "warning", line, message)
        else:
            message = f"{path}: there is no such file; add it, or remove the reference"
            yield content.finding("reference", "warning", line, message)


def _references(file: SkillFile) -> Iterator[tuple[str, int]]:
    """Yield each path in the body once, with its line: targets of links, and paths of the usual folders."""
    seen: set[str] = set()
    is_code = False
    for number, text in enumerate(file.body.split("\n"), file.body_line):
        line = text[:_LONGEST_LINE]
        is_code ^= bool(_FENCE.match(line))
        links = [] if is_code else _LINK.findall(line)
        targets = [unquote(link.partition("#")[0]) for link in links if re.search(r"[./]", link)]
        targets = [target for target in targets if not _ADDRESS.match(target)]
        paths = [path for path in _PATH.findall(line) if not (is_code and path.startswith(".."))]
        for path in (*targets, *paths):
            name = os.path.normpath(path)
            if path and "\0" not in path and len(path) < os.pathconf("/", "PC_NAME_MAX") and name not in seen:
                seen.add(name)
                yield path, number


def _link_findings(content: SkillContent) -> Iterator[SkillFinding]:
    for link in content.links:
        target = (content.skill.folder / link).resolve()
        is_inside = target.is_relative_to(content.skill.folder)
        reason = "which a copy of the skill may lose" if is_inside else "which leads outside the skill's folder"
        message = f"{link}: is a symbolic link, {reason}; replace it with the file"
        yield content.finding("link", "note" if is_inside else "warning", 1, message)


def _unused_findings(content: SkillContent, file: SkillFile) -> Iterator[SkillFinding]:
    if content.cut:
        yield content.finding("unused-file", "note", 1, f"has more than {_MOST_FILES:,} files; only these were checked")
    names = [name for name in content.files if name != content.skill.file.name]
    whole = f"{file.body}\n{file.text('description')}"
    named = _named_folders(whole, names)
    body = _searched("", whole)
    left = [
        searched
        for searched in map(SearchedName.of, names)
        if not _UNNAMED.fullmatch(Path(searched.file).name)
        and named.isdisjoint(Path(searched.file).parents)
        and not body.has(searched)
    ]
    texts = [_searched(name, _text(content.skill.folder / name)) for name in names] if left else []
    unused = [searched.file for searched in left if not any(text.has(searched) for text in texts)]
    if len(unused) > _MOST_NAMED:
        shown = first_of(unused, _MOST_NAMED)
        message = f"{shown}: nothing names them, so no agent will read them; name them in SKILL.md, or remove them"
        yield content.finding("unused-file", "note", 1, message)
        return
    for name in unused:
        message = f"{name}: nothing names it, so no agent will read it; name it in SKILL.md, or remove it"
        yield content.finding("unused-file", "note", 1, message)


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_MOST_TEXT)
    return "" if b"\0" in data[:1024] else data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class SearchedText:
    """Text of a file, in small letters, and the words of its lines that import, to search names of other files in."""

    file: str
    lower: str
    imports: frozenset[str]

    def has(self, name: "SearchedName") -> bool:
        """Return True if the text contains the name of another file, or imports it as a Python module."""
        return name.file != self.file and (name.module in self.imports or name.lower in self.lower)


@dataclass(frozen=True, slots=True)
class SearchedName:
    """Path of a file, its name in small letters, and its name as a Python module, which may be empty."""

    file: str
    lower: str
    module: str

    @classmethod
    def of(cls, file: str) -> "SearchedName":
        """Return the names of a file."""
        path = Path(file)
        return cls(file, path.name.lower(), path.stem if path.suffix == ".py" else "")


def _searched(file: str, text: str) -> SearchedText:
    words = (word for line in _IMPORT.findall(text) for word in _WORD.findall(line))
    return SearchedText(file, text.lower(), frozenset(words))


def _named_folders(text: str, names: Iterable[str]) -> set[Path]:
    """Return the folders of files that a text names as a whole, such as `assets/fonts/` or `fonts`."""
    folders = {folder for name in names for folder in Path(name).parents if folder.name}
    ends = r"(?:/(?!\w)|[`'\"]|\s+(?:directory|folder))"
    return {
        folder
        for folder in folders
        if folder.as_posix() in text and re.search(rf"(?<![\w-]){re.escape(folder.as_posix())}{ends}", text)
    }


def _script_findings(content: SkillContent, body: str) -> Iterator[SkillFinding]:
    """Yield scripts that the body names without an interpreter, and that the system cannot execute."""
    scripts = [
        name
        for name in content.files
        if name.startswith("scripts/")
        and Path(name).suffix in _SCRIPTS
        and name in body
        and not re.search(f"{_INTERPRETER}{re.escape(Path(name).name)}", body)
    ]
    bare: list[str] = []
    closed: list[str] = []
    for name in scripts:
        path = content.skill.folder / name
        with path.open("rb") as file:
            has_shebang = file.read(2) == b"#!"
        is_executable = bool(path.stat().st_mode & stat.S_IXUSR)
        if is_executable and not has_shebang:
            bare.append(name)
        elif has_shebang and not is_executable:
            closed.append(name)
    for names, fault, remedy in (
        (bare, "is executable, but has no first line such as `#!/usr/bin/env python3`", "add it"),
        (
            closed,
            "has a `#!` line, but is not executable",
            "make it executable (chmod +x, git update-index --chmod=+x)",
        ),
    ):
        if names:
            more = f" and {counted(len(names) - 1, 'more script')}" if names[1:] else ""
            yield content.finding("script", "note", 1, f"{names[0]}{more}: {fault}; {remedy}")
