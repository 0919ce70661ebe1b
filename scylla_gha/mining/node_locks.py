"""Versions of npm packages as a lock file pins them: of npm, pnpm, and yarn (classic and berry)."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from scylla_gha.config import require_small_yaml

_MOST_BYTES: Final = 32_000_000
_EXACT: Final = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*")
_YARN_VERSION: Final = re.compile(r'  version:? "?([^"\s]+)"?\s*')
_IMPORTERS: Final = "importers"
_SECTIONS: Final = ("dependencies", "devDependencies", "optionalDependencies")


@dataclass(frozen=True, slots=True)
class LockedPackages:
    """Exact versions by package, and the name of the lock file; empty: there is none."""

    versions: Mapping[str, str]
    file: str = ""


def locked_packages(tree: Path, ranges: Mapping[str, str], manager: str = "") -> LockedPackages:
    """Return the pinned versions of packages.

    Args:
        tree: root of the project.
        ranges: by package, as package.json has them.
        manager: `packageManager` of package.json, whose lock file is preferred to others.
    """
    present = [name for name in _READERS if (tree / name).is_file() and not (tree / name).is_symlink()]
    if not present:
        return LockedPackages({})
    file = min(present, key=lambda name: not (manager and name.startswith(manager.partition("@")[0])))
    versions = _READERS[file](_text(tree / file), ranges)
    return LockedPackages({name: version for name, version in versions.items() if _EXACT.fullmatch(version)}, file)


def _npm_versions(text: str, ranges: Mapping[str, str]) -> dict[str, str]:
    """Return the versions that a lock file of npm pins; those of packages of other packages are left out."""
    lock = _parsed(json.loads, text)
    packages, old = _mapping(lock.get("packages")), _mapping(lock.get("dependencies"))
    entries = {name: _mapping(packages.get(f"node_modules/{name}")) or _mapping(old.get(name)) for name in ranges}
    return {name: str(entry["version"]) for name, entry in entries.items() if "version" in entry}


def _load_shallow(text: str) -> Any:  # noqa: ANN401 whatever the file says
    require_small_yaml(text)  # the loader in C crashes at deep nesting, and the other one takes its square in time
    return yaml.safe_load(text)


def _pnpm_versions(text: str, ranges: Mapping[str, str]) -> dict[str, str]:
    lock = _parsed(_load_shallow, "\n".join(_root_lines(text)))
    root = _mapping(_mapping(lock.get(_IMPORTERS)).get(".")) or lock
    entries = {name: entry for section in _SECTIONS for name, entry in _mapping(root.get(section)).items()}
    texts = {name: str(_mapping(entries[name]).get("version", entries[name])) for name in ranges if name in entries}
    # The version may have a suffix: `3.2.4(vite@6.0.0)`, `3.2.4_vite@6.0.0`
    matches = {name: _EXACT.match(version) for name, version in texts.items()}
    return {name: match[0] for name, match in matches.items() if match}


def _root_lines(text: str) -> Iterator[str]:
    """Yield the lines of pnpm's lock file that are about the root: a small part of it."""
    section = importer = ""
    for line in text.splitlines():
        if line[:1].strip():
            section, importer = line.partition(":")[0], ""
        elif section == _IMPORTERS and line[2:3].strip():
            importer = line.strip(" :'\"")
        if section in _SECTIONS or (section == _IMPORTERS and importer in {"", "."}):
            yield line


def _yarn_versions(text: str, ranges: Mapping[str, str]) -> dict[str, str]:
    known = dict(_yarn_entries(text))
    return {name: known[name, wish] for name, wish in ranges.items() if (name, wish) in known}


def _yarn_entries(text: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield package and range with the version; an entry's first line has all ranges that it is for."""
    wishes: list[str] = []
    for line in text.splitlines():
        if line and line[0] not in " #" and line.rstrip().endswith(":"):
            wishes = line.rstrip()[:-1].replace('"', "").split(", ")
        elif wishes and (match := _YARN_VERSION.fullmatch(line)):
            for wish in wishes:
                name, _, version_range = wish[1:].partition("@")
                yield (wish[:1] + name, version_range.removeprefix("npm:")), match[1]
            wishes = []


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig") if path.stat().st_size <= _MOST_BYTES else ""
    except (OSError, ValueError):
        return ""


def _parsed(parse: Callable[[str], Any], text: str) -> dict[str, Any]:
    try:
        return _mapping(parse(text))
    except (ValueError, RecursionError, yaml.YAMLError):
        return {}


def _mapping(content: object) -> dict[str, Any]:
    return content if isinstance(content, dict) else {}


_READERS: Final[dict[str, Callable[[str, Mapping[str, str]], dict[str, str]]]] = {
    "package-lock.json": _npm_versions, "npm-shrinkwrap.json": _npm_versions, "pnpm-lock.yaml": _pnpm_versions,
    "yarn.lock": _yarn_versions,
}  # fmt: skip
