"""Grade an edit: `python3 "$CHECKS/edits.py" PART`, in the changed code base; it needs the standard library alone.

`$CHECKS` has this file, `pattern_rules.py`, the programs of the test command, `key.json` (the key of each part by its
name) and `hidden/` (tests as they are at the start, with those that the agent did not see); `$BASE` is the start state.
The last line of the output is the part's worth as k/n.

Tests run in a copy of the start state with the agent's sources, so tests and configuration are those of the start. One
more test, which must fail, shows that outcomes are not invented.
"""

import contextlib
import ctypes
import difflib
import importlib.util
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_HERE: Final = Path(__file__).resolve().parent
_OWN: Final = {"edits.py", "pattern_rules.py", "key.json", "hidden"}
_SECONDS: Final = 120.0
_AGAIN_WITHIN: Final = 45.0  # seconds of a run after which tests that fail are not run again
_MOST_BYTES: Final = 2_000_000  # of a changed file
_LEAST_LINES: Final = 10
_LINES_FACTOR: Final = 3
_LEFTOVERS: Final = re.compile(
    r"(^|/)(__pycache__|node_modules|\.git|\.venv|\.(pytest|mypy|ruff)_cache|\.hypothesis|\.coverage[^/]*|[^/]+\.(pyc|egg-info))(/|$)"
)
_CONFIGURATION: Final = re.compile(
    r"(^|/)(conftest|sitecustomize|usercustomize|setup|noxfile)\.py$|(^|/)(\.[^/]+|[^/]+\.config|[^/]+rc)\.[cm]?[jt]s$"
)
_TEST: Final = re.compile(
    r"(^|/)(tests?|__tests__|specs?)/|(^|/)(test_[^/]*|[^/]*_test|test[.-][^/]*|[^/]*[.-](test|spec)|test)\.[^/.]+$"
)
_TEST_PROGRAMS: Final = {"pytest", "_pytest", "pluggy", "iniconfig", "coverage", "hypothesis", "vitest", "jest"}


@dataclass(frozen=True)
class Trees:
    """The changed code base, the start state, and the folder with hidden tests and programs."""

    work: Path
    base: Path
    checks: Path


@dataclass(frozen=True)
class Grade:
    """Worth of a part, and the reason."""

    worth: Fraction
    reason: str


def grade(part: str, key: Mapping[str, Any], trees: Trees) -> Grade:
    """Return what a part is worth; `key` is the content of key.json."""
    return _PARTS[part](key[part], trees)


def _correctness(key: Mapping[str, Any], trees: Trees) -> Grade:
    """All tests that failed pass, and the others of their files still do."""
    failed = _failed({*key["failing"], *key["others"]}, key, trees)
    return Grade(Fraction(not failed), _sentence(failed))


def _scope(key: Mapping[str, Any], trees: Trees) -> Grade:
    """Nothing but the target's file and new tests is changed, by few lines; it counts for a correct change alone."""
    paths = [path for path in _changed(trees) if not _is_new_test(path, trees)]
    beside = [path for path in paths if path != key["path"]]
    lines = sum(_changed_lines(_read(trees.base / path), _read(trees.work / path)) for path in paths)
    most = max(_LEAST_LINES, _LINES_FACTOR * int(key["reference_lines"]))
    right = _correctness(key, trees)
    if not right.worth:
        return right
    worth = Fraction(not beside, 2) + Fraction(lines <= most, 2)
    return Grade(
        worth, f"changed beside {key['path']}: {', '.join(beside) or 'nothing'}; lines: {lines}, at most {most}"
    )


def _functional(key: Mapping[str, Any], trees: Trees) -> Grade:
    """All main tests pass, or half of their share that does."""
    failed = _failed(set(key["main"]), key, trees)
    share = 1 - Fraction(len(failed), len(key["main"]))
    return Grade(share if share == 1 else share / 2, _sentence(failed))


