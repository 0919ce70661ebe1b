"""The wheel alone, outside of any checkout, has all that the toolkit needs."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.support.adopters import empty
from tests.support.repository import environment, make_repository, write_greet_experiment
from tests.support.terminal import Terminal

ROOT = Path(__file__).parents[2]
MOST_MB = 470  # of all that the extra `report` takes; 84 of them are vl-convert, and 46 pandas
SCENARIOS = tuple(f"10{number}-greet" for number in range(1, 7))


def run(*argv: str | Path, cwd: Path, code: int = 0, given: dict[str, str] | None = None) -> str:
    """Return what it printed on both streams."""
    env = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}} | (
        given or {}
    )
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment that has the wheel and no extra."""
    here = tmp_path_factory.mktemp("wheel")
    uv = find_uv_bin()
    run(uv, "build", "--quiet", "--wheel", "--out-dir", here, ROOT, cwd=here)
    (wheel,) = here.glob("*.whl")
    run(uv, "venv", "--quiet", "--python", sys.executable, "venv", cwd=here)
    run(uv, "pip", "install", "--quiet", "--python", "venv/bin/python", wheel, cwd=here)
    return here / "venv/bin"


def test_configuration_scenarios_and_fixtures_travel_in_the_wheel(installed: Path, tmp_path: Path) -> None:
    # the fixtures' commits depend on every byte and mode, so valid hashes prove that all of them travelled
    scenarios = len(list((ROOT / "scenarios").glob("*/**/scenario.yaml")))
    assert run(installed / "scylla-gha", "validate", cwd=tmp_path).startswith(
        f"configuration: valid\n{scenarios} scenarios: valid\n"
    )
    assert "001-hello-world--oracle--r01" in run(installed / "scylla-gha", "plan", "--dry-run", cwd=tmp_path)


def test_init_asks_once_for_the_toolkit_if_the_installation_does_not_name_it(installed: Path, tmp_path: Path) -> None:
    app, program = empty(tmp_path / "app"), installed / "scylla-gha"
    workflow, unset = app / ".github/workflows/scylla.yml", {"SCYLLA_TOOLKIT": ""}
    said = run(program, "init", "--example", cwd=app, code=3, given=unset)
    assert "give --toolkit OWNER/REPO@SHA" in said
    assert not workflow.exists()
    terminal = Terminal(("init", "--example"), app, unset, str(program))
    terminal.converse(("", "scylla-gha\n"), ("", "octo-org/scylla-gha\n"))
    assert terminal.code == 0, terminal.err
    assert terminal.err.count("Which one should they call, as OWNER/REPO (its tag v") == 2, "again after a wrong answer"
    assert "'scylla-gha' is not of the form OWNER/REPO or OWNER/REPO@REF" in terminal.err
    version = run(program, "--version", cwd=app).split()[-1]
    assert f"uses: octo-org/scylla-gha/.github/workflows/evaluate.yml@v{version}\n" in workflow.read_text()
    assert "doctor" in run(program, "--help", cwd=app)
    assert "1 scenario: valid" in run(program, "validate", "scenarios/app", cwd=app)
    assert "kept" in run(program, "init", "--example", cwd=app, given=unset), "the workflow names the toolkit now"


def test_without_an_extra_all_but_the_statistics_works_and_the_hint_installs_them(
    installed: Path, tmp_path: Path
) -> None:
    """Evaluation, verdict, report and gate need none; a comparison and CSV name a command, which makes them work."""
    repo = repository(tmp_path / "repo")
    env = environment(tmp_path)

    def scylla(*argv: str, code: int = 0) -> str:
        return run(installed / "scylla-gha", *argv, cwd=repo, code=code, given=env)

    assert "No module named 'numpy'" in run(installed / "python", "-c", "import numpy", cwd=repo, code=1)
    assert "better" in scylla("evaluate", "greet", "--yes")
    made = json.loads((repo / "runs/greet/report.json").read_text())
    (found,) = made["comparisons"]
    assert (found["verdict"], made["analysis"]) == ("better", None)
    assert "simple statistics" in found["why"]
    (repo / "runs/greet/report.md").unlink()
    scylla("report", "greet")
    assert "simple statistics" in (repo / "runs/greet/report.md").read_text()
    write_greet_experiment(repo, scenarios=SCENARIOS, gate="better", baseline="oracle")
    assert "gate better does not hold: nop: worse" in scylla("evaluate", "greet", "--yes", code=10)
    write_greet_experiment(repo, scenarios=SCENARIOS, gate="not_worse")
    hint = commands(scylla("evaluate", "greet", "--yes", code=6))
    assert hint == commands(scylla("compare", "greet", "greet", code=5))
    assert hint == commands(scylla("export", "greet", "--to", "csv", code=5))
    run("sh", "-c", *hint, cwd=repo, given=env)
    assert "oracle" in scylla("compare", "greet", "greet")
    scylla("export", "greet", "--to", "csv")
    assert len((repo / "runs/greet/results.csv").read_text().splitlines()) == 1 + 2 * len(SCENARIOS)
    site = next((installed.parent / "lib").glob("python3*/site-packages"))
    assert int(run("du", "-sm", site, cwd=repo).split()[0]) <= MOST_MB


def commands(said: str) -> list[str]:
    """The command of a hint, which begins with the interpreter and ends with a requirement."""
    return re.findall(r"/\S+/python -m uv pip install [^`\n,]*(?:,[^`\n ]*)*", said)


def repository(root: Path) -> Path:
    """The experiment of one agent that solves six tasks and one that solves none."""
    first = make_repository(root).scenario
    for name in SCENARIOS[1:]:
        other = shutil.copytree(first, first.parent / name)
        text = (first / "scenario.yaml").read_text()
        (other / "scenario.yaml").write_text(text.replace(first.name, name))
    write_greet_experiment(root, scenarios=SCENARIOS, gate="better")
    return root
