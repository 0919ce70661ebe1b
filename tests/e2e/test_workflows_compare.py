"""What `/scylla compare` dispatches: a pull request's prompt against the one that it changes, and the same again."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.render.comment import marker
from tests.e2e.test_head import ARM, EXPERIMENT, TIER, obedient
from tests.support import git_server, github_api
from tests.support.act import REF, TOOLKIT, Ran, actions, add_workflow, git, look_at
from tests.support.engine import found_by
from tests.support.provider import serve
from tests.support.repository import write_tree

pytestmark = pytest.mark.usefixtures("running_engine")
TIERS = "config/tiers/T1.yaml"
CALLER = f"""\
name: Ours
on:
  workflow_dispatch:
    inputs:
      head: {{type: string}}
      base: {{type: string}}
permissions: {{}}
jobs:
  evaluate:
    uses: {TOOLKIT}/.github/workflows/evaluate.yml@{REF}
    permissions: write-all
    with:
      experiment: probe
      pull: "7"
      head: "${{{{ inputs.head }}}}"
      base: "${{{{ inputs.base }}}}"
      anthropic-base-url: "${{{{ vars.PROVIDER }}}}"
    secrets: {{ANTHROPIC_API_KEY: "${{{{ secrets.ANTHROPIC_API_KEY }}}}"}}
"""


def run_all(folder: Path) -> None:
    """A pull request that changes a prompt, compared twice."""
    repository = write_tree(folder / "repo", {TIERS: TIER.format(prompt="Rest."),
                                              "config/experiments/probe.yaml": EXPERIMENT})  # fmt: skip
    one = actions(folder, repository)
    add_workflow(repository, "ours.yml", CALLER)
    base = one.commit()
    git(repository, "checkout", "-q", "-b", "topic")
    (repository / TIERS).write_text(TIER.format(prompt="Work."))
    head = one.commit(branch="topic")
    git(repository, "checkout", "-q", "main")
    github = github_api.State()
    github.pull(7, head)
    told = {"inputs": {"head": head, "base": base}}
    with (
        git_server.serve(one.services / "git") as server,
        github_api.serving(github),
        serve(obedient) as provider,
    ):
        one.env = {"GITHUB_API_URL": github.url, "GITHUB_SERVER_URL": server, **found_by()}
        one.variables = {"PROVIDER": provider.url}
        secrets = {"GITHUB_TOKEN": github_api.TOKEN, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}
        for number in (7001, 7002):
            ran = one.run("ours.yml", payload=told, env={"GITHUB_RUN_ID": str(number)}, secrets=secrets)
            ran.save(folder / f"{number}.json")
            (one.services / "artifacts").rename(folder / f"artifacts-{number}")  # each run has its own
    said = {"head": head, "base": base, "bodies": github.bodies(7), "checks": github.checks}
    (folder / "said.json").write_text(json.dumps(said))


def said_of(flow: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((flow / "said.json").read_text())
    return found


def both_versions_of_the_prompt_are_run_and_the_other_is_not(flow: Path) -> None:
    assert set(Ran.load(flow / "7001.json").ended.values()) == {"succeeded"}
    place = flow / "artifacts-7001/scylla-report-probe-1/results.jsonl"
    rows = [json.loads(line) for line in place.read_text().splitlines()]
    assert {row["arm"]: row["passed"] for row in rows} == {ARM: False, f"{ARM}.head": True}


def the_answer_is_one_comment_on_the_head_against_the_base(flow: Path) -> None:
    said = said_of(flow)
    (body,) = [body for body in said["bodies"] if body.startswith(marker("probe"))]
    assert said["head"][:7] in body
    assert said["base"][:7] in body
    assert {check["head_sha"] for check in said["checks"]} == {said["head"]}


def the_same_once_more_is_taken_from_the_results_branch(flow: Path) -> None:
    ran = Ran.load(flow / "7002.json")
    assert ran.ended == {"plan": "succeeded", "report": "succeeded"}
    assert "2 rows are taken over" in ran.log("plan")


# One test: what is looked at comes from one run, which takes long, and which no second process should wait for.
CHECKS = (
    both_versions_of_the_prompt_are_run_and_the_other_is_not,
    the_answer_is_one_comment_on_the_head_against_the_base,
    the_same_once_more_is_taken_from_the_results_branch,
)


def test_what_the_runs_show(tmp_path: Path, subtests: pytest.Subtests) -> None:
    run_all(tmp_path)
    look_at(tmp_path, CHECKS, subtests)
