"""The command on the host, as a person or a script starts it; containers are in tests/integration/test_shell.py."""

import os
import subprocess
from pathlib import Path

import pytest

from scylla_gha.store.run_folder import CellFolder
from tests.support.command import COMMAND, Said, scylla
from tests.support.library import write
from tests.support.materials import FILES
from tests.support.repository import SCENARIO, environment, make_repository, write_greet_experiment, write_tree
from tests.support.scripted_claude import ARM, claude_environment, tell, write_claude_experiment
from tests.support.terminal import SIZE, Terminal

ORACLE = f"{SCENARIO}--oracle--r01"
PLAIN = f"shell: {ORACLE}: host, user "


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a run of the oracle."""
    made = make_repository(tmp_path_factory.mktemp("shell") / "repo").root
    said = scylla("run", "greet", "--only", "*oracle*", cwd=made, env=environment(made.parent))
    assert said.code == 0, said.err
    return made


def shell(root: Path, *args: str, script: str = "") -> Said:
    """The command with a script on its standard input; whatever happens, nobody is shown a traceback."""
    env = {**environment(root.parent), "DOCKER_HOST": "unix:///nowhere/docker.sock", "SECRET": "canary"}
    done = subprocess.run([COMMAND, "shell", *args], cwd=root, env=env, input=script, capture_output=True, text=True,
                          timeout=60, check=False)  # fmt: skip
    assert "Traceback" not in done.stderr
    return Said(done.returncode, done.stdout, done.stderr)


def test_what_comes_on_standard_input_is_run_and_its_exit_code_is_the_commands(root: Path) -> None:
    said = shell(root, ORACLE, script="cat greet.sh\necho aside >&2\nexit 4\n")
    assert (said.code, said.out) == (4, "#!/bin/sh\necho hi\n")
    told, aside = said.err.splitlines()
    assert told.startswith(PLAIN)
    assert told.endswith("; otherwise than the agent had it: no time limit; nothing in it is kept")
    assert aside == "aside"


def test_a_command_has_no_input_and_a_signal_is_told_as_a_shell_tells_it(root: Path) -> None:
    assert shell(root, ORACLE, "--", "cat", script="not for it").out == ""
    assert shell(root, ORACLE, "--", "sh", "-c", "kill -9 $$").code == 137
    assert shell(root, ORACLE, "--", "no-such-program").code == 127


def test_an_output_without_end_is_ended_by_its_limit_or_by_its_reader(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo").root
    write_greet_experiment(repo, limits={"file_mb": 1})
    assert scylla("plan", "greet", cwd=repo, env=environment(tmp_path)).code == 0
    said = shell(repo, ORACLE, "--", "yes")
    assert said.code != 0
    assert len(said.out) <= 1_000_000
    assert "shell: ended, since it wrote more to its output than one file may hold (limits.file_mb)" in said.err
    piped = f"{COMMAND} shell {ORACLE} -- sh -c 'while :; do echo y; sleep 0.1; done' | head -1"
    env = {**os.environ, **environment(tmp_path)}
    done = subprocess.run(
        ["sh", "-c", piped], cwd=repo, env=env, capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, len(done.stderr.splitlines())) == ("y\n", 1), done.stderr


def test_a_cell_is_chosen_by_a_beginning_or_a_glob_and_has_to_be_one(root: Path) -> None:
    assert shell(root, f"{SCENARIO}--o", "--", "true").code == 0
    said = shell(root, "101-*", "--", "true")
    assert (said.code, said.out) == (0, ""), "only one cell was planned"
    said = shell(root, "102")
    assert (said.code, "there is no cell '102'" in said.err) == (3, True)


def test_nothing_of_the_harness_is_in_it_and_nothing_of_it_is_kept(root: Path) -> None:
    said = shell(root, ORACLE, "--", "sh", "-c", "env; echo new >new; echo new >~/new; pwd")
    assert "canary" not in said.out
    assert not Path(said.out.splitlines()[-1]).exists()
    assert list((root.parent / "work").iterdir()) == []
    assert "new" not in shell(root, ORACLE, "--", "ls", ".").out


def test_what_the_agent_left_is_there_where_that_is_asked_for(root: Path) -> None:
    said = shell(root, ORACLE, "--after", script="sh greet.sh; git status --short\n")
    assert (said.code, said.out) == (0, "hello\n M greet.sh\n")
    assert "no time limit; the workspace is as it was left; nothing" in said.err
    assert shell(root, ORACLE, script="git status --short\n").out == ""


def test_what_nothing_is_left_of_is_told(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo").root
    assert scylla("plan", "greet", cwd=repo, env=environment(tmp_path)).code == 0
    said = shell(repo, ORACLE, "--after", script="true")
    assert (said.code, f"{ORACLE}: has no trial yet" in said.err) == (3, True)
    assert shell(repo, ORACLE, script="exit 5").code == 5, "a planned cell has a box"


def test_a_cell_without_a_plan_is_told(root: Path, tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo").root
    cell = CellFolder(root / "runs/greet" / ORACLE)
    write(repo / "runs/greet" / ORACLE / "cell.json", cell.cell.read_bytes())
    said = shell(repo, ORACLE, script="true")
    assert (said.code, "there is no plan; run `scylla-gha evaluate greet` first" in said.err) == (3, True)
    write(repo / "runs/greet/plan.json", (root / "runs/greet/plan.json").read_bytes().replace(b"--r01", b"--r02"))
    assert f"{ORACLE}: is not in runs/greet/plan.json, so its sandbox is unknown" in shell(repo, ORACLE).err


def test_what_was_changed_since_is_told(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo").root
    assert scylla("run", "greet", cwd=repo, env=environment(tmp_path)).code == 0
    write(repo / "scenarios/core" / SCENARIO / "prompt.md", "Something else.\n")
    assert "its scenario, image or toolkit was changed since it was planned" in shell(repo, ORACLE, script="").err


TIER = """\
id: T1
name: Treatments
focus: All that can be given
sub_tests:
  - {id: 01-all, description: All, treatment: {mcp_servers: [clock], skills: [greeting], agents: [reader]}}
