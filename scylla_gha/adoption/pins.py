"""The Python packages that a repository's tests need, each at one exact version."""

import functools
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from scylla_gha import proc
from scylla_gha.errors import ToolError

_SECONDS: Final = 300.0
_FOR_TESTS: Final = {"test", "tests", "testing"}
_OF_TESTS: Final = re.compile(r"(pytest|hypothesis)\b", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w.,-]+\])?\s*([<>=!~].*|;.*)?$")
_PIN: Final = re.compile(r"([A-Za-z0-9][\w.-]*(?:\[[\w.,-]+\])?)==([0-9][0-9A-Za-z.+!-]*)")


def requirements(pyproject: bytes | None, plain: bytes | None) -> tuple[str, ...]:
    """What the two files ask for, for use and for tests; nothing where they are unreadable.

    Args:
        pyproject: the content of `pyproject.toml`; None where there is none.
        plain: that of `requirements.txt`.
    """
    try:
        told = tomllib.loads((pyproject or b"").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        told = {}
    lines = (plain or b"").decode(errors="replace").splitlines()
    wanted = [*_declared(told), *(line.partition(" #")[0].strip() for line in lines)]
    return tuple(sorted({each for each in wanted if _PLAIN.match(each)}))


def _declared(told: dict[str, Any]) -> Iterator[str]:
    project = told.get("project", {})
    yield from _texts(project.get("dependencies", []))
    groups = {**project.get("optional-dependencies", {}), **told.get("dependency-groups", {})}
    for name, wanted in groups.items():
        yield from (each for each in _texts(wanted) if name in _FOR_TESTS or _OF_TESTS.match(each))


def _texts(wanted: Iterable[object]) -> Iterator[str]:
    return (each for each in wanted if isinstance(each, str))


@functools.cache
def pinned(wanted: tuple[str, ...], beside: tuple[str, ...]) -> dict[str, str]:
    """Versions of these packages, and of those that they need, which fit each other.

    Args:
        wanted: requirements.
        beside: further ones, which have to fit; the caller pins them.

    Raises:
        ToolError: there are none, or no package index answers.
    """
    from uv import find_uv_bin

    argv = [find_uv_bin(), "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", sys.executable, "-"]
    text = "".join(f"{each}\n" for each in (*wanted, *beside))
    env = {**os.environ, "VIRTUAL_ENV": ""}
    done = proc.capture(argv, env=env, stdin=text.encode(), seconds=_SECONDS)
    if done.code:
        raise ToolError(f"no versions of {', '.join(wanted)} can be found: {done.message}")
    return dict(_PIN.findall(done.stdout.decode()))
