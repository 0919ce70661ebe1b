"""A user's own agent CLI, which the toolkit has never seen, with a manifest as docs/agents.md says."""

import os
from pathlib import Path

from tests.support.command import Said, scylla
from tests.support.repository import write_tree

ACME = """\
#!/usr/bin/env python3
import json, os, subprocess, sys, urllib.request

if sys.argv[1:] == ["--version"]:
    sys.exit(print("acme 1.2.3"))
model, task = sys.argv[sys.argv.index("--model") + 1], sys.argv[sys.argv.index("-p") + 1]
say = lambda **event: print(json.dumps(event), flush=True)
tool = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
tools = [{"type": "function", "function": {"name": "shell", "description": "Runs it", "parameters": tool}}]
messages = [{"role": "system", "content": "You are Acme."}, {"role": "user", "content": task}]
say(type="session", version="1.2.3")
say(type="mood", mood="eager")
for _ in range(5):
    body = {"model": model, "messages": messages, "tools": tools}
    headers = {"authorization": "Bearer " + os.environ["ACME_API_KEY"], "content-type": "application/json"}
    url = os.environ["ACME_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        message = json.load(answer)["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        say(type="assistant", text=message["content"])
        break
    for call in message["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        output = subprocess.run(command, shell=True, capture_output=True, text=True).stdout
        say(type="tool", tool="shell", id=call["id"], input=command, output=output, error=None)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})
say(type="result", is_error=False)
"""
MANIFEST = """\
name: acme
package: {npm: "@acme/cli", program: acme, oldest: 1.0.0}
version: 'acme (.+)'
api_styles:
  openai-chat: {env: {ACME_BASE_URL: "{gateway}/v1", ACME_API_KEY: "{token}"}}
start: {flags: [run, --json]}
model: {flags: [--model, "{model}"]}
prompt: [-p, "{prompt}"]
"""
EVENTS = """\
events:
  - {kind: start, when: {type: session}, version: version}
  - {kind: message, when: {type: assistant}, text: text}
  - {kind: call, when: {type: tool}, name: tool, id: id, arguments: input, result: output, failed: error}
  - {kind: end, when: {type: result}, failed: is_error, text: message}
"""


def tried(root: Path, manifest: str) -> Said:
    """Try the CLI with a manifest."""
    write_tree(root, {"config/agent-clis/acme.yaml": manifest, "bin/acme": ACME})
    (root / "bin/acme").chmod(0o755)
    env = {"PATH": f"{root / 'bin'}:{os.environ['PATH']}"}
    return scylla("agents", "try", "acme", "--into", "tried", "--sandbox", "bubblewrap", cwd=root, env=env)


def test_a_manifest_of_ten_lines_is_enough_for_a_start(tmp_path: Path) -> None:
    said = tried(tmp_path, MANIFEST)
    assert said.code == 0, said.err
    assert "requests: 2, of which 2 turns of the main conversation\n" in said.out
    assert (tmp_path / "tried/transcript.jsonl").read_text().count("\n") == 5


def test_with_rules_for_its_events_the_session_is_read(tmp_path: Path) -> None:
    said = tried(tmp_path, MANIFEST + EVENTS)
    assert said.code == 0, said.err
    assert "tool calls: shell (1)\n" in said.out
    assert "lines without a rule: mood (1)\n" in said.out


def test_a_rule_that_does_not_fit_is_named(tmp_path: Path) -> None:
    said = tried(tmp_path, MANIFEST + EVENTS.replace("type: result", "type: done"))
    assert said.code != 0
    assert "read as agent_error: the CLI ended with exit code 0 and no report of its end" in said.err
    said = tried(tmp_path, MANIFEST + EVENTS.replace("result: output", "result: outcome"))
    assert "`events` has no rule for results" in said.err


def test_it_stands_in_the_list_with_what_it_cannot_take(tmp_path: Path) -> None:
    write_tree(tmp_path, {"config/agent-clis/acme.yaml": MANIFEST})
    said = scylla("agents", "list", cwd=tmp_path)
    (row,) = (line.split() for line in said.out.splitlines() if line.startswith("acme"))
    assert row == ["acme", "-", "chat", "gateway", *["-"] * 8]
