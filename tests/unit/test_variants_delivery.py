"""Each kind of treatment: delivered, missing, undeclared, or open; by each source, with and without inventory."""

from typing import Any

import pytest

from scylla_gha.model.trial import Declared, Delivery, Inventory, Observed
from scylla_gha.model.variant import SystemPrompt
from scylla_gha.variants import line_hash, prove_delivery
from tests.support.delivery import make_declared, make_inventory, make_request, make_start

NO_INVENTORY = ("what the CLI brings by itself: there is no inventory of this version "
                "(`scylla-gha agent-baseline NAME@VERSION` measures one)")  # fmt: skip


NO_LINES = "lines of the CLI's own system prompt: the inventory has none for m with these settings"


REPLACED, APPENDED = SystemPrompt(replace="Be brief."), SystemPrompt(append="Be brief.\n")


KNOWN = make_inventory()


START, REQUEST = make_start(), make_request()


LISTS = ("tools", "mcp_servers", "skills", "agents", "plugins")


def proof(
    declared: Declared, start: Observed | None, request: Observed | None, inventory: Inventory | None = KNOWN
) -> Delivery:
    return prove_delivery(declared, [one for one in (start, request) if one], inventory)


def faults(
    declared: Declared,
    start: Observed | None = START,
    request: Observed | None = REQUEST,
    inventory: Inventory | None = KNOWN,
) -> list[str]:
    """Return what is missing, with -, and what was not declared, with +."""
    made = proof(declared, start, request, inventory)
    return [f"-{each}" for each in made.missing] + [f"+{each}" for each in made.undeclared]


def test_the_cli_as_it_comes_is_proved_and_nothing_is_left_open() -> None:
    made = proof(make_declared(), make_start(), make_request())
    assert made == Delivery(proved=True, seen=("start event", "first request"), system_prompt_bytes=12, tools=2)


@pytest.mark.parametrize("inventory", [KNOWN, None], ids=["inventory", "none"])
@pytest.mark.parametrize(
    ("declared", "seen"),
    [
        ({"tools": ("Bash",)}, {"tools": ("Bash",)}),
        ({"tools": ()}, {"tools": ()}),
        ({"mcp_servers": ("clock",)}, {"mcp_servers": ("clock",)}),
        ({"mcp_servers": ("clock",), "side_tools": ("List",)}, {"mcp_servers": ("clock",), "tools": ("Bash", "List")}),
        ({"mcp_servers": ("clock",), "side_tools": ("List",), "tools": ()},
         {"mcp_servers": ("clock",), "tools": ("List",)}),
        ({"skills": ("team:greet",)}, {"skills": ("init", "team:greet")}),
        ({"agents": ("reader",)}, {"agents": ("Explore", "reader")}),
        ({"own_skills": ("my.own",), "own_agents": ("mine",)}, {"skills": ("my.own",), "agents": ("mine",)}),
        ({"own_skills": ("my.own",), "own_agents": ("mine",)}, {}),
    ],
)  # fmt: skip
def test_what_both_sources_show_is_delivered(
    declared: dict[str, Any], seen: dict[str, Any], inventory: Inventory | None
) -> None:
    made = proof(make_declared(**declared), make_start(**seen), make_request(**seen), inventory)
    assert (made.proved, made.missing, made.undeclared) == (True, (), ())


@pytest.mark.parametrize("inventory", [KNOWN, None], ids=["inventory", "none"])
@pytest.mark.parametrize(
    ("kind", "field", "declared"),
    [
        ("tool Edit", "tools", {"tools": ("Bash", "Read", "Edit")}),
        ("tool Edit", "tools", {"least_tools": ("Edit",)}),
        ("MCP server clock", "mcp_servers", {"mcp_servers": ("clock",)}),
        ("skill team:greet", "skills", {"skills": ("team:greet",)}),
        ("sub-agent reader", "agents", {"agents": ("reader",)}),
    ],
)
def test_what_one_source_lacks_is_missing_by_that_source(
    kind: str, field: str, declared: dict[str, Any], inventory: Inventory | None
) -> None:
    name = kind.rpartition(" ")[2]
    silent: dict[str, Any] = {field: None}
    there: dict[str, Any] = {field: ("Bash", "Read", name) if field == "tools" else (name,)}
    wider = make_inventory(tools=("Bash", "Read", "Edit")) if inventory else None
    made = make_declared(**declared)
    assert faults(made, inventory=wider) == [f"-{kind} (start event)", f"-{kind} (first request)"]
    assert faults(made, start=make_start(**there), inventory=wider) == [f"-{kind} (first request)"]
    assert faults(made, request=make_request(**there), inventory=wider) == [f"-{kind} (start event)"]
    assert faults(made, start=make_start(**there), request=make_request(**silent), inventory=wider) == []
    assert f"-{kind} (no source reports it)" in faults(made, make_start(**silent), make_request(**silent), wider)


