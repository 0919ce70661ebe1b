"""Search for the files with evals of skills: beside a skill, and in folders that several skills share.

Symbolic links are never followed: their targets may lie outside of the repository.
"""

import functools
import hashlib
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.counting import first_of
from scylla_gha.skills import Level, SkillFinding
from scylla_gha.skills.entry_lists import prompt_lists
from scylla_gha.skills.find import SHOWN_HIDDEN, SkillFolder, holds_runs
from scylla_gha.skills.json_source import SUFFIXES, JsonFault, read_source
from scylla_gha.skills.read_triggers import named_skills, owners_of

_MOST_FILES: Final = 2_000  # of one folder that skills share
_MOST_NAMED: Final = 5
_OUTPUT: Final = re.compile(r"results?|runs?|outputs?|fixtures?|files|inputs?|.*-workspace", re.IGNORECASE)
_EVALS_NAME: Final = re.compile(r"(?:^|[-_.])(?:evals?|triggers?)(?:[-_.]|$)|^eval_queries\.", re.IGNORECASE)
_PROMPT_KEY: Final = re.compile(rb"\b(?:prompt|query|inputs?|question|messages|turns|should_(?:not_)?trigger)\b")
_EVAL_FOLDERS: Final = frozenset({"eval", "evals"})


@dataclass(frozen=True, slots=True)
class EvalPath:
    """A file that may contain evals of a skill.

    Attributes:
        place: folder of evals that contains it.
        path: the file.
        is_named: True if only names in the file say which of several skills its entries are for.
    """

    place: Path
    path: Path
    is_named: bool = False


@dataclass(frozen=True, slots=True)
class SharedFile:
    """A file with prompts in a folder of evals that several skills share.

    Attributes:
        owners: names of the skills that the whole file says it is for.
        names: these, and all names of skills in its entries.
        fault: why it cannot be read.
    """

    source: EvalPath
    owners: frozenset[str]
    names: frozenset[str]
    fault: str = ""


@dataclass(slots=True)
class EvalSearch:
    """Search for the files of all skills of a folder; files that skills share are read once.

    Attributes:
        root: folder that is checked.
        is_only: True if they have one name, so that evals without a skill's name count for it.
    """

    root: Path
    is_only: bool
    shared: dict[Path, list[SharedFile]] = field(default_factory=dict)

    def files(self, skill: SkillFolder, declared_name: str) -> list[EvalPath]:
        """Return the files of a skill, those in its own folder first."""
        names = skill.names(declared_name)
        paths: dict[Path, EvalPath] = {}
        for place, is_deep in _places(skill, names):
            if place.is_file() and not place.is_symlink():
                paths.setdefault(place, EvalPath(place.parent, place))
            elif place.is_dir() and not place.is_symlink():
                for path in sorted(_source_files(place, is_deep=is_deep)):
                    paths.setdefault(path, EvalPath(place, path))
        for folder in skill.above:
            for file in self._shared(folder / "evals"):
                if own_path := self._of(file, names):
                    paths.setdefault(file.source.path, own_path)
        return list(paths.values())

    def _of(self, file: SharedFile, names: Sequence[str]) -> EvalPath | None:
        """Return a file that skills share as one of a skill with these names, if it is for that skill."""
        if file.owners.intersection(names) or (self.is_only and not file.owners):
            return file.source
        return EvalPath(file.source.place, file.source.path, is_named=True) if file.names.intersection(names) else None

    def _shared(self, place: Path) -> list[SharedFile]:
        if place not in self.shared:
            paths = sorted(_source_files(place, is_deep=True)) if not place.is_symlink() else []
            paths = [path for path in paths if not is_output(path, place)]
            read = (_shared_file(EvalPath(place, path)) for path in paths[:_MOST_FILES])
            self.shared[place] = [file for file in read if file]
        return self.shared[place]

    def unread(self, skills: Sequence[SkillFolder], known: Collection[Path]) -> Iterator[SkillFinding]:
        """Yield a finding on each file that seems to hold evals and is read for no skill.

        Args:
            skills: all skills.
            known: paths that were read, or named, as those of a skill.
        """
        above = {folder for skill in skills for folder in skill.above if folder.is_relative_to(self.root)}
        places = sorted(folder / "evals" for folder in above)
        shared = [file for place in places for file in self._shared(place)]
        elsewhere = (path for path in _with_evals_name(self.root) if path not in known)
        elsewhere = (path for path in elsewhere if not any(path.is_relative_to(place) for place in places))
        others = [_shared_file(EvalPath(self.root, path)) for path in elsewhere]
        for file in (*shared, *filter(None, others)):
            if file.source.path not in known:
                level: Level = "note" if file.source.place == self.root else "warning"
                message = f"is not read: {self._why_not(file, skills)}"
                yield SkillFinding("evals", level, os.path.relpath(file.source.path, self.root), 1, message)

    def _why_not(self, file: SharedFile, skills: Sequence[SkillFolder]) -> str:
        if file.fault:
            return file.fault
        own = [skill for skill in skills if file.names.intersection((skill.name, skill.folder.name))]
        folder = own[0].shown(own[0].folder) if len({skill.name for skill in own}) == 1 else "NAME"
        target = Path(folder, "evals", file.source.path.name)
        if file.source.place == self.root:
            return f"it is in no folder where evals are searched; if it has evals of a skill, copy it to {target}"
        if file.owners:
            return (
                f"it is for {first_of(sorted(file.owners), _MOST_NAMED)}, and no skill here has this name; correct it"
            )
        return (
            'it does not say for which skill it is; write "skill_name": "NAME" in it, "should_trigger": "NAME" in its '
            f"entries, or copy it to {target}"
        )


