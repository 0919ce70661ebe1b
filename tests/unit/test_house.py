"""The house rules that no linter checks."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = sorted((ROOT / "scylla_gha").rglob("*.py"))
FILE_LINES, FUNCTION_LINES = 300, 40
HEAVY = {"pydantic", "pandas", "anthropic", "rich", "yaml", "orjson", "github"}


@pytest.mark.parametrize("path", [*PACKAGE, *(ROOT / "tests").rglob("*.py")], ids=lambda path: path.stem)
def test_files_are_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= FILE_LINES


@pytest.mark.parametrize("path", PACKAGE, ids=lambda path: path.stem)
def test_functions_are_small(path: Path) -> None:
    assert [name for name, lines in functions(path) if lines > FUNCTION_LINES] == []


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Every function with its length, docstring left out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            docstring = (first.end_lineno or 0) - first.lineno + 1 if is_docstring else 0
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - docstring


@pytest.mark.parametrize("name", ["utils", "helpers", "common", "manager"])
def test_no_module_is_called_by_a_word_that_says_nothing(name: str) -> None:
    assert [path for path in PACKAGE if name in path.stem] == []


@pytest.mark.parametrize("code", ["import scylla_gha", "import scylla_gha.cli.main"])
def test_the_start_imports_nothing_heavy(code: str) -> None:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) == set()


def test_checks_that_scenarios_have_alike_stay_alike() -> None:
    """A scenario's folder is whole by itself, so what several need is in each; mended in one, it is mended in all."""
    assert len({path.read_bytes() for path in (ROOT / "scenarios").rglob("checks/ownsuite.py")}) == 1


def test_tests_see_nothing_of_the_job_that_runs_them(tmp_path: Path) -> None:
    (tmp_path / "test_seen.py").write_text(
        "import os\n\n\ndef test_seen():\n    assert 'GITHUB_SHA' not in os.environ\n"
    )
    (tmp_path / "conftest.py").write_bytes((ROOT / "tests" / "conftest.py").read_bytes())
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    env = {**os.environ, "GITHUB_SHA": "a" * 40, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
