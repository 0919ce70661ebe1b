"""Sources of a treatment's proof: records, and a start event and a request in the form of Claude Code.

The lists are cut short; what is left has the CLI's own words, since the proof reads them. `request` has all tools with
their definitions (2.1.197 by default), `deferring_request` lists some by name only (2.1.332 by default).
"""

import json
from pathlib import Path
from typing import Any

from scylla_gha.agents.base import AgentTask
from scylla_gha.agents.claude import delivery
from scylla_gha.model.experiment import TrialLimits
from scylla_gha.model.trial import Declared, Inventory, Observed
from scylla_gha.model.variant import AgentResources, Treatment
from scylla_gha.variants import line_hash

Body = dict[str, Any]

BILLING = "x-anthropic-billing-header: cc_version=2.1.197.8dc; cc_entrypoint=sdk-cli;"
ITSELF = "You are a Claude agent, built on Anthropic's Claude Agent SDK."
PROMPT = """
You are an interactive agent that helps users with software engineering tasks.

# Memory
Your memory is a directory at `/tmp/1/home/.claude/projects/-tmp-1-workspace/memory/`.

# Environment
You have been invoked in the following environment:
 - Primary working directory: /tmp/1/workspace

# Context management
Act.
"""
GIT_STATUS = "\ngitStatus: This is the git status at the start of the conversation.\n\nStatus:\n(clean)"
LINES = ("You are an interactive agent that helps users with software engineering tasks.", "# Memory",
         "Your memory is a directory at `MEMORY`.", "# Context management", "Act.")  # fmt: skip
TASK = "Make greet.sh say hello.\n"
AGENTS = """\
Available agent types for the Agent tool:
- Explore: Fast read-only search agent (eg. "src/components/**/*.tsx"). (Tools: All tools except Agent, Edit)
- proofreader: Reads proofs (Tools: Read)

When you launch multiple agents for independent work, send them in a single message with multiple tool uses.
"""
SKILLS = """\
The following skills are available for use with the Skill tool:

- greeting: How to greet
- claude-api: Reference for the API.
TRIGGER — read BEFORE opening the target file.
- init: Initialize a new CLAUDE.md file with codebase documentation"""
CONTEXT = """\
<system-reminder>
As you answer the user's questions, you can use the following context:
# claudeMd
Codebase and user instructions are shown below.

CLAUDE# currentDate
Today's date is 2026-11-22.
</system-reminder>

"""
TOOLS = ("Agent", "Bash", "Edit", "Read", "Skill", "Write")


def start_event(**given: Any) -> Body:
    """Six tools and one of a server, which works; a plugin with a skill; a sub-agent."""
    return {
        "type": "system", "subtype": "init", "cwd": "/tmp/1/workspace", "session_id": "s",
        "tools": ["Task", *TOOLS[1:], "mcp__clock__now"],
        "mcp_servers": [{"name": "clock", "status": "connected"}],
        "model": "m", "permissionMode": "bypassPermissions", "slash_commands": ["greeting", "clear"],
        "claude_code_version": "2.1.197", "agents": ["Explore", "proofreader"], "skills": ["greeting", "init"],
        "plugins": [], **given,
    }  # fmt: skip


def request(*instructions: str, prompt: str = PROMPT + GIT_STATUS, **given: Any) -> Body:
    """The same in a request; `instructions` are files that were put in, as `PATH (KIND)`."""
    files = "".join(f"Contents of {each}:\n\nBe good.\n\n" for each in instructions)
    blocks = [{"type": "text", "text": text} for text in (BILLING, ITSELF, prompt)]
    said = [{"type": "text", "text": CONTEXT.replace("CLAUDE#", f"{files}#")}, {"type": "text", "text": TASK}]
    return {
        "model": "m", "max_tokens": 64000, "stream": True, "system": blocks,
        "tools": [{"name": name, "input_schema": {}} for name in (*TOOLS, "mcp__clock__now")],
        "messages": [{"role": "user", "content": said}, {"role": "system", "content": f"{AGENTS}\n{SKILLS}"}], **given,
    }  # fmt: skip


DEFERRED = """\
The following deferred tools are now available via ToolSearch. Their schemas are NOT loaded — calling them directly \
will fail with InputValidationError. Use ToolSearch with query "select:<name>[,<name>...]" to load tool schemas \
before calling them:
WebFetch
mcp__clock__now
"""
REMINDED = "<system-reminder>\n{}\n</system-reminder>"


