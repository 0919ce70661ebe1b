"""What the statistics need: nothing for the base install's few, and never the slow parts of SciPy."""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import scylla_gha.stats

MODULES = sorted(path.stem for path in Path(scylla_gha.stats.__file__).parent.glob("[!_]*.py"))


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_base_install_has_intervals_without_numpy() -> None:
    names = ("proportion", "interval")
    imports = "".join(f"import scylla_gha.stats.{name}\n" for name in names)
    assert run(f"import sys\nsys.modules['numpy'] = None\n{imports}print('fine')") == "fine\n"


def test_scipy_stats_and_statsmodels_stay_in_the_tests() -> None:
    imports = "".join(f"import scylla_gha.stats.{name}\n" for name in MODULES)
    loaded = set(run(f"import sys\n{imports}print(*sys.modules)").split())
    assert "scipy.special" in loaded
    assert not {"scipy.stats", "statsmodels", "pandas"} & loaded


def imported(paths: Iterable[Path]) -> set[str]:
    return {name for path in paths for name in re.findall(r"from scylla_gha\.stats\.(\w+) import", path.read_text())}


def test_every_module_is_reached_from_a_command() -> None:
    """A statistic that nothing outside the package uses is not kept."""
    package = Path(scylla_gha.stats.__file__).parent
    used = imported(path for path in package.parent.rglob("*.py") if path.parent != package)
    while more := imported(package / f"{name}.py" for name in used) - used:
        used |= more
    assert set(MODULES) - used == set()