def _edge(key: Mapping[str, Any], trees: Trees) -> Grade:
    """The share of rare tests that pass."""
    failed = _failed(set(key["rare"]), key, trees)
    return Grade(1 - Fraction(len(failed), len(key["rare"])), _sentence(failed))


def _patterns(key: Mapping[str, Any], trees: Trees) -> Grade:
    """The share of rules that still hold, times what the tests give: all or nothing for a repair, else their share."""
    rules = _module("pattern_rules")
    facts = rules.facts_in(_read(trees.work / key["path"]) or "", key["language"], key["name"])
    if facts is None:
        return Grade(Fraction(0), f"{key['path']} does not parse, or has no {key['name']} any more")
    broken = [rule for rule in key["rules"] if not rules.holds(rule, facts)]
    share = 1 - Fraction(len(broken), len(key["rules"]))
    tests = {*key["failing"], *key["others"]} if "failing" in key else set(key["main"])
    failed = _failed(tests, key, trees) if share else []
    passed = Fraction(not failed) if "failing" in key else 1 - Fraction(len(failed), len(tests))
    texts = "; ".join(json.dumps(rule, sort_keys=True) for rule in broken) or "none"
    return Grade(share * passed, f"broken rules: {texts}; {_sentence(failed)}")


_PARTS: Final = {
    "correctness": _correctness,
    "scope": _scope,
    "functional": _functional,
    "edge": _edge,
    "patterns": _patterns,
}


def _sentence(failed: list[str]) -> str:
    return f"tests that fail: {', '.join(failed[:5]) or 'none'}{' and more' if failed[5:] else ''}"


def _module(name: str) -> ModuleType:
    """Load the program beside this one; the import path may lead into the changed code base."""
    spec = importlib.util.spec_from_file_location(f"grader_{name}", _HERE / f"{name}.py")
    assert spec is not None  # noqa: S101 a path is given
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


# -- the change -------------------------------------------------------------------------------------------------------


def _changed(trees: Trees) -> list[str]:
    """Return paths of files that were added, changed or removed; what programs leave behind is left out."""
    paths = sorted({*_files(trees.work), *_files(trees.base)})
    return [path for path in paths if _read(trees.work / path) != _read(trees.base / path)]


def _files(root: Path) -> Iterator[str]:
    for folder, _, names in os.walk(root):
        for name in names:
            path = (Path(folder) / name).relative_to(root).as_posix()
            if not _LEFTOVERS.search(path):
                yield path


def _read(path: Path) -> str | None:
    """Return a plain file's text; None for a missing file, a link, or one that is too large."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            return None
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None


def _changed_lines(old: str | None, new: str | None) -> int:
    pairs = difflib.unified_diff((old or "").split("\n"), (new or "").split("\n"), lineterm="", n=0)
    return sum(line[:1] in {"+", "-"} for line in pairs) - 2 * (old != new)


def _is_new_test(path: str, trees: Trees) -> bool:
    return _TEST.search(path) is not None and not (trees.base / path).exists()


# -- the tests --------------------------------------------------------------------------------------------------------


def _failed(tests: set[str], key: Mapping[str, Any], trees: Trees) -> list[str]:
    """Return the tests that fail twice (some depend on time): all if outcomes are invented or nothing is changed."""
    if not any(_counts(path, key, trees) for path in _changed(trees)):
        return sorted(tests)
    started = time.monotonic()
    failed = tests - _passed(key, trees)
    if failed and time.monotonic() - started < _AGAIN_WITHIN:
        failed -= _passed(key, trees)
    return sorted(failed)


def _passed(key: Mapping[str, Any], trees: Trees) -> set[str]:
    """Run the tests and return those that pass; none if the control, which must fail, does not."""
    control = _control(key)
    with tempfile.TemporaryDirectory() as folder, _opened(Path(folder)):
        tree, checks = Path(folder) / "tree", Path(folder) / "checks"
        _fill(tree, key, trees)
        _put(tree / control["path"], control["text"])
        checks.mkdir()
        for path in trees.checks.iterdir():
            if path.name not in _OWN and path.is_file():
                shutil.copy(path, checks)
        outcomes = _outcomes(key["command"].replace(key["control"]["id"], control["id"]), tree, checks, key)
    is_honest = outcomes.get(control["id"]) is False
    return {test for test, passed in outcomes.items() if passed} if is_honest else set()


def _control(key: Mapping[str, Any]) -> dict[str, str]:
    """Return path, id and text of a test that must fail, under a name that nobody can know."""
    word = secrets.token_hex(4)
    return {field: text.replace("CONTROL", word) for field, text in key["control"].items()}


def _fill(tree: Path, key: Mapping[str, Any], trees: Trees) -> None:
    """Write the start state with the agent's sources and the hidden tests."""
    shutil.copytree(trees.base, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__"))
    for folder, _, _ in os.walk(tree):
        Path(folder).chmod(0o755)
    for path in _changed(trees):
        if _counts(path, key, trees):
            _put(tree / path, _read(trees.work / path))
    hidden = trees.checks / "hidden"
    for name in _files(hidden):
        _put(tree / name, _read(hidden / name))


def _put(path: Path, text: str | None) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    if text is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))


