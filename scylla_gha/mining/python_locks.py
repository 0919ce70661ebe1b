"""Versions of Python packages as a lock file pins them: of uv, Poetry, PDM, Pipenv, and pylock.toml."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.mining.python_requirements import at, mapping, toml_file

_LOCKS: Final = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml")
_PIPENV: Final = "Pipfile.lock"
_EXACTLY: Final = "=="


def locked_versions(tree: Path) -> Iterator[str]:
    """Yield the versions of the first lock file as constraints, without those of packages that it has twice."""
    path = next((tree / name for name in _LOCKS if (tree / name).is_file()), None)
    if path is None:
        return
    versions: dict[str, set[str]] = {}
    for name, version in _of_pipenv(path) if path.name == _PIPENV else _of_toml(path):
        versions.setdefault(name, set()).add(version)
    yield from (f"{name}=={next(iter(of_name))}" for name, of_name in versions.items() if len(of_name) == 1)


def _of_toml(path: Path) -> Iterator[tuple[str, str]]:
    content = toml_file(path)
    packages = content.get("package") or content.get("packages")
    for package in packages if isinstance(packages, list) else ():
        name, version = at(package, "name"), at(package, "version")
        is_own = not {"editable", "virtual"}.isdisjoint(mapping(at(package, "source")))
        if isinstance(name, str) and isinstance(version, str) and not is_own:
            yield name, version


def _of_pipenv(path: Path) -> Iterator[tuple[str, str]]:
    try:
        lock = parse_json(path.read_bytes())
    except (OSError, InvalidJsonError):
        return
    for section in ("default", "develop"):
        for name, package in mapping(at(lock, section)).items():
            version = at(package, "version")
            if isinstance(version, str) and version.startswith(_EXACTLY):
                yield name, version.removeprefix(_EXACTLY)
