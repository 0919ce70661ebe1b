"""Languages whose tests can be run, and the classification of files by their names."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

_TEST_FOLDERS: Final = {"test", "tests", "__tests__", "spec", "specs", "testing"}
# File names that a shell script can read from a list without quoting
SAFE_NAME: Final = re.compile(r"[A-Za-z0-9_+@%=,.][A-Za-z0-9_+@%=,./-]*")


@dataclass(frozen=True, slots=True)
class Language:
    """How the tests of a language are named and run.

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
