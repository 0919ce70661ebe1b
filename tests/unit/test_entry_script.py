"""`./scylla test`: steps that run beside others count like them, and end with the run.

The script is real; the programs that it starts are replaced by scripts.
"""

import json
import os
import pwd
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from scylla_gha.providers import HIDDEN_VARIABLES
from tests.support.processes import number_in, wait_for

ROOT = Path(__file__).parents[2]
SYSTEM = ("cat", "chmod", "cksum", "dirname", "git", "mktemp", "nproc", "rm", "setsid", "sh", "stat")
PROGRAMS = ("ruff", "shellcheck", "actionlint", "zizmor", "scylla-gha", "mypy", "lint-imports", "python")


def make_checkout(folder: Path, scripts: Mapping[str, str]) -> Path:
    """Make a checkout whose programs write their names to the file `started` and then run these scripts."""
    (folder / ".venv/bin").mkdir(parents=True)
    shutil.copy(ROOT / "scylla", folder)
    for name in ("uv.lock", "pyproject.toml"):
        (folder / name).touch()
    sums = [subprocess.check_output(["cksum"], stdin=subprocess.DEVNULL, text=True).strip()] * 2
    (folder / ".venv/synced").write_text(" ".join(["dev", *sums]))
    for name in {*PROGRAMS, *scripts}:
        program = folder / ".venv/bin" / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >>"{folder}/started"\n{scripts.get(name, "")}\n')
        program.chmod(0o755)
    return folder


def run(folder: Path, *options: str, **env: str) -> "subprocess.CompletedProcess[str]":
    env = {**os.environ, **env}
    argv = [str(folder / "scylla"), "test", *options]
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=60)


def make_bare_machine(folder: Path, apt_get: str) -> dict[str, str]:
    """Make a checkout on a machine without containers and browser; return what it runs with."""
    make_checkout(folder, {"apt-get": apt_get, "id": "echo 0", "make": "", "npm": ""})
    (folder / "bin").mkdir()
    for name in SYSTEM:
        (folder / "bin" / name).symlink_to(str(shutil.which(name)))
    return {"PATH": f"{folder}/bin:{folder}/.venv/bin", "DOCKER_HOST": ""}


@pytest.mark.parametrize(
    ("program", "script", "message"),
    [
        ("mypy", "echo wrong types; exit 1", "wrong types"),
        ("lint-imports", "echo wrong imports >&2; exit 1", "wrong imports"),
    ],
)
def test_a_fault_of_a_step_beside_others_is_shown_and_ends_the_run_before_the_tests(
    tmp_path: Path, program: str, script: str, message: str
) -> None:
    done = run(make_checkout(tmp_path, {program: script}))
    assert (done.returncode, message in done.stdout) == (1, True), done.stderr
    assert "python -m" not in (tmp_path / "started").read_text()


def test_tests_run_after_all_linters_and_their_fault_fails_the_run(tmp_path: Path) -> None:
    done = run(make_checkout(tmp_path, {"python": "exit 3"}))
    assert done.returncode == 3, done.stderr
    *before, last = (tmp_path / "started").read_text().splitlines()
    assert last == "python -m tests.runner"
    assert {line.split()[0] for line in before} == set(PROGRAMS) - {"python"}


@pytest.mark.parametrize(
    ("options", "last"),
    [
        (("--all",), "python -m tests.runner --all"),
        (("tests/unit", "-k", "small"), "pytest tests/unit -k small"),
    ],
)
def test_options_but_all_are_for_pytest_alone(tmp_path: Path, options: tuple[str, ...], last: str) -> None:
    assert run(make_checkout(tmp_path, {"pytest": ""}), *options).returncode == 0
    lines = (tmp_path / "started").read_text().splitlines()
    assert lines[-1] == last
    assert ("mypy " in lines) == (options == ("--all",))


def test_missing_packages_are_installed_before_the_tests_start(tmp_path: Path) -> None:
    done = run(tmp_path, **make_bare_machine(tmp_path, ""))
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "started").read_text().splitlines()
    (containers, browser) = [number for number, line in enumerate(lines) if line.startswith("apt-get install")]
    assert {"mmdebstrap", "bubblewrap"} < set(lines[containers].split())
    assert "chromium" in lines[browser].split()
    assert browser < len(lines) - 1
    assert lines[-1] == "python -m tests.runner"


