"""The proof that an agent had what its variant declares, and nothing else.

What was declared is looked for in each source that tells of it: the CLI's own start event, and the first request to
the model. What the CLI brings by itself is known from an inventory, which is measured once per version. Without one,
what was not declared can be told of MCP servers, plugins, explicit tools and replaced system prompts only; the rest is
`unverified`. The agent's process writes the sources, so what is quoted of them is short.

The first request is kept by the gateway before the model has answered, so the agent had no part in it. The start event
stands in the agent's output: where the agent could rewrite that, it is believed as far as the first request agrees.
The events of hooks come later, when the agent can write such lines itself: what they lack is a claim.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.variant import Declared, Delivery, Inventory, Observed, Source

ALWAYS_SEEN: Final[frozenset[Source]] = frozenset({"start event", "first request"})
_SHOWN: Final = 60
_LONGEST_PATH: Final = 300
_MOST: Final = 50  # faults that are named
_NAMED: Final = 5
_HASH_DIGITS: Final = 8
_UNKNOWN: Final = Inventory(agent="", version="", models=(), tools=(), skills=(), agents=(), prompt_lines=())

_Kinds = tuple[tuple[str, Sequence[str], Sequence[str] | None], ...]


def prove_delivery(
    declared: Declared, seen: Sequence[Observed], inventory: Inventory | None, *, is_out_of_reach: bool = True
) -> Delivery:
    """Compare what was declared with what was seen.

    Args:
        declared: what the variant says.
        seen: what each source says.
        inventory: what the CLI brings by itself; None where it is not known for this version.
        is_out_of_reach: the agent could not rewrite its own output.
    """
    request = next((one for one in seen if one.source == "first request"), None)
    lacking = {fault.partition(" (")[0] for fault in _missing(declared, request, inventory)} if request else set()
    missing, undeclared, claimed = dict[str, None](), dict[str, None](), dict[str, None](_unguarded(declared, seen))
    for one in seen:
        is_fact = one is request or is_out_of_reach
        for fault in _missing(declared, one, inventory):
            (missing if is_fact or fault.partition(" (")[0] in lacking else claimed)[fault] = None
        for fault in _undeclared(declared, one, inventory):
            (undeclared if is_fact or fault in _named(request) else claimed)[fault] = None
    is_whole = {one.source for one in seen} >= ALWAYS_SEEN
    if is_whole:
        (missing if is_out_of_reach else claimed).update(dict.fromkeys(_untold(declared, seen)))
    prompts = [one.system_prompt for one in seen if one.system_prompt is not None]
    tools = [one for one in seen if one.source == "first request" and one.offered is not None]
    return Delivery(
        proved=is_whole and not (missing or undeclared or claimed or _is_in_reach(declared)),
        seen=tuple(one.source for one in seen),
        missing=_first(missing),
        undeclared=_first(undeclared),
        claimed=_first(claimed),
        unverified=tuple(_unverified(declared, seen, inventory)),
        system_prompt_bytes=len(prompts[0].encode()) if prompts else None,
        tools=tools[0].offered if tools else None,
    )


def _is_in_reach(declared: Declared) -> bool:
    """Whether the agent could change the safety net, so that its own events are no proof of it."""
    return declared.safety_net and not declared.net_is_managed


def line_hash(line: str) -> str:
    """How an inventory knows a line of a system prompt."""
    return hashlib.sha256(line.strip().encode()).hexdigest()[:_HASH_DIGITS]


def _first(faults: Iterable[str]) -> tuple[str, ...]:
    named = tuple(faults)
    return named if len(named) <= _MOST else (*named[:_MOST], f"{len(named) - _MOST} more")


def _kinds(declared: Declared, one: Observed) -> _Kinds:
    """What was declared of each kind, and what one source says of it."""
    return (
        ("tool", declared.least_tools if declared.tools is None else declared.tools, one.tools),
        ("MCP server", declared.mcp_servers, one.mcp_servers),
        ("plugin", declared.plugins, one.plugins),
        ("skill", declared.skills, one.skills),
        ("sub-agent", declared.agents, one.agents),
    )


def _missing(declared: Declared, one: Observed, inventory: Inventory | None) -> Iterator[str]:
    for kind, wanted, found in _kinds(declared, one):
        if found is not None:
            yield from (f"{kind} {name} ({one.source}{_remark(one, name)})" for name in wanted if name not in found)
    if one.system_prompt is not None:
        yield from _prompt_missing(declared, one.system_prompt, one.prompt_lines or (), inventory)


def _untold(declared: Declared, seen: Sequence[Observed]) -> Iterator[str]:
    """What was declared and no source says a word of, though both are there."""
    for same in zip(*(_kinds(declared, one) for one in seen), strict=True):
        kind, wanted, _ = same[0]
        if all(found is None for _, _, found in same):
            yield from (f"{kind} {name} (no source tells of it)" for name in wanted)
    if declared.model is not None and all(one.model is None for one in seen):
        yield f"model {declared.model} (no source tells of it)"


def _remark(one: Observed, name: str) -> str:
    said = [remark for remark in one.remarks if remark.startswith(f"{name}: ")]
    return f": {_short(said[0].removeprefix(f'{name}: '))}" if said else ""


def _prompt_missing(declared: Declared, text: str, lines: Sequence[str], inventory: Inventory | None) -> Iterator[str]:
    wanted = declared.system_prompt
    if wanted is not None and wanted.replace is not None:
        if text != wanted.replace:
            yield (f"the declared system prompt of {counted(len(wanted.replace.encode()), 'byte')} "
                   f"(seen: {counted(len(text.encode()), 'byte')})")  # fmt: skip
        return
    if wanted is not None and wanted.append is not None and wanted.append not in text:
        yield f"the appended system prompt of {counted(len(wanted.append.encode()), 'byte')}"
    own = set(map(line_hash, lines)) - _appended(declared)
    if not own or (inventory is not None and not own & set(inventory.prompt_lines)):
        yield "the CLI's own system prompt"


def _undeclared(declared: Declared, one: Observed, inventory: Inventory | None) -> Iterator[str]:
    own = inventory or _UNKNOWN
    if declared.tools is not None:
        yield from _beyond("tool", one.tools, (*declared.tools, *declared.side_tools))
    elif inventory is not None and declared.usual_tools:
        yield from _beyond("tool", one.tools, (*own.tools, *declared.side_tools))
    yield from _beyond("MCP server", (*(one.mcp_servers or ()), *one.idle_servers), declared.mcp_servers)
    yield from _beyond("plugin", one.plugins, declared.plugins)
    if inventory is not None and one.source == "start event":  # in the request they are words among others
        yield from _beyond("skill", one.skills, (*declared.skills, *declared.own_skills, *own.skills))
        yield from _beyond("sub-agent", one.agents, (*declared.agents, *declared.own_agents, *own.agents))
    yield from _unasked(declared, one)
    if one.model is not None and declared.model is not None and one.model != declared.model:
        yield f"model {_short(one.model)} instead of {declared.model}"
    if inventory is not None and _is_own(declared) and _has_lines(declared, inventory):
        known = {*inventory.prompt_lines, *_appended(declared)}
        strange = [line for line in one.prompt_lines or () if line_hash(line) not in known]
        yield from (f"system prompt line {_short(line.strip())!r}" for line in strange)


def _unguarded(declared: Declared, seen: Sequence[Observed]) -> Iterator[tuple[str, None]]:
    """What the events of hooks lack, and those that there should be none of."""
    for one in seen:
        if declared.safety_net and one.unguarded:
            yield f"safety net ({one.source}): it was not asked about {', '.join(one.unguarded[:_NAMED])}", None
        if one.guarded and not declared.safety_net:
            yield "a safety net that was not declared", None


def _named(request: Observed | None) -> set[str]:
    """What the first request names among other words, as faults name it."""
    if request is None:
        return set()
    skills = request.skills or ()
    plugins = (name.partition(":")[0] for name in skills if ":" in name)
    kinds = (("skill", skills), ("plugin", plugins), ("sub-agent", request.agents or ()))
    return {f"{kind} {_short(name)}" for kind, names in kinds for name in names}


def _unasked(declared: Declared, one: Observed) -> Iterator[str]:
    for path in one.instructions or ():
        if not any(path == place or path.startswith(f"{place}/") for place in declared.places):
            yield f"instructions of {path[:_LONGEST_PATH]}"


def _beyond(kind: str, found: Iterable[str] | None, allowed: Iterable[str]) -> Iterator[str]:
    known = set(allowed)
    return (f"{kind} {_short(name)}" for name in found or () if name not in known)


def _short(text: str) -> str:
    return text[:_SHOWN]


def _is_own(declared: Declared) -> bool:
    return declared.system_prompt is None or declared.system_prompt.replace is None


def _has_lines(declared: Declared, inventory: Inventory) -> bool:
    return declared.model in inventory.models and declared.usual_prompt


def _appended(declared: Declared) -> set[str]:
    text = declared.system_prompt.append if declared.system_prompt else None
    return {line_hash(line) for line in text.splitlines()} if text else set()


def _unverified(declared: Declared, seen: Sequence[Observed], inventory: Inventory | None) -> Iterator[str]:
    sources = {one.source for one in seen}
    if "start event" not in sources:
        yield "the CLI wrote no start event"
    if "first request" not in sources:
        yield "no request to the model was seen"
    if _is_in_reach(declared):
        yield "the safety net: on the host the agent could change it"
    if declared.safety_net and "hook events" not in sources:
        yield "the safety net: no call that it watches was made"
    if inventory is None:
        yield "what the CLI brings by itself: there is no inventory of this version"
        return
    if declared.tools is None and not declared.usual_tools:
        yield "the CLI's choice of tools: these settings may change it"
    if _is_own(declared) and not _has_lines(declared, inventory):
        yield f"lines of the CLI's own system prompt: the inventory has none for {declared.model} with these settings"
