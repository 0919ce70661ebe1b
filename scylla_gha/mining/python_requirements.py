"""Read the requirements of a Python project and of its tests from its files, and resolve them to versions."""

import configparser
import functools
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from scylla_gha.errors import ToolError
from scylla_gha.system import process

_RESOLVE_SECONDS: Final = 300.0
_PIN: Final = re.compile(r"([A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])?)==([0-9][0-9A-Za-z.+!-]*)")
_TEST_GROUP: Final = re.compile(
    r"(.*[-_])?(tests?|testing|dev|develop|development|ci|unit|check|all)([-_].*)?$", re.IGNORECASE
)
_TEST_FILES: Final = tuple(
    f"{folder}{name}.txt"
    for folder, names in {
        "": (
            "requirements-dev",
            "requirements-test",
            "requirements-tests",
            "requirements_dev",
            "requirements_test",
            "test-requirements",
            "dev-requirements",
            "test_requirements",
            "dev_requirements",
        ),
        "requirements/": ("dev", "test", "tests", "testing"),
        "tests/": ("requirements",),
        "test/": ("requirements",),
    }.items()
    for name in names
)
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][\w.-]*\s*(\[[\w.,\s-]+\])?\s*([<>=!~(].*|;.*)?$")
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]*")
# Linters and documentation builders are not needed by tests, and cause most conflicts.
_NO_TEST_TOOL: Final = re.compile(
    r"(black|ruff|flake8.*|mypy|pylint|isort|pre-commit|sphinx.*|furo|myst-parser|mkdocs.*|twine|build|wheel|tox|nox|"
    r"bumpversion|bump2version|commitizen|pyright|basedpyright|python-semantic-release|cibuildwheel|codecov|coveralls|"
    r"towncrier)$",
    re.IGNORECASE,
)
_PIPFILE: Final = "Pipfile"
_MOST_INCLUDED: Final = 5  # levels of files that requirements.txt names


def package_requirements(tree: Path, pyproject: Mapping[str, Any], setup: Mapping[str, Any]) -> Iterator[str]:
    """Yield the package's requirements; `setup` has the arguments of `setup(...)`, from setup.py or setup.cfg."""
    yield from texts(at(pyproject, "project", "dependencies"))
    yield from _of_poetry(at(pyproject, "tool", "poetry", "dependencies"))
    yield from _of_poetry(toml_file(tree / _PIPFILE).get("packages"))
    yield from texts(setup.get("install_requires"))
    yield from _of_file(tree, tree / "requirements.txt")


def test_requirements(tree: Path, pyproject: Mapping[str, Any], setup: Mapping[str, Any]) -> Iterator[str]:
    """Yield the requirements of the tests: extras, groups and files named after tests or development."""
    every = (
        *_of_extras(pyproject, setup),
        *_of_tools(pyproject),
        *texts(setup.get("tests_require")),
        *_of_poetry(toml_file(tree / _PIPFILE).get("dev-packages")),
    )
    files = (line for name in _TEST_FILES for line in _of_file(tree, tree / name))
    return (wish for wish in (*every, *files) if not _NO_TEST_TOOL.match(name_of(wish)))


def cleaned(wishes: Iterable[str], own: str) -> tuple[str, ...]:
    """Return requirements that an index can serve, sorted, without the project itself."""
    plain = {" ".join(wish.split()) for wish in wishes}
    return tuple(sorted(wish for wish in plain if _REQUIREMENT.match(wish) and normal(name_of(wish)) != own))


def name_of(requirement: str) -> str:
    """Return the package's name of a requirement."""
    match = _NAME.match(requirement)
    return match[0] if match else ""


def normal(name: str) -> str:
    """Return a package's name in its normalized form, so that names can be compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def toml_file(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; one that cannot be read counts as empty."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


def at(content: object, *keys: str) -> Any:  # noqa: ANN401 any content of a TOML file
    """Return the value at a path of keys; None if a key is missing."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content


def mapping(content: object) -> dict[str, Any]:
    """Return a mapping; anything else counts as an empty one."""
    return content if isinstance(content, dict) else {}


def texts(content: object) -> Iterator[str]:
    """Yield the texts of a list, or the lines of a text."""
    lines = content.splitlines() if isinstance(content, str) else content
    return (line.strip() for line in lines if isinstance(line, str)) if isinstance(lines, list | tuple) else iter(())


def _of_extras(pyproject: Mapping[str, Any], setup: Mapping[str, Any]) -> Iterator[str]:
    groups = mapping(pyproject.get("dependency-groups"))
    for name in _test_groups(groups):
        yield from _of_group(groups, name, set())
    for extras in (mapping(at(pyproject, "project", "optional-dependencies")), mapping(setup.get("extras_require"))):
        for name in _test_groups(extras):
            yield from texts(extras[name])


