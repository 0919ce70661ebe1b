"""The declared parts of a variant are what the real Claude Code CLI has, or the trial does not count.

A `claude` of our own stands before the real one: it takes away the flag that delivers a treatment, or adds one.
"""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.prepare.tools import cache_root, npm_program
from tests.support.claude_versions import NEWEST
from tests.support.command import scylla
from tests.support.hello import hello
from tests.support.materials import SERVER
from tests.support.provider import Provider, serve
from tests.support.repository import write_tree

TIER = """\
id: T1
name: Treatments
focus: One of each kind
sub_tests:
  - {id: 00-vanilla, description: The CLI as it comes, treatment: {}}
  - {id: 01-replaced, description: Another prompt, treatment: {system_prompt: {replace: Work fast.}}}
  - {id: 02-appended, description: A longer prompt, treatment: {system_prompt: {append: Work slowly.}}}
  - {id: 03-tools, description: Fewer tools, treatment: {tools: [Bash, Read]}}
  - {id: 04-mcp, description: A server, treatment: {mcp_servers: [clock]}}
  - {id: 05-skill, description: A skill, treatment: {skills: [greeting]}}
  - {id: 06-agent, description: A sub-agent, treatment: {agents: [proofreader], setting_sources: []}}
  - {id: 07-all, description: All at once, treatment: {mcp_servers: [clock], skills: [greeting], agents: [proofreader],
     setting_sources: [user], tools: [Bash, Skill, Task]}}
  - {id: 08-no-sources, description: No settings sources, treatment: {setting_sources: []}}
  - {id: 09-ends, description: A server that ends at its start, treatment: {mcp_servers: [ends]}}
  - {id: 10-hidden, description: A skill that only the user may call, treatment: {skills: [hidden]}}
"""
FILES = {
    "config/tiers/T1.yaml": TIER,
    "config/mcp/clock/server.yaml": "description: A clock\ncommand: python3\nargs: ['{folder}/clock.py']\n",
    "config/mcp/clock/clock.py": SERVER,
    "config/mcp/ends/server.yaml": "description: None\ncommand: python3\nargs: [-c, raise SystemExit(1)]\n",
    "config/skills/hidden/SKILL.md": "---\nname: hidden\ndescription: How\ndisable-model-invocation: true\n---\nDo.\n",
    "config/skills/greeting/SKILL.md": "---\nname: greeting\ndescription: How to greet\n---\nSay hello.\n",
    "config/agents/proofreader.md": "---\nname: proofreader\ndescription: Reads proofs\ntools: Read\n---\nYou read.\n",
}
EXPERIMENT = """\
id: probe
question: Is it delivered?
scenarios: [001-hello-world]
agents: [claude-code]
variants: [VARIANT]
models: [claude-sonnet-5]
repetitions: REPETITIONS
baseline: BASELINE.claude-code.claude-sonnet-5
sandbox: host
limits: {timeout_seconds: 180, LIMITS}
"""


def claude(folder: Path, taken: str = "--none", added: str = "", before: str = ":") -> Path:
    """A `claude` that leaves out a flag with its value, and adds arguments; the rest goes to the real one."""
    real = npm_program("@anthropic-ai/claude-code", NEWEST, "claude", cache_root())
    script = f"""#!/bin/sh
n=$#
while [ "$n" -gt 0 ]; do
  if [ "$1" = "{taken}" ]; then shift 2; n=$((n - 2)); else set -- "$@" "$1"; shift; n=$((n - 1)); fi
done
case $* in *--print*) set -- "$@" {added}; {before};; esac
exec {shlex.quote(str(real))} "$@"
"""
    program = folder / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(script)
    program.chmod(0o755)
    return program.parent


