"""What a file of a repository is, by its name, and how its tests are run."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

_TEST_FOLDERS: Final = {"test", "tests", "__tests__", "spec", "specs", "testing"}
# Names that a shell script can take from a list as they are
SAFE_NAME: Final = re.compile(r"[A-Za-z0-9_+@%=,.][A-Za-z0-9_+@%=,./-]*")


@dataclass(frozen=True, slots=True)
class Language:
    """How the tests of a language are named and run; `before` makes tests run as their commit has them.

    Attributes:
        suffixes: of its code.
        tests: matches the path of a file with tests.
        run: the command, to which names of files are added.
        shows: a regex of what it prints where tests ran, since code may end the process early with 0.
        before: lines of a shell script.
        system: programs that must be on the machine.
        packages: of Debian, that the image of the Docker sandbox needs for them.
        tools: Python packages that it takes, at exact versions.
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
        """Whether it is a file with tests that the command takes."""
        return bool(self.tests.fullmatch(path))


PYTHON: Final = Language(
    name="Python",
    suffixes=frozenset({".py"}),
    tests=re.compile(r"(.*/)?(test_\w+|\w+_test)\.py"),
    # The repository's own options may ask for plug-ins that are not here; src is where many keep their package.
    run="env PYTHONPATH=.:src PYTHONDONTWRITEBYTECODE=1 python3 -m pytest -q -o addopts= -p no:cacheprovider",
    before="# What steers pytest is the start state's as well.\nfind . -name conftest.py -exec rm -f {} +\n",
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
    """Whether a file belongs to the tests: it has some, or lies among them."""
    place = PurePosixPath(path)
    among = any(part.lower() in _TEST_FOLDERS for part in place.parts[:-1]) or place.name == "conftest.py"
    return among or any(language.runs(path) for language in LANGUAGES)


def is_code(path: str, language: Language) -> bool:
    """Whether it is the language's code, and no test."""
    return PurePosixPath(path).suffix in language.suffixes and not is_test(path)
