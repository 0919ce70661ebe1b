"""How the checks of a scenario run in one process: `scenarios/*/*/checks/alone.py`."""

import subprocess
import sys
from pathlib import Path

from tests.support.library import write

ALONE = Path(__file__).parents[2] / "scenarios/core/015-repair-ci-workflow/checks"


def results(folder: Path, checks: str) -> list[str]:
    """What is printed for checks, named in their order, that read the folder `tree`."""
    script = (
        f"import os, sys, time\nfrom pathlib import Path\nsys.path.insert(0, {str(ALONE)!r})\nimport alone\n"
        f"alone.SECONDS = 0.5\ntree = Path('tree')\n{checks}\nalone.run_alone(CHECKS, [tree])\n"
    )
    write(folder / "tree/deep/file.txt", "1")
    argv = [sys.executable, "-c", script]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_check_that_ends_its_process_raises_or_hangs_fails_alone(tmp_path: Path) -> None:
    checks = (
        "CHECKS = {'good': lambda: '', 'wrong': lambda: 'a\\nok last', 'ends': lambda: os._exit(0),"
        " 'raises': lambda: tree.joinpath('none').read_text(), 'hangs': lambda: time.sleep(60), 'last': lambda: ''}"
    )
    assert results(tmp_path, checks) == [
        "ok good",
        "FAIL wrong: a ok last",
        "FAIL ends: the check ended without a result",
        "FAIL raises: FileNotFoundError: [Errno 2] No such file or directory: 'tree/none'",
        "FAIL hangs: no end after 0.5 seconds",
        "ok last",
    ]


def test_checks_fail_once_a_file_that_they_read_was_changed(tmp_path: Path) -> None:
    changes = "tree.joinpath('deep/file.txt').write_text('2') and ''"
    checks = f"CHECKS = {{'a': lambda: '', 'b': lambda: {changes}, 'c': lambda: ''}}"
    first, *others = results(tmp_path, checks)
    assert first == "ok a"
    assert [line.split(":")[0] for line in others] == ["FAIL b", "FAIL c"]
    assert all("were changed while they ran" in line for line in others)