def is_output(path: Path, place: Path) -> bool:
    """Return True if a file below a folder of evals is in a folder of results or of files for the agent."""
    return any(_OUTPUT.fullmatch(folder) for folder in path.relative_to(place).parts[:-1])


def without_copies(files: Sequence[EvalPath]) -> tuple[list[EvalPath], dict[Path, Path]]:
    """Return files without exact copies of files in another folder, and the copies with the files that they equal."""
    first: dict[bytes, EvalPath] = {}
    copies: dict[Path, Path] = {}
    for file in files:
        with file.path.open("rb") as stream:
            known = first.setdefault(hashlib.file_digest(stream, "sha256").digest(), file)
        if known.place != file.place:
            copies[file.path] = known.path
    return [file for file in files if file.path not in copies], copies


def link_findings(skill: SkillFolder, declared_name: str, *, is_only: bool) -> Iterator[SkillFinding]:
    """Yield findings about links, pipes and devices in the folders of evals; they are not read."""
    names = skill.names(declared_name)
    places = [place for place, _ in _places(skill, names)]
    shared = [path for folder in skill.above for path in (folder / "evals").glob("*.json")]
    places += [path for path in shared if is_only or path.stem in names]
    for place in places:
        walk = () if place.is_symlink() else os.walk(place)
        for path in (place, *(Path(text, name) for text, folders, files in walk for name in (*folders, *files))):
            is_special = path.name.lower().endswith(".json") and path.exists() and not (path.is_file() or path.is_dir())
            if path.is_symlink() or is_special:
                kind = "link" if path.is_symlink() else "special file"
                message = f"is a {kind} and is not read; replace it with the file"
                yield SkillFinding("link", "warning", skill.shown(path), 1, message)


def _shared_file(source: EvalPath) -> SharedFile | None:
    """Return a file with the names in it; None if it has no prompts."""
    if not _PROMPT_KEY.search(source.path.read_bytes()):
        return None
    try:
        value = read_source(source.path).value
    except JsonFault as fault:
        has_name = _EVALS_NAME.search(source.path.name) is not None
        return SharedFile(source, frozenset(), frozenset(), fault.message) if has_name else None
    if not any(True for _ in prompt_lists(value)):
        return None
    owners = owners_of(value)
    return SharedFile(source, frozenset(owners), frozenset(owners or named_skills(value)))


def _places(skill: SkillFolder, names: Sequence[str]) -> Iterator[tuple[Path, bool]]:
    """Yield the folders of evals, in the order of the search, and whether their subfolders are searched too."""
    yield skill.folder / "evals", True
    yield skill.folder / "references" / "evals", True
    above = skill.above
    safe = [name for name in names if "/" not in name and name not in {".", ".."}]
    for form, is_deep in (
        ("evals/{}", False),
        ("evals/skills/{}", False),
        ("tests/{}/evals", True),
        ("testing/{}/evals", True),
    ):
        for folder in above:
            yield from ((folder / form.format(name), is_deep) for name in safe)
    for name in ("evals", "eval"):
        yield from ((skill.folder / f"{name}{suffix}", False) for suffix in SUFFIXES)


def _source_files(place: Path, *, is_deep: bool) -> Iterator[Path]:
    for text, folders, files in os.walk(place):
        folders[:] = [name for name in folders if is_deep and not name.startswith(".") and name != "node_modules"]
        for name in files:
            path = Path(text, name)
            if name.lower().endswith(SUFFIXES) and not path.is_symlink() and path.is_file():
                yield path


def _with_evals_name(root: Path) -> Iterator[Path]:
    """Yield the files that are named like evals, or lie in a folder of evals, at any place but that of results."""
    is_run = functools.cache(holds_runs)
    for text, folders, files in os.walk(root):
        folder = Path(text)
        folders[:] = [name for name in sorted(folders) if _is_searched(folder / name)]
        is_inside = not _EVAL_FOLDERS.isdisjoint(folder.relative_to(root).parts)
        for name in sorted(files):
            path = folder / name
            is_named = name.lower().endswith(SUFFIXES) and (is_inside or _EVALS_NAME.search(name))
            if is_named and path.is_file() and not path.is_symlink() and not any(map(is_run, _folders(path, root))):
                yield path


def _is_searched(folder: Path) -> bool:
    name = folder.name
    is_open = name != "node_modules" and (not name.startswith(".") or name in SHOWN_HIDDEN)
    return is_open and not _OUTPUT.fullmatch(name) and not folder.is_symlink()


def _folders(path: Path, root: Path) -> Iterator[Path]:
    return (folder for folder in path.parents if folder.is_relative_to(root))
