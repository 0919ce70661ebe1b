"""The real workflow with the real Claude Code CLI in containers, a scripted provider, and images that travel."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.prepare.tools import cache_root
from tests.support.act import REF, TOOLKIT, Ran, actions, add_workflow, look_at
from tests.support.engine import found_by
from tests.support.hello import hello
from tests.support.provider import serve
from tests.support.repository import write_tree

pytestmark = pytest.mark.usefixtures("running_engine")
KEY = "sk-ant-canary-2468013579"
EXPERIMENT = """\
id: hello
question: Does the key stay where it belongs?
scenarios: [001-hello-world]
agents: [claude-code@2.1.332]
variants: [T0/00-empty]
models: [claude-sonnet-5]
judges: [claude-opus-5, claude-sonnet-5, claude-haiku-4-5-20251001]
repetitions: 1
baseline: t0-00-empty.claude-code.claude-sonnet-5
sandbox: docker
budget_usd: 5.0
"""
CALLER = f"""\
name: Ours
on: workflow_dispatch
permissions: {{}}
jobs:
  evaluate:
    uses: {TOOLKIT}/.github/workflows/evaluate.yml@{REF}
    permissions: write-all
    with:
      experiment: hello
      publish: false
      results-branch: ""
      anthropic-base-url: "${{{{ vars.PROVIDER }}}}"
    secrets: {{ANTHROPIC_API_KEY: "${{{{ secrets.ANTHROPIC_API_KEY }}}}"}}
"""


def run_all(folder: Path) -> None:
    """One run; what the provider was asked is kept."""
    repository = write_tree(folder / "repo", {"config/experiments/hello.yaml": EXPERIMENT})
    one = actions(folder, repository)
    add_workflow(repository, "ours.yml", CALLER)
    one.commit()
    with serve(hello) as provider:
        one.variables = {"PROVIDER": provider.url}
        ran = one.run("ours.yml", env=found_by(), secrets={"ANTHROPIC_API_KEY": KEY})
    ran.save(folder / "ran.json")
    asked = {"keys": provider.keys, "models": [body["model"] for body in provider.requests]}
    (folder / "asked.json").write_text(json.dumps(asked))


def row(flow: Path) -> dict[str, Any]:
    (line,) = (flow / "services/artifacts/scylla-report-hello-1/results.jsonl").read_text().splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def it_passes_in_a_container(flow: Path) -> None:
    assert set(Ran.load(flow / "ran.json").ended.values()) == {"succeeded"}
    found = row(flow)
    assert (found["outcome"], found["passed"], found["sandbox"]) == ("completed", True, "docker")


def agent_and_judges_asked_the_provider_with_the_key_of_the_secret(flow: Path) -> None:
    asked = json.loads((flow / "asked.json").read_text())
    assert set(asked["keys"]) == {KEY}
    assert {"claude-sonnet-5", "claude-opus-5"} <= set(asked["models"])


def the_key_is_nowhere_else(flow: Path) -> None:
    assert KEY not in Ran.load(flow / "ran.json").log()
    kept = [path for path in (flow / "services").rglob("*") if path.is_file()]
    assert len(kept) > 20
    assert not any(KEY.encode() in path.read_bytes() for path in kept if path.suffix != ".tar")


def the_layers_that_were_planned_with_went_to_the_cell_by_the_cache(flow: Path) -> None:
    (kept,) = (flow / "services/caches").glob("scylla-gha-layers-*")
    assert len(list(kept.glob("*.tar"))) >= 3
    layers = {path.name for path in (cache_root() / "layers").glob("*.tar")}
    assert {path.name for path in kept.glob("*.tar")} <= layers
    log = Ran.load(flow / "ran.json").log("cell")
    assert f"{len(list(kept.glob('*.tar')))} layers copied" in log


# One test: what is looked at comes from one run, which takes long, and which no second process should wait for.
CHECKS = (
    it_passes_in_a_container,
    agent_and_judges_asked_the_provider_with_the_key_of_the_secret,
    the_key_is_nowhere_else,
    the_layers_that_were_planned_with_went_to_the_cell_by_the_cache,
)


def test_what_the_run_shows(tmp_path: Path, subtests: pytest.Subtests) -> None:
    run_all(tmp_path)
    look_at(tmp_path, CHECKS, subtests)
