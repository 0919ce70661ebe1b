"""All MCP servers of the toolkit reach the real Claude Code CLI in a sandbox without network, and work there."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.config.library import toolkit_root
from scylla_gha.config.materials import read_server, server_folders
from tests.support.command import scylla
from tests.support.provider import Body, Provider, Say, serve, tool_results
from tests.support.repository import write_tree

SERVERS = {name: read_server(folder) for name, folder in server_folders((toolkit_root(),)).items()}
TIER = f"""\
id: T2
name: Tools
focus: All MCP servers
sub_tests:
  - {{id: 00-servers, description: All of them, treatment: {{mcp_servers: [{", ".join(SERVERS)}], tools: [Bash]}}}}
"""
EXPERIMENT = """\
id: probe
question: Do the servers arrive?
scenarios: [001-hello-world]
agents: [claude-code@2.1.332]
variants: [T2/00-servers]
models: [claude-sonnet-5]
repetitions: 1
baseline: t2-00-servers.claude-code.claude-sonnet-5
sandbox: bubblewrap
limits: {timeout_seconds: 120, api_retries: 0}
"""
PAGE = "data:text/html,<title>A page</title><button>Press me</button>"
CALLS: list[tuple[str, Body, str]] = [  # tool, arguments, and what is in its answer
    ("mcp__filesystem__write_file", {"path": "/home/workspace/hello.py", "content": 'print("Hello, World!")\n'},
     "Successfully wrote"),
    ("mcp__git__git_status", {"repo_path": "/home/workspace"}, "hello.py"),
    ("mcp__time__convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}, "21:00"),
    ("mcp__memory__create_entities",
     {"entities": [{"name": "Ada", "entityType": "person", "observations": ["writes"]}]}, "Ada"),
    ("mcp__sqlite__execute_query", {"query": "SELECT 6 * 7 AS answer"}, "42"),
    ("mcp__sequential-thinking__sequentialthinking",
     {"thought": "Done.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}, "thoughtNumber"),
    ("mcp__browser__browser_navigate", {"url": PAGE}, "Press me"),
    ("mcp__fetch__fetch", {"url": "https://example.com"}, "example.com"),
    ("mcp__github__get_issue", {}, "missing required parameter"),
]  # fmt: skip


def call_each(body: Body) -> Say:
    """Call one tool of each server in turn; what is not answered as expected ends the work."""
    results = tool_results(body)
    for (tool, _, answer), result in zip(CALLS, results, strict=False):
        if answer not in result:
            return Say(f"{tool} answered: {result}")
    if len(results) < len(CALLS):
        tool, arguments, _ = CALLS[len(results)]
        return Say("Next.", tool, arguments)
    return Say("All of them answered.")


@pytest.fixture(scope="module")
def attempt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one attempt with all servers."""
    root = tmp_path_factory.mktemp("servers")
    write_tree(root, {"config/tiers/T2.yaml": TIER, "probe.yaml": EXPERIMENT})
    with serve(call_each) as provider:
        evaluate(root, provider)
    (folder,) = root.glob("runs/probe/*/attempt-1")
    return folder


def evaluate(root: Path, provider: Provider) -> None:
    env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}
    said = scylla("evaluate", "probe.yaml", "--yes", "--json", cwd=root, env=env)
    assert said.code == 0, said.err


def events(attempt: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (attempt / "transcript.jsonl").read_text().splitlines()]


def test_there_are_nine_servers() -> None:
    assert list(SERVERS) == ["browser", "fetch", "filesystem", "git", "github", "memory", "sequential-thinking",
                             "sqlite", "time"]  # fmt: skip


def test_all_are_connected_when_the_agent_begins(attempt: Path) -> None:
    start = next(event for event in events(attempt) if event.get("subtype") == "init")
    assert {server["name"]: server["status"] for server in start["mcp_servers"]} == dict.fromkeys(SERVERS, "connected")


def test_the_first_request_offers_exactly_their_declared_tools(attempt: Path) -> None:
    request = json.loads((attempt / "first-request.json").read_text())
    offered = {tool["name"] for tool in request["tools"] if tool["name"].startswith("mcp__")}
    assert offered == {f"mcp__{name}__{tool}" for name, server in SERVERS.items() for tool in server.tools or ()}


def test_the_delivery_is_proved(attempt: Path) -> None:
    record = json.loads((attempt / "attempt.json").read_text())
    delivery = record["delivery"]
    assert (delivery["proved"], delivery["missing"], delivery["undeclared"]) == (True, [], []), record["reason"]
    assert delivery["tools"] >= sum(len(server.tools or ()) for server in SERVERS.values())


def test_a_tool_of_each_answers_in_the_sandbox(attempt: Path) -> None:
    result = next(event for event in events(attempt) if event["type"] == "result")
    assert result["result"] == "All of them answered."
    calls = json.loads((attempt / "attempt.json").read_text())["tool_calls"]
    assert calls == {tool: 1 for tool, _, _ in CALLS}