def _counts(path: str, key: Mapping[str, Any], trees: Trees) -> bool:
    """Return True for sources: no tests, no configuration, and no new module in the place of a test program's."""
    if path == key["path"]:
        return True
    if Path(path).suffix not in key["suffixes"] or path in key["test_files"] or _CONFIGURATION.search(path):
        return False
    if (trees.base / path).exists():
        return True
    if _TEST.search(path):
        return False
    new = next(folder for folder in (*reversed(Path(path).parents), Path(path)) if not (trees.base / folder).exists())
    in_package = (trees.base / new.parent / "__init__.py").exists()
    return in_package or Path(path).suffix == ".go" or new.stem not in sys.stdlib_module_names | _TEST_PROGRAMS


def _outcomes(command: str, tree: Path, checks: Path, key: Mapping[str, Any]) -> dict[str, bool]:
    home = checks.parent / "home"
    home.mkdir()
    lines = home / "outcomes.jsonl"
    inherited = {name: text for name, text in os.environ.items() if name not in {"BASE", "PYTHONPATH", "NODE_OPTIONS"}}
    env = {**inherited, "HOME": str(home), "CHECKS": str(checks), "OUTCOMES": str(lines),
           "TEST_SECONDS": str(key.get("test_seconds", 30))}  # fmt: skip
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(  # noqa: S602 the command is the key's
            command, shell=True, cwd=tree, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=key.get("seconds", _SECONDS), check=False,
        )  # fmt: skip
    outcomes: dict[str, bool] = {}
    for line in (_read(lines) or "").splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            record = json.loads(line)
            outcomes[str(record["id"])] = record["passed"] is True and outcomes.get(str(record["id"]), True)
    return outcomes


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[None]:
    """Make the folders writable in the end, whatever tests did to them, so that they can be removed."""
    yield
    for path, _, _ in os.walk(folder):
        Path(path).chmod(0o700)


def _close_to_tests() -> None:
    """Close this process to the code under test, which has the same user and could reach its memory and output."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
        ctypes.CDLL(None).prctl(24, 19, 0, 0, 0)  # PR_CAPBSET_DROP of CAP_SYS_PTRACE


def main(part: str) -> None:
    """Print the reason and the worth of a part."""
    _close_to_tests()
    trees = Trees(Path.cwd(), Path(os.environ["BASE"]), _HERE)
    result = grade(part, json.loads((_HERE / "key.json").read_text(encoding="utf-8")), trees)
    reason = "".join(character if character.isprintable() else "?" for character in result.reason)[:500]
    sys.stdout.write(f"{reason}\n{result.worth.numerator}/{result.worth.denominator}\n")


if __name__ == "__main__":
    main(sys.argv[1])
