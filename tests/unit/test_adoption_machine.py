import subprocess
from pathlib import Path

import pytest

from scylla_gha.adoption.machine import caller_findings, machine_findings
from tests.support.command import NO_ENGINE
from tests.support.library import write


def program(folder: Path, name: str, says: str) -> None:
    write(folder / name, f"#!/bin/sh\n{says}\n").chmod(0o755)


def test_what_is_here_is_named_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "git", "echo git version 2.50.0")
    program(tmp_path, "node", "echo v22.1.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", NO_ENGINE)
    found = {each.id: (each.state, each.what) for each in machine_findings()}
    assert (found["git"], found["node"]) == (("ok", "2.50.0"), ("ok", "v22.1.0"))
    assert found["docker"][0] == "optional"


@pytest.mark.parametrize("says", ["exit 1", "echo v16.0.0", "echo nonsense"])
def test_what_is_not_there_too_old_or_broken_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", NO_ENGINE)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {each.id: each.state for each in machine_findings()} == {
        "python": "ok", "git": "problem", "node": "optional", "docker": "optional", "bubblewrap": "optional",
    }  # fmt: skip
    program(tmp_path, "node", says)
    assert {each.id: each.state for each in machine_findings()}["node"] == "optional"


@pytest.mark.parametrize(("version", "state"), [("2.335.1", "problem"), ("2.336.0", "ok"), ("no idea", "problem")])
def test_a_runner_of_this_machine_has_to_know_the_toolkits_paths(tmp_path: Path, version: str, state: str) -> None:
    listener = tmp_path / "bin" / "Runner.Listener"
    program(listener.parent, listener.name, f'if [ "$1" = --version ]; then echo {version}; else echo up; read _; fi')
    with subprocess.Popen([listener, "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runner:
        assert runner.stdout is not None
        runner.stdout.readline()
        found = [each for each in machine_findings() if each.id == "runner" and str(tmp_path) in each.what]
        runner.communicate(b"\n")
    assert [each.state for each in found] == [state]
    assert version in found[0].what or "unknown" in found[0].what


def test_the_toolkit_itself_needs_no_caller(tmp_path: Path) -> None:
    write(tmp_path / ".github/workflows/evaluate.yml", "on: workflow_call\n")
    assert list(caller_findings(tmp_path, pins_required=False)) == []


def test_calls_of_other_projects_are_none_of_ours(tmp_path: Path) -> None:
    write(tmp_path / ".github/workflows/ci.yml", "    uses: o/other/.github/workflows/x.yml@main\n")
    (said,) = caller_findings(tmp_path, pins_required=False)
    assert (said.state, said.mend) == ("problem", "scylla-gha init")
