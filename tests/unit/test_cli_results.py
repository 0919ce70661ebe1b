import json
from pathlib import Path

import pytest

from scylla_gha.model.publication import RunName
from scylla_gha.results_branch.publish_run import publish_run
from tests.support.branch import a_run, bare, copy_of
from tests.support.command import Said, scylla
from tests.support.records import make_result
from tests.support.sent import CELLS, rows_text

A, B = "a" * 40, "b" * 40


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder beside a branch of three runs."""
    root = tmp_path_factory.mktemp("results")
    server = bare(root)
    for run, head, branch in (("1", A, "main"), ("2", B, "main"), ("3", B, "top|ic\x1b")):
        rows = [make_result(cell, seconds=float(run), passed=run == "1") for cell in CELLS[: 4 if run != "2" else 3]]
        made = a_run(root, *rows, name=RunName(experiment="demo", run=run), head=head, branch=branch)
        publish_run(copy_of(root, server), made)
    return root


def results(here: Path, *args: str) -> Said:
    said = scylla("results", *args, "--remote", "server.git", cwd=here)
    assert "Traceback" not in said.err
    return said


def test_list_shows_the_newest_first(here: Path) -> None:
    lines = results(here, "list").out.splitlines()
    assert lines[0].split() == ["date", "run", "commit", "branch", "verdict", "passed", "cells"]
    assert [line.split()[2:4] for line in lines[1:]] == [["demo/3-1", "bbbbbbbbb"], ["demo/2-1", "bbbbbbbbb"],
                                                          ["demo/1-1", "aaaaaaaaa"]]  # fmt: skip
    assert "top|ic\\u001b" in lines[1]
    assert lines[2].split()[5:] == ["not", "enough", "data", "0/3", "3/4"]
    assert lines[3].split()[-2:] == ["4/4", "4/4"]


def test_list_chooses_and_tells_json(here: Path) -> None:
    (found,) = json.loads(results(here, "list", "demo", "--on", "main", "--last", "1", "--json").out)
    assert (found["id"], found["complete"], found["passed"], found["origin"]["head"]) == ("demo/2-1", False, 0, B)
    said = results(here, "list", "other")
    assert (said.code, said.out, said.err) == (0, "", "there is no such run on scylla-results\n")
    assert json.loads(results(here, "list", "other", "--json").out) == []


def test_show_tells_the_last_complete_run_that_is_meant(here: Path) -> None:
    said = results(here, "show", "demo", "--on", "main")
    assert said.code == 0, said.err
    assert "demo/1-1" in said.out
    assert "4 planned, 4 ran, 4 judged, 4 scored" in said.out
    told = json.loads(results(here, "show", "--run", "2", "--json").out)
    assert (told["entry"]["id"], told["report"]["counts"]["ran"]) == ("demo/2-1", 3)
    assert told["manifest"]["files"][1]["rows"] == 3


def test_fetch_gives_rows_that_other_commands_take(here: Path, tmp_path: Path) -> None:
    base = tmp_path / "base.jsonl"
    said = results(here, "fetch", "demo", "--commit", A, "--into", str(base))
    assert said.out == f"{base}\n"
    assert said.err == "demo/1-1: 4 rows\n"
    assert base.read_bytes() == rows_text(make_result(cell, seconds=1.0) for cell in CELLS)
    fetched = results(here, "fetch", "demo", "--last", "2", "--into", str(tmp_path / "past")).out.split()
    assert [Path(one).name.partition("--")[2] for one in fetched] == ["demo--2-1.jsonl", "demo--3-1.jsonl"]
    told = json.loads(scylla("history", *fetched, "--json", cwd=tmp_path).out)
    assert len(told["series"][0]["points"]) == 2
    assert scylla("compare", str(base), fetched[0], cwd=tmp_path).code == 0


def test_a_run_that_is_not_there_is_named(here: Path, tmp_path: Path) -> None:
    said = results(here, "fetch", "--run", "9", "--into", str(tmp_path / "x"))
    assert (said.code, "no such run; look at `scylla-gha results list`" in said.err) == (3, True)
    assert list(tmp_path.iterdir()) == []


def test_without_a_remote_the_command_says_which_are_possible(tmp_path: Path) -> None:
    said = scylla("results", "list", cwd=tmp_path, env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    assert (said.code, "--remote: name the repository of the results branch" in said.err) == (3, True)
