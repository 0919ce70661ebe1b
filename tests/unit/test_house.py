"""The house rules that no linter checks."""

import ast
import functools
import itertools
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = sorted((ROOT / "scylla_gha").rglob("*.py"))
# The judges' prompt stays, since recordings are found by it; errors of `stats` are for programmers.
UNCOUNTED = {"judge/prompt.py", *(f"stats/{path.name}" for path in (ROOT / "scylla_gha/stats").glob("*.py"))}
WORDS = re.compile(r"counted\(|number\(|_range\(")  # these give words, or numbers with decimals
QUESTION = re.compile(r"(What|Whether|Who|How|Where|Which|When)\b")
FILE_LINES, TEST_FILE_LINES, FUNCTION_LINES = 450, 450, 40
MEDIAN_LINES = 120  # of the modules of a package: many small modules hide how the parts of one idea fit
LATER = {"hub", "readiness"}  # packages in which medians and formatting are not tested yet
COUNTABLE = re.compile(
    r" (?:(?!of |in |with |x |holds |has |takes |needs |shows )[a-z-]+ )?"
    r"(?:arm|artifact|attempt|byte|call|cell|character|check|comparison|control|day|draw|experiment|field|file|folder|group|"
    r"hour|item|job|judge|key|layer|line|message|minute|model|place|point|process|repetition|report|request|row|rule|"
    r"scenario|set|shard|step|time|token|trial|trie|turn|unit|value|verdict|version|warning|wave)e?s\b"
)
HEAVY = {"pydantic", "pandas", "anthropic", "rich", "yaml", "orjson", "github"}


def test_files_and_functions_are_small() -> None:
    limits = dict.fromkeys(PACKAGE, FILE_LINES) | dict.fromkeys((ROOT / "tests").rglob("*.py"), TEST_FILE_LINES)
    lengths = {path: len(path.read_text().splitlines()) for path in limits}
    long_files = {str(path): lines for path, lines in lengths.items() if lines > limits[path]}
    long_functions = {
        f"{path}: {name}": lines for path in PACKAGE for name, lines in functions(path) if lines > FUNCTION_LINES
    }
    assert {**long_files, **long_functions} == {}


def test_packages_are_not_cut_into_small_modules() -> None:
    packages: dict[str, list[int]] = {}
    for path in PACKAGE:
        package, *rest = path.relative_to(ROOT / "scylla_gha").parts
        if rest and not path.stem.startswith("__"):
            packages.setdefault(package, []).append(len(path.read_text().splitlines()))
    medians = {name: statistics.median(lengths) for name, lengths in packages.items() if name not in LATER}
    assert {name: median for name, median in medians.items() if median < MEDIAN_LINES} == {}


def test_the_formatter_decides() -> None:
    paths = [path for path in PACKAGE if not LATER & set(path.parts)]
    assert [str(path) for path in paths if re.search(r"# fmt: (skip|off)", path.read_text())] == []


def test_an_expression_is_no_branch() -> None:
    """`a() if b else c()` as a statement hides that one of two things is done."""
    found = [
        f"{path}:{node.lineno}"
        for path in PACKAGE
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.IfExp | ast.BoolOp)
    ]
    assert found == []


def test_what_another_package_uses_is_documented() -> None:
    users: dict[tuple[str, str], Path] = {}
    for path in PACKAGE:
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("scylla_gha."):
                users |= {
                    (node.module or "", name.name): path for name in node.names if home(path) != home(node.module)
                }
    silent = [
        f"{path}: {node.name}"
        for path in PACKAGE
        for node in syntax(path).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if (module_of(path), node.name) in users and not ast.get_docstring(node)
    ]
    assert silent == []


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def home(module: Path | str | None) -> str:
    """Return the package below scylla_gha that a module belongs to."""
    name = module_of(module) if isinstance(module, Path) else module or ""
    return name.split(".")[1] if "." in name else ""