def test_packages_that_cannot_be_installed_end_the_run_before_the_tests(tmp_path: Path) -> None:
    done = run(tmp_path, **make_bare_machine(tmp_path, "exit 100"))
    assert (done.returncode, "scylla: apt-get failed" in done.stderr) == (5, True), done.stderr
    assert "python -m" not in (tmp_path / "started").read_text()


def test_scenarios_are_proved_in_a_folder_that_is_gone_afterwards(tmp_path: Path) -> None:
    prove = '[ "$1" = schemas ] || { mkdir "${SCYLLA_WORK:-.}/proof"; echo "$SCYLLA_WORK" >work; }'
    done = run(make_checkout(tmp_path, {"scylla-gha": prove}), SCYLLA_WORK="")
    assert done.returncode == 0, done.stderr
    work = (tmp_path / "work").read_text().strip()
    assert work == "" or (work.startswith("/dev/shm/scylla-") and not Path(work).exists())
    kept = tmp_path / "kept"
    kept.mkdir()
    assert run(tmp_path, SCYLLA_WORK=str(kept)).returncode == 0
    assert (kept / "proof").is_dir()


def test_an_interrupted_run_ends_the_steps_beside_it(tmp_path: Path) -> None:
    waits = 'echo $$ >"$0.pid"; exec sleep 600'
    folder = make_checkout(tmp_path, {"mypy": waits, "scylla-gha": f'[ "$1" = schemas ] || {{ {waits}; }}'})
    process = subprocess.Popen([folder / "scylla", "test"], start_new_session=True)
    pids = [number_in(folder / ".venv/bin" / f"{name}.pid") for name in ("mypy", "scylla-gha")]
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    assert process.wait(60) == 130
    assert wait_for(lambda: not any(Path("/proc", str(pid)).exists() for pid in pids))


@pytest.mark.parametrize("home", [{}, {"HOME": ""}])
def test_the_script_runs_without_home_too(tmp_path: Path, home: dict[str, str]) -> None:
    folder = make_checkout(tmp_path, {"scylla-gha": 'echo "home: $HOME"'})
    path = {"PATH": os.environ["PATH"]}
    command = [str(folder / "scylla"), "--version"]
    done = subprocess.run(command, env={**path, **home}, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"home: {pwd.getpwuid(os.getuid()).pw_dir}\n"


def test_a_user_without_a_home_folder_gets_one_plain_sentence(tmp_path: Path) -> None:
    folder = make_checkout(tmp_path, {})
    stranger = ["bwrap", "--dev-bind", "/", "/", "--unshare-user", "--uid", "54321"]
    environment = {"PATH": os.environ["PATH"]}
    for command, code, message in (
        ([str(folder / "scylla"), "--version"], 2, "scylla: HOME is not set; set it to a folder"),
        (["scylla-gha", "tiers", "measure", "T0/00-empty"], 3, "HOME is not set, and user 54321 has no home folder"),
    ):
        done = subprocess.run([*stranger, *command], env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
        assert message in done.stderr


def test_the_dev_container_has_what_the_script_would_install() -> None:
    """Packages of sandboxes, except the engine, which a feature brings; a browser is installed when tests need it."""
    script = (ROOT / "scylla").read_text()
    sandboxes = script[script.index("packages_of_sandboxes() {") : script.index("packages_of_browser() {")]
    wanted = set(re.findall(r"\|\| echo ([\w.-]+)", sandboxes)) - {"docker.io"}
    lines = (ROOT / ".devcontainer/Dockerfile").read_text().splitlines()
    (installed,) = (set(line.removesuffix("\\").split()) for line in lines if "bubblewrap" in line)
    assert installed >= wanted | {"make", "python3", "python3-venv"}
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    features = [name.rpartition("/")[2].partition(":")[0] for name in container["features"]]
    assert features == ["docker-in-docker", "node"]
    assert container["postCreateCommand"] == "./scylla validate"


def test_what_installs_the_toolkit_has_no_credentials_of_any_provider(tmp_path: Path) -> None:
    script = (ROOT / "scylla").read_text(encoding="utf-8")
    function = script[script.index("without_credentials() (") :].partition("\n)\n")[0] + "\n)\n"
    secret = dict.fromkeys((*HIDDEN_VARIABLES, "ACME_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY"), "x")
    kept = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "UV_INDEX_URL": "http://localhost/simple"}
    command = ["sh", "-eu", "-c", f"{function}without_credentials env"]
    seen = subprocess.check_output(command, env=secret | kept, text=True)
    names = {line.partition("=")[0] for line in seen.splitlines()}
    assert kept.keys() <= names
    assert not secret.keys() & names
