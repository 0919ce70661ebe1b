"""The same experiments in containers and on the host: equal verdicts, with the real CLI and a real engine."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import toolkit_root
from tests.e2e.test_delivery import FILES
from tests.e2e.test_safety_net import DESTROY, after
from tests.support.command import Said, scylla
from tests.support.engine import found_by
from tests.support.hello import WRITE, hello
from tests.support.provider import Provider, Say, serve, tool_results
from tests.support.repository import write_tree
from tests.support.rows import TIMES

pytestmark = pytest.mark.usefixtures("running_engine")
TREATED = """\
id: probe
question: Is it delivered?
scenarios: [001-hello-world]
agents: [claude-code@2.1.332]
variants: [T1/04-mcp, T1/05-skill, T1/07-all]
models: [claude-sonnet-5]
repetitions: 1
baseline: t1-07-all.claude-code.claude-sonnet-5
sandbox: docker
"""
KEY = "sk-ant-canary-1357924680"
NO_KEY = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
OF_THE_CLI = {"PWD", "OLDPWD", "SHLVL", "_"}
# what may differ between the two: time, the place itself, the key, which covers it, and the proof of the safety net
OF_THE_PLACE = {*TIMES, "sandbox", "key", "judging", "network", "keys", "files", "delivered", "delivery_unverified"}


def written(folder: Path, name: str, sandbox: str) -> str:
    """The shipped experiment in that sandbox; the file's name."""
    text = (toolkit_root() / f"config/experiments/{name}.yaml").read_text()
    folder.mkdir()
    (folder / f"{name}.yaml").write_text(f"{text}sandbox: {sandbox}\n")
    return f"{name}.yaml"


def evaluated(folder: Path, name: str, sandbox: str, env: dict[str, str], *options: str) -> list[dict[str, Any]]:
    file = written(folder, name, sandbox)
    said = scylla("evaluate", file, "--yes", *options, cwd=folder, env={**found_by(), **env})
    assert said.code == 0, said.err
    run = f"{name}-replay" if "--replay" in options else name
    found = [json.loads(line) for line in (folder / "runs" / run / "results.jsonl").read_text().splitlines()]
    assert {row["sandbox"] for row in found} == {sandbox}
    return found


def verdicts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in OF_THE_PLACE} for row in rows]


def live(provider: Provider) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}


def test_hello_claude_has_equal_verdicts_in_containers_and_on_the_host(tmp_path: Path) -> None:
    with serve(hello) as provider:
        only = ("--only", "*r01")
        boxed, host = (
            evaluated(tmp_path / where, "hello-claude", where, live(provider), *only) for where in ("docker", "host")
        )
    assert verdicts(boxed) == verdicts(host)
    assert {row["key"] for row in boxed}.isdisjoint(row["key"] for row in host)
    assert [(row["outcome"], row["passed"], row["delivered"]) for row in boxed] == [("completed", True, True)] * 2
    questions = [asked(tmp_path / where) for where in ("docker", "host")]
    assert questions[0] == questions[1]
    assert len(questions[0]) == 4


def asked(folder: Path) -> dict[str, set[str]]:
    """The digests of the judges' requests and of agents' first ones, by attempt: later ones have the provider's ids."""
    found = {}
    for path in folder.glob("runs/*/*/attempt-1/*traffic.jsonl"):
        lines = (json.loads(line) for line in path.read_text().splitlines())
        asked = (line for line in lines if line["kind"] == "asked")
        steady = {one["digest"] for one in asked if one["number"] == 1 or one["role"] == "judge"}
        found[f"{path.parts[-3]}/{path.name}"] = steady
    return found


def test_the_shipped_recording_replays_in_containers_as_on_the_host(tmp_path: Path) -> None:
    only = ("--only", "*r01")
    boxed, host = (
        evaluated(tmp_path / where, "hello-claude", where, NO_KEY, "--replay", *only) for where in ("docker", "host")
    )
    assert len(boxed) == 2
    assert verdicts(boxed) == verdicts(host)


