"""The workflow that `init --skills` writes, as act runs it: check, measurement with the real Claude Code, comment."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.onboarding.init import skills_workflows
from scylla_gha.onboarding.toolkit import Toolkit
from scylla_gha.report.skills_comment import MARKER
from tests.support import git_server, github_api
from tests.support.act import REF, TOOLKIT, Actions, Ran, actions, add_workflow, look_at
from tests.support.engine import found_by
from tests.support.github_api import FORK
from tests.support.provider import serve
from tests.support.skill_author import EVALS as TALLY_EVALS
from tests.support.skill_author import adder, author
from tests.support.skills import write_evals, write_skill

KEY = "sk-ant-canary-1357924680"

EVALS = {"evals": [{"id": 1, "prompt": "Sum pots.csv", "expectations": ["The reply names both sums"]}]}


def pushed(head: str, repository: str) -> dict[str, Any]:
    """Return the event of a push to pull request 7."""
    pull = {
        "number": 7,
        "base": {"ref": "main"},
        "labels": [],
        "head": {"sha": head, "ref": "topic", "repo": {"full_name": repository}},
    }
    return {"action": "synchronize", "number": 7, "pull_request": pull}


def repository(folder: Path) -> Actions:
    """Return a repository with a skill and the workflow."""
    skill = write_evals(write_skill(folder / "repo/skills/tally"), EVALS)
    one = actions(folder, skill.parents[1])
    add_workflow(
        one.repository,
        "scylla-skills.yml",
        skills_workflows(Toolkit(TOOLKIT, REF), ["skills/tally"])[0].content.decode(),
    )
    return one


def checked(one: Actions) -> Ran:
    """Push to a pull request of a fork, whose jobs have no secret."""
    return one.run("scylla-skills.yml", "pull_request", pushed(one.commit(), FORK))


@pytest.mark.timeout(900)
def test_a_pull_request_of_a_fork_is_checked_without_a_key(tmp_path: Path) -> None:
    one = repository(tmp_path)
    ran = checked(one)
    assert ran.ended == {"check": "succeeded"}, ran.log()[-3000:]
    assert "evals/evals.json: evals: 1 entry, 1 read" in ran.log("check")
    value = json.dumps({"evals": [{"id": 1, "prompt": ""}]}, indent=1)
    write_evals(one.repository / "skills/tally", value)
    ran = checked(one)
    assert ran.ended == {"check": "failed"}, ran.log()[-3000:]
    assert "file=skills/tally/evals/evals.json,line=5,title=skill%3A evals" in ran.log("check")
    assert "evals[0].prompt: is empty" in ran.log("check")


def caller() -> str:
    """Return the workflow with the address of the provider."""
    text = skills_workflows(Toolkit(TOOLKIT, REF), ["skills/tally"])[0].content.decode()
    return text.replace(
        "    with:\n      skill:", '    with:\n      anthropic-base-url: "${{ vars.PROVIDER }}"\n      skill:'
    )


def run_all(folder: Path) -> None:
    """Measure a pull request that changes a skill and its evals, and leaves another skill as it is."""
    (folder / "repo").mkdir()
    skill = author(folder / "repo")
    (folder / "repo/.git").rename(folder / "old.git")  # `actions` makes a new one
    write_evals(
        write_skill(folder / "repo/skills/plot", "name: plot\ndescription: Use it for charts."), TALLY_EVALS[:1]
    )
    one = actions(folder, folder / "repo")
    add_workflow(one.repository, "scylla-skills.yml", caller())
    base = one.commit()
    (skill / "SKILL.md").write_text((skill / "SKILL.md").read_text() + "Name both sums.\n")
    easy = {**TALLY_EVALS[0], "expectations": ["The reply is in English"]}
    write_evals(skill, {"skill_name": "tally", "evals": [easy, TALLY_EVALS[1], {**TALLY_EVALS[1], "id": 3}]})
    head = one.commit(branch="topic")
    github = github_api.State()
    github.pull(7, head)
    inputs = {"pull": "7", "head": head, "base": base, "repetitions": "1", "budget-usd": "5"}
    secrets = {"ANTHROPIC_API_KEY": KEY, "GITHUB_TOKEN": github_api.TOKEN}
    with serve(adder) as provider, git_server.serve(one.services / "git") as server, github_api.serving(github):
        one.env = {"GITHUB_API_URL": github.url, "GITHUB_SERVER_URL": server, **found_by()}
        one.variables = {"PROVIDER": provider.url}
        ran = one.run("scylla-skills.yml", payload={"inputs": inputs}, secrets=secrets)
        ran.save(folder / "measured.json")
        keys = list(set(provider.keys))
    (folder / "said.json").write_text(json.dumps({"comments": github.bodies(7), "keys": keys}))


def both_jobs_succeed(flow: Path) -> None:
    ran = Ran.load(flow / "measured.json")
    assert ran.ended == {"measure": "succeeded", "tell": "succeeded"}, ran.log()[-3000:]


def only_the_changed_skill_is_measured_against_its_last_version(flow: Path) -> None:
    log = Ran.load(flow / "measured.json").log("measure")
    assert "tally: evals: 9 trials to run" in log  # with, without and before; evals 1 and 2 of the base, and a new one
    assert "plot: evals:" not in log


def evals_come_from_the_base_where_the_pull_request_changes_them_too(flow: Path) -> None:
    said = "1 eval or query is as before this pull request, which changes both them and the skill; 1 is new."
    (comment,) = json.loads((flow / "said.json").read_text())["comments"]
    assert said in comment
    suite = flow / "services/artifacts/scylla-skills-1/skill-tally/suite/scenarios/skill-tally"
    assert {path.name for path in suite.iterdir()} == {"001-eval", "002-eval", "003-eval"}
    assert "The reply names both sums" in (suite / "001-eval/rubric.yaml").read_text()


def one_comment_has_a_row_for_each_skill_changed_ones_first(flow: Path) -> None:
    (comment,) = json.loads((flow / "said.json").read_text())["comments"]
    assert comment.startswith(f"{MARKER}\n> [!")
    rows = [line for line in comment.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in rows[1:]] == ["| tally (changed)", "| plot"]
    assert "Not enough data to compare it with no skill" in rows[1]
    assert "not measured" in rows[2]


def the_key_is_in_no_log_and_in_no_artifact(flow: Path) -> None:
    assert json.loads((flow / "said.json").read_text())["keys"] == [KEY]
    assert KEY not in Ran.load(flow / "measured.json").log()
    kept = [path for path in (flow / "services").rglob("*") if path.is_file()]
    assert len(kept) > 20
    assert not any(KEY.encode() in path.read_bytes() for path in kept)


CHECKS = (
    both_jobs_succeed,
    only_the_changed_skill_is_measured_against_its_last_version,
    evals_come_from_the_base_where_the_pull_request_changes_them_too,
    one_comment_has_a_row_for_each_skill_changed_ones_first,
    the_key_is_in_no_log_and_in_no_artifact,
)


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("running_engine")
def test_what_the_measurement_shows(tmp_path: Path, subtests: pytest.Subtests) -> None:
    run_all(tmp_path)
    look_at(tmp_path, CHECKS, subtests)
