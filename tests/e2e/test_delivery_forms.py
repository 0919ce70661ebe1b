"""Treatments and start states of unusual form are delivered by the real Claude Code CLI, and are no faults."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.variant import SystemPrompt, Treatment
from scylla_gha.prepare.tools import cache_root
from tests.support.command import scylla
from tests.support.library import write_tier
from tests.support.provider import Say, serve
from tests.support.repository import FILES, environment, make_repository, write_greet_experiment, write_tree

MODEL = "claude-sonnet-5"
LONG = "|\n  Long.\n\n  <example>\n  Context: x\n\n\n  - x: y\n  </example>"
SERVER = """\
import json, sys
TOOL = {"name": "now", "description": "The time", "inputSchema": {"type": "object", "properties": {}}}
ANSWERS = {
    "initialize": {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                   "serverInfo": {"name": "clock", "version": "1"}, "instructions": "Ask the clock."},
    "tools/list": {"tools": [TOOL]},
    "resources/list": {"resources": [{"uri": "a://b", "name": "b"}]},
    "prompts/list": {"prompts": [{"name": "tick", "description": "Tick"}]},
}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": ANSWERS.get(asked["method"], {})}
        print(json.dumps(answer), flush=True)
"""
MANY = tuple(f"many-{number}" for number in range(60))
CONFIG = {
    "config/mcp/clock/server.yaml": "description: A clock\ncommand: python3\nargs: ['{folder}/clock.py']\n",
    "config/mcp/clock/clock.py": SERVER,
    "config/skills/long/SKILL.md": f"---\nname: long\ndescription: {LONG}\n---\nA.\n",
    "config/skills/other/SKILL.md": "---\nname: other\ndescription: Other\n---\nA.\n",
    "config/agents/long.md": f"---\nname: long\ndescription: {LONG}\n---\nA.\n",
    "config/agents/other.md": "---\nname: other\ndescription: Other\n---\nA.\n",
    **{
        f"config/skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: {'Long. ' * 150}\n---\nA.\n"
        for name in MANY
    },
}
TREATMENTS = {
    "vanilla": Treatment(),
    "newline": Treatment(system_prompt=SystemPrompt(replace="  Work fast.\n\n")),
    "itself": Treatment(system_prompt=SystemPrompt(replace="You are good, built on the Claude Agent SDK.")),
    "appended": Treatment(system_prompt=SystemPrompt(append="# Rules\n\n# Environment\nNone.\n")),
    "agents": Treatment(agents=("long", "other")),
    "skills": Treatment(skills=("long", "other")),
    "many": Treatment(skills=MANY),
    "server": Treatment(mcp_servers=("clock",)),
    "denied": Treatment(settings={"permissions": {"deny": ["Bash"]}}),
    "local": Treatment(setting_sources=("local",)),
    "default": Treatment(tools=("default",)),
}
OWN = {
    "CLAUDE.md": "Be good.\n@notes/kept.txt\n",
    "CLAUDE.local.md": "Be better.\n",
    ".claude/agents/file.md": "---\nname: another-name\ndescription: Own\n---\nYou.\n",
    ".claude/agents/sub/deep.md": "---\nname: deep-one\ndescription: Own\n---\nYou.\n",
    ".claude/skills/my.skill/SKILL.md": "---\nname: title\ndescription: Own\n---\nYou.\n",
    ".claude/commands/sub/cmd.md": "Do it.\n",
}


def deliveries(
    root: Path, treatments: dict[str, Treatment], own: dict[str, str], sandbox: str = "auto", **given: str
) -> dict[str, Any]:
    """Return what came of each treatment on a start state with `own`: its outcome, or else the reason."""
    repo = make_repository(root / "repo", files={**FILES, **own}).root
    write_tree(repo, CONFIG)
    write_tier(repo, **treatments)
    variants = tuple(f"T0/{number:02d}-{name}" for number, name in enumerate(treatments))
    write_greet_experiment(repo, agents=("claude-code@2.1.332",), variants=variants, models=(MODEL,),
                           baseline=f"t0-00-vanilla.claude-code.{MODEL}", sandbox=sandbox)  # fmt: skip
    with serve(lambda _: Say("Done.")) as provider:
        env = environment(root, ANTHROPIC_API_KEY="sk-ant-canary-0123456789", ANTHROPIC_BASE_URL=provider.url, **given)
        said = scylla("evaluate", "greet", "--yes", "--json", cwd=repo, env={**env, "SCYLLA_CACHE": str(cache_root())})
    trials = [json.loads(path.read_text()) for path in sorted(repo.glob("runs/greet/*/trial.json"))]
    assert len(trials) == len(treatments), said.err
    last = [trial["attempts"][-1] for trial in trials]
    return {name: (one["outcome"] if one["delivery"]["proved"] else one["reason"])
            for name, one in zip(treatments, last, strict=True)}  # fmt: skip


@pytest.mark.parametrize("own", [{}, OWN], ids=["plain", "with instructions, skills and sub-agents"])
def test_treatments_of_unusual_form_are_proved(tmp_path: Path, own: dict[str, str]) -> None:
    assert deliveries(tmp_path, TREATMENTS, own) == dict.fromkeys(TREATMENTS, "completed")


def test_a_folder_of_another_name_and_settings_of_the_start_state_are_no_faults(tmp_path: Path) -> None:
    (tmp_path / "real (1) x").mkdir()
    (tmp_path / "link").symlink_to("real (1) x")
    settings = {".claude/settings.json": '{"outputStyle": "Explanatory", "permissions": {"deny": ["WebFetch"]}}'}
    made = deliveries(tmp_path, {"vanilla": Treatment()}, {**OWN, **settings}, SCYLLA_WORK=str(tmp_path / "link"))
    assert made == {"vanilla": "completed"}


def test_instructions_of_a_folder_above_are_a_fault(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("Be evil.\n")
    made = deliveries(tmp_path, {"vanilla": Treatment()}, OWN, sandbox="host")
    assert made == {"vanilla": f"not declared: instructions of {tmp_path}/CLAUDE.md"}