def test_the_proof_of_a_scenario_has_equal_verdicts(tmp_path: Path) -> None:
    only = ("--only", "021-*")
    boxed, host = (evaluated(tmp_path / where, "quickstart", where, {}, *only) for where in ("docker", "host"))
    assert verdicts(boxed) == verdicts(host)
    assert {row["arm"]: row["passed"] for row in boxed} == {"oracle": True, "nop": False}


def test_the_agent_sees_its_box_and_nothing_else(tmp_path: Path) -> None:
    look = Say("I look.", "Bash", {"command": "id -u; pwd; env; ls /home /proc; cat /proc/1/environ; getent hosts a.b"})
    with serve(lambda body: Say("Done.") if tool_results(body) else look) as provider:
        evaluated(tmp_path / "docker", "hello-claude", "docker", live(provider), "--only", "*empty*r01")
    seen = tool_results(next(body for body in provider.requests if body.get("tools") and tool_results(body)))[0]
    assert seen.startswith("Exit code 2\n10001\n/home/workspace\n"), "no name can be looked up"
    assert "cat: /proc/1/environ: Permission denied" in seen
    assert "ANTHROPIC_BASE_URL=http://127.0.0.1:4141" in seen
    assert "ANTHROPIC_API_KEY=sk-ant-api03-" in seen
    assert KEY not in seen
    assert str(tmp_path) not in seen


def test_the_shell_of_a_cell_has_the_agents_cli_and_environment_but_no_model(tmp_path: Path) -> None:
    look = Say("I look.", "Bash", {"command": "id -u; pwd; cat /proc/$PPID/environ | tr '\\0' '\\n'"})
    with serve(lambda body: Say("Done.") if tool_results(body) else look) as provider:
        (row,) = evaluated(tmp_path / "x", "hello-claude", "docker", live(provider), "--only", "*empty*r01")
    seen = tool_results(next(body for body in provider.requests if body.get("tools") and tool_results(body)))[0]
    ask = "import socket; socket.create_connection(('127.0.0.1', 4141))"
    script = f'id -u; pwd; env; claude --version; python3 -c "{ask}"'
    said = scylla("shell", row["cell"], "--", "sh", "-c", script, cwd=tmp_path / "x", env=found_by())
    assert "no model and no key" in said.err
    assert "Connection refused" in said.err
    assert "2.1.332 (Claude Code)" in said.out
    first, second = (set(text.splitlines()) for text in (seen, said.out))
    differs = {line.partition("=")[0] for line in first ^ second}
    tokens = {"ANTHROPIC_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"}
    assert differs <= {*tokens, "2.1.332 (Claude Code)"} | OF_THE_CLI, first ^ second


def test_treatments_are_delivered_and_the_safety_net_holds_in_containers(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    write_tree(tmp_path, FILES)
    (tmp_path / "probe.yaml").write_text(TREATED)
    with serve(after(DESTROY, WRITE)) as provider:
        env = {**found_by(), **live(provider)}
        said = scylla("evaluate", "probe.yaml", "--yes", cwd=tmp_path, env=env)
    assert said.code == 0, said.err
    rows = [json.loads(line) for line in (tmp_path / "runs/probe/results.jsonl").read_text().splitlines()]
    assert len(rows) == 3
    for row in rows:
        assert (row["outcome"], row["delivered"], row["passed"]) == ("completed", True, True), row["reason"]
        assert row["blocked_calls"] == 1
    assert tool_results(provider.requests[-1])[1] == "Hello, World!"


def test_without_an_engine_an_experiment_that_asks_for_one_is_refused_and_can_be_planned(tmp_path: Path) -> None:
    file = written(tmp_path / "x", "hello-claude", "docker")
    gone = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock", "ANTHROPIC_API_KEY": KEY}

    def say(*args: str) -> Said:
        return scylla(*args, cwd=tmp_path / "x", env=gone)

    refused, planned, valid = say("evaluate", file, "--yes"), say("plan", file, "--dry-run"), say("validate", file)
    assert (refused.code, planned.code, valid.code) == (5, 0, 0)
    assert "no container engine answers at" in refused.err
    assert not list((tmp_path / "x").glob("runs/*/*/trial.json"))
