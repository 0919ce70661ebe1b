"""Twins of a code base: copies that behave the same and lack one property, so that its worth can be measured.

Kinds: `names` without meaning, `docs` removed, `merging` of functions of Python into their only callers, `types`
removed. A dose is the share of what can be changed safely; a larger dose has all changes of a smaller one. A twin
counts only if its tests pass (`twin_holds`).
"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

from scylla_gha.readiness.recorded_tests import TestMap, TestRunner
from scylla_gha.readiness.script_twins.changes import SCRIPTS, script_change
from scylla_gha.readiness.source_code import Language
from scylla_gha.readiness.source_files import is_test_file
from scylla_gha.readiness.twin_merging import merge_functions
from scylla_gha.readiness.twin_names import safe_names
from scylla_gha.readiness.twin_renaming import chosen_names, rename
from scylla_gha.readiness.twin_texts import chooser, without_documentation, without_types

TwinKind = Literal["names", "docs", "merging", "types"]
TWIN_KINDS: Final[tuple[TwinKind, ...]] = get_args(TwinKind)
# Dimensions that must fall if the property is taken away, written down before any measurement; others are reported.
EXPECTED_LOSSES: Final[dict[TwinKind, tuple[int, ...]]] = {
    "names": (1, 3),
    "docs": (1, 4),
    "merging": (2, 3),
    "types": (),
}
TWIN_LANGUAGES: Final[tuple[Language, ...]] = ("python", *SCRIPTS)
_PYTHON: Final = (".py", ".pyi")
_CONFIGURATION: Final = (".toml", ".cfg", ".ini")
_LARGEST: Final = 2_000_000  # bytes of a file that is changed
_TEST_FOLDERS: Final = frozenset({"test", "tests", "testing"})


def is_test_path(path: str) -> bool:
    """Return True for a Python file that holds tests, or helps them."""
    *folders, name = path.split("/")
    return (bool(_TEST_FOLDERS.intersection(folders)) or name == "conftest.py" or name.startswith("test_")
            or name.endswith("_test.py"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Twin:
    """Changed copy of a code base.

    Attributes:
        root: folder of the copy.
        names: new name by old one, if names were replaced.
        homes: id of the caller by id of each function that was merged into it.
        changed_files: paths of files whose text differs.
        transform: changes another version of a file (path, text) in the same way; merging leaves it as it is.
        is_test: returns True for the paths of tests, whose functions and tests keep their names.
    """

    root: Path
    kind: TwinKind
    dose: float
    seed: int
    changed_files: tuple[str, ...]
    transform: Callable[[str, str], str] = field(repr=False)
    names: Mapping[str, str] = field(default_factory=dict, repr=False)
    homes: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_test: Callable[[str], bool] = field(default=is_test_path, repr=False)

    def id_of(self, function: str) -> str:
        """Return the id that a function of the code base ("path::name") has in the twin; a test keeps its own."""
        path, separator, name = self.homes.get(function, function).partition("::")
        if self.is_test(path):
            return function
        return path + separator + ".".join(self.names.get(part, part) for part in name.split("."))


def make_twin(tree: Path, kind: TwinKind, dose: float, seed: int, target: Path, language: Language = "python") -> Twin:
    """Copy a code base, and take a share of a property away.

    Args:
        tree: the code base; it is only read.
        kind: the property.
        dose: share from 0 to 1.
        seed: seed of the choice.
        target: a folder that does not exist yet.
        language: of the code that is changed; JavaScript and TypeScript are one.
    """
    shutil.copytree(tree, target, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    make = _script_twin if language in SCRIPTS else _python_twin
    twin, texts = make(target, kind, dose, seed)
    for path in twin.changed_files:
        (target / path).write_bytes(texts[path].encode())
    return twin


def _script_twin(target: Path, kind: TwinKind, dose: float, seed: int) -> tuple[Twin, Mapping[str, str]]:
    """Return the twin of JavaScript and TypeScript code, and its texts by path; nothing is merged."""
    change = script_change(target, kind, dose, seed)
    new = {path: change.transform(path, text) for path, text in change.texts.items()}
    changed = sorted(path for path, text in new.items() if text != change.texts[path])
    return Twin(target, kind, dose, seed, tuple(changed), change.transform, change.names, is_test=is_test_file), new


def _python_twin(target: Path, kind: TwinKind, dose: float, seed: int) -> tuple[Twin, Mapping[str, str]]:
    """Return the twin of Python code, and its texts by path."""
    texts = _texts(target, _PYTHON)
    tests = frozenset(path for path in texts if is_test_path(path))
    names: dict[str, str] = {}
    homes: dict[str, str] = {}

    def unchanged(_: str, text: str) -> str:
        return text

    transform: Callable[[str, str], str] = unchanged
    if kind == "merging":
        merged = merge_functions(texts, tests, dose, seed)
        new, homes = merged.texts, merged.homes
    else:
        names = _names(texts, tests, target, dose, seed) if kind == "names" else {}
        transform = _transform(kind, dose, seed, names, tests)
        new = {path: transform(path, text) for path, text in texts.items()}
    changed = sorted(path for path, text in new.items() if text != texts[path])
    return Twin(target, kind, dose, seed, tuple(changed), transform, names, homes), new


def twin_holds(twin: Twin, runner: TestRunner, tests: TestMap) -> bool:
    """Return True if all stable tests pass in the twin, which may have given parametrised ones other ids."""
    files = {test.file for test in tests.tests.values()}
    outcomes = runner.run(twin.root, files)
    known = {*tests.tests, *tests.unstable}
    lost = [test for test in tests.tests if test not in outcomes]
    renamed = [test for test, outcome in outcomes.items() if test not in known and outcome.passed]
    is_failing = any(test in outcomes and not outcomes[test].passed for test in tests.tests)
    return bool(tests.tests) and not is_failing and len(lost) <= len(renamed)


def _transform(
    kind: TwinKind, dose: float, seed: int, names: Mapping[str, str], tests: frozenset[str]
) -> Callable[[str, str], str]:
    def transform(path: str, text: str) -> str:
        if not path.endswith(_PYTHON):
            return text
        if kind == "names":
            return rename(text, names)
        if path in tests or is_test_path(path):
            return text
        change = without_documentation if kind == "docs" else without_types
        return change(text, chooser(dose, seed, path))

    return transform


def _names(texts: Mapping[str, str], tests: frozenset[str], root: Path, dose: float, seed: int) -> dict[str, str]:
    return chosen_names(safe_names(texts, tests, _texts(root, _CONFIGURATION).values()), dose, seed)


def _texts(root: Path, suffixes: tuple[str, ...]) -> dict[str, str]:
    """Return the texts of regular files by path, sorted; a file that is no UTF-8 or too large is left out."""
    texts = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder, name)
            if name.endswith(suffixes) and not path.is_symlink() and path.stat().st_size <= _LARGEST:
                try:
                    texts[path.relative_to(root).as_posix()] = path.read_bytes().decode("utf-8")
                except UnicodeDecodeError:
                    continue
    return dict(sorted(texts.items()))
