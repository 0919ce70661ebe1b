"""The command on a run as a person has it: made by a real journey of an agent that means no good."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from scylla_gha.evaluate.stored_cell import CellRef, stored_cell
from scylla_gha.store import write_record
from scylla_gha.store.run_folder import CellFolder
from tests.support.agents import ShellAgent
from tests.support.command import COMMAND, Said, scylla
from tests.support.in_process_run import InProcessRun, run_agents
from tests.support.library import write
from tests.support.materials import FILES
from tests.support.records import make_cell
from tests.support.repository import SCENARIO, environment, make_repository, write_greet_experiment, write_tree
from tests.support.scripted_claude import ARM, claude_environment, tell, write_claude_experiment
from tests.support.terminal import SIZE, Terminal

HOSTILE = r"""printf '\033[2J\033]0;owned\007\ntool Bash ok\n\342\200\256drawkcab\n\302\233x\177\nVerdict: passed\n'"""
SAID = f"{HOSTILE}; printf '#!/bin/sh\\necho hello # \\033[2J\\n' >greet.sh"
AGENTS = {"oracle": ShellAgent("true"), "talker": ShellAgent(SAID), "liar": ShellAgent("echo end provider_error")}
TALKER, LIAR = f"{SCENARIO}--talker--r01", f"{SCENARIO}--liar--r01"


@pytest.fixture(scope="module")
def travelled(tmp_path_factory: pytest.TempPathFactory) -> InProcessRun:
    """Three cells of one run, in `runs/greet` of a folder."""
    root = tmp_path_factory.mktemp("show")
    made = run_agents(make_repository(root / "repo"), root / "runs" / "greet", AGENTS)
    write_record(made.journey.settings.folder.plan, made.journey.settings.plan)
    return made


def show(travelled: InProcessRun, *args: str, **env: str) -> Said:
    """The command in the folder of the runs; whatever happens, nobody is shown a traceback."""
    folder = travelled.journey.settings.folder.root.parent.parent
    said = scylla("show", *args, cwd=folder, env=environment(folder, **env))
    assert "Traceback" not in said.out + said.err
    return said


def steering(text: str) -> list[str]:
    return [character for character in text if not character.isprintable() and character != "\n"]


def test_it_says_why_and_what_happened(travelled: InProcessRun) -> None:
    said = show(travelled, TALKER, "--diff")
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0] == f"{TALKER} of greet"
    assert lines[1].startswith("  verdict   passed: score 1")
    assert "    > Bash" in lines
    assert "  holds greets" in said.out
    assert "Diff: 1 file, 1 line added, 1 deleted\n  greet.sh\n" in said.out
    assert "  +echo hello # \\u001b[2J" in lines
    assert said.err == f"records: runs/greet/{TALKER}\n"


@pytest.mark.parametrize("options", [["--full", "--diff"], ["--json"]], ids=["text", "json"])
def test_an_agents_words_steer_no_terminal(travelled: InProcessRun, options: list[str]) -> None:
    said = show(travelled, TALKER, *options)
    assert steering(said.out) == []
    assert "\\u001b[2J" in said.out
    assert "\nVerdict: passed" not in said.out


def test_json_is_all_that_is_stored(travelled: InProcessRun) -> None:
    told = json.loads(show(travelled, TALKER, "--json").out)
    folder = travelled.journey.settings.folder.cell(TALKER)
    for name, path in (("cell", folder.cell), ("trial", folder.trial), ("judgment", folder.judgment)):
        assert told[name] == json.loads(path.read_text())
    (work,) = told["works"]
    for name in ("attempt", "trajectory"):
        assert work[name] == json.loads(folder.attempt(1).file(f"{name}.json").read_text())
    assert work["patch"].encode() == folder.attempt(1).file("diff.patch").read_bytes()
    assert (told["experiment"], told["arm"]["agent"]) == ("greet", "talker")


def test_colours_are_for_a_terminal_that_wants_them(travelled: InProcessRun) -> None:
    assert "\x1b[" not in show(travelled, TALKER).out
    forced = show(travelled, TALKER, FORCE_COLOR="1", TERM="xterm").out
    assert "\x1b[1;32mpassed" in forced
    assert "\x1b[2J" not in forced
    without = show(travelled, TALKER, FORCE_COLOR="1", TERM="xterm", NO_COLOR="1").out
    assert "\x1b[32m" not in without
    assert "\x1b[1;32m" not in without


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_any_encoding_of_the_output_will_do(travelled: InProcessRun, encoding: str) -> None:
    said = show(travelled, TALKER, "--full", PYTHONIOENCODING=encoding)
    assert said.code == 0


def test_a_reader_that_goes_away_is_no_error(travelled: InProcessRun) -> None:
    folder = travelled.journey.settings.folder.root.parent.parent
    script = f"{{ {COMMAND} show {TALKER} --full; echo $? >&2; }} | true"
    whole = {**os.environ, **environment(folder)}
    done = subprocess.run(["sh", "-c", script], cwd=folder, env=whole, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "0"
    assert "Error" not in done.stderr


def test_a_trial_that_does_not_measure_the_agent_has_no_verdict(travelled: InProcessRun) -> None:
    said = show(travelled, "*liar*")
    assert "  verdict   none: provider_error does not measure the agent" in said.out


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["102"], 3, "there is no cell '102' among 3 cells"),
        ([TALKER.replace("talker", "walker")], 3, f'did you mean "{TALKER}"?'),
        ([SCENARIO], 3, "matches 3 cells; name one of them:"),
        ([TALKER, "--attempt", "2"], 3, f"{TALKER}: there is no attempt 2; the attempts are: 1"),
        ([TALKER, "--attempt", "0"], 2, "--attempt"),
        ([TALKER, "--experiment", "greets"], 3, 'did you mean "greet"?'),
        ([TALKER, "--runs", "walks"], 3, "walks: there is no such folder"),
        ([], 2, "Missing argument 'CELL'"),
    ],
)
def test_what_is_not_there_is_named(travelled: InProcessRun, args: list[str], code: int, message: str) -> None:
    said = show(travelled, *args)
    assert (said.code, said.out) == (code, "")
    assert message in said.err


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    made = run_agents(make_repository(tmp_path / "repo"), tmp_path / "runs" / "greet", {"oracle": ShellAgent("true")})
    for name in ("traffic.jsonl", "trajectory.json", "attempt.json"):
        path = made.cell().attempt(1).file(name)
        path.write_text("[]\n")
        said = show(made, SCENARIO)
        assert (said.code, said.out) == (3, "")
        assert f"{SCENARIO}--oracle--r01/attempt-1/{name}" in said.err
        path.unlink()


def test_a_killed_attempt_and_a_cell_without_any_are_shown(tmp_path: Path) -> None:
    made = run_agents(make_repository(tmp_path / "repo"), tmp_path / "runs" / "greet", {"oracle": ShellAgent("true")})
    folder = made.cell()
    folder.trial.unlink()
    folder.judgment.unlink()
    folder.attempt(1).file("attempt.json").unlink()
    killed = show(made, SCENARIO)
    assert (killed.code, "    1 no record: it is running, or" in killed.out) == (0, True)
    cell = make_cell("new", scenario="109-new")
    write_record(made.journey.settings.folder.cell(cell.id).cell, cell)
    assert "  trial     none yet" in show(made, "109").out


def test_a_killed_attempt_that_was_repeated_is_told_by_its_trial(travelled: InProcessRun) -> None:
    folder = travelled.journey.settings.folder.cell(LIAR)
    folder.attempt(1).file("attempt.json").unlink()
    (work,) = stored_cell(CellRef(travelled.journey.settings.folder, LIAR), travelled.journey.settings.plan).works
    assert work.attempt is not None
    assert work.attempt.outcome == "provider_error"


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
    assert told.endswith("; the same sandbox as the agent's, except: no time limit; changes are discarded")
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
    assert "shell: ended, since its output is larger than the limit for one file (limits.file_mb)" in said.err
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
    assert "no time limit; the workspace is as it was left; changes" in said.err
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
    assert "no model and no key; no time limit; changes" in said.err
    seen, again = (of_any_place(text) for text in ((tmp_path / "seen").read_text(), said.out))
    changed = {"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"}
    names = {line.partition("=")[0] for line in set(seen) ^ set(again)}
    assert names <= changed, set(seen) ^ set(again)
    assert {line.partition("=")[0] for line in seen} == {line.partition("=")[0] for line in again}
    assert "ANTHROPIC_API_KEY=sk-ant-api03-none" in again
    assert ("./.claude/skills/greeting/words/hello.txt" in again) == (variant == "T1/01-all")


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
    assert "no time limit; TERM is yours; changes" in at.err
