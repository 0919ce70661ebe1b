"""The wheel alone, outside of any checkout, has all that the toolkit needs."""

import os
import subprocess
import sys
from pathlib import Path

from uv import find_uv_bin

ROOT = Path(__file__).parents[2]


def run(*argv: str | Path, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_configuration_scenarios_and_fixtures_travel_in_the_wheel(tmp_path: Path) -> None:
    uv = find_uv_bin()
    run(uv, "build", "--quiet", "--wheel", "--out-dir", tmp_path, ROOT, cwd=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    run(uv, "venv", "--quiet", "--python", sys.executable, "venv", cwd=tmp_path)
    run(uv, "pip", "install", "--quiet", "--python", "venv/bin/python", wheel, cwd=tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    # the fixtures' commits depend on every byte and mode, so valid hashes prove that all of them travelled
    assert run(tmp_path / "venv/bin/scylla-gha", "validate", cwd=empty).endswith("8 scenarios: valid\n")
    assert "001-hello-world--oracle--r01" in run(tmp_path / "venv/bin/scylla-gha", "plan", "--dry-run", cwd=empty)
