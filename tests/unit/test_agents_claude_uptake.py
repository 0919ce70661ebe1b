"""Uses of declared resources by what the gateway noted. tests/e2e/test_uptake.py has the real CLI's forms."""

import json
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.agents import AGENTS
from scylla_gha.model.traffic import CallResult, ToolWatch, WatchedCall, WatchedTraffic
from scylla_gha.model.trial import Uses
from scylla_gha.model.variant import AgentResources, McpServer, ServerCommand, SubAgent
from tests.support.repository import write_tree

LONG = "Count the books on each shelf before you write anything."
SHARED = "A line of more than thirty characters that both skills have."
SERVER = McpServer(description="A clock", command="python3")


@pytest.fixture
def resources(tmp_path: Path) -> AgentResources:
    """Two skills and a server of the library; a skill, a sub-agent and a server of the repository."""
    write_tree(
        tmp_path,
        {
            "skills/tally/SKILL.md": f"---\nname: tally\ndescription: {LONG}!\n---\n# T\n{SHARED}\n  {LONG}\n",
            "skills/other/SKILL.md": f"---\nname: other\n---\n{SHARED}\nLook at it all.\n",
            "repo/.claude/skills/greet/SKILL.md": "---\nname: other-name\n---\nHi.\n",
            "repo/app/.claude/agents/old.md": "---\nname: 'old one'\n---\nLook.\n",
        },
    )
    files = (".claude/skills/greet/SKILL.md", "app/.claude/agents/old.md")
    return AgentResources(
        folders={f"skills/{name}": tmp_path / "skills" / name for name in ("tally", "other")} | {"mcp/clock": tmp_path},
        mcp_servers={"clock": SERVER},
        project_servers={"my.books": ServerCommand(command="x", args=(), env={})},
        agents={"reader": SubAgent(name="reader", description="Reads", prompt="Read.")},
        agent_files={name: tmp_path / "repo" / name for name in files},
    )


NONE = {
    "skill/greet": 0,
    "skill/tally": 0,
    "skill/other": 0,
    "mcp/clock": 0,
    "mcp/my.books": 0,
    "agent/reader": 0,
    "agent/old one": 0,
}


def made(tool: str, text: str | None = "ok", *, failed: bool = False, turn: int = 3, **arguments: str) -> WatchedCall:
    result = None if text is None else CallResult(call="c", text=text, failed=failed)
    return WatchedCall(tool=tool, arguments=arguments, turn=turn, result=result)


def uses(resources: AgentResources, *calls: WatchedCall, **shown: int) -> Uses:
    """The uses without the turns of each resource."""
    return whole_uses(resources, *calls, **shown).model_copy(update={"turns": {}})


def whole_uses(resources: AgentResources, *calls: WatchedCall, **shown: int) -> Uses:
    texts = {f"skill/{name}": turn for name, turn in shown.items()}
    watched = WatchedTraffic(calls=calls, shown=texts)
    result = AGENTS["claude-code"].uses(resources, watched, Path("/nowhere/first-request.json"))
    assert result is not None
    return result


def test_the_first_turn_of_each_resource_is_known_and_of_skills_that_are_not_declared(
    resources: AgentResources,
) -> None:
    calls = [
        made("Skill", skill="tally", turn=4),
        made("Skill", skill="/tally", turn=2),
        made("mcp__clock__now"),
        made("Skill", "Launching skill: commit", skill="commit", turn=1),
        made("Skill", "Launching skill: x"),
        made("Skill", "<tool_use_error>", failed=True, skill="nope"),
    ]
    found = whole_uses(resources, *calls, other=5)
    assert found.turns == {"skill/tally": 2, "mcp/clock": 3, "skill/commit": 1, "skill/other": 5}
    assert (found.first_turn, found.read) == (2, ("skill/other",))


@pytest.mark.parametrize(
    ("name", "count"), [("tally", 1), ("/tally", 1), ("books:tally", 1), ("Tally", 0), ("nope", 0)]
)
def test_the_call_that_ended_the_session_has_no_result_and_counts_by_its_exact_name(
    resources: AgentResources, name: str, count: int
) -> None:
    call = made("Skill", None, skill=name).model_copy(update={"is_last": True})
    assert uses(resources, call).counts["skill/tally"] == count


def test_each_declared_resource_is_watched_and_counted(resources: AgentResources) -> None:
    watch = AGENTS["claude-code"].watch(resources)
    assert watch.tools == {
        "Skill": ("skill",),
        "Agent": ("subagent_type",),
        "Task": ("subagent_type",),
        "mcp__clock__*": (),
        "mcp__my_books__*": (),
        "ReadMcpResourceTool": ("server",),
    }
    assert watch.texts == {"skill/tally": LONG, "skill/other": "Look at it all."}, "a line that no other skill has"
    assert uses(resources) == Uses(counts=NONE)


def test_without_resources_nothing_is_watched() -> None:
    assert AGENTS["claude-code"].watch(AgentResources()) == ToolWatch()
    assert uses(AgentResources(), made("Skill", skill="commit")) == Uses(counts={})