def _of_tools(pyproject: Mapping[str, Any]) -> Iterator[str]:
    poetry = at(pyproject, "tool", "poetry")
    for name, group in mapping(at(poetry, "group")).items():
        if _TEST_GROUP.match(name):
            yield from _of_poetry(at(group, "dependencies"))
    yield from _of_poetry(at(poetry, "dev-dependencies"))
    for environment in mapping(at(pyproject, "tool", "hatch", "envs")).values():
        yield from (*texts(at(environment, "dependencies")), *texts(at(environment, "extra-dependencies")))
    yield from texts(at(pyproject, "tool", "uv", "dev-dependencies"))
    for group in mapping(at(pyproject, "tool", "pdm", "dev-dependencies")).values():
        yield from texts(group)


def _test_groups(groups: Mapping[str, Any]) -> list[str]:
    """Return the groups named after tests, or the development groups if there are none."""
    names = [name for name in groups if _TEST_GROUP.match(name)]
    return [name for name in names if "test" in name.lower()] or names


def _of_group(groups: Mapping[str, Any], name: str, seen: set[str]) -> Iterator[str]:
    """Yield the requirements of a dependency group and of the groups that it includes."""
    seen.add(name)
    for entry in groups.get(name) or []:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict) and (included := str(entry.get("include-group"))) not in seen:
            yield from _of_group(groups, included, seen)


def _of_poetry(dependencies: object) -> Iterator[str]:
    for name, wish in mapping(dependencies).items():
        version = wish if isinstance(wish, str) else at(wish, "version")
        if name.lower() != "python" and isinstance(version, str):  # otherwise a path or a repository
            extras = ",".join(texts(at(wish, "extras")))
            yield f"{name}{f'[{extras}]' if extras else ''}{_poetry_range(version)}"


def _poetry_range(version: str) -> str:
    """Return a version range of Poetry as PyPI writes it."""
    ranges: list[str] = []
    for part in version.split(","):
        text = part.strip()
        numbers = [int(number) for number in re.findall(r"\d+", text)[:3]]
        if text[:1] in {"^", "~"} and text[1:2] != "=" and numbers:
            first = next((position for position, number in enumerate(numbers) if number), len(numbers) - 1)
            last = first if text[0] == "^" else min(1, len(numbers) - 1)
            above = [*numbers[:last], numbers[last] + 1]
            ranges += [f">={text[1:].strip()}", f"<{'.'.join(map(str, above))}"]
        elif text not in {"", "*"}:
            ranges.append(text if text[0] in "<>=!~" else f"=={text}")
    return ",".join(ranges)


def _of_file(tree: Path, path: Path, depth: int = 0) -> Iterator[str]:
    """Yield the requirements of a file and of the files that it includes with -r."""
    if depth > _MOST_INCLUDED or not path.resolve().is_relative_to(tree.resolve()):
        return
    try:
        lines = path.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        text = re.sub(r"(^|\s)#.*|\s--hash=\S+", "", line).strip()
        if match := re.match(r"(?:-r|--requirement)[\s=]+(\S+)", text):
            yield from _of_file(tree, path.parent / match[1], depth + 1)
        else:
            yield text


def setup_of_config(config: configparser.ConfigParser) -> dict[str, Any]:
    """Return setup.cfg in the form of the arguments of `setup(...)`."""
    options = dict(config["options"]) if config.has_section("options") else {}
    extras = config["options.extras_require"] if config.has_section("options.extras_require") else {}
    metadata = config["metadata"] if config.has_section("metadata") else {}
    return {
        **{name: metadata[name] for name in ("name", "version") if name in metadata},
        **{name: options[name] for name in ("install_requires", "tests_require") if name in options},
        "extras_require": dict(extras),
        "entry_points": dict(config["options.entry_points"]) if config.has_section("options.entry_points") else {},
        "package_dir": dict(line.split("=", 1) for line in texts(options.get("package_dir", "")) if "=" in line),
    }


@functools.cache
def pinned(requirements: tuple[str, ...], beside: tuple[str, ...], constraints: tuple[str, ...] = ()) -> dict[str, str]:
    """Resolve requirements and their dependencies to exact, compatible versions.

    Args:
        requirements: requirements to resolve.
        beside: further requirements that must be compatible; the caller pins them.
        constraints: versions of packages, used only if the packages are required.

    Raises:
        ToolError: no compatible versions exist, or no package index answers.
    """
    from uv import find_uv_bin

    argv = [find_uv_bin(), "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", sys.executable, "-"]
    text = "".join(f"{requirement}\n" for requirement in (*requirements, *beside))
    env = {**os.environ, "VIRTUAL_ENV": ""}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines(f"{constraint}\n" for constraint in constraints)
        file.flush()
        argv += ["--constraint", file.name] if constraints else []
        done = process.capture(argv, env=env, stdin=text.encode(), seconds=_RESOLVE_SECONDS)
    if done.code:
        raise ToolError(f"no versions of {', '.join(requirements)} are compatible: {done.message}")
    return dict(_PIN.findall(done.stdout.decode()))