def deferring_request(role: str = "system", **given: Any) -> Body:
    """The same with deferred tools, in one message of the role `system`, or in reminders in the user's messages."""
    lists = [REMINDED.format(text.rstrip()) for text in (DEFERRED, AGENTS, SKILLS)]
    lists.append(REMINDED.format("<total_tokens>15000000 tokens left</total_tokens>"))
    texts = ["\n\n".join(lists)] if role == "system" else lists
    listing = {"role": role, "content": [{"type": "text", "text": text} for text in texts]}
    tools: list[Body] = [{"name": name, "input_schema": {}} for name in (*TOOLS, "ToolSearch")]
    tools.append({"name": "DeferredToolPlaceholder", "input_schema": {}, "defer_loading": True})
    return {**request(), "tools": tools, "messages": [*request()["messages"][:1], listing], **given}


def observe(folder: Path, start: Body | bytes | None, body: Body | bytes | None) -> dict[str, Observed]:
    """Return what is read of a transcript and a request, by source; None: there is none."""
    transcript, asked = folder / "transcript.jsonl", folder / "first-request.json"
    transcript.write_bytes(b"" if start is None else _bytes(start) + b"\n")
    if body is not None:
        asked.write_bytes(_bytes(body))
    return {one.source: one for one in delivery.observed_delivery(transcript, asked)}


CLOCK: Body = {"mcp_servers": ("clock",), "skills": ("greeting",), "agents": ("proofreader",)}


def declare(place: Path, resources: AgentResources = AgentResources(), **treatment: Any) -> Declared:
    """Return what is declared for a workspace and a HOME under this folder."""
    task = AgentTask(
        prompt="",
        home=place / "h",
        patch=place,
        limits=TrialLimits(),
        model="m",
        treatment=Treatment(**treatment),
        resources=resources,
        managed=place / "managed",
    )
    return delivery.declared_delivery(task, place / "w")


def skill_of_user(folder: Path, front: str) -> tuple[AgentResources, Path]:
    """Write a skill `greeting` with these lines of front matter; return the resources of a variant that has it."""
    skill = folder / "config" / "skills" / "greeting"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: greeting\ndescription: How to greet\n{front}---\nSay hello.\n")
    texts: dict[str, tuple[str, ...]] = {"greeting": ("How to greet",)}
    return AgentResources(folders={"skills/greeting": skill}, descriptions=texts), skill


def seen(folder: Path, body: dict[str, Any]) -> Observed:
    return observe(folder, None, body)["first request"]


def told(folder: Path, event: dict[str, Any]) -> Observed:
    return observe(folder, event, None)["start event"]


def said(*texts: str, role: str = "user") -> list[dict[str, Any]]:
    return [{"role": role, "content": [{"type": "text", "text": text} for text in texts]}]


def _bytes(content: Body | bytes) -> bytes:
    return content if isinstance(content, bytes) else json.dumps(content).encode()


def make_declared(**given: Any) -> Declared:
    """No treatment, of the model `m`."""
    fields = {"model": "m", "system_prompt": None, "tools": None, "least_tools": ("Bash",), "places": ("/w", "/h")}
    return Declared.model_validate({**fields, **given})


def make_inventory(**given: Any) -> Inventory:
    """A CLI with two tools, a skill, a sub-agent and a prompt of one line."""
    fields = {"agent": "cli", "version": "1", "models": ("m",), "tools": ("Bash", "Read"), "skills": ("init",),
              "agents": ("Explore",), "prompt_lines": (line_hash("Be an agent."),)}  # fmt: skip
    return Inventory.model_validate({**fields, **given})


def make_start(**given: Any) -> Observed:
    """The start event of that CLI."""
    fields = {"source": "start event", "model": "m", "tools": ("Bash", "Read"), "offered": 2, "mcp_servers": (),
              "skills": ("init",), "agents": ("Explore",), "plugins": ()}  # fmt: skip
    return Observed.model_validate({**fields, **given})


def make_request(prompt: str = "Be an agent.", **given: Any) -> Observed:
    """Its first request."""
    lines = tuple(line for line in prompt.splitlines() if line.strip())
    fields = {"source": "first request", "model": "m", "system_prompt": prompt, "prompt_lines": lines,
              "tools": ("Bash", "Read"), "offered": 2, "mcp_servers": (), "skills": ("init",), "agents": ("Explore",),
              "instructions": ()}  # fmt: skip
    return Observed.model_validate({**fields, **given})
