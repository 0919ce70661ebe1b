"""Workflow that `init` writes for pull requests: a change of a prompt is compared with what it was."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.report.comment import marker
from tests.e2e.test_head import ARM, EXPERIMENT, TIER, obedient
from tests.support import git_server, github_api
from tests.support.act import REF, REPOSITORY, TOOLKIT, Actions, Ran, actions, add_workflow, git, look_at
from tests.support.command import scylla
from tests.support.engine import found_by
from tests.support.provider import serve
from tests.support.repository import environment, write_tree

CALLER, PULL = ".github/workflows/scylla.yml", ".github/workflows/scylla-pull-request.yml"
pytestmark = pytest.mark.usefixtures("running_engine")
TIERS = "config/tiers/T1.yaml"
RUNNER = {"lanes": "2", "parallelism": "2", "minutes": "60", "runs-on": "ubuntu-latest"}
SECRETS = {"GITHUB_TOKEN": github_api.TOKEN, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}


def add_callers(one: Actions) -> None:
    """Let `init` write its workflows, switch the trigger on, and name a provider of the same interface."""
    told = ("--name", "probe", "--example", "--yes", "--toolkit", f"{TOOLKIT}@{REF}")
    said = scylla("init", *told, cwd=one.repository, env=environment(one.folder))
    assert said.code == 0, said.err
    texts = {path: (one.repository / path).read_text() for path in (PULL, CALLER)}
    pull = re.sub(r"^  # (pull_request:|  paths:)", r"  \1", texts[PULL], flags=re.MULTILINE)
    assert pull.count("\n  pull_request:\n    paths:") == 1
    provider = '      anthropic-base-url: "${{ vars.PROVIDER }}"\n'
    add_workflow(one.repository, Path(PULL).name, pull)
    add_workflow(one.repository, Path(CALLER).name, texts[CALLER].replace("    secrets: ", f"{provider}    secrets: "))


def make_pull(one: Actions, github: github_api.State) -> dict[str, Any]:
    """A pull request that changes one prompt, while the default branch has changed another since; the event of it."""
    tiers = one.repository / TIERS
    base = one.commit()
    git(one.repository, "checkout", "-q", "-b", "topic")
    tiers.write_text(TIER.format(prompt="Work."))
    head = one.commit(branch="topic")
    git(one.repository, "checkout", "-q", "main")
    tiers.write_text(TIER.format(prompt="Rest.").replace("Sleep.", "Dream."))
    tip = one.commit()
    github.pull(7, head)
    told = json.loads(json.dumps(github.pulls[7]))
    told["base"]["sha"] = tip  # of the branch, as events have it
    github.pulls[7]["base"]["sha"] = base  # what GitHub answers for where it branched off
    return {"action": "synchronize", "number": 7, "pull_request": told,
            "repository": {"full_name": REPOSITORY, "default_branch": "main"}}  # fmt: skip


def run_all(folder: Path) -> None:
    """Run what a push to the pull request starts, and then what that dispatches: act follows no dispatch."""
    (repository := folder / "repo").mkdir()
    one, github = actions(folder, repository), github_api.State()
    add_callers(one)
    write_tree(repository, {TIERS: TIER.format(prompt="Rest."), "config/experiments/probe.yaml": EXPERIMENT})
    event = make_pull(one, github)
    with (
        git_server.serve(one.services / "git") as server,
        github_api.serving(github),
        serve(obedient) as provider,
    ):
        one.env = {"GITHUB_API_URL": github.url, "GITHUB_SERVER_URL": server, **found_by()}
        one.variables = {"PROVIDER": provider.url}
        ordered = one.run("scylla-pull-request.yml", "pull_request", event, env={"GITHUB_RUN_ID": "7000"},
                          secrets={"GITHUB_TOKEN": github_api.TOKEN})  # fmt: skip
        ordered.save(folder / "ordered.json")
        told = {"inputs": {**RUNNER, **github.dispatches[0]["inputs"]}}
        ran = one.run("scylla.yml", payload=told, env={"GITHUB_RUN_ID": "7001"}, secrets=SECRETS)
        ran.save(folder / "7001.json")
    said = {**told["inputs"], "dispatches": github.dispatches, "bodies": github.bodies(7), "checks": github.checks}
    (folder / "said.json").write_text(json.dumps(said))


def said_of(flow: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((flow / "said.json").read_text())
    return found


def a_push_orders_one_comparison_with_where_the_change_branched_off(flow: Path) -> None:
    assert Ran.load(flow / "ordered.json").ended == {"compare": "succeeded"}
    (made,) = said_of(flow)["dispatches"]
    base, head = (git(flow / "repo", "rev-parse", name) for name in ("topic~1", "topic"))
    assert (made["workflow"], made["ref"]) == ("scylla.yml", "main")
    assert made["inputs"] == {"experiment": "probe", "pull": "7", "head": head, "base": base}


def both_versions_of_the_prompt_are_run_and_the_other_is_not(flow: Path) -> None:
    assert set(Ran.load(flow / "7001.json").ended.values()) == {"succeeded"}
    place = flow / "services/artifacts/scylla-report-probe-1/results.jsonl"
    rows = [json.loads(line) for line in place.read_text().splitlines()]
    assert {row["arm"]: row["passed"] for row in rows} == {ARM: False, f"{ARM}.head": True}


def the_answer_is_one_comment_on_the_head_against_the_base(flow: Path) -> None:
    said = said_of(flow)
    (body,) = [body for body in said["bodies"] if body.startswith(marker("probe"))]
    assert said["head"][:7] in body
    assert said["base"][:7] in body
    assert {check["head_sha"] for check in said["checks"]} == {said["head"]}


# One test: what is looked at comes from one run, which takes long, and which no second process should wait for.
CHECKS = (
    a_push_orders_one_comparison_with_where_the_change_branched_off,
    both_versions_of_the_prompt_are_run_and_the_other_is_not,
    the_answer_is_one_comment_on_the_head_against_the_base,
)


def test_what_the_runs_show(tmp_path: Path, subtests: pytest.Subtests) -> None:
    run_all(tmp_path)
    look_at(tmp_path, CHECKS, subtests)
