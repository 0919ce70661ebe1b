"""Test files as the project's own runner finds them, the package's installation, and the line that says what failed."""

import os
import subprocess
from pathlib import Path

import pytest

from scylla_gha.mining.languages import error_line
from scylla_gha.mining.project_tests import ProjectTests, read_tests
from scylla_gha.mining.python_project import read_project
from scylla_gha.model.sandbox import EditableInstall, Tools
from scylla_gha.prepare.tools import search_path
from tests.support.repository import Files, write_tree

SCRIPTS: Files = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "2.1"\nscripts = {shop-total = "shop.cli:main"}\n',
    "src/shop/__init__.py": "",
    "src/shop/cli.py": "def main():\n    print('first')\n",
}


JEST = '{"devDependencies": {"jest": "29"}, "jest": {"testMatch": ["<rootDir>/t/?(*.)check.{js,ts}"]}}'
SETUP_CFG = """\
[metadata]
name = shop
[options.entry_points]
console_scripts =
    a = b.c:d
    bad = x y
"""
POETRY = """\
[tool.poetry]
name = "shop"
[tool.poetry.scripts]
a = "b:c"
[tool.poetry.plugins.x]
y = "z"
"""


def runners(root: Path) -> dict[str, ProjectTests]:
    return {tests.runner.language: tests for tests in read_tests(root)}


@pytest.mark.parametrize(
    ("files", "language", "tests", "others"),
    [
        ({}, "Python", ["test.py", "pkg/tests.py", "test_a.py", "a_test.py"], ["contest.py", "tests/data.py"]),
        ({"pytest.ini": "[pytest]\npython_files = check_*.py\n"}, "Python", ["check_a.py"], ["test_a.py"]),
        ({"package.json": '{"devDependencies": {"vitest": "3"}}'}, "JavaScript", ["src/a.test.tsx"], ["test/a.ts"]),
        (
            {"package.json": JEST},
            "JavaScript", ["t/a.check.ts", "t/check.js"], ["a.test.js", "t/a.check.tsx"],
        ),
        (
            {"package.json": '{"devDependencies": {"mocha": "10"}, "scripts": {"test": "lint && mocha checks/*.js"}}'},
            "JavaScript", ["checks/a.js"], ["test/a.js"],
        ),
        ({}, "Go", ["a_test.go", "internal/b_test.go"], ["a.go", "vendor/x/a_test.go"]),
    ],
)  # fmt: skip
def test_files_are_tests_if_the_projects_runner_takes_them(
    tmp_path: Path, files: Files, language: str, tests: list[str], others: list[str]
) -> None:
    found = runners(write_tree(tmp_path, files))[language]
    assert [path for path in (*tests, *others) if found.runs(path)] == tests


def test_patterns_of_the_user_replace_those_of_the_runner(tmp_path: Path) -> None:
    python = read_tests(tmp_path, ("checks/**",))[0]
    assert [path for path in ("checks/a.py", "checks/a.js", "test_a.py") if python.runs(path)] == ["checks/a.py"]


def test_a_framework_that_is_not_known_is_named(tmp_path: Path) -> None:
    write_tree(tmp_path, {"package.json": '{"devDependencies": {"ava": "6"}}'})
    assert str(runners(tmp_path)["JavaScript"].reason).startswith("tests of ava cannot be run")


@pytest.mark.parametrize(
    ("files", "points"),
    [
        (SCRIPTS, {"console_scripts": {"shop-total": "shop.cli:main"}}),
        (
            {"setup.cfg": SETUP_CFG},
            {"console_scripts": {"a": "b.c:d"}},
        ),
        (
            {"pyproject.toml": POETRY},
            {"console_scripts": {"a": "b:c"}, "x": {"y": "z"}},
        ),
    ],
)  # fmt: skip
def test_entry_points_are_read_where_projects_declare_them(
    tmp_path: Path, files: Files, points: dict[str, dict[str, str]]
) -> None:
    install = read_project(write_tree(tmp_path, files)).install
    assert install is not None
    assert install.entry_points == points


def test_an_editable_package_is_that_of_the_folder_a_program_runs_in(tmp_path: Path) -> None:
    """Agent and checks work in copies: each imports its own, also where a test starts a program somewhere else."""
    first = write_tree(tmp_path / "first", SCRIPTS)
    second = write_tree(tmp_path / "second", {**SCRIPTS, "src/shop/cli.py": "def main():\n    print('second')\n"})
    install = read_project(first).install
    path = search_path(Tools(editable=install), tmp_path / "cache")

    def shown(cwd: Path, *argv: str) -> str:
        env = {"PATH": path, "HOME": str(tmp_path)}
        return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=True).stdout.strip()

    assert [shown(folder, "shop-total") for folder in (first, second / "src")] == ["first", "second"]
    version = "from importlib.metadata import version; print(version('shop'))"
    assert shown(tmp_path, "python3", "-c", version) == "2.1"
    elsewhere = f"import subprocess; subprocess.run(['shop-total'], cwd={os.fspath(tmp_path)!r}, check=True)"
    assert shown(second, "python3", "-c", elsewhere) == "second"


def test_another_package_makes_other_tools(tmp_path: Path) -> None:
    one, two = (Tools(editable=EditableInstall(name="shop", roots=(root,))) for root in ("src", "lib"))
    assert search_path(one, tmp_path) != search_path(two, tmp_path)


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("E   ModuleNotFoundError: No module named 'x'\n=== short summary ===\n1 error in 0.1s\n",
         "ModuleNotFoundError: No module named 'x'"),
        ("# Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'\n  error: 'test failed'\n# duration_ms 2\n",
         "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'"),
        ("one\ntwo\n", "two"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_line_that_names_the_error_is_shown(output: str, line: str) -> None:
    assert error_line(output) == line
