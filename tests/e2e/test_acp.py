"""The real Gemini CLI as an agent of the Agent Client Protocol, by a manifest of the user."""

import json
from pathlib import Path

from scylla_gha.providers.scripted import scripted_provider
from tests.support.command import scylla
from tests.support.git import shell
from tests.support.materials import SERVER
from tests.support.repository import write_tree

MANIFEST = """\
name: gemini-acp
protocol: acp
package:
  npm: "@google/gemini-cli"
  program: gemini
  oldest: 0.60.0
  node: 22.23.3
  dates: {0.61.0: 2026-11-28}
api_styles:
  gemini: {env: {GOOGLE_GEMINI_BASE_URL: "{gateway}", GEMINI_API_KEY: "{token}"}}
start:
  flags: [--acp, --approval-mode, yolo, --skip-trust]
  env: {GEMINI_CLI_NO_RELAUNCH: "true", TERM: xterm-256color}
  files:
    .gemini/settings.json:
      json:
        security: {auth: {selectedType: gemini-api-key}}
        general: {enableAutoUpdate: false, maxAttempts: 1}
model: {flags: [--model, "{model}"]}
treatment:
  skills: {folder: .gemini/skills}
  mcp_servers: {file: acp/session.json}
delivery:
  has_model: false
  tool_of_server: '^mcp_(.+?)_'
uses:
  skills: {activate_skill: name}
"""
TIER = """\
id: T1
name: Ours
focus: Does it arrive?
sub_tests: [{id: 01-all, description: x, treatment: {skills: [greeting], mcp_servers: [clock]}}]
"""
EXPERIMENT = """\
id: probe
question: Does it work?
scenarios: [001-hello-world]
agents: [gemini-acp@0.61.0]
variants: [T1/01-all]
models: [gemini-3.8-flash]
repetitions: 1
baseline: t1-01-all.gemini-acp.gemini-3.8-flash
sandbox: bubblewrap
limits: {timeout_seconds: 200, api_retries: 0, provider_retries: 0}
retry: {attempts: 1, backoff_seconds: 0}
"""
SKILL = "---\nname: greeting\ndescription: How to greet reviewers\n---\nSay hello.\n"
WRITE = "printf 'print(\"Hello, World!\")\\n' > hello.py"


def test_an_agent_of_the_protocol_works_and_its_treatment_is_proved(tmp_path: Path) -> None:
    files = {
        "config/agent-clis/gemini-acp.yaml": MANIFEST,
        "config/tiers/T1.yaml": TIER,
        "config/skills/greeting/SKILL.md": SKILL,
        "config/mcp/clock/server.yaml": "description: A clock\ncommand: python3\nargs: ['{folder}/clock.py']\n",
        "config/mcp/clock/clock.py": SERVER,
        "probe.yaml": EXPERIMENT,
    }
    shell(write_tree(tmp_path, files), "git init -q && git add -A")
    with scripted_provider(WRITE) as url:
        env = {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "sk-canary-0123456789"}
        said = scylla("evaluate", "probe.yaml", "--yes", "--json", cwd=tmp_path, env=env)
    assert said.code == 0, said.err
    (path,) = tmp_path.glob("runs/probe/*/trial.json")
    attempt = json.loads(path.read_text())["attempts"][-1]
    assert (attempt["outcome"], attempt["diff"]["files"]) == ("completed", ["hello.py"]), attempt["reason"]
    assert attempt["delivery"]["proved"], attempt["delivery"]
    assert (attempt["requests"], attempt["uses"]["counts"]) == (2, {"skill/greeting": 0})
    steps = json.loads(next(tmp_path.glob("runs/probe/*/attempt-1/trajectory.json")).read_text())["steps"]
    assert [call["name"] for step in steps for call in step.get("tool_calls") or ()] == [WRITE]
