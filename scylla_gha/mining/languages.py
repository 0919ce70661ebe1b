"""Test runners of programming languages: which files they run, and the shell commands that start them."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import Final

from scylla_gha.path_patterns import PathPatterns

_TEST_FOLDERS: Final = {"test", "tests", "__tests__", "spec", "specs", "testing"}
# File names that a shell script can read from a list without quoting
SAFE_NAME: Final = re.compile(r"[A-Za-z0-9_+@%=,.][A-Za-z0-9_+@%=,./-]*")
_SCRIPT_SUFFIXES: Final = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"})
_ERROR: Final = re.compile(
    r"E\s{2,}(?!\s*[+-] )\S|\S*(Error|Exception)\b.*:|npm ERR!|panic:|error:|.*Cannot find (module|package)"
)
_GENERAL: Final = re.compile(
    r"error: '(sub)?tests? failed'|error: '\d+ subtests? failed'"
)  # node names causes elsewhere
_QUIET: Final = "CI=1 NO_COLOR=1"
# Programs of a package, which may be in a folder above the project
_PACKAGE: Final = "$(node -p 'path.dirname(require.resolve(\"{0}/package.json\"))')"


@dataclass(frozen=True)
class RunnerProgram:
    """Program that runs tests of a language.

    Attributes:
        name: name as in `CodeEnvironment.framework`.
        language: the language's display name.
        suffixes: file suffixes of the language's code.
        patterns: files that it runs unless the project configures others, as lines of a `.gitignore`.
        command: command for /bin/sh in the project's root; "{options}" stands for the project's options, and $FILES is
            a file with the names of test files, one per line.
        shows: regular expression that the output matches if tests ran; code may end the process early with exit code 0.
        before: lines of a shell script that run first, so that tests run as in their commit.
        system: programs that must be installed on the machine.
        packages: Debian packages with these programs, for the image of the Docker sandbox.
    """

    name: str
    language: str
    suffixes: frozenset[str]
    patterns: tuple[str, ...]
    command: str
    shows: str
    before: str = ""
    system: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    @cached_property
    def default_files(self) -> PathPatterns:
        """The patterns, compiled."""
        return PathPatterns(self.patterns)


def _spread(*patterns: str) -> tuple[str, ...]:
    """Replace `?` in patterns by each suffix of JavaScript, and exclude node_modules and dist."""
    suffixes = sorted(suffix[1:] for suffix in _SCRIPT_SUFFIXES)
    spread = (pattern.replace("?", suffix) for pattern in patterns for suffix in suffixes)
    return (*spread, "!**/node_modules/**", "!**/dist/**")


def _script_runner(name: str, command: str, shows: str, *patterns: str) -> RunnerProgram:
    return RunnerProgram(
        name, "JavaScript", _SCRIPT_SUFFIXES, _spread(*patterns), command, shows, "", ("node",), ("nodejs",)
    )


PYTEST: Final = RunnerProgram(
    name="pytest",
    language="Python",
    suffixes=frozenset({".py"}),
    patterns=("test_*.py", "*_test.py", "test.py", "tests.py"),
    # The repository's own options may require missing plug-ins.
    command='xargs env PYTHONPATH="{roots}" PYTHONDONTWRITEBYTECODE=1 python3 -m pytest -q -o addopts= {options}'
    '-p no:cacheprovider <"$FILES"',
    before="# Configuration of pytest comes from the start state as well.\nfind . -name conftest.py -exec rm -f {} +\n",
    shows="^[1-9][0-9]* passed",
)
_BY_NAME: Final = ("*.test.?", "*-test.?", "*_test.?", "*.spec.?", "*-spec.?", "test-*.?", "test.?")
_FOLDERS: Final = ("**/test/**/*.?", "**/tests/**/*.?", "**/__tests__/**/*.?")
_NODE: Final = f'xargs env {_QUIET} node {{options}}--test <"$FILES"'
_VITEST: Final = f'xargs env {_QUIET} node "{_PACKAGE.format("vitest")}/vitest.mjs" run {{options}}<"$FILES"'
_JEST: Final = f'xargs env {_QUIET} node "{_PACKAGE.format("jest")}/bin/jest.js" --ci --cache=false {{options}}'
_MOCHA: Final = f'xargs env {_QUIET} node "{_PACKAGE.format("mocha")}/bin/mocha.js" {{options}}<"$FILES"'
NODE: Final = _script_runner("node", _NODE, "pass [1-9]", *_BY_NAME, *_FOLDERS)
VITEST: Final = _script_runner("vitest", _VITEST, "Tests .*[1-9][0-9]* passed", "*.test.?", "*.spec.?")
_JEST_FILES: Final = ("*.test.?", "*.spec.?", "test.?", "**/__tests__/**/*.?")
JEST: Final = _script_runner(
    "jest", f'{_JEST}--runTestsByPath <"$FILES" 2>&1', "^Tests: .*[1-9][0-9]* passed", *_JEST_FILES
)
MOCHA: Final = _script_runner("mocha", _MOCHA, "^ *[1-9][0-9]* passing", "/test/*.?", "*.test.?", "*.spec.?")
GO: Final = RunnerProgram(
    name="go",
    language="Go",
    suffixes=frozenset({".go"}),
    patterns=("*_test.go", "!**/vendor/**", "!**/testdata/**"),
    # Packages are tested, not files
    command='export GOCACHE="$HOME/go-build"\n'
    'if [ -d "${GO_LIBRARY:-}" ]; then mkdir -p "$GOCACHE" && cp -rs "$GO_LIBRARY/." "$GOCACHE"; fi\n'
    'sed "s|[^/]*$||; s|^|./|" <"$FILES" | sort -u | '
    "xargs env CGO_ENABLED=0 GOTOOLCHAIN=local go test -count=1 -vet=off",
    shows=r"^ok\s",
)
RUNNERS: Final = {runner.name: runner for runner in (PYTEST, NODE, VITEST, JEST, MOCHA, GO)}
_ANY_TEST: Final = PathPatterns((*PYTEST.patterns, *_spread(*_BY_NAME), *GO.patterns))


def is_test(path: str) -> bool:
    """Return whether a file contains tests or lies in a folder of tests."""
    posix = PurePosixPath(path)
    in_tests = any(part.lower() in _TEST_FOLDERS for part in posix.parts[:-1]) or posix.name == "conftest.py"
    return in_tests or _ANY_TEST.match(path)


def is_code(path: str, runner: RunnerProgram) -> bool:
    """Return whether a file is code of the runner's language and not a test."""
    return PurePosixPath(path).suffix in runner.suffixes and not is_test(path)


def error_line(output: str) -> str:
    """Return the last line of a test runner's output that names an error, else its last line; "" if it is empty."""
    lines = [line.lstrip("# ").strip() for line in output.splitlines() if line.strip("# ")]
    telling = [line for line in lines if _ERROR.match(line) and not _GENERAL.fullmatch(line)]
    return re.sub(r"^E\s+", "", (telling or lines or [""])[-1])
