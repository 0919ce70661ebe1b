"""A user's repository whose agent is the real Claude Code CLI, or whose judges are real clients; one row of a run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.collect import collect
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.evaluate.model_access import RecordingOptions, open_services
from scylla_gha.evaluate.run_cells import run_cells
from tests.support.agents import ShellAgent
from tests.support.command import Said, scylla
from tests.support.in_process_run import make_run_context
from tests.support.panel import asked_for, raw, reply
from tests.support.provider import Body, Fail, Hang, Hangup, Provider, Say, Script, tool_results
from tests.support.records import make_category, make_checkpoint, make_item, make_rubric
from tests.support.repository import CHECKPOINTS, make_repository, write_greet_experiment

Answer = Say | Fail | Hang | Hangup
ROOT = Path(__file__).parents[2]
PATIENCE = {"rate_limit_seconds": 1.0, "provider_retries": 0}
KEY = "sk-ant-api03-canary-0123456789-ABCDEFGHIJ"
ARM = "t0-00-empty.claude-code.claude-sonnet-5"
WRITE = Say("I write it.", "Bash", {"command": "printf '#!/bin/sh\\necho hello\\n' > greet.sh"})
JUDGES = ("claude-opus-5", "claude-sonnet-5", "claude-haiku-4-5-20251001")
RUBRIC = make_rubric(
    make_category(make_item(id="F1", checks=("greets",)), id="functional", weight=0.5),
    make_category(make_item(id="Q1", type="subjective", checks=()), id="quality", weight=0.5),
)
SHOWS = make_checkpoint(id="shows", what="It has no environment", run="env", stdout="", required=False)
MALFORMED = b"event: content_block_delta\ndata: {half\n\nnonsense\n\n:\n\n"
OVERLOADED = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'


def diligent(body: Body) -> Say:
    """The agent that writes the file and ends."""
    return Say("Done.") if tool_results(body) else WRITE


def content(body: Body) -> Say:
    """The judge that finds nothing wrong."""
    return Say(reply(*(raw(name) for name in asked_for(body))))


def always(answer: Answer) -> Script:
    return lambda _: answer


def once(answer: Answer, script: Script = diligent) -> Script:
    """The first request is answered so; what comes after, by the script."""
    seen: list[Body] = []

    def follow(body: Body) -> Answer:
        seen.append(body)
        return answer if len(seen) == 1 else script(body)

    return follow


def agents_repository(folder: Path, retries: int = 0, **given: Any) -> Path:
    """One cell of the real CLI, which repeats a failed request so often itself; `scenario` has fields of it."""
    limits = {"timeout_seconds": 60, "api_retries": retries, **PATIENCE}
    make_repository(folder, rubric=RUBRIC, **{"checkpoints": (*CHECKPOINTS, SHOWS), **given.pop("scenario", {})})
    write_greet_experiment(folder, agents=("claude-code@2.1.332",), variants=("T0/00-empty",),
                           models=("claude-sonnet-5",), baseline=ARM, **{"limits": limits, **given})  # fmt: skip
    return folder


def judges_repository(folder: Path) -> Path:
    """One cell of the oracle, whose work three judges are asked about."""
    make_repository(folder, rubric=RUBRIC)
    write_greet_experiment(folder, agents=("oracle",), baseline="oracle", judges=JUDGES, limits=PATIENCE)
    return folder


def judge(folder: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> "Left":
    """The whole journey of one cell whose work three judges are asked about, in this process, with a real gateway."""
    for name, value in access(folder, provider).items():
        monkeypatch.setenv(name, value)
    agents = {"worker": ShellAgent("printf '#!/bin/sh\\necho hello\\n' >greet.sh")}
    repository = make_repository(folder, rubric=RUBRIC)
    journey = make_run_context(repository, folder / "runs/greet", agents, judges=JUDGES, limits=PATIENCE)
    settings = replace(journey.settings, sources=ConfigSources(Library((folder, ROOT))))
    with open_services(settings, RecordingOptions()) as journey:
        run_cells(journey, journey.settings.plan.cells, lambda *_: None)
    collect(journey.settings.plan, journey.settings.folder, journey.settings.library)
    return left(folder)


def evaluate(folder: Path, provider: Provider, *args: str, **env: str) -> Said:
    """The whole journey against the provider; nobody is shown a traceback."""
    said = scylla("evaluate", "greet", "--yes", *args, cwd=folder, env=access(folder, provider, **env))
    assert "Traceback" not in said.err, said.err
    return said


def access(folder: Path, provider: Provider, **env: str) -> Mapping[str, str]:
    """The key, the way to the provider, and a place of its own for workspaces."""
    return {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY,
            "SCYLLA_WORK": str(folder / "work"), **env}  # fmt: skip


@dataclass(frozen=True)
class Left:
    """The records of a run's only cell."""

    cell: Path
    row: dict[str, Any]

    def record(self, name: str) -> Any:
        return json.loads((self.cell / name).read_text())

    def traffic(self, attempt: int, kind: str, name: str = "traffic.jsonl") -> list[dict[str, Any]]:
        lines = (self.cell / f"attempt-{attempt}" / name).read_text().splitlines()
        return [line for line in map(json.loads, lines) if line["kind"] == kind]


def left(folder: Path) -> Left:
    """Return what the run of the folder left."""
    (line,) = (folder / "runs/greet/results.jsonl").read_text().splitlines()
    row = json.loads(line)
    return Left(folder / "runs/greet" / row["cell"], row)
