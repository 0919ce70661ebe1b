"""Languages whose tests can be run: how their files are named, and which packages their tests need."""

import functools
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from scylla_gha import process
from scylla_gha.errors import ToolError

_TEST_FOLDERS: Final = {"test", "tests", "__tests__", "spec", "specs", "testing"}
# File names that a shell script can read from a list without quoting
SAFE_NAME: Final = re.compile(r"[A-Za-z0-9_+@%=,.][A-Za-z0-9_+@%=,./-]*")
_RESOLVE_SECONDS: Final = 300.0
_TEST_GROUPS: Final = {"test", "tests", "testing"}
_TEST_TOOL: Final = re.compile(r"(pytest|hypothesis)\b", re.IGNORECASE)
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w.,-]+\])?\s*([<>=!~].*|;.*)?$")
_PIN: Final = re.compile(r"([A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])?)==([0-9][0-9A-Za-z.+!-]*)")


@dataclass(frozen=True, slots=True)
class Language:
    """Names and commands of a language's tests.

    Attributes:
        suffixes: file suffixes of its code.
        tests: regular expression for paths of test files.
        run: the test command; names of test files are appended.
        shows: regular expression for the output if tests ran, because code may end the process early with exit code 0.
        before: lines of a shell script that run first, so that tests run as in their commit.
        system: programs that must be installed on the machine.
        packages: Debian packages with these programs, for the image of the Docker sandbox.
        tools: Python packages that the command needs, with exact versions.
    """

    name: str
    suffixes: frozenset[str]
    tests: re.Pattern[str]
    run: str
    shows: str
    before: str = ""
    system: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    tools: dict[str, str] = field(default_factory=dict)

    def runs(self, path: str) -> bool:
        """Return whether a path is a test file that the command accepts."""
        return bool(self.tests.fullmatch(path))


PYTHON: Final = Language(
    name="Python",
    suffixes=frozenset({".py"}),
    tests=re.compile(r"(.*/)?(test_\w+|\w+_test)\.py"),
    # The repository's own options may require missing plug-ins. Many packages are in src.
    run="env PYTHONPATH=.:src PYTHONDONTWRITEBYTECODE=1 python3 -m pytest -q -o addopts= -p no:cacheprovider",
    before="# Configuration of pytest comes from the start state as well.\nfind . -name conftest.py -exec rm -f {} +\n",
    shows="^[1-9][0-9]* passed",
    tools={"pytest": "9.2.0"},
)
NODE: Final = Language(
    name="JavaScript",
    suffixes=frozenset({".js", ".mjs", ".cjs"}),
    tests=re.compile(r"(.*/)?([^/]+[.-](test|spec)|test([.-][^/]+)?)\.[cm]?js|(.*/)?(test|__tests__)/[^/]+\.[cm]?js"),
    run="node --test",
    shows="pass [1-9]",
    system=("node",),
    packages=("nodejs",),
)
LANGUAGES: Final = (PYTHON, NODE)


def is_test(path: str) -> bool:
    """Return whether a file contains tests or lies in a folder of tests."""
    posix = PurePosixPath(path)
    in_tests = any(part.lower() in _TEST_FOLDERS for part in posix.parts[:-1]) or posix.name == "conftest.py"
    return in_tests or any(language.runs(path) for language in LANGUAGES)


def is_code(path: str, language: Language) -> bool:
    """Return whether a file is code of the language and not a test."""
    return PurePosixPath(path).suffix in language.suffixes and not is_test(path)


def requirements(pyproject: bytes | None, plain: bytes | None) -> tuple[str, ...]:
    """Return the requirements of the package and of its tests; files that cannot be parsed have none.

    Args:
        pyproject: content of `pyproject.toml`; None: the file does not exist.
        plain: content of `requirements.txt`; None: the file does not exist.
    """
    try:
        project_file = tomllib.loads((pyproject or b"").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        project_file = {}
    project = project_file.get("project", {})
    declared = list(_texts(project.get("dependencies", [])))
    for name, group in {
        **project.get("optional-dependencies", {}),
        **project_file.get("dependency-groups", {}),
    }.items():
        declared += (text for text in _texts(group) if name in _TEST_GROUPS or _TEST_TOOL.match(text))
    lines = (plain or b"").decode(errors="replace").splitlines()
    declared += (line.partition(" #")[0].strip() for line in lines)
    return tuple(sorted({requirement for requirement in declared if _REQUIREMENT.match(requirement)}))


def _texts(values: Iterable[object]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))


@functools.cache
def pinned(wanted: tuple[str, ...], beside: tuple[str, ...], constraints: tuple[str, ...] = ()) -> dict[str, str]:
    """Resolve requirements and their dependencies to exact, compatible versions.

    Args:
        wanted: requirements.
        beside: further requirements that must be compatible; the caller pins them.
        constraints: versions of packages, if they are required.

    Raises:
        ToolError: no compatible versions exist, or no package index answers.
    """
    from uv import find_uv_bin

    argv = [find_uv_bin(), "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", sys.executable, "-"]
    text = "".join(f"{requirement}\n" for requirement in (*wanted, *beside))
    env = {**os.environ, "VIRTUAL_ENV": ""}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.writelines(f"{constraint}\n" for constraint in constraints)
        file.flush()
        argv += ["--constraint", file.name] if constraints else []
        done = process.capture(argv, env=env, stdin=text.encode(), seconds=_RESOLVE_SECONDS)
    if done.code:
        raise ToolError(f"no versions of {', '.join(wanted)} are compatible: {done.message}")
    return dict(_PIN.findall(done.stdout.decode()))