def evaluate(
    root: Path,
    provider: Provider,
    variant: str,
    taken: str = "--none",
    added: str = "",
    *,
    before: str = ":",
    repetitions: int = 1,
    limits: str = "api_retries: 0, safety_net: false",
) -> dict[str, Any]:
    """Run it; the report."""
    write_tree(root, FILES)
    baseline = variant.lower().replace("/", "-")
    text = EXPERIMENT.replace("VARIANT", variant).replace("BASELINE", baseline)
    (root / "probe.yaml").write_text(text.replace("REPETITIONS", str(repetitions)).replace("LIMITS", limits))
    env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}
    path = f"{claude(root, taken, added, before)}:{scylla_path()}"
    said = scylla("evaluate", "probe.yaml", "--yes", "--json", "--jobs", "1", cwd=root, env={**env, "PATH": path})
    report: dict[str, Any] = json.loads(said.out)
    return report


def scylla_path() -> str:
    import os

    return os.environ["PATH"]


def only_attempt(root: Path) -> dict[str, Any]:
    (path,) = root.glob("runs/probe/*/trial.json")
    (attempt,) = json.loads(path.read_text())["attempts"]
    found: dict[str, Any] = attempt
    return found


@pytest.mark.parametrize(
    ("variant", "prompt", "tools"),
    [
        pytest.param("T1/00-vanilla", range(20_000, 40_000), (11, 11), id="the CLI as it comes"),
        pytest.param("T1/01-replaced", range(10, 11), (11, 11), id="another prompt, to the byte"),
        pytest.param("T1/02-appended", range(20_000, 40_000), (11, 11), id="the CLI's own and more"),
        pytest.param("T1/07-all", range(20_000, 40_000), (4, 0), id="a server, a skill, a sub-agent, few tools"),
        pytest.param("T1/10-hidden", range(20_000, 40_000), (11, 11), id="a skill that the CLI keeps from the model"),
        pytest.param("T1/08-no-sources", range(20_000, 40_000), (11, 11), id="no settings sources"),
    ],
)
def test_what_is_declared_is_delivered_and_proved(tmp_path: Path, variant: str, prompt: range, tools: Any) -> None:
    with serve(hello) as provider:
        report = evaluate(tmp_path, provider, variant)
    attempt = only_attempt(tmp_path)
    delivery = attempt["delivery"]
    assert (attempt["outcome"], delivery["proved"]) == ("completed", True), attempt["reason"]
    assert delivery["seen"] == ["start event", "first request", "hook events"]
    assert delivery["system_prompt_bytes"] in prompt
    assert (delivery["tools"], len(delivery["deferred_tools"])) == tools, "in full, and by name"
    assert report["counts"]["judged"] == 1


@pytest.mark.parametrize(
    ("variant", "flag", "named"),
    [
        pytest.param("T1/01-replaced", "--system-prompt-file",
                     "missing: the declared system prompt of 10 bytes (seen: 2", id="a replaced prompt"),
        pytest.param("T0/00-empty", "--system-prompt-file",
                     "missing: the declared system prompt of 0 bytes (seen: 2", id="an empty prompt"),
        pytest.param("T1/02-appended", "--append-system-prompt-file",
                     "missing: the appended system prompt of 12 bytes", id="an appended prompt"),
        pytest.param("T1/03-tools", "--tools", "not declared: tool Agent, tool Edit, tool ", id="tools"),
        pytest.param("T1/04-mcp", "--mcp-config",
                     "missing: MCP server clock (start event), MCP server clock (first request)", id="an MCP server"),
        pytest.param("T1/06-agent", "--agents",
                     "missing: sub-agent proofreader (start event), sub-agent proofreader (first request)",
                     id="a sub-agent"),
    ],
)  # fmt: skip
def test_without_the_flag_that_delivers_it_no_trial_counts(tmp_path: Path, variant: str, flag: str, named: str) -> None:
    with serve(hello) as provider:
        report = evaluate(tmp_path, provider, variant, taken=flag)
    attempt = only_attempt(tmp_path)
    assert attempt["outcome"] == "delivery_error"
    assert named in attempt["reason"]
    assert report["counts"] == {"planned": 1, "ran": 1, "judged": 0, "scored": 0}
    assert report["excluded"][0]["outcome"] == "delivery_error"
    assert report["arms"][0]["usd"] > 0, "what was paid for stays counted"


