"""What tests of a project require, as its files declare it."""

from pathlib import Path

import pytest

from scylla_gha.mining.node_project import locked_packages, read_node_project
from scylla_gha.mining.python_project import read_project
from scylla_gha.model.sandbox import EditableInstall
from tests.support.repository import Files, write_tree

PEP_621 = """\
[project]
name = "My.Shop"
version = "1.2.3"
dependencies = ["attrs>=22", "my-shop[fast]", "local @ file:///x"]
[project.optional-dependencies]
tests = ["pytest-mock>=3", "ruff"]
docs = ["sphinx"]
[dependency-groups]
dev = [{include-group = "unit-test"}, "black"]
unit-test = ["hypothesis"]
[tool.setuptools.packages.find]
where = ["lib"]
[tool.setuptools_scm]
version_file = "lib/shop/_version.py"
[tool.pytest.ini_options]
addopts = "-ra --cov=shop -m 'not slow' -n auto --import-mode=importlib"
"""
POETRY = """\
[tool.poetry]
name = "shop"
packages = [{include = "shop", from = "python"}, {include = "../outside", from = "../x"}]
[tool.poetry.dependencies]
python = "^3.9"
attrs = "^22.1"
idna = {version = "~3.4", extras = ["all"]}
mine = {path = "../mine"}
zipp = "*"
[tool.poetry.group.test.dependencies]
hypothesis = "6.*"
[tool.poetry.dev-dependencies]
freezegun = ">=1,<2"
"""
SETUP_PY = """\
from setuptools import setup
TESTS = ["pytest-mock"]
setup(name="shop", install_requires=["attrs"], extras_require={"test": TESTS, "speed": ["cython"]},
      package_dir={"": "lib"},
      tests_require=open("x").read())
"""
SETUP_CFG = """\
[metadata]
name = shop
[options]
install_requires =
    attrs
    idna; python_version > "3"
[options.extras_require]
testing = pytest-mock
[tool:pytest]
addopts = --strict --deselect=tests/a.py::test_b
"""


@pytest.mark.parametrize(
    ("files", "package", "tests", "roots", "options"),
    [
        ({"pyproject.toml": PEP_621}, ["attrs>=22"], ["hypothesis", "pytest-mock>=3"], ["lib"],
         ["-m", "not slow", "--import-mode=importlib"]),
        ({"pyproject.toml": POETRY}, ["attrs>=22.1,<23", "idna[all]>=3.4,<3.5", "zipp"],
         ["freezegun>=1,<2", "hypothesis==6.*"], ["python"], []),
        ({"setup.py": SETUP_PY}, ["attrs"], ["pytest-mock"], ["lib"], []),
        ({"setup.cfg": SETUP_CFG}, ["attrs", 'idna; python_version > "3"'], ["pytest-mock"], [],
         ["--deselect=tests/a.py::test_b"]),
        ({"requirements.txt": "-r more.txt\n-e .\nattrs==22.1 \\\n  --hash=sha256:00\n# x\n",
          "more.txt": "-r requirements.txt\nidna # y\n",
          "requirements/dev.txt": "-r ../../../etc/passwd\nhypothesis\nmypy\n"},
         ["attrs==22.1", "idna"], ["hypothesis"], [], []),
        ({"pyproject.toml": "[project\n", "setup.cfg": "x", "setup.py": "def", "requirements.txt": b"\xff"},
         [], [], [], []),
        ({}, [], [], [], []),
    ],
)  # fmt: skip
def test_requirements_are_read_where_projects_declare_them(
    tmp_path: Path, files: Files, package: list[str], tests: list[str], roots: list[str], options: list[str]
) -> None:
    project = read_project(write_tree(tmp_path, files))
    assert list(project.requirements) == package
    assert list(project.test_requirements) == tests
    assert list(project.import_roots) == roots
    assert list(project.pytest_options) == options


def test_what_only_a_build_writes_is_made_up(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {"pyproject.toml": PEP_621, "lib/shop/__init__.py": "from importlib.metadata import version\n"}
    )
    project = read_project(tmp_path)
    assert sorted(project.files) == ["lib/shop/_version.py"]
    assert project.install == EditableInstall(name="My.Shop", version="1.2.3", roots=("lib",))
    write_tree(tmp_path, {"lib/shop/_version.py": "version = 'own'\n"})
    assert "lib/shop/_version.py" not in read_project(tmp_path).files


def test_versions_of_a_lock_file_are_constraints(tmp_path: Path) -> None:
    lock = "".join(f'[[package]]\nname = "{name}"\nversion = "{version}"\n{more}\n' for name, version, more in (
        ("attrs", "22.1.0", ""), ("idna", "3.1", ""), ("idna", "3.2", ""),
        ("shop", "1.0", 'source = { editable = "." }')))  # fmt: skip
    assert read_project(write_tree(tmp_path, {"uv.lock": lock})).constraints == ("attrs==22.1.0",)


def test_pipenv_declares_requirements_and_pins_them(tmp_path: Path) -> None:
    pipfile = """\
[packages]
attrs = "*"
idna = {version = "~=3.1", extras = ["all"]}
mine = {path = ".", editable = true}
[dev-packages]
hypothesis = ">=6"
black = "*"
"""
    lock = """{"default": {"attrs": {"version": "==22.1.0", "markers": "x"}, "mine": {"path": "."}},
        "develop": {"hypothesis": {"version": "==6.1"}, "attrs": {"version": "==22.1.0"}}}"""
    project = read_project(write_tree(tmp_path, {"Pipfile": pipfile, "Pipfile.lock": lock}))
    assert (project.requirements, project.test_requirements) == (("attrs", "idna[all]~=3.1"), ("hypothesis>=6",))
    assert project.constraints == ("attrs==22.1.0", "hypothesis==6.1")
    write_tree(tmp_path, {"Pipfile.lock": "[" * 100_000})
    assert read_project(tmp_path).constraints == ()


