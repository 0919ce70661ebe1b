"""Python project, read from its files without running it."""

import ast
import configparser
import contextlib
import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from scylla_gha.readiness.python_locks import locked_versions
from scylla_gha.readiness.python_requirements import (
    at,
    cleaned,
    mapping,
    normal,
    package_requirements,
    setup_of_config,
    test_requirements,
    texts,
    toml_file,
)

_KEPT_OPTIONS: Final = ("-m=", "-k=", "--ignore=", "--ignore-glob=", "--deselect=", "--import-mode=", "--pyargs")
_VERSION: Final = re.compile(r"\d+(\.\d+)*([a-z.+]\w*)*$")
_ASKS_METADATA: Final = re.compile(rb"importlib[._]metadata|pkg_resources|from importlib import .*metadata")
_UNKNOWN_VERSION: Final = "0.0.0"
# Modules that builds write: tool's keys in pyproject.toml below [tool], relative to the root
_VERSION_FILES: Final = (
    ("hatch", "build", "hooks", "vcs", "version-file"),
    ("setuptools_scm", "version_file"),
    ("setuptools_scm", "write_to"),
    ("pdm", "version", "write_to"),
)


@dataclass(frozen=True, slots=True)
class PythonProject:
    """Project as its files describe it.

    Attributes:
        requirements: of the package; `test_requirements`: of its tests.
        constraints: versions of a lock file.
        import_roots: folders that modules are imported from, beside the root and `src`.
        pytest_options: options of the project's own that select tests or change how modules are imported.
        files: what a build would write: the module of the version, and the package's metadata.
    """

    requirements: tuple[str, ...] = ()
    test_requirements: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    import_roots: tuple[str, ...] = ()
    pytest_options: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


def read_project(tree: Path) -> PythonProject:
    """Read a project; files that cannot be parsed count as empty."""
    pyproject = toml_file(tree / "pyproject.toml")
    setup = {**_setup_call(tree / "setup.py"), **_present(setup_of_config(_config(tree / "setup.cfg")))}
    poetry = mapping(at(pyproject, "tool", "poetry"))
    project = {**_present(setup), **_present(poetry), **_present(mapping(pyproject.get("project")))}
    name, version = (text if isinstance(text := project.get(key), str) else "" for key in ("name", "version"))
    own = normal(name)
    files = {path: _version_module() for path in _version_files(pyproject)}
    if own and _asks_metadata(tree):
        files |= _metadata(name, version if _VERSION.match(version) else _UNKNOWN_VERSION)
    return PythonProject(
        cleaned(package_requirements(tree, pyproject, setup), own),
        cleaned(test_requirements(tree, pyproject, setup), own),
        tuple(locked_versions(tree)),
        tuple(dict.fromkeys(_import_roots(pyproject, setup))),
        tuple(_pytest_options(tree, pyproject)),
        {path: content for path, content in files.items() if not (tree / path).exists()},
    )


def _present(content: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry for key, entry in content.items() if entry}


def _config(path: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    with contextlib.suppress(OSError, ValueError, configparser.Error):
        parser.read_string(path.read_text(encoding="utf-8"))
    return parser


def _setup_call(path: Path) -> dict[str, Any]:
    """Return the literal arguments of `setup(...)`, with names of literals of the module resolved."""
    try:
        module = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return {}
    names: dict[str, Any] = {}
    calls: list[ast.Call] = []
    for node in ast.walk(module):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = _literal(node.value, names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"setup", "setuptools.setup"}:
            calls.append(node)
    return {word.arg: _literal(word.value, names) for call in calls[:1] for word in call.keywords if word.arg}


def _literal(node: ast.expr, names: Mapping[str, Any]) -> Any:  # noqa: ANN401 any literal
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_literal(key, names)): _literal(content, names) for key, content in pairs if key is not None}
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return None


def _import_roots(pyproject: Mapping[str, Any], setup: Mapping[str, Any]) -> Iterator[str]:
    folders: list[object] = [*texts(at(pyproject, "tool", "setuptools", "packages", "find", "where"))]
    folders += [at(pyproject, "tool", "setuptools", "package-dir", ""), at(setup.get("package_dir"), "")]
    folders += [at(package, "from") for package in at(pyproject, "tool", "poetry", "packages") or []]
    folders += texts(at(pyproject, "tool", "hatch", "build", "sources"))
    folders += texts(at(pyproject, "tool", "pytest", "ini_options", "pythonpath"))
    yield from (folder.strip() for folder in folders if isinstance(folder, str) and _is_inside(folder.strip()))


def _pytest_options(tree: Path, pyproject: Mapping[str, Any]) -> Iterator[str]:
    """Yield the kept options of the first file that configures pytest; others may need missing plug-ins."""
    configs = [("pytest.ini", "pytest"), (".pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")]
    texts_of = [_config(tree / name).get(section, "addopts", fallback="") for name, section in configs]
    tables = (at(pyproject, "tool", "pytest"), at(pyproject, "tool", "pytest", "ini_options"))
    declared = [at(table, "addopts") for table in tables] + texts_of
    options = next((option for option in declared if option), "")
    try:
        words = shlex.split(options) if isinstance(options, str) else [str(word) for word in options]
    except ValueError:
        return
    for word, after in itertools.pairwise([*words, ""]):
        if word in {"-m", "-k"} and after:
            yield from (word, after)
        elif word.startswith(_KEPT_OPTIONS):
            yield word


def _version_files(pyproject: Mapping[str, Any]) -> Iterator[str]:
    names = (at(pyproject, "tool", *keys) for keys in _VERSION_FILES)
    return (name for name in names if isinstance(name, str) and name.endswith(".py") and _is_inside(name))


def _is_inside(path: str) -> bool:
    """Return True for a plain relative path that a shell needs not quote."""
    return bool(re.fullmatch(r"[\w./-]+", path)) and not path.startswith("/") and ".." not in PurePosixPath(path).parts


def _version_module() -> bytes:
    number = tuple(int(part) for part in _UNKNOWN_VERSION.split("."))
    return f'__version__ = version = "{_UNKNOWN_VERSION}"\n__version_tuple__ = version_tuple = {number}\n'.encode()


def _asks_metadata(tree: Path) -> bool:
    """Return True if a module of the project asks for the metadata of packages."""
    return any(_ASKS_METADATA.search(_content(path)) for path in tree.rglob("*.py"))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes() if path.is_file() and not path.is_symlink() else b""
    except OSError:
        return b""


def _metadata(name: str, version: str) -> dict[str, bytes]:
    """Return metadata by which a package that is not installed can ask its own version."""
    folder = f"{re.sub(r'[^A-Za-z0-9.]+', '_', name)}-{version}.dist-info"
    return {f"{folder}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()}
