"""Claude Code in a container triages issues on a trial's GitHub, once by gh and once by GitHub's MCP server."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import toolkit_root
from tests.support.command import scylla
from tests.support.engine import found_by
from tests.support.library import write
from tests.support.provider import Body, Provider, Say, serve, tool_results, user_texts

pytestmark = pytest.mark.usefixtures("running_engine")
SCENARIO = "156-issue-triage-assign"
ARMS = {mode: f"t0-01-vanilla.{mode}.claude-code.claude-sonnet-5" for mode in ("baseline", "mcp")}
EXPERIMENT = f"""\
id: probe
question: Does it work in both modes?
scenarios: [{SCENARIO}]
agents: [claude-code@2.1.332]
variants: [T0/01-vanilla]
models: [claude-sonnet-5]
modes: [baseline, mcp]
repetitions: 1
baseline: {ARMS["baseline"]}
sandbox: docker
"""
BY_GH = (toolkit_root() / "scenarios/github" / SCENARIO / "solution/solution.sh").read_text(encoding="utf-8")
TOOLS = [f"mcp__github__{name}" for name in ("list_issues", "search_issues", "add_issue_comment", "update_issue")]
OWNER = {"owner": "harbour-club", "repo": "tidewatch"}
# In the box of the mode mcp there is git, and nothing of gh. Python reaches GitHub, whose API refuses git's token, and
# the row states the try.
WITHOUT_GH = """\
command -v gh && exit 1
test -z "$(find / -name gh -not -path '/proc/*' 2>/dev/null)"
test -z "$(env | grep '^GH_')"
git ls-remote --exit-code origin main && git push --dry-run origin HEAD:refs/heads/probe
python3 - <<'END'
import os, urllib.error, urllib.request
proxy = os.popen("git config http.http://github.com/.proxy").read().strip()
opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy}))
name, _, value = os.popen("git config http.http://github.com/.extraHeader").read().strip().partition(": ")
headers = {name: value, "User-Agent": "github-mcp-server/0.12.1"}
try:
    opener.open(urllib.request.Request("http://api.github.com/user", headers=headers))
except urllib.error.HTTPError as error:
    assert error.code == 403, error
else:
    raise SystemExit("git's token reaches the API")
END
"""
TRIAGE: dict[str, Body] = {
    "Low water at List is 12 minutes early": {
        "labels": ["bug", "area/predict", "priority/high"], "assignees": ["priya-nair"], "milestone": "0.9.2"},
    "Table is crooked for stations with long names": {
        "labels": ["bug", "area/render", "priority/normal"], "assignees": ["jonas-ahlers"]},
    "Add --json to tidewatch stations": {
        "labels": ["enhancement", "area/cli"], "assignees": ["sam-okafor"], "milestone": "0.10.0"},
    "Which station is taken if two are equally near?": {"labels": ["question", "area/stations"]},
    "Write tides as a calendar file": {
        "labels": ["enhancement"], "assignees": ["sam-okafor"], "milestone": "0.10.0"},
}  # fmt: skip


def work(body: Body) -> Say:
    """An agent that triages with the tools that it is offered."""
    if not body.get("tools"):
        return Say("A title")
    results = tool_results(body)
    if has_mcp_tools(body):
        searched = any("tool_reference" in json.dumps(message["content"]) for message in body["messages"])
        return by_mcp(results[1:]) if searched else SEARCH
    return Say("I triage.", "Bash", {"command": f"{BY_GH}\necho triaged"}) if not results else Say("Done.")


SEARCH = Say("I search.", "ToolSearch", {"query": f"select:{','.join(TOOLS)}"})


def has_mcp_tools(body: Body) -> bool:
    """True if tools of the server are in the request, in full or by name."""
    return "mcp__github__" in json.dumps([body["tools"], body["messages"][:2]])


def by_mcp(results: list[str]) -> Say:
    match len(results):
        case 0:
            return Say("I look around.", "Bash", {"command": f"set -e\n{WITHOUT_GH}"})
        case 1:
            find = {**OWNER, "labels": ["needs-triage"], "state": "OPEN"}
            return Say("I list.", "mcp__github__list_issues", find)
        case 2 | 3:  # one after the other: 2.1.332 loses the first result of two quick calls at once
            name = "0.9.2" if len(results) == 2 else "0.10.0"
            query = {"query": f"repo:harbour-club/tidewatch milestone:{name}"}
            return Say("I ask for a milestone.", "mcp__github__search_issues", query)
        case 4:
            said = {"issue_number": numbers(results)["Write tides as a calendar file"],
                    "body": "The label `area/export` does not exist."}  # fmt: skip
            return Say("I tell.", "mcp__github__add_issue_comment", {**OWNER, **said})
        case 5:
            first, *others = updates(results)
            return Say("I triage.", "mcp__github__update_issue", first, beside=tuple(others))
        case _:
            return Say("Done.")


def numbers(results: list[str]) -> dict[str, int]:
    return {issue["title"]: issue["number"] for issue in json.loads(results[1])["issues"]}


def updates(results: list[str]) -> Iterator[Body]:
    known = [json.loads(text)["items"][0]["milestone"] for text in results[2:4]]
    milestones = {milestone["title"]: milestone["number"] for milestone in known}
    for title, change in TRIAGE.items():
        milestone = {"milestone": milestones[change["milestone"]]} if "milestone" in change else {}
        yield {**OWNER, "issue_number": numbers(results)[title], **change, **milestone}


def rows_of(root: Path) -> dict[str, Any]:
    lines = (root / "runs/probe/results.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["mode"]: row for row in map(json.loads, lines)}


def first_requests(provider: Provider) -> dict[str, Body]:
    """The first request of each mode, by the tools that it offers."""
    asked = [body for body in provider.requests if body.get("tools") and not tool_results(body)]
    return {"mcp" if has_mcp_tools(body) else "baseline": body for body in asked}


def test_each_mode_is_delivered_alone_and_solves_the_task(tmp_path: Path) -> None:
    write(tmp_path / "config/experiments/probe.yaml", EXPERIMENT)
    with serve(work) as provider:
        env = {**found_by(), "ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}
        said = scylla("evaluate", "probe", "--yes", "--json", cwd=tmp_path, env=env)
    assert said.code == 0, said.err
    for mode, row in rows_of(tmp_path).items():
        seen = [tool_results(body) for body in provider.requests]
        assert (row["arm"], row["outcome"], row["passed"]) == (ARMS[mode], "completed", True), seen
        assert (row["delivered"], row["github"], row["github_gaps"]) == (True, "hub", 0), row["reason"]
    rows = rows_of(tmp_path)
    assert rows["baseline"]["github_other_clients"] == {}
    assert rows["mcp"]["github_other_clients"] == {"github-mcp-server with git's token": 1}
    assert set(rows["baseline"]["tools"]) == {"Bash"}
    first = first_requests(provider)
    offered = json.dumps([first["mcp"]["tools"], first["mcp"]["messages"][:2]])
    servers = set(re.findall(r"mcp__([a-z-]+)__", offered))
    assert (servers, set(first)) == ({"github"}, {"baseline", "mcp"})
    prompts = {mode: [text for text in user_texts(body) if "Kit Moreau" in text] for mode, body in first.items()}
    assert prompts["baseline"] == prompts["mcp"] != []
    systems = {mode: json.dumps(body["system"]) for mode, body in first.items()}
    assert "`gh api` reaches" in systems["baseline"]
    assert "mcp__github__" not in systems["baseline"]
    assert "mcp__github__" in systems["mcp"]
    assert "`gh api` reaches" not in systems["mcp"]