"""


@pytest.mark.parametrize("variant", ["T0/00-empty", "T1/01-all"])
def test_an_agent_with_a_model_finds_the_same_but_the_model(tmp_path: Path, variant: str) -> None:
    """The agent's own environment, HOME and workspace, against the shell's."""
    repo = make_repository(tmp_path / "repo").root
    write_tree(repo, {**FILES, "config/tiers/T1.yaml": TIER})
    look = "pwd; env; cd; find . -type f | sort; cat mcp.json .claude/* 2>/dev/null; true"
    env = claude_environment(tmp_path, f"({look}) >{tmp_path}/seen; {tell('ok')}")
    arm = ARM.replace("t0-00-empty", variant.lower().replace("/", "-"))
    write_claude_experiment(repo, variants=(variant,), baseline=arm, limits={"safety_net": True})
    scylla("run", "greet", "--yes", cwd=repo, env=env)
    said = scylla("shell", f"{SCENARIO}--{arm}--r01", "--", "sh", "-c", look, cwd=repo, env=env)
    assert said.code == 0, said.err
    assert "no model and no key; no time limit; nothing" in said.err
    seen, again = (of_any_place(text) for text in ((tmp_path / "seen").read_text(), said.out))
    changed = {"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"}
    names = {line.partition("=")[0] for line in set(seen) ^ set(again)}
    assert names <= changed, set(seen) ^ set(again)
    assert {line.partition("=")[0] for line in seen} == {line.partition("=")[0] for line in again}
    assert "ANTHROPIC_API_KEY=sk-ant-api03-none" in again
    assert ("./team/skills/greeting/words/hello.txt" in again) == (variant == "T1/01-all")


def of_any_place(text: str) -> list[str]:
    """The lines without the name of the trial's folder."""
    place = str(Path(text.splitlines()[0]).parent)
    return text.replace(place, "/PLACE").splitlines()


def test_at_a_terminal_there_is_a_shell_with_its_size_and_keys(root: Path) -> None:
    at = Terminal(("shell", ORACLE), root, environment(root.parent))
    waits = "sh -c 'stty size; sleep 100'\n"  # one command, which all of it ends with
    at.converse(("workspace", waits), (f"{SIZE[0]} {SIZE[1]}", "\x03"), ("^C", "echo $TERM; exit 3\n"))
    assert (at.code, at.restored) == (3, True), at.shown + at.err
    assert "xterm" in at.shown
    assert "no time limit; TERM is yours; nothing" in at.err