def test_a_plugin_is_told_by_the_start_event_alone() -> None:
    made = make_declared(plugins=("team",))
    assert faults(made) == ["-plugin team (start event)"]
    assert faults(made, start=make_start(plugins=("team",))) == []
    assert faults(make_declared(), start=make_start(plugins=("team",)), inventory=None) == ["+plugin team"]


def test_what_a_source_says_of_a_missing_thing_stands_with_it() -> None:
    start = make_start(remarks=("clocks: it ticks", "clock: its status is failed", "clock: more"))
    said = "-MCP server clock (start event: its status is failed)"
    assert faults(make_declared(mcp_servers=("clock",)), start, request=None) == [said]


@pytest.mark.parametrize(
    ("seen", "known", "unknown"),
    [
        ({"tools": ("Bash", "Spy")}, ["+tool Spy"], []),
        ({"mcp_servers": ("spy",)}, ["+MCP server spy"], ["+MCP server spy"]),
        ({"idle_servers": ("spy",)}, ["+MCP server spy"], ["+MCP server spy"]),
        ({"skills": ("spy",)}, ["+skill spy"], []),
        ({"agents": ("spy",)}, ["+sub-agent spy"], []),
        ({"model": "n"}, ["+model n instead of m"], ["+model n instead of m"]),
    ],
)
def test_what_nobody_declared_is_told_with_an_inventory_and_some_of_it_without(
    seen: dict[str, Any], known: list[str], unknown: list[str]
) -> None:
    assert faults(make_declared(), start=make_start(**seen)) == known
    assert faults(make_declared(), start=make_start(**seen), inventory=None) == unknown


@pytest.mark.parametrize("inventory", [KNOWN, None], ids=["inventory", "none"])
def test_beside_declared_tools_there_is_no_other(inventory: Inventory | None) -> None:
    made = make_declared(tools=("Bash",))
    assert faults(made, inventory=inventory) == ["+tool Read"]
    assert faults(make_declared(tools=()), request=None, inventory=inventory) == ["+tool Bash", "+tool Read"]


def test_the_requests_lists_are_words_among_others_and_show_no_surplus() -> None:
    assert faults(make_declared(), request=make_request(skills=("spy",), agents=("spy",))) == []
    assert faults(make_declared(), request=make_request(tools=("Bash", "Spy"))) == ["+tool Spy"]
    assert faults(make_declared(), request=make_request(mcp_servers=("spy",))) == ["+MCP server spy"]


def test_settings_may_change_the_tools_and_that_is_said() -> None:
    made = make_declared(usual_tools=False, usual_prompt=False, least_tools=())
    seen = proof(made, make_start(tools=("Grep",)), make_request("Another prompt.\nBe an agent.", tools=("Grep",)))
    assert seen.proved
    assert seen.unverified == ("the CLI's choice of tools: these settings may change it", NO_LINES)
    assert proof(make_declared(usual_tools=False, tools=("Bash",)), None, None).unverified[2:] == ()


