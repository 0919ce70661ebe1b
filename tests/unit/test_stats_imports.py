"""Imports of the statistics: nothing for the base install's few, and never the slow parts of SciPy."""

import ast
import subprocess
import sys
from pathlib import Path

import scylla_gha.stats

PACKAGE = Path(scylla_gha.stats.__file__).parent
MODULES = sorted(path.stem for path in PACKAGE.glob("[!_]*.py"))


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_base_install_has_intervals_without_numpy() -> None:
    code = "import sys\nsys.modules['numpy'] = None\nimport scylla_gha.stats\nprint('fine')"
    assert run(code) == "fine\n"


def test_scipy_stats_stays_in_the_tests() -> None:
    imports = "".join(f"import scylla_gha.stats.{name}\n" for name in MODULES)
    loaded = set(run(f"import sys\n{imports}print(*sys.modules)").split())
    assert "scipy.special" in loaded
    assert not {"scipy.stats", "pandas"} & loaded


def test_every_public_function_is_used_by_the_package() -> None:
    """A statistic that only tests use is not kept."""
    used: set[str] = set()
    public: dict[str, str] = {}
    for path in PACKAGE.parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        if path.parent == PACKAGE:
            public |= {node.name: path.stem for node in tree.body
                       if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}  # fmt: skip
    assert {name: module for name, module in public.items() if name not in used} == {}