@functools.cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Every function with its length, docstring left out."""
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            docstring = (first.end_lineno or 0) - first.lineno + 1 if is_docstring else 0
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - docstring


def test_no_module_is_called_by_a_word_that_says_nothing() -> None:
    words = ("utils", "helpers", "common", "manager")
    assert [path for path in PACKAGE if any(word in path.stem for word in words)] == []


def test_class_names_are_unique_over_the_package() -> None:
    homes: dict[str, list[str]] = {}
    for path in PACKAGE:
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_docstrings_begin_with_what_a_thing_is_or_does() -> None:
    """A question word leaves the reader to guess the noun: "Whether it holds" is "True if it holds"."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    lines = {f"{path}: {line}" for path in PACKAGE for node in ast.walk(syntax(path)) if isinstance(node, documented)
             if QUESTION.match(line := (ast.get_docstring(node) or "").partition("\n")[0])}  # fmt: skip
    assert lines == set()


def test_numbers_agree_with_their_nouns() -> None:
    """`{n} trials` would say `1 trials`; `counted` knows both forms."""
    paths = [path for path in PACKAGE if "/".join(path.parts[-2:]) not in UNCOUNTED]
    wrong = {str(path): list(miscounted(syntax(path))) for path in paths}
    assert {path: texts for path, texts in wrong.items() if texts} == {}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("f'{n} trials'", ["n trials"]),
        ("f'a {len(x):,} stored ' f'trials of b'", ["len(x) stored trials"]),
        ("f'{n:g} points'", ["n points"]),
        ("'at most {n} turns'", ["n turns"]),
        ("f'{n:.1f} points, {MOST} trials, {name} holds'", []),
        ("f'{counted(n, \"trial\")} of rows'", []),
    ],
)
def test_the_rule_finds_numbers_that_disagree(code: str, found: list[str]) -> None:
    assert list(miscounted(ast.parse(code))) == found


def miscounted(tree: ast.AST) -> Iterator[str]:
    """Numbers, not decimals or constants, that stand before a plural in a text or a template of one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            for one, after in itertools.pairwise(node.values):
                if isinstance(one, ast.FormattedValue) and isinstance(after, ast.Constant):
                    decimal = one.format_spec is not None and re.search(r"\.[1-9]f", ast.unparse(one.format_spec))
                    yield from () if decimal else disagreeing(ast.unparse(one.value), str(after.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for name, rest in re.findall(r"\{(\w+)\}([^{}]*)", node.value):
                yield from disagreeing(name, rest)


def disagreeing(number: str, after: str) -> Iterator[str]:
    found = COUNTABLE.match(after)
    if found and not number.isupper() and not WORDS.match(number):
        yield f"{number}{found[0]}"


@pytest.mark.parametrize("code", ["import scylla_gha", "import scylla_gha.cli.main"])
def test_the_start_imports_nothing_heavy(code: str) -> None:
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) == set()


def test_checks_that_scenarios_have_alike_stay_alike() -> None:
    """A scenario's folder is whole by itself, so what several need is in each; mended in one, it is mended in all."""
    scenarios = ROOT / "scenarios"
    for name in ("ownsuite.py", "closed.py", "alone.py"):
        assert len({path.read_bytes() for path in scenarios.rglob(f"checks/{name}")}) == 1, name


def test_checks_close_themselves_to_the_code_under_test() -> None:
    for path in (ROOT / "scenarios").rglob("checks/verify.py"):
        text = path.read_text(encoding="utf-8")
        assert (path.parent / "closed.py").exists(), path
        assert "\nimport closed" in text, path


def test_tests_see_nothing_of_the_job_that_runs_them(tmp_path: Path) -> None:
    (tmp_path / "test_seen.py").write_text(
        "import os\n\n\ndef test_seen():\n    assert 'GITHUB_SHA' not in os.environ\n"
    )
    (tmp_path / "conftest.py").write_bytes((ROOT / "tests" / "conftest.py").read_bytes())
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    env = {**os.environ, "GITHUB_SHA": "a" * 40, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