@pytest.mark.parametrize("inventory", [KNOWN, None], ids=["inventory", "none"])
@pytest.mark.parametrize(
    ("wanted", "prompt", "expected"),
    [
        (REPLACED, "Be brief.", []),
        (REPLACED, "Be brief. ", ["-the declared system prompt of 9 bytes (seen: 10 bytes)"]),
        (REPLACED, "Be an agent.\nBe brief.", ["-the declared system prompt of 9 bytes (seen: 22 bytes)"]),
        (SystemPrompt(replace=""), "", []),
        (SystemPrompt(replace=""), "é", ["-the declared system prompt of 0 bytes (seen: 2 bytes)"]),
        (APPENDED, "Be an agent.\n\nBe brief.\n", []),
        (APPENDED, "Be an agent.", ["-the appended system prompt of 10 bytes"]),
        (APPENDED, "Be brief.\n", ["-the CLI's own system prompt"]),
        (None, "Be an agent.", []),
        (None, "  Be an agent.  ", []),
        (None, "", ["-the CLI's own system prompt"]),
    ],
)
def test_a_system_prompt_is_replaced_to_the_byte_appended_or_the_clis_own(
    wanted: SystemPrompt | None, prompt: str, expected: list[str], inventory: Inventory | None
) -> None:
    made = make_declared(system_prompt=wanted)
    assert faults(made, request=make_request(prompt), inventory=inventory) == expected
    assert proof(made, None, make_request(prompt), inventory).system_prompt_bytes == len(prompt.encode())


def test_a_prompt_that_is_not_the_clis_is_known_by_its_lines() -> None:
    other = make_request("Be another.\nBe brief.")
    strange = ["+system prompt line 'Be another.'", "+system prompt line 'Be brief.'"]
    assert faults(make_declared(), request=other) == ["-the CLI's own system prompt", *strange]
    assert faults(make_declared(system_prompt=SystemPrompt(append="Be brief.")), request=other) == [
        "-the CLI's own system prompt", strange[0]]  # fmt: skip
    assert faults(make_declared(), request=other, inventory=None) == []
    long = faults(make_declared(), request=make_request("Be an agent.\n" + "é" * 999))
    assert long == [f"+system prompt line {'é' * 60!r}"]


@pytest.mark.parametrize("declared", [{"usual_prompt": False}, {"model": "n"}])
def test_lines_of_a_prompt_that_was_never_measured_are_not_judged(declared: dict[str, Any]) -> None:
    model = declared.get("model", "m")
    made = proof(make_declared(**declared), make_start(model=model), make_request("Be an agent.\nNew.", model=model))
    assert made.proved
    assert made.unverified == (NO_LINES.replace(" m ", f" {model} "),)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/w/CLAUDE.md", []),
        ("/w/a/b/CLAUDE.md", []),
        ("/h/.claude/CLAUDE.md", []),
        ("/one/CLAUDE.local.md", []),
        ("/one/CLAUDE.md", ["+instructions of /one/CLAUDE.md"]),
        ("/CLAUDE.md", ["+instructions of /CLAUDE.md"]),
        ("/wide/CLAUDE.md", ["+instructions of /wide/CLAUDE.md"]),
        ("/x/w/CLAUDE.md", ["+instructions of /x/w/CLAUDE.md"]),
    ],
)
def test_instructions_come_from_allowed_places_only(path: str, expected: list[str]) -> None:
    made = make_declared(places=("/w", "/h", "/one/CLAUDE.local.md"))
    assert faults(made, request=make_request(instructions=(path,))) == expected
    assert faults(make_declared(places=()), request=make_request(instructions=(path,)), inventory=None) == [
        f"+instructions of {path}"
    ]


@pytest.mark.parametrize("source", ["start event", "first request"])
def test_a_model_is_the_declared_one_by_each_source(source: str) -> None:
    start = make_start(model="n" if source == "start event" else "m")
    request = make_request(model="n" if source == "first request" else "m")
    assert faults(make_declared(), start, request) == ["+model n instead of m"]
    assert faults(make_declared(model=None), start, request) == []
    silent = faults(make_declared(), make_start(model=None), make_request(model=None))
    assert silent == ["-model m (no source reports it)"]


