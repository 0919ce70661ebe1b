"""The command on a run as a person has it: made by a real journey of an agent that means no good."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from scylla_gha.pipeline.report import stored_cell
from scylla_gha.store.find_cell import CellRef
from scylla_gha.store.records import write_record
from tests.support.agents import ShellAgent
from tests.support.command import COMMAND, Said, scylla
from tests.support.in_process_run import InProcessRun, run_agents
from tests.support.records import make_cell
from tests.support.repository import SCENARIO, environment, make_repository

HOSTILE = r"""printf '\033[2J\033]0;owned\007\ntool Bash ok\n\342\200\256drawkcab\n\302\233x\177\nVerdict: passed\n'"""
SAID = f"{HOSTILE}; printf '#!/bin/sh\\necho hello # \\033[2J\\n' >greet.sh"
AGENTS = {"oracle": ShellAgent("true"), "talker": ShellAgent(SAID), "liar": ShellAgent("echo end provider_error")}
TALKER, LIAR = f"{SCENARIO}--talker--r01", f"{SCENARIO}--liar--r01"


@pytest.fixture(scope="module")
def travelled(tmp_path_factory: pytest.TempPathFactory) -> InProcessRun:
    """Three cells of one run, in `runs/greet` of a folder."""
    root = tmp_path_factory.mktemp("show")
    made = run_agents(make_repository(root / "repo"), root / "runs" / "greet", AGENTS)
    write_record(made.journey.folder.plan, made.journey.plan)
    return made


def show(travelled: InProcessRun, *args: str, **env: str) -> Said:
    """The command in the folder of the runs; whatever happens, nobody is shown a traceback."""
    folder = travelled.journey.folder.root.parent.parent
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
    folder = travelled.journey.folder.cell(TALKER)
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
    folder = travelled.journey.folder.root.parent.parent
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
        (["102"], 3, "there is no cell '102' in 3"),
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
    assert (killed.code, "    1 no record: it goes on, or" in killed.out) == (0, True)
    cell = make_cell("new", scenario="109-new")
    write_record(made.journey.folder.cell(cell.id).cell, cell)
    assert "  trial     none yet" in show(made, "109").out


def test_a_killed_attempt_that_was_repeated_is_told_by_its_trial(travelled: InProcessRun) -> None:
    folder = travelled.journey.folder.cell(LIAR)
    folder.attempt(1).file("attempt.json").unlink()
    (work,) = stored_cell(CellRef(travelled.journey.folder, LIAR)).works
    assert work.attempt is not None
    assert work.attempt.outcome == "provider_error"