@pytest.mark.parametrize(
    ("files", "framework", "options"),
    [
        ({"package.json": '{"scripts": {"test": "node --import tsx --no-warnings --test --test-reporter=spec"}}'},
         "node", ("--import", "tsx", "--no-warnings")),
        ({"package.json": '{"devDependencies": {"vitest": "^3", "jest": "^29"}}'}, "vitest", ()),
        ({"package.json": "{}", "test/a.js": "const test = require('node:test');"}, "node", ()),
        ({"package.json": '{"scripts": {"test": "tape test/*.js"}}'}, None, ()),
        ({"package.json": "[]"}, None, ()),
    ],
)  # fmt: skip
def test_the_test_framework_is_known_by_package_json(
    tmp_path: Path, files: Files, framework: str | None, options: tuple[str, ...]
) -> None:
    project = read_node_project(write_tree(tmp_path, files), is_resolved=False)
    assert (project.framework, project.options) == (framework, options)
    assert (project.reason is None) == (framework is not None)


def test_the_lock_of_npm_gives_the_versions(tmp_path: Path) -> None:
    package = (
        '{"devDependencies": {"vitest": "^3", "eslint": "^9", "mine": "file:../mine"}, "dependencies": {"a": "1"}}'
    )
    lock = '{"packages": {"node_modules/vitest": {"version": "3.2.4"}, "node_modules/a": {"version": "1.0.2"}}}'
    project = read_node_project(write_tree(tmp_path, {"package.json": package, "package-lock.json": lock}))
    assert project.packages == {"vitest": "3.2.4", "a": "1.0.2", "@vitest/coverage-v8": "3.2.4"}
    assert project.notes == ("mine: come from no registry, and are left out",)


PACKAGE = """{"devDependencies": {"vitest": "^3.1.0", "@scope/kit": "~1.2.0"}, "dependencies": {"chalk": "^5 || ^4"}}"""
YARN_CLASSIC = """\
# yarn lockfile v1


"@scope/kit@^1.0.0", "@scope/kit@~1.2.0":
  version "1.2.9"
  resolved "https://example.org/kit.tgz#abc"
  dependencies:
    chalk "^4.0.0"

chalk@^4.0.0:
  version "4.0.0"

"chalk@^5 || ^4":
  version "5.3.0"

vitest@^3.1.0:
  version "3.1.4"
"""
YARN_BERRY = """\
__metadata:
  version: 8
  cacheKey: 10c0

"@scope/kit@npm:^1.0.0, @scope/kit@npm:~1.2.0":
  version: 1.2.9
  resolution: "@scope/kit@npm:1.2.9"
  dependencies:
    chalk: "npm:^4.0.0"

"chalk@npm:^4.0.0":
  version: 4.0.0

"chalk@npm:^5 || ^4":
  version: 5.3.0

"shop@workspace:.":
  version: 0.0.0-use.local

"vitest@npm:^3.1.0":
  version: 3.1.4
"""
PNPM_9 = """\
lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      chalk: {specifier: ^5 || ^4, version: 5.3.0}
    devDependencies:
      '@scope/kit':
        specifier: ~1.2.0
        version: 1.2.9
      vitest:
        specifier: ^3.1.0
        version: 3.1.4(@types/node@22.0.0)
  packages/other:
    dependencies:
      chalk: {specifier: ^4, version: 4.0.0}
"""
PNPM_5 = """\
lockfileVersion: 5.4
specifiers: {chalk: ^5 || ^4, vitest: ^3.1.0}
dependencies:
  chalk: 5.3.0
devDependencies:
  '@scope/kit': 1.2.9
  vitest: 3.1.4_abcdef
"""
NPM_1 = """{"lockfileVersion": 1, "dependencies": {"chalk": {"version": "5.3.0"}, "vitest": {"version": "3.1.4"},
    "@scope/kit": {"version": "1.2.9", "dependencies": {"chalk": {"version": "4.0.0"}}}}}"""


@pytest.mark.parametrize(
    ("file", "lock"),
    [("yarn.lock", YARN_CLASSIC), ("yarn.lock", YARN_BERRY), ("pnpm-lock.yaml", PNPM_9), ("pnpm-lock.yaml", PNPM_5),
     ("npm-shrinkwrap.json", NPM_1)],
)  # fmt: skip
def test_locks_of_yarn_pnpm_and_old_npm_give_the_versions(tmp_path: Path, file: str, lock: str) -> None:
    project = read_node_project(write_tree(tmp_path, {"package.json": PACKAGE, file: lock}))
    assert project.packages == {"vitest": "3.1.4", "@scope/kit": "1.2.9", "chalk": "5.3.0",
                                "@vitest/coverage-v8": "3.1.4"}  # fmt: skip
    assert project.notes == ()


def test_the_lock_of_the_projects_own_package_manager_is_read_and_a_broken_one_pins_nothing(tmp_path: Path) -> None:
    other = '{"packages": {"node_modules/chalk": {"version": "1.0.0"}}}'
    write_tree(
        tmp_path,
        {"package-lock.json": other, "yarn.lock": YARN_CLASSIC, "pnpm-lock.yaml": "dependencies: " + "[" * 1_100},
    )
    ranges = {"chalk": "^5 || ^4"}
    assert locked_packages(tmp_path, ranges, "yarn@4.1.0") == ({"chalk": "5.3.0"}, "yarn.lock")
    assert locked_packages(tmp_path, ranges) == ({"chalk": "1.0.0"}, "package-lock.json")
    assert locked_packages(tmp_path, ranges, "pnpm@9") == ({}, "pnpm-lock.yaml")
