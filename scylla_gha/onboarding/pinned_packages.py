"""Exact versions of the Python packages that a repository's tests need."""

import functools
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from scylla_gha import process
from scylla_gha.errors import ToolError

_SECONDS: Final = 300.0
_FOR_TESTS: Final = {"test", "tests", "testing"}
_OF_TESTS: Final = re.compile(r"(pytest|hypothesis)\b", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w.,-]+\])?\s*([<>=!~].*|;.*)?$")
_PIN: Final = re.compile(r"([A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])?)==([0-9][0-9A-Za-z.+!-]*)")


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
    lines = (plain or b"").decode(errors="replace").splitlines()
    declared = [*_declared(project_file), *(line.partition(" #")[0].strip() for line in lines)]
    return tuple(sorted({requirement for requirement in declared if _PLAIN.match(requirement)}))


def _declared(project_file: dict[str, Any]) -> Iterator[str]:
    project = project_file.get("project", {})
    yield from _texts(project.get("dependencies", []))
    groups = {**project.get("optional-dependencies", {}), **project_file.get("dependency-groups", {})}
    for name, group in groups.items():
        yield from (text for text in _texts(group) if name in _FOR_TESTS or _OF_TESTS.match(text))


def _texts(values: Iterable[object]) -> Iterator[str]:
    return (value for value in values if isinstance(value, str))


@functools.cache
def pinned(wanted: tuple[str, ...], beside: tuple[str, ...]) -> dict[str, str]:
    """Resolve requirements and their dependencies to exact, compatible versions.

    Args:
        wanted: requirements.
        beside: further requirements that must be compatible; the caller pins them.

    Raises:
        ToolError: no compatible versions exist, or no package index answers.
    """
    from uv import find_uv_bin

    argv = [find_uv_bin(), "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", sys.executable, "-"]
    text = "".join(f"{requirement}\n" for requirement in (*wanted, *beside))
    env = {**os.environ, "VIRTUAL_ENV": ""}
    done = process.capture(argv, env=env, stdin=text.encode(), seconds=_SECONDS)
    if done.code:
        raise ToolError(f"no versions of {', '.join(wanted)} are compatible: {done.message}")
    return dict(_PIN.findall(done.stdout.decode()))
