"""Claude Code in a container works on a trial's GitHub with gh, git and GitHub's MCP server, as on github.com."""

import json
from pathlib import Path

import pytest

from tests.support.command import scylla
from tests.support.engine import found_by
from tests.support.hub_scenario import ID, SOLUTION, write_hub_scenario
from tests.support.library import write
from tests.support.provider import Body, Say, serve, tool_results

pytestmark = pytest.mark.usefixtures("running_engine")
ARM = "t2-11-mcp-github.claude-code.claude-sonnet-5"
EXPERIMENT = f"""\
id: probe
question: Does it work on GitHub?
scenarios: [{ID}]
agents: [claude-code@2.1.197]
variants: [T2/11-mcp-github]
models: [claude-sonnet-5]
repetitions: 1
baseline: {ARM}
sandbox: docker
"""
COMMENT = {"owner": "octo-org", "repo": "demo", "issue_number": 2, "body": "See the pull request."}


def work(body: Body) -> Say:
    """An agent that solves the task with gh and git, and comments with the MCP server's tool."""
    if not body.get("tools"):
        return Say("A title")
    match len(tool_results(body)):
        case 0:
            return Say("I work.", "Bash", {"command": f"set -e\n{SOLUTION}git config remote.origin.url"})
        case 1:
            return Say("I comment.", "mcp__github__add_issue_comment", COMMENT)
        case _:
            return Say("Done.")


def test_gh_git_and_tools_of_the_mcp_server_reach_the_trials_github(tmp_path: Path) -> None:
    write_hub_scenario(tmp_path)
    write(tmp_path / "config/experiments/probe.yaml", EXPERIMENT)
    with serve(work) as provider:
        env = {**found_by(), "ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}
        said = scylla("evaluate", "probe", "--yes", "--json", cwd=tmp_path, env=env)
    assert said.code == 0, said.err
    results = tool_results(max(provider.requests, key=lambda body: len(body["messages"])))
    assert results[0].rstrip().endswith("https://github.com/octo-org/demo.git"), results[0]
    (row,) = [json.loads(line) for line in (tmp_path / "runs/probe/results.jsonl").read_text().splitlines()]
    assert (row["outcome"], row["passed"], row["delivered"]) == ("completed", True, True), results
    assert (row["github"], row["github_gaps"]) == ("hub", 0)
    log = next((tmp_path / "runs/probe").rglob("github-requests.jsonl"))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["interface"] for line in lines} == {"rest", "graphql", "git"}
    assert {line["identity"] for line in lines if line["interface"] != "git"} == {"octocat"}
    state = json.loads(log.with_name("github.json").read_text())
    assert str(COMMENT["body"]) in json.dumps(state)