@pytest.mark.parametrize(
    ("variant", "before", "named"),
    [
        pytest.param("T1/09-ends", ":", "missing: MCP server ends (start event: its status is failed)", id="a server"),
        pytest.param(
            "T1/05-skill",
            'rm -r "$CLAUDE_CONFIG_DIR/skills"',
            "missing: skill greeting (start event), skill greeting (first request)",
            id="a skill",
        ),
    ],
)
def test_a_part_that_does_not_start_or_is_not_there_is_named(
    tmp_path: Path, variant: str, before: str, named: str
) -> None:
    with serve(hello) as provider:
        report = evaluate(tmp_path, provider, variant, before=before)
    attempt = only_attempt(tmp_path)
    assert attempt["outcome"] == "delivery_error", attempt["reason"]
    assert named in attempt["reason"]
    assert report["counts"] == {"planned": 1, "ran": 1, "judged": 0, "scored": 0}


def test_on_the_host_a_skill_that_only_the_start_event_lists_is_a_claim(tmp_path: Path) -> None:
    with serve(hello) as provider:
        evaluate(tmp_path, provider, "T1/10-hidden", before='rm -r "$CLAUDE_CONFIG_DIR/skills"')
    delivery = only_attempt(tmp_path)["delivery"]
    assert (delivery["proved"], delivery["claimed"]) == (False, ["skill hidden (start event)"])


@pytest.mark.parametrize(
    ("added", "named"),
    [
        ("--append-system-prompt 'Be evil.'", "not declared: system prompt line 'Be evil.'"),
        ("--mcp-config config/mcp.json", "not declared: MCP server clock"),
        ('--agents \'{"spy": {"description": "Spies", "prompt": "Spy."}}\'', "not declared: sub-agent spy"),
        ("--plugin-dir skills-of-others", "plugin skills-of-others, skill skills-of-others:spying"),
        ("--tools Bash,Edit,Read,Write", "missing: tool Agent (start event), tool Skill (start event)"),
        ("--model claude-haiku-4-5-20251001", "model claude-haiku-4-5-20251001 instead of claude-sonnet-5"),
    ],
)
def test_what_was_not_declared_is_named(tmp_path: Path, added: str, named: str) -> None:
    args = [str(tmp_path / "config/mcp/clock/clock.py")]
    servers = {"mcpServers": {"clock": {"command": "python3", "args": args}}}
    write_tree(tmp_path, {
        "config/mcp.json": json.dumps(servers),
        "skills-of-others/.claude-plugin/plugin.json": '{"name": "skills-of-others", "version": "1.0.0"}',
        "skills-of-others/skills/spying/SKILL.md": "---\nname: spying\ndescription: How to spy\n---\nSpy.\n",
    })  # fmt: skip
    for folder in ("config/mcp.json", "skills-of-others"):
        added = added.replace(folder, str(tmp_path / folder)) if folder in added.split() else added
    with serve(hello) as provider:
        evaluate(tmp_path, provider, "T1/00-vanilla", added=added)
    attempt = only_attempt(tmp_path)
    assert attempt["outcome"] == "delivery_error", attempt["reason"]
    assert named in attempt["reason"]


def test_an_arm_that_is_not_delivered_is_not_paid_for_again(tmp_path: Path) -> None:
    with serve(hello) as provider:
        report = evaluate(tmp_path, provider, "T1/01-replaced", taken="--system-prompt-file", repetitions=3)
    assert [one["outcome"] for one in report["excluded"]] == ["delivery_error", "not_started", "not_started"]
    assert len(provider.requests) == 2
