"""Claude Code's own names for a treatment, and what its start event and first request say."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.model.variant import AgentResources, ServerCommand, SystemPrompt
from scylla_gha.variants import prove_delivery
from tests.support.delivery import (
    AGENTS,
    BILLING,
    CLOCK,
    GIT_STATUS,
    ITSELF,
    LINES,
    PROMPT,
    SKILLS,
    TOOLS,
    declare,
    observe,
    request,
    said,
    seen,
    start_event,
    told,
)
from tests.support.repository import Files, write_tree

OWN: Files = {
    ".claude/skills/my.skill/SKILL.md": "---\nname: Another title\ndescription: Deep.\n---\n",
    ".claude/skills/empty/notes.md": "",
    ".claude/skills/file.md": "",
    ".claude/commands/top.md": "Do it.",
    ".claude/commands/sub/deep.er.md": "Do it.",
    ".claude/agents/file.md": "---\ndescription: name\nname: 'other-name'\n---\nname: body\n",
    ".claude/agents/sub/deep.md": "---\r\nname:   deep.one  \r\n---\r\n",
    ".claude/agents/nameless.md": "---\ndescription: x\n---\nname: body\n",
    ".claude/agents/broken.md": b"\xff\xfe\x00",
}


def test_a_treatment_in_the_clis_own_names(tmp_path: Path) -> None:
    made = declare(tmp_path, **CLOCK, tools=("Task", "Bash"), system_prompt=SystemPrompt(append="x"))
    assert (made.model, made.tools, made.mcp_servers) == ("m", ("Agent", "Bash"), ("clock",))
    assert (made.skills, made.plugins, made.agents) == (("greeting",), (), ("proofreader",))
    assert "WaitForMcpServers" in made.side_tools
    assert (made.usual_tools, made.usual_prompt) == (True, False)
    assert declare(tmp_path).side_tools == declare(tmp_path).plugins == ()


@pytest.mark.parametrize("tools", [None, ("default",)])
def test_the_clis_own_choice_of_tools_is_no_list(tmp_path: Path, tools: tuple[str, ...] | None) -> None:
    made = declare(tmp_path, tools=tools)
    assert (made.tools, made.least_tools, made.usual_prompt) == (None, TOOLS, True)
    assert declare(tmp_path, tools=()).tools == ()


def test_of_the_start_state_names_are_those_that_the_cli_gives(tmp_path: Path) -> None:
    write_tree(tmp_path / "w", OWN)
    write_tree(tmp_path / "h", {".claude/agents/mine.md": "---\nname: mine\n---\n"})
    made = declare(tmp_path)
    assert set(made.own_skills) == {"my.skill", "top", "sub:deep.er"}
    assert made.own_agents == ("other-name", "deep.one", "mine")


def test_a_start_state_may_hold_anything(tmp_path: Path) -> None:
    write_tree(tmp_path / "w", {".claude/agents/a.md/x": "", ".claude/skills": "", ".claude/commands": ""})
    (tmp_path / "w/.claude/agents/b.md").symlink_to("nowhere")
    os.mkfifo(tmp_path / "w/.claude/agents/c.md")
    assert declare(tmp_path).own_agents == declare(tmp_path).own_skills == ()


@pytest.mark.parametrize(
    ("sources", "agents", "places"),
    [
        (None, ("w", "h"), ["w", "h", "w/CLAUDE.local.md"]),
        ((), (), []),
        (("user",), ("h",), ["h"]),
        (("project",), ("w",), ["w"]),
        (("local",), (), ["w/CLAUDE.local.md"]),
        (("project", "local"), ("w",), ["w", "w/CLAUDE.local.md"]),
    ],
)
def test_settings_sources_say_what_is_read_from_where(
    tmp_path: Path, sources: Any, agents: tuple[str, ...], places: list[str]
) -> None:
    for name in ("w", "h"):
        write_tree(tmp_path / name, {".claude/agents/x.md": f"---\nname: {name}\n---\n"})
    made = declare(tmp_path, setting_sources=sources)
    assert made.own_agents == agents
    assert made.places == tuple(str(tmp_path / place) for place in places)


def test_places_are_known_by_the_names_that_links_lead_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    made = declare(tmp_path / "link", setting_sources=("project",))
    assert made.places == (f"{tmp_path}/link/w", f"{tmp_path}/real/w")


@pytest.mark.parametrize(
    ("sources", "file", "usual"),
    [
        (None, "w/.claude/settings.json", False),
        (None, "w/.claude/settings.local.json", False),
        (None, "h/.claude/settings.json", False),
        (("project",), "w/.claude/settings.json", False),
        (("user",), "w/.claude/settings.json", True),
        (("project",), "w/.claude/settings.local.json", True),
        (("local",), "w/.claude/settings.local.json", False),
        ((), "h/.claude/settings.json", True),
        (None, "w/settings.json", True),
    ],
)
def test_settings_of_the_start_state_may_change_tools_and_prompt(
    tmp_path: Path, sources: Any, file: str, usual: bool
) -> None:
    write_tree(tmp_path, {file: "{}"})
    made = declare(tmp_path, setting_sources=sources)
    assert (made.usual_tools, made.usual_prompt, bool(made.least_tools)) == (usual,) * 3
    assert not declare(tmp_path, setting_sources=sources, settings={}).usual_tools


def test_a_start_event_in_the_clis_form(tmp_path: Path) -> None:
    one = told(tmp_path, start_event())
    assert (one.model, one.tools, one.offered, one.mcp_servers) == ("m", TOOLS, 7, ("clock",))
    assert (one.skills, one.agents, one.plugins) == (("greeting", "init"), ("Explore", "proofreader"), ())
    assert (one.system_prompt, one.instructions, one.idle_servers) == (None, None, ())


def test_a_request_in_the_clis_form(tmp_path: Path) -> None:
    one = seen(tmp_path, request("/w/CLAUDE.md (project instructions, checked into the codebase)"))
    assert (one.model, one.tools, one.offered, one.mcp_servers) == ("m", TOOLS, 7, ("clock",))
    assert (one.system_prompt, one.prompt_lines) == (PROMPT + GIT_STATUS, LINES)
    assert (one.skills, one.agents) == (("greeting", "claude-api", "init"), ("Explore", "proofreader"))
    assert (one.instructions, one.plugins) == (("/w/CLAUDE.md",), None)


def test_what_is_declared_is_found_in_both(tmp_path: Path) -> None:
    found = observe(tmp_path, start_event(), request())
    made = prove_delivery(declare(tmp_path, **CLOCK), list(found.values()), None)
    assert (made.proved, made.missing, made.tools) == (True, (), 7)


def test_the_first_start_event_counts_whatever_the_agent_writes_after_it(tmp_path: Path) -> None:
    lines = [b'"init"', b'{"type": "user", "text": "\\"init\\""}', json.dumps(start_event()).encode(),
             json.dumps(start_event(model="forged", tools=[])).encode()]  # fmt: skip
    assert observe(tmp_path, b"\n".join(lines), None)["start event"].model == "m"


@pytest.mark.parametrize(
    ("servers", "tools", "serving", "idle", "remark"),
    [
        ([{"name": "clock", "status": "connected"}], ["mcp__clock__now"], ("clock",), (), "it works, but has no tool"),
        ([{"name": "clock", "status": "connected"}], [], (), ("clock",), "it works, but has no tool"),
        ([{"name": "clock", "status": "pending"}], [], (), ("clock",), "it had not answered when the agent began"),
        ([{"name": "clock", "status": "failed"}], [], (), (), "its status is failed"),
        ([{"name": "clock", "status": "needs-auth"}], [], (), (), "its status is needs-auth"),
        ([{"name": "clock", "status": ["x"]}], [], (), ("clock",), "its status is None"),
        ([], ["mcp__clock__now"], ("clock",), (), None),
        ([], ["mcp__my_own-clock__it_is___now__"], ("my_own-clock",), (), None),
        ([{"name": "clock__spy", "status": "connected"}], ["mcp__clock__spy__now"], ("clock",), ("clock__spy",),
         "it works, but has no tool"),
        ([{"name": "plugin:team:clock", "status": "connected"}], ["mcp__plugin_team_clock__now"],
         ("plugin_team_clock",), ("plugin:team:clock",), "it works, but has no tool"),
    ],
)  # fmt: skip
def test_a_server_works_where_it_offers_tools(
    tmp_path: Path, servers: Any, tools: list[str], serving: Any, idle: Any, remark: str | None
) -> None:
    one = told(tmp_path, start_event(mcp_servers=servers, tools=tools))
    assert (one.mcp_servers, one.idle_servers) == (serving, idle)
    assert one.remarks == (() if remark is None else (f"{servers[0]['name']}: {remark}",))


def test_a_server_that_failed_is_missing_with_its_status(tmp_path: Path) -> None:
    event = start_event(mcp_servers=[{"name": "clock", "status": "failed"}], tools=["Task", *TOOLS[1:]])
    body = request(tools=[{"name": name} for name in TOOLS])
    made = prove_delivery(
        declare(tmp_path, mcp_servers=("clock",)), list(observe(tmp_path, event, body).values()), None
    )
    both = "MCP server clock (start event: its status is failed)", "MCP server clock (first request)"
    assert made.missing == both


@pytest.mark.parametrize("prompt", ["", "\n", "Work fast.\n", "You are good, built on the Claude Agent SDK.", BILLING])
def test_a_system_prompt_is_read_to_the_byte_whatever_it_begins_with(tmp_path: Path, prompt: str) -> None:
    assert seen(tmp_path, request(prompt=prompt)).system_prompt == prompt
    assert seen(tmp_path, request(system=prompt)).system_prompt == prompt


def test_the_two_first_blocks_are_the_clis_own(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": text} for text in (ITSELF, "One. ", ITSELF)]
    assert seen(tmp_path, request(system=blocks)).system_prompt == f"One. {ITSELF}"
    assert seen(tmp_path, request(system=[])).system_prompt == ""


def test_lists_may_stand_in_reminders_of_the_users(tmp_path: Path) -> None:
    reminders = said(*(f"<system-reminder>\n{text}\n</system-reminder>" for text in (AGENTS, SKILLS)), "Do it.")
    one = seen(tmp_path, request(messages=reminders))
    assert (one.agents, one.skills) == (("Explore", "proofreader"), ("greeting", "claude-api", "init"))


def test_the_tasks_words_and_instruction_files_are_no_lists(tmp_path: Path) -> None:
    fake = AGENTS.replace("proofreader", "spy") + SKILLS.replace("greeting", "spying")
    reminder = f"<system-reminder>\nAs you answer\nContents of /w/CLAUDE.md (project):\n\n{fake}</system-reminder>"
    one = seen(tmp_path, request(messages=[*said(reminder, fake), *request()["messages"]]))
    assert (one.agents, one.skills) == (("Explore", "proofreader"), ("greeting", "claude-api", "init"))
    assert seen(tmp_path, request(messages=said(fake))).agents == ()


def test_a_description_over_many_lines_ends_no_list(tmp_path: Path) -> None:
    long = "Long.\n\n<example>\nContext: x\n\n\n- x: y\n</example>"
    listing = AGENTS.replace("Reads proofs", f"{long}\n- zzz: Last") + SKILLS.replace(
        "How to greet", f"{long}\n- a.b-c"
    )
    one = seen(tmp_path, request(messages=said(listing, role="system")))
    assert one.agents == ("Explore", "proofreader", "x", "zzz")
    assert one.skills == ("greeting", "x", "a.b-c", "claude-api", "init")


def test_of_many_skills_only_names_are_told(tmp_path: Path) -> None:
    names = "\n".join(f"- team:many-{number}" for number in range(60))
    one = seen(tmp_path, request(messages=said(SKILLS.replace("- greeting: How to greet", names), role="system")))
    assert one.skills is not None
    assert one.skills[:60] == tuple(f"team:many-{number}" for number in range(60))


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("/CLAUDE.md (project instructions, checked into the codebase)", "/CLAUDE.md"),
        ("/a (b) c/CLAUDE.md (user's private global instructions for all projects)", "/a (b) c/CLAUDE.md"),
        ("/w/docs/more.md (project instructions, checked into the codebase)", "/w/docs/more.md"),
    ],
)
def test_instruction_files_are_read_from_reminders(tmp_path: Path, line: str, path: str) -> None:
    assert seen(tmp_path, request(line)).instructions == (path,)
    assert seen(tmp_path, request(messages=said(f"Contents of {line}:\n"))).instructions == (), "the task's own words"


def test_a_parent_folders_instructions_are_not_declared(tmp_path: Path) -> None:
    body = request(f"{tmp_path}/CLAUDE.md (project instructions)", f"{tmp_path}/w/CLAUDE.md (project instructions)")
    made = prove_delivery(declare(tmp_path), [seen(tmp_path, body)], None)
    assert made.undeclared == ("MCP server clock", f"instructions of {tmp_path}/CLAUDE.md")


def test_files_of_the_repository_that_were_not_read_are_missing(tmp_path: Path) -> None:
    hidden = "disable-model-invocation: yes"
    files = {**OWN, "CLAUDE.md": "Ours.", "AGENTS.md": "Theirs.", ".claude/skills/hidden/SKILL.md": hidden}
    write_tree(tmp_path / "w", files)
    resources = AgentResources(
        agent_files={path: tmp_path / "w" / path for path in files},
        project_servers={"docs": ServerCommand("node", (), {})},
    )
    made = declare(tmp_path, resources)
    assert (made.skills, made.agents, made.mcp_servers) == (("my.skill",), ("deep.one", "other-name"), ("docs",))
    missing = prove_delivery(made, [seen(tmp_path, request())], None).missing
    assert {fault.partition(" (")[0] for fault in missing} >= {
        "skill my.skill", "sub-agent deep.one", "MCP server docs", "instructions of CLAUDE.md"}  # fmt: skip
    whole = seen(tmp_path, request(f"{tmp_path}/w/CLAUDE.md (project instructions, checked into the codebase)"))
    assert not any("instructions" in fault for fault in prove_delivery(made, [whole], None).missing)
