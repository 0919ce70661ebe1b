"""Forms in which Claude Code gives a part: tools defined or deferred, descriptions whole or cut, plugins of its own."""

from pathlib import Path

import pytest

from scylla_gha.model.variant import AgentResources, SubAgent
from scylla_gha.variants import prove_delivery
from tests.support.delivery import (
    AGENTS,
    CLOCK,
    DEFERRED,
    REMINDED,
    SKILLS,
    TOOLS,
    declare,
    deferring_request,
    make_inventory,
    observe,
    request,
    said,
    seen,
    start_event,
    told,
)


@pytest.mark.parametrize("role", ["system", "user"])
def test_deferred_tools_are_delivered_by_name(tmp_path: Path, role: str) -> None:
    one = seen(tmp_path, deferring_request(role))
    assert (one.tools, one.offered) == ((*TOOLS, "ToolSearch", "WebFetch"), 7)
    assert (one.deferred, one.mcp_servers) == (("WebFetch", "mcp__clock__now"), ("clock",))
    assert (one.characters["mcp/clock"], one.characters["tools/WebFetch"]) == (16, 9), "a line with the name"
    event = start_event(tools=["Task", *TOOLS[1:], "ToolSearch", "WebFetch", "mcp__clock__now"])
    made = prove_delivery(declare(tmp_path, **CLOCK), list(observe(tmp_path, event, deferring_request(role)).values()),
                          None)  # fmt: skip
    assert (made.proved, made.tools, made.deferred_tools) == (True, 7, ("WebFetch", "mcp__clock__now"))


@pytest.mark.parametrize("role", ["system", "user"])
def test_a_list_ends_with_its_reminder(tmp_path: Path, role: str) -> None:
    one = seen(tmp_path, deferring_request(role))
    assert (one.agents, one.skills) == (("Explore", "proofreader"), ("team:greeting", "claude-api", "init"))
    assert one.listings["skills"].endswith("- init: Initialize a new CLAUDE.md file with codebase documentation")
    assert one.listings["agents"].rstrip().endswith("with multiple tool uses.")


def test_a_deferred_definition_that_no_list_names_is_not_offered(tmp_path: Path) -> None:
    one = seen(tmp_path, request(tools=[{"name": "Bash"}, {"name": "spy", "defer_loading": True}]))
    assert (one.tools, one.offered, one.deferred, one.mcp_servers) == (("Bash",), 1, (), ())


def test_a_server_whose_tools_are_neither_defined_nor_named_is_missing(tmp_path: Path) -> None:
    text = DEFERRED.replace("mcp__clock__now\n", "")
    body = deferring_request(messages=said(REMINDED.format(text), role="system"))
    made = prove_delivery(declare(tmp_path, mcp_servers=("clock",)), [seen(tmp_path, body)], None)
    assert made.missing == ("MCP server clock (first request)",)


@pytest.mark.parametrize(("source", "faults"), [
    ("cc-plugin-privacy@builtin", ()), ("cc-plugin-privacy@inline", ("plugin cc-plugin-privacy",)),
])  # fmt: skip
def test_plugins_that_the_cli_calls_built_in_are_its_own(tmp_path: Path, source: str, faults: tuple[str, ...]) -> None:
    plugins = [{"name": "cc-plugin-privacy", "path": "builtin", "source": source}]
    event = start_event(plugins=plugins, mcp_servers=[], tools=["Task", *TOOLS[1:]])
    assert prove_delivery(declare(tmp_path), [told(tmp_path, event)], None).undeclared == faults
    unknown = make_inventory(skills=("team:greeting", "init"), agents=("Explore", "proofreader"), tools=TOOLS)
    strange = prove_delivery(declare(tmp_path), [told(tmp_path, event)], unknown).undeclared
    assert strange == ("plugin cc-plugin-privacy",), "with an inventory, only those that it names"


@pytest.mark.parametrize(("line", "shown"), [
    ("- team:greeting: How to greet", None),
    ("- team:greeting: How to\n  greet. - When you greet", None),
    ("- team:greeting", "its name only"),
    ("- team:greeting: How to gr…", "not all of its 12 characters"),
])  # fmt: skip
def test_a_skill_is_delivered_with_its_whole_description(tmp_path: Path, line: str, shown: str | None) -> None:
    resources = AgentResources(descriptions={"greeting": ("How to greet",)})
    declared = declare(tmp_path, resources=resources, skills=("greeting",))
    body = request(messages=said(SKILLS.replace("- team:greeting: How to greet", line), role="system"))
    made = prove_delivery(declared, [seen(tmp_path, body)], None)
    fault = f"description of skill team:greeting (first request: {shown})"
    assert made.missing == (() if shown is None else (fault,))
    assert made.short_skills == (() if shown is None else ("team:greeting",))


def test_a_description_may_have_marks_and_lines_that_look_like_entries(tmp_path: Path) -> None:
    text = "Long.\n\n<example>\nContext: x\n\n- x: y\n</example>"
    resources = AgentResources(descriptions={"greeting": (text, "When you greet")})
    declared = declare(tmp_path, resources=resources, skills=("greeting",))
    for line in (
        f"{text} - When you greet",
        "Long. &lt;example&gt; Context: x - x: y &lt;/example&gt; - When you greet",
    ):
        body = request(messages=said(SKILLS.replace("How to greet", line), role="system"))
        assert prove_delivery(declared, [seen(tmp_path, body)], None).missing == ()
    body = request(messages=said(SKILLS.replace("How to greet", f"{text} - When you g…"), role="system"))
    assert prove_delivery(declared, [seen(tmp_path, body)], None).short_skills == ("team:greeting",)


def test_a_sub_agent_is_delivered_with_its_whole_description(tmp_path: Path) -> None:
    agent = SubAgent(name="proofreader", description="Reads\nproofs", prompt="You read.")
    resources = AgentResources(agents={"proofreader": agent})
    declared = declare(tmp_path, resources=resources, agents=("proofreader",))
    assert prove_delivery(declared, [seen(tmp_path, request())], None).missing == ()
    body = request(messages=said(AGENTS.replace(": Reads proofs", ":"), role="system"))
    missing = prove_delivery(declared, [seen(tmp_path, body)], None).missing
    assert missing == ("description of sub-agent proofreader (first request: not all of its 12 characters)",)