@pytest.mark.parametrize(
    ("call", "resource"),
    [
        (made("Skill", "Launching skill: tally", skill="tally"), "skill/tally"),
        (made("Skill", "Launching skill: team:tally", skill="team:tally"), "skill/tally"),
        (made("Skill", "Launching skill: greet", skill="/greet"), "skill/greet"),
        (made("Skill", 'Skill "other" completed (forked execution).', skill="other"), "skill/other"),
        (made("mcp__clock__now", "12:00"), "mcp/clock"),
        (made("mcp__clock__now", "It broke.", failed=True), "mcp/clock"),
        (made("mcp__my_books__count", "3"), "mcp/my.books"),
        (made("ReadMcpResourceTool", "{}", server="clock"), "mcp/clock"),
        (made("Agent", "Done.", subagent_type="reader"), "agent/reader"),
        (made("Task", "Done.", subagent_type="Reader"), "agent/reader"),
        (
            made("Agent", "Agent terminated early due to an API error", failed=True, subagent_type="old one"),
            "agent/old one",
        ),
    ],
)
def test_a_use(resources: AgentResources, call: WatchedCall, resource: str) -> None:
    assert uses(resources, call) == Uses(counts={**NONE, resource: 1}, first_turn=3)


@pytest.mark.parametrize(
    ("call", "resource"),
    [
        (
            made(
                "Skill",
                "<tool_use_error>Unknown skill: Tally. Did you mean tally?</tool_use_error>",
                failed=True,
                skill="Tally",
            ),
            "skill/tally",
        ),
        (
            made(
                "Skill",
                "<tool_use_error>Skill tally cannot be used with Skill tool</tool_use_error>",
                failed=True,
                skill="tally",
            ),
            "skill/tally",
        ),
        (
            made("mcp__clock__no", "<tool_use_error>Error: No such tool available</tool_use_error>", failed=True),
            "mcp/clock",
        ),
        (made("Agent", "Agent type 'READER' not found.", failed=True, subagent_type="READER"), "agent/reader"),
    ],
)
def test_a_call_that_the_cli_refused(resources: AgentResources, call: WatchedCall, resource: str) -> None:
    assert uses(resources, call) == Uses(counts=NONE, refused={resource: 1})


@pytest.mark.parametrize(
    "call",
    [
        made("Skill", None, skill="tally"),  # the trial ended before
        made("Skill", "Launching skill: commit", skill="commit"),
        made("Skill", "Launching skill: x"),
        made("Agent", "Done.", subagent_type="general-purpose"),
        made("Agent", "Done."),
    ],
)
def test_no_use(resources: AgentResources, call: WatchedCall) -> None:
    assert uses(resources, call) == Uses(counts=NONE)


@pytest.mark.parametrize(
    ("call", "used"),
    [
        (made("Skill", None, skill="team:tally"), "skill/tally"),
        (made("Skill", None, skill="Tally"), None),
        (made("Skill", None), None),
        (made("Agent", None, subagent_type="reader"), "agent/reader"),
        (made("mcp__clock__now", None), "mcp/clock"),
    ],
)
def test_a_call_at_which_the_gateway_ended_the_session(
    resources: AgentResources, call: WatchedCall, used: str | None
) -> None:
    counts = {**NONE, **({used: 1} if used else {})}
    assert uses(resources, call.model_copy(update={"is_last": True})).counts == counts


def test_names_that_differ_in_case_only_are_told_apart(tmp_path: Path) -> None:
    both = AgentResources(folders={f"skills/{name}": tmp_path for name in ("tally", "Tally")})
    calls = (made("Skill", skill="tally"), made("Skill", skill="Tally"), made("Skill", skill="Tally"))
    assert uses(both, *calls).counts == {"skill/tally": 1, "skill/Tally": 2}


def test_a_skill_is_read_only_if_it_is_never_used(resources: AgentResources) -> None:
    assert uses(resources, tally=2) == Uses(counts=NONE, read=("skill/tally",))
    found = uses(resources, made("Skill", skill="tally", turn=4), made("Skill", skill="tally", turn=2), tally=1)
    assert found == Uses(counts={**NONE, "skill/tally": 2}, first_turn=2)


def expanded(skill: str) -> dict[str, Any]:
    return {"type": "text", "text": f"Base directory for this skill: /home/.claude/skills/{skill}\n\n# T\n"}


@pytest.mark.parametrize(
    ("messages", "names"),
    [
        ([{"role": "user", "content": [expanded("tally")]}], ("skill/tally",)),
        ([{"role": "user", "content": [expanded("commit")]}], ()),
        ([{"role": "system", "content": [expanded("tally")]}], ()),
        ([{"role": "user", "content": [{"type": "text", "text": "See: Base directory for this skill: /tally\n"}]}], ()),
        ([{"role": "user", "content": "Base directory for this skill: /tally\n"}, 7], ()),
        ("text", ()),
    ],
)
def test_a_skill_of_the_prompt(
    resources: AgentResources, tmp_path: Path, messages: Any, names: tuple[str, ...]
) -> None:
    request = tmp_path / "first-request.json"
    request.write_text(json.dumps({"messages": messages}))
    found = AGENTS["claude-code"].uses(resources, WatchedTraffic(), request)
    assert found == Uses(
        counts={**NONE, **dict.fromkeys(names, 1)},
        first_turn=1 if names else None,
        by_prompt=names,
        turns=dict.fromkeys(names, 1),
    )
    request.write_text("[1")
    assert AGENTS["claude-code"].uses(resources, WatchedTraffic(), request) == Uses(counts=NONE)


def test_an_agent_without_such_a_notion_knows_nothing(resources: AgentResources) -> None:
    agent = AGENTS["nop"]
    assert agent.watch(resources) == ToolWatch()
    assert agent.uses(resources, WatchedTraffic(), Path("x")) is None
    assert (agent.skills_folder, AGENTS["claude-code"].skills_folder) == (None, ".claude/skills")
