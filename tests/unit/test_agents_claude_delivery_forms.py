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
    skill_of_user,
    start_event,
    told,
)
from tests.support.repository import write_tree


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
    assert (one.agents, one.skills) == (("Explore", "proofreader"), ("greeting", "claude-api", "init"))
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
    unknown = make_inventory(skills=("greeting", "init"), agents=("Explore", "proofreader"), tools=TOOLS)
    strange = prove_delivery(declare(tmp_path), [told(tmp_path, event)], unknown).undeclared
    assert strange == ("plugin cc-plugin-privacy",), "with an inventory, only those that it names"


@pytest.mark.parametrize(("line", "shown"), [
    ("- greeting: How to greet", None),
    ("- greeting: How to\n  greet. - When you greet", None),
    ("- greeting", "its name only"),
    ("- greeting: How to gr…", "not all of its 12 characters"),
])  # fmt: skip
def test_a_skill_is_delivered_with_its_whole_description(tmp_path: Path, line: str, shown: str | None) -> None:
    resources = AgentResources(descriptions={"greeting": ("How to greet",)})
    declared = declare(tmp_path, resources=resources, skills=("greeting",))
    body = request(messages=said(SKILLS.replace("- greeting: How to greet", line), role="system"))
    made = prove_delivery(declared, [seen(tmp_path, body)], None)
    fault = f"description of skill greeting (first request: {shown})"
    assert made.missing == (() if shown is None else (fault,))
    assert made.short_skills == (() if shown is None else ("greeting",))


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
    assert prove_delivery(declared, [seen(tmp_path, body)], None).short_skills == ("greeting",)


def test_a_sub_agent_is_delivered_with_its_whole_description(tmp_path: Path) -> None:
    agent = SubAgent(name="proofreader", description="Reads\nproofs", prompt="You read.")
    resources = AgentResources(agents={"proofreader": agent})
    declared = declare(tmp_path, resources=resources, agents=("proofreader",))
    assert prove_delivery(declared, [seen(tmp_path, request())], None).missing == ()
    body = request(messages=said(AGENTS.replace(": Reads proofs", ":"), role="system"))
    missing = prove_delivery(declared, [seen(tmp_path, body)], None).missing
    assert missing == ("description of sub-agent proofreader (first request: not all of its 12 characters)",)


@pytest.mark.parametrize(
    ("front", "in_start", "in_request"),
    [
        ("", True, True),
        ("disable-model-invocation: true\n", True, False),
        ("disable-model-invocation: 'true'\n", True, False),
        ("disable-model-invocation: false\n", True, True),
        ("user-invocable: false\n", False, True),
        ("user-invocable: no\n", False, True),
        ("paths: ['*.zig']\n", False, False),
        ("paths:\n  - '*.zig'\n  - src/**\n", False, False),
        ("paths: []\n", True, True),
        ("paths: '**'\n", True, True),
        ("disable-model-invocation: true\nuser-invocable: false\n", False, False),
        ("note: use it: when\ndisable-model-invocation: true\n", True, False),
    ],
)
def test_a_skill_is_proved_as_its_front_matter_says(
    tmp_path: Path, front: str, in_start: bool, in_request: bool
) -> None:
    resources, _ = skill_of_user(tmp_path, front)
    declared = declare(tmp_path, resources, **CLOCK)
    lists = {"start event": in_start, "first request": in_request}
    for hidden, is_listed in lists.items():
        event = start_event(skills=["init"]) if hidden == "start event" else start_event()
        text = SKILLS.replace("- greeting: How to greet\n", "") if hidden == "first request" else SKILLS
        body = request(messages=[*request()["messages"][:1], *said(AGENTS, text, role="system")])
        made = prove_delivery(declared, list(observe(tmp_path, event, body).values()), None)
        assert made.missing == ((f"skill greeting ({hidden})",) if is_listed else ()), hidden
        assert any("lets no session list it" in text for text in made.unverified) is not (in_start or in_request)


def test_a_skill_of_a_plugin_is_listed_at_once_whatever_its_paths(tmp_path: Path) -> None:
    resources, _ = skill_of_user(tmp_path, "paths: ['*.zig']\n")
    declared = declare(tmp_path, resources.model_copy(update={"plugins": {"greeting": "books"}}), skills=("greeting",))
    assert (declared.skills, declared.plugins, declared.unlisted) == (("books:greeting",), ("books",), {})


def test_a_second_skill_of_the_same_name_is_named(tmp_path: Path) -> None:
    write_tree(tmp_path, {"w/.claude/skills/greeting/SKILL.md": "---\nname: greeting\ndescription: Else\n---\n"})
    resources, _ = skill_of_user(tmp_path, "")
    sources = list(observe(tmp_path, start_event(), request()).values())
    made = prove_delivery(declare(tmp_path, resources, **CLOCK), sources, None)
    assert made.undeclared == ("a second skill greeting, of the start state",)
    made = prove_delivery(declare(tmp_path, resources, **CLOCK, setting_sources=("user",)), sources, None)
    assert not made.undeclared, "the CLI does not read it"


def test_with_the_clis_own_limit_names_alone_are_delivered(tmp_path: Path) -> None:
    resources, _ = skill_of_user(tmp_path, "")
    body = request(messages=said(AGENTS, SKILLS.replace("- greeting: How to greet", "- greeting"), role="system"))
    sources = list(observe(tmp_path, start_event(), body).values())
    for listing, missing in ((None, 1), ("default", 0)):
        made = prove_delivery(declare(tmp_path, resources, **CLOCK, skill_listing=listing), sources, None)
        assert (len(made.missing), made.short_skills) == (missing, ("greeting",))
