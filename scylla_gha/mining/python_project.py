"""Python project, read from its files without running it, with the versions that a lock file pins."""

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

from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.mining.python_requirements import (
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
from scylla_gha.model.sandbox import EditableInstall

_KEPT_OPTIONS: Final = ("-m=", "-k=", "--ignore=", "--ignore-glob=", "--deselect=", "--import-mode=", "--pyargs")
_VERSION: Final = re.compile(r"\d+(\.\d+)*([a-z.+]\w*)*$")
_POINT: Final = re.compile(r"[A-Za-z_][\w.]*(:[A-Za-z_][\w.]*)?( *\[[\w ,.-]*\])?")
_PROGRAM: Final = re.compile(r"[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?")
_PYTEST_TABLES: Final = (("tool", "pytest"), ("tool", "pytest", "ini_options"))
_PYTEST_SECTIONS: Final = (
    ("pytest.ini", "pytest"),
    (".pytest.ini", "pytest"),
    ("tox.ini", "pytest"),
    ("setup.cfg", "tool:pytest"),
)
_UNKNOWN_VERSION: Final = "0.0.0"
# Modules that builds write: tool's keys in pyproject.toml below [tool], relative to the root
_VERSION_FILES: Final = (
    ("hatch", "build", "hooks", "vcs", "version-file"),
    ("setuptools_scm", "version_file"),
    ("setuptools_scm", "write_to"),
    ("pdm", "version", "write_to"),
)
_LOCKS: Final = ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml")
_PIPENV: Final = "Pipfile.lock"
_EXACTLY: Final = "=="


@dataclass(frozen=True, slots=True)
class PythonProject:
    """Project as its files describe it.

    Attributes:
        requirements: requirements of the package; `test_requirements`: of its tests.
        constraints: versions of a lock file.
        import_roots: folders that modules are imported from, beside the root and `src`.
        pytest_options: the project's own options that select tests or change how modules are imported.
        test_files: name patterns of the test files that pytest is configured to collect; empty: pytest's default.
        install: the package with its entry points; None: the files declare none.
        files: what a build would write: the module of the version.
    """

    requirements: tuple[str, ...] = ()
    test_requirements: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    import_roots: tuple[str, ...] = ()
    pytest_options: tuple[str, ...] = ()
    test_files: tuple[str, ...] = ()
    install: EditableInstall | None = None
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
    roots = tuple(dict.fromkeys(_import_roots(pyproject, setup)))
    options, patterns = (_pytest_setting(tree, pyproject, key) for key in ("addopts", "python_files"))
    return PythonProject(
        requirements=cleaned(package_requirements(tree, pyproject, setup), own),
        test_requirements=cleaned(test_requirements(tree, pyproject, setup), own),
        constraints=tuple(locked_versions(tree)),
        import_roots=roots,
        pytest_options=tuple(_kept_options(options)),
        test_files=tuple(patterns),
        install=_install(tree, name, version, roots, _entry_points(pyproject, poetry, setup)),
        files={path: content for path, content in files.items() if not (tree / path).exists()},
    )


def _install(
    tree: Path, name: str, version: str, roots: tuple[str, ...], entry_points: dict[str, dict[str, str]]
) -> EditableInstall | None:
    """Return the package with the folders of its modules: the declared ones, else `src`, else the root."""
    if not _PROGRAM.fullmatch(name):
        return None
    folders = [root for root in (*roots, "src") if (tree / root).is_dir() and _is_inside(root) and root != "."]
    version = version if _VERSION.match(version) else _UNKNOWN_VERSION
    return EditableInstall(name=name, version=version, roots=tuple(folders) or (".",), entry_points=entry_points)


def _entry_points(
    pyproject: Mapping[str, Any], poetry: Mapping[str, Any], setup: Mapping[str, Any]
) -> dict[str, dict[str, str]]:
    """Return the entry points by group, of pyproject.toml, of Poetry, or of setup.py and setup.cfg."""
    project, old = mapping(pyproject.get("project")), mapping(setup.get("entry_points"))
    groups: dict[str, dict[str, Any]] = {
        **{group: dict(_assigned(lines)) for group, lines in old.items()},
        **{group: mapping(points) for group, points in mapping(poetry.get("plugins")).items()},
        **{group: mapping(points) for group, points in mapping(project.get("entry-points")).items()},
    }
    for group, points in {"console_scripts": (poetry, project), "gui_scripts": ()}.items():
        scripts = {name: point for table in points for name, point in mapping(table.get("scripts")).items()}
        groups[group] = {**groups.get(group, {}), **scripts}
    usable = {
        group: {name: point for name, point in points.items() if _is_point(name, point)}
        for group, points in groups.items()
    }
    return {group: points for group, points in usable.items() if points}


def _assigned(lines: object) -> Iterator[tuple[str, str]]:
    for line in texts(lines):
        name, equals, point = line.partition("=")
        if equals:
            yield name.strip(), point.strip()


def _is_point(name: str, point: object) -> bool:
    return bool(_PROGRAM.fullmatch(name)) and isinstance(point, str) and bool(_POINT.fullmatch(point))


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


def _pytest_setting(tree: Path, pyproject: Mapping[str, Any], key: str) -> list[str]:
    """Return the words of a setting of the first file that has it."""
    in_files = [_config(tree / name).get(section, key, fallback="") for name, section in _PYTEST_SECTIONS]
    declared = [at(pyproject, *keys, key) for keys in _PYTEST_TABLES] + in_files
    setting = next((setting for setting in declared if setting), "")
    try:
        return shlex.split(setting) if isinstance(setting, str) else [str(word) for word in setting]
    except ValueError:
        return []


def _kept_options(words: list[str]) -> Iterator[str]:
    """Yield options that select tests or change imports; other options may need missing plug-ins."""
    for word, after in itertools.pairwise([*words, ""]):
        if word in {"-m", "-k"} and after:
            yield from (word, after)
        elif word.startswith(_KEPT_OPTIONS):
            yield word


def _version_files(pyproject: Mapping[str, Any]) -> Iterator[str]:
    names = (at(pyproject, "tool", *keys) for keys in _VERSION_FILES)
    return (name for name in names if isinstance(name, str) and name.endswith(".py") and _is_inside(name))


def _is_inside(path: str) -> bool:
    """Return True for a relative path inside the project that needs no quotes in a shell."""
    return bool(re.fullmatch(r"[\w./-]+", path)) and not path.startswith("/") and ".." not in PurePosixPath(path).parts


def _version_module() -> bytes:
    number = tuple(int(part) for part in _UNKNOWN_VERSION.split("."))
    return f'__version__ = version = "{_UNKNOWN_VERSION}"\n__version_tuple__ = version_tuple = {number}\n'.encode()


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