@pytest.mark.parametrize(
    ("start", "request_", "seen", "unverified"),
    [
        (None, None, (), ("the CLI wrote no start event", "no request to the model was seen")),
        (make_start(), None, ("start event",), ("no request to the model was seen",)),
        (None, make_request(), ("first request",), ("the CLI wrote no start event",)),
    ],
)
def test_with_one_source_or_none_nothing_is_wrong_and_nothing_is_proved(
    start: Observed | None, request_: Observed | None, seen: tuple[str, ...], unverified: tuple[str, ...]
) -> None:
    made = proof(make_declared(), start, request_)
    assert (made.proved, made.reason, made.seen, made.unverified) == (False, "", seen, unverified)
    assert proof(make_declared(), start, request_, None).unverified == (*unverified, NO_INVENTORY)


def test_without_an_inventory_it_is_proved_and_said_what_is_left_open() -> None:
    made = proof(make_declared(), make_start(), make_request(), None)
    assert (made.proved, made.unverified) == (True, (NO_INVENTORY,))


def test_a_fault_of_both_sources_is_named_once() -> None:
    spies: dict[str, Any] = {"tools": ("Bash", "Spy", "Spy")}
    assert faults(make_declared(), make_start(**spies), make_request(**spies)) == ["+tool Spy"]


def test_what_a_hostile_source_says_at_length_is_quoted_in_short() -> None:
    names = tuple(f"{number}-" + "x" * 10_000 for number in range(200))
    start = make_start(**dict.fromkeys(LISTS, names), model="n" * 10_000, remarks=("clock: " + "y" * 10_000,))
    request = make_request("p" * 10_000, instructions=("/" + "z" * 10_000,))
    made = proof(make_declared(mcp_servers=("clock",)), start, request)
    assert (len(made.undeclared), made.undeclared[-1]) == (51, "953 more")
    assert len(made.reason) < 5000


def test_a_lines_hash_is_that_of_its_words() -> None:
    assert line_hash("  Be an agent.\t") == line_hash("Be an agent.") == KNOWN.prompt_lines[0]
    assert line_hash("be an agent.") not in KNOWN.prompt_lines


MANY = tuple(f"Bash {number}" for number in range(9))


def hooks(guarded: int, *unguarded: str) -> Observed:
    return Observed(source="hook events", guarded=guarded, unguarded=unguarded)


@pytest.mark.parametrize(
    ("declared", "seen", "claimed"),
    [
        pytest.param(True, [hooks(2)], (), id="asked about each call"),
        pytest.param(True, [hooks(1, "Bash 7")], ("safety net (hook events): it was not asked about Bash 7",),
                     id="not asked about one"),
        pytest.param(True, [hooks(0, *MANY)],
                     ("safety net (hook events): it was not asked about Bash 0, Bash 1, Bash 2, Bash 3, Bash 4",),
                     id="many are cut"),
        pytest.param(False, [hooks(0, "Bash 7")], (), id="none was wanted"),
        pytest.param(False, [hooks(1)], ("a safety net that was not declared",), id="nobody declared it"),
    ],
)  # fmt: skip
def test_it_is_proved_call_by_call(declared: bool, seen: list[Observed], claimed: tuple[str, ...]) -> None:
    others = [Observed(source="start event"), Observed(source="first request")]
    delivery = prove_delivery(
        Declared(model=None, system_prompt=None, tools=None, safety_net=declared), [*others, *seen], None
    )
    assert (delivery.missing, delivery.undeclared, delivery.claimed) == ((), (), claimed)
    assert delivery.proved is not bool(claimed)


@pytest.mark.parametrize(("declared", "unverified"), [(True, True), (False, False)])
def test_without_a_call_it_is_unverified(declared: bool, unverified: bool) -> None:
    delivery = prove_delivery(Declared(model=None, system_prompt=None, tools=None, safety_net=declared), [], None)
    assert ("the safety net: no call that it watches was made" in delivery.unverified) is unverified


def test_where_the_agent_could_change_it_nothing_is_proved() -> None:
    seen = [Observed(source="start event"), Observed(source="first request"), hooks(2)]
    for wanted, managed, proved in ((True, True, True), (True, False, False), (False, False, True)):
        declared = Declared(model=None, system_prompt=None, tools=None, safety_net=wanted, net_is_managed=managed)
        made = prove_delivery(declared, seen if wanted else seen[:2], None)
        assert made.proved == proved
        assert ("the safety net: on the host the agent could change it" in made.unverified) != proved
