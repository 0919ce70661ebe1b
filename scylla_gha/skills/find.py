"""Search for skills in a folder.

Symbolic links are never followed: their targets may lie outside of the repository.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from scylla_gha.config.materials import plugin_name
from scylla_gha.model.skill_measurement import REPORT_FILE, RUN
from scylla_gha.skills import SkillFinding
from scylla_gha.skills.skill_file import read_skill_file

SKILL_FILE: Final = "SKILL.md"
RUNS_MARK: Final = "# Runs of scylla-gha skill\n*\n"  # content of .gitignore in the folder of all runs
SHOWN_HIDDEN: Final = frozenset({".claude", ".agents", ".github"})
_CLOSED: Final = frozenset({".git", "node_modules", "evals"})


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A folder with SKILL.md.

    Attributes:
        folder: resolved path of the folder.
        root: the folder that was searched.
        file: path of SKILL.md; its name may have other capital letters.
        name: name in Claude Code's list: the folder's name; for a whole repository (whose clone may have any name),
            the name in SKILL.md.
        plugin: name of the skill's plugin; empty if there is none.
    """

    folder: Path
    root: Path
    file: Path
    name: str
    plugin: str = ""

    @property
    def invoked_as(self) -> tuple[str, ...]:
        """Names by which a prompt can call the skill."""
        return (self.name, f"{self.plugin}:{self.name}") if self.plugin else (self.name,)

    def names(self, declared_name: str) -> tuple[str, ...]:
        """Return the names by which files of evals may call it; the last may be the name in SKILL.md."""
        return tuple(dict.fromkeys(filter(None, (self.name, self.folder.name, declared_name))))

    @property
    def above(self) -> list[Path]:
        """Folders above the skill's, up to the top of its repository."""
        return [folder for folder in _upwards(self.folder, top_of(self.root)) if folder != self.folder]

    def shown(self, path: Path) -> str:
        """Return a path relative to the searched folder."""
        return os.path.relpath(path, self.root)


def find_skills(root: Path) -> tuple[list[SkillFolder], list[SkillFinding]]:
    """Return the skills in a folder, sorted by path, and findings about links to skills."""
    skills: list[SkillFolder] = []
    findings: list[SkillFinding] = []
    for text, folders, files in os.walk(root):
        folder = Path(text)
        folders[:] = sorted(name for name in folders if _is_open(name) and not holds_runs(folder / name))
        links = [folder / name for name in folders if (folder / name).is_symlink()]
        findings += [_link_finding(root, link) for link in links if (link / SKILL_FILE).is_file()]
        names = sorted((name for name in files if name.lower() == SKILL_FILE.lower()), key=lambda name: name.lower())
        for name in names[:1]:
            if (folder / name).is_symlink():
                findings.append(_link_finding(root, folder / name))
            elif (folder / name).is_file():
                skills.append(_skill_folder(folder, root, folder / name))
    return skills, findings


def _skill_folder(folder: Path, root: Path, file: Path) -> SkillFolder:
    name = read_skill_file(file).text("name") if (folder / ".git").exists() else ""
    is_name = re.fullmatch(r"\w[\w-]*", name) is not None
    return SkillFolder(folder, root, file, name if is_name else folder.name, _plugin_of(folder, root))


def command_names(root: Path) -> set[str]:
    """Return the names of the commands beside skills: files in `commands/` and `.claude/commands/`."""
    top = top_of(root)
    folders = {folder / name for folder in (root, top) for name in ("commands", ".claude/commands")}
    return {path.stem for folder in folders for path in folder.glob("*.md")}


def _is_open(name: str) -> bool:
    return name not in _CLOSED and (not name.startswith(".") or name in SHOWN_HIDDEN)


def holds_runs(folder: Path) -> bool:
    """Return True if this command stores its runs in a folder, or will store them; they hold copies of skills."""
    ignore = folder / ".gitignore"
    is_marked = ignore.is_file() and ignore.read_bytes() == RUNS_MARK.encode()
    return is_marked or any(folder.glob("skill-*/plan.json")) or (folder / RUN / REPORT_FILE).is_file()


def _link_finding(root: Path, link: Path) -> SkillFinding:
    target = link.resolve()
    where = f"to {os.path.relpath(target, root)}" if target.is_relative_to(root) else "out of the checked folder"
    message = f"is a link {where} and is not followed; its target is checked only if it is inside the checked folder"
    return SkillFinding("link", "note", os.path.relpath(link, root), 1, message)


def _plugin_of(folder: Path, root: Path) -> str:
    """Return the name of the plugin that contains a folder; empty if there is none."""
    parents = _upwards(folder, top_of(root))
    plugin = next((parent for parent in parents if (parent / ".claude-plugin" / "plugin.json").is_file()), None)
    return plugin_name(plugin) if plugin else ""


def _upwards(folder: Path, top: Path) -> Iterator[Path]:
    """Yield a folder and its parents, up to `top`."""
    for parent in (folder, *folder.parents):
        yield parent
        if parent == top:
            return


def top_of(root: Path) -> Path:
    """Return the top folder of a folder's git repository; without a repository, the folder itself."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
