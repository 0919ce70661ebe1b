"""Variants and modes: the resources of an agent, and the proof that it had them and nothing else.

Each source is searched for the declared resources: the CLI's start event, and the first request to the model. The CLI's
default resources are known from an inventory, which is measured once per version. Without an inventory, only MCP
servers, plugins, explicit tools and replaced system prompts can be recognised as undeclared; the rest is `unverified`.
The agent's process writes the sources, so quotations of them are short.

A tool that the first request lists by name only is delivered: that is how the CLI gives it to the model. A skill or
sub-agent of which only the name or a part of the description is listed is not: the model chooses it by its description.

PATH is searched in the sandbox before the agent starts, for the programs of all modes. The gateway stores the first
request before the model has answered, so the agent could not influence it. The start event
is part of the agent's output: if the agent could rewrite that, it is believed only as far as the first request agrees.
Events of hooks come later, when the agent can write such lines itself, so a fault that only they show is a claim.
"""

import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from scylla_gha.config.agent_files import agent_file_digests, chosen_agent_files, project_servers
from scylla_gha.config.materials import (
    material_path,
    prompt_blocks,
    read_agent,
    read_block,
    read_materials,
    read_server,
    skill_description,
    skill_plugin,
)
from scylla_gha.config.tiers import program_files, read_mode
from scylla_gha.counting import counted
from scylla_gha.errors import FixtureError
from scylla_gha.model.plan import Arm
from scylla_gha.model.trial import Declared, Delivery, Inventory, Observed, Source
from scylla_gha.model.variant import MCP_FILE, AgentResources, SystemPrompt, Treatment, Variant

_FACTS: Final[frozenset[Source]] = frozenset({"first request", "search of PATH"})  # from before the agent could act
ALWAYS_SEEN: Final[frozenset[Source]] = frozenset({"start event", "first request"})
_MAX_NAME_CHARACTERS: Final = 60
_MAX_PATH_CHARACTERS: Final = 300
_MAX_FAULTS: Final = 50  # faults that are named
_MAX_CALLS: Final = 5
_HASH_DIGITS: Final = 8
_INVISIBLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_KIND_OF: Final = {"skills": "skill", "agents": "sub-agent"}
_UNKNOWN: Final = Inventory(agent="", version="", models=(), tools=(), skills=(), agents=(), prompt_lines=())

_Kinds = tuple[tuple[str, Sequence[str], Sequence[str] | None], ...]


def agent_resources(variant: Variant | None, roots: Sequence[Path]) -> AgentResources:
    """Read the resources that a variant names.

    Raises:
        FixtureError: a resource changed since the experiment was planned.
        ConfigError: a resource is missing.
    """
    if variant is None or (not variant.materials and variant.treatment.agent_files is None):
        return AgentResources()
    treatment = variant.treatment
    now = read_materials(treatment, roots)
    has_files = treatment.agent_files is not None or treatment.instructions is not None
    files = chosen_agent_files(treatment.agent_files or (), roots[0]) if has_files else None
    of_files = agent_file_digests(files or {})
    digests = {name: material.digest for name, material in now.items()} | of_files
    changed = [name for name in {**variant.materials, **of_files} if variant.materials.get(name) != digests.get(name)]
    if changed:
        raise FixtureError(f"{variant.id}: {', '.join(changed)} changed since it was planned; plan again")
    folders = {f"mcp/{name}": now[f"mcp/{name}"].path for name in treatment.mcp_servers}
    folders |= {f"skills/{name}": now[f"skills/{name}"].path for name in treatment.skills}
    return AgentResources(
        system_prompt=_prompt_text(treatment, roots),
        mcp_servers={name: read_server(folders[f"mcp/{name}"]) for name in treatment.mcp_servers},
        agents={name: read_agent(now[f"agents/{name}"].path) for name in treatment.agents},
        descriptions={name: skill_description(folders[f"skills/{name}"]) for name in treatment.skills},
        folders=folders,
        plugins={name: plugin for name in treatment.skills if (plugin := skill_plugin(folders[f"skills/{name}"]))},
        agent_files=files,
        instructions=now[f"instructions/{treatment.instructions}"].path if treatment.instructions else None,
        project_servers=project_servers(files[MCP_FILE]) if files and MCP_FILE in files else {},
    )


def arm_resources(arm: Arm, roots: Sequence[Path]) -> AgentResources:
    """Read the resources that an arm's variant and mode name; the mode's instructions end the system prompt.

    Raises:
        FixtureError: a resource changed since the experiment was planned.
        ConfigError: a resource is missing.
    """
    resources, mode = agent_resources(arm.variant, roots), arm.mode
    if mode is None:
        return resources
    if mode.materials and read_mode(mode.id, roots).materials != mode.materials:
        raise FixtureError(f"the mode {mode.id} changed since it was planned; plan again")
    folders = {name: material_path(roots, "mcp", name) for name in mode.mcp_servers}
    declared = resources.system_prompt or (arm.variant.treatment.system_prompt if arm.variant else None)
    return resources.model_copy(
        update={
            "system_prompt": _with_instructions(declared, mode.instructions),
            "mcp_servers": {**resources.mcp_servers, **{name: read_server(path) for name, path in folders.items()}},
            "folders": {**resources.folders, **{f"mcp/{name}": path for name, path in folders.items()}},
            "programs": program_files(mode, roots),
        }
    )


def _with_instructions(prompt: SystemPrompt | None, instructions: str | None) -> SystemPrompt | None:
    """Return a system prompt, which is one text, with the instructions of a mode at its end."""
    if instructions is None:
        return prompt
    declared = (prompt.append if prompt.replace is None else prompt.replace) if prompt else None
    text = "\n\n".join(filter(None, ((declared or "").strip(), instructions))) + "\n"
    return SystemPrompt(replace=text) if prompt and prompt.replaces else SystemPrompt(append=text)


def _prompt_text(treatment: Treatment, roots: Sequence[Path]) -> SystemPrompt | None:
    """Return the system prompt as one text: what is declared, the lead's prompt, and the rule of verification.

    None if only a text is declared, or no prompt at all.
    """
    names, lead = prompt_blocks(treatment), treatment.orchestration
    if not names and lead is None:
        return None
    declared = treatment.system_prompt
    texts = [declared.replace or declared.append or ""] if declared else []
    blocks = [read_block(material_path(roots, "blocks", name)) for name in names]
    last = [blocks.pop()] if treatment.verification else []
    leads = [read_agent(material_path(roots, "agents", lead.lead)).prompt] if lead else []
    text = "\n\n".join(filter(None, (*texts, *blocks, *leads, *last))) + "\n"
    return SystemPrompt(replace=text) if declared and declared.replaces else SystemPrompt(append=text)


def arm_treatment(arm: Arm, resources: AgentResources) -> Treatment:
    """Return an arm's treatment, with its system prompt as one text, its mode's servers, and all servers' hosts."""
    treatment = arm.variant.treatment if arm.variant else Treatment()
    servers = dict.fromkeys((*treatment.mcp_servers, *(arm.mode.mcp_servers if arm.mode else ())))
    of_servers = (host for server in resources.mcp_servers.values() for host in server.hosts)
    hosts = tuple(dict.fromkeys((*treatment.hosts, *of_servers)))
    prompt = resources.system_prompt or treatment.system_prompt
    return treatment.model_copy(update={"system_prompt": prompt, "hosts": hosts, "mcp_servers": tuple(servers)})


def allowed_models(
    arm: Arm, resources: AgentResources, side_models: Sequence[str], aliases: Mapping[str, str]
) -> tuple[str, ...] | None:
    """Return the models that a session may request: the arm's, those of its variant, and the CLI's side models.

    Sub-agents may name their model by the CLI's `aliases`. None allows any model: the arm's agent has its own.
    """
    if arm.model is None:
        return None
    declared = arm.variant.treatment.models if arm.variant else ()
    names = [agent.model for agent in resources.agents.values() if agent.model]
    # An alias of the family of the arm's own model is that model.
    inherited = {name for name in names if name == "inherit" or (name in aliases and name in arm.model)}
    of_agents = (arm.model if name in inherited else aliases.get(name, name) for name in names)
    return tuple(dict.fromkeys((arm.model, *declared, *of_agents, *side_models)))


def prove_delivery(
    declared: Declared, seen: Sequence[Observed], inventory: Inventory | None, *, is_out_of_reach: bool = True
) -> Delivery:
    """Compare the declared treatment with the observed one.

    Args:
        declared: treatment that the variant declares.
        seen: observation of each source.
        inventory: what the CLI has by default; None: unknown for this version.
        is_out_of_reach: True if the agent could not rewrite its output.
    """
    if declared.forked_skill:
        seen = [_of_sub_agent(source) if source.source == "first request" else source for source in seen]
    request = next((source for source in seen if source.source == "first request"), None)
    lacking = {fault.partition(" (")[0] for fault in _missing(declared, request, inventory)} if request else set()
    missing, undeclared, claimed = dict[str, None](), dict[str, None](), dict.fromkeys(_unguarded(declared, seen))
    for source in seen:
        is_fact = source.source in _FACTS or is_out_of_reach
        for fault in _missing(declared, source, inventory):
            (missing if is_fact or fault.partition(" (")[0] in lacking else claimed)[fault] = None
        for fault in _undeclared(declared, source, inventory):
            (undeclared if is_fact or fault in _names_in(request) else claimed)[fault] = None
    is_complete = {source.source for source in seen} >= set(declared.sources)
    if is_complete:
        (missing if is_out_of_reach else claimed).update(dict.fromkeys(_unreported(declared, seen)))
    prompts = [source.system_prompt for source in seen if source.system_prompt is not None]
    can_change_net = declared.safety_net and not declared.net_is_managed
    return Delivery(
        proved=is_complete and not (missing or undeclared or claimed or can_change_net),
        seen=tuple(source.source for source in seen),
        missing=_first(missing),
        undeclared=_first(undeclared),
        claimed=_first(claimed),
        unverified=tuple(_unverified(declared, seen, inventory)),
        system_prompt_bytes=len(prompts[0].encode()) if prompts else None,
        tools=request.offered if request else None,
        deferred_tools=request.deferred if request else (),
        characters=_characters(declared, request) if request else {},
        short_skills=tuple(name for name in declared.skills if f"skills/{name}" in _cut(declared, request)),
    )


def _of_sub_agent(request: Observed) -> Observed:
    """Return what a sub-agent's first request shows of the main conversation: only the model."""
    return Observed(source=request.source, model=request.model)


def _characters(declared: Declared, request: Observed) -> dict[str, int]:
    """Return the characters of the first request by part: declared resources, and the definitions of all tools."""
    prompt, seen = declared.system_prompt, request.characters
    prompt_size = len(prompt.append) if prompt and prompt.append else seen.get("system_prompt", 0) if prompt else 0
    parts = {"skills": declared.skills, "agents": declared.agents, "mcp": declared.mcp_servers}
    sizes = {kind: sum(seen.get(f"{kind}/{name}", 0) for name in names) for kind, names in parts.items()}
    tools = sum(size for name, size in seen.items() if name.startswith("tools/"))
    return {name: size for name, size in {"prompt": prompt_size, **sizes, "tools": tools}.items() if size}


def line_hash(line: str) -> str:
    """Return the hash that an inventory stores for a line of a system prompt."""
    return hashlib.sha256(line.strip().encode()).hexdigest()[:_HASH_DIGITS]


def _first(faults: Iterable[str]) -> tuple[str, ...]:
    texts = tuple(faults)
    return texts if len(texts) <= _MAX_FAULTS else (*texts[:_MAX_FAULTS], f"{len(texts) - _MAX_FAULTS} more")


def _kinds(declared: Declared, source: Observed) -> _Kinds:
    """Return each kind with its declared names, and with the names that a source reports (None: it does not)."""
    return (
        ("tool", declared.least_tools if declared.tools is None else declared.tools, source.tools),
        ("MCP server", declared.mcp_servers, source.mcp_servers),
        ("program", declared.programs, source.programs),
        ("plugin", declared.plugins, source.plugins),
        ("skill", _listed_skills(declared, source), source.skills),
        ("sub-agent", declared.agents, source.agents),
    )


def _listed_skills(declared: Declared, source: Observed) -> tuple[str, ...]:
    """Return the declared skills that a source lists, which a skill's own settings may prevent."""
    return tuple(name for name in declared.skills if source.source not in declared.unlisted.get(name, ()))


def _missing(declared: Declared, source: Observed, inventory: Inventory | None) -> Iterator[str]:
    for kind, names, reported in _kinds(declared, source):
        if reported is not None:
            yield from (
                f"{kind} {name} ({source.source}{_remark(source, name)})" for name in names if name not in reported
            )
    if source.instructions is not None:
        yield from (
            f"instructions of {file} ({source.source})"
            for file in declared.instruction_files
            if not any(f"{folder}/{file}" in source.instructions for folder in declared.places)
        )
    if declared.texts and source.source == "first request":
        shown_text = _plain("\n".join(source.texts))
        yield from (
            f"{what} ({source.source})" for what, text in declared.texts.items() if _plain(text) not in shown_text
        )
    cut = _cut(declared, source)
    for name, shown in cut.items():
        if declared.may_cut_skills and name.startswith("skills/"):
            continue
        yield f"description of {_KIND_OF[name.partition('/')[0]]} {name.partition('/')[2]} ({source.source}: {shown})"
    if source.system_prompt is not None:
        yield from _prompt_missing(declared, source.system_prompt, source.prompt_lines or (), inventory)


def _cut(declared: Declared, source: Observed | None) -> dict[str, str]:
    """Return what a list shows of each entry that lacks a part of its declared description."""
    cut = {}
    listings = {kind: _plain(text) for kind, text in source.listings.items()} if source else {}
    for key, texts in declared.descriptions.items():
        kind, _, name = key.partition("/")
        if kind == "skills" and "first request" in declared.unlisted.get(name, ()):
            continue  # another entry of the list may have this name in its text
        listing = listings.get(kind, "")
        if f"- {name}" in listing and not all(_plain(text) in listing for text in texts):
            size = sum(map(len, texts)) - len(f"- {name}: ")
            cut[key] = f"not all of its {counted(size, 'character')}" if f"- {name}: " in listing else "its name only"
    return cut


def _plain(text: str) -> str:
    """Return a text with single spaces and without escapes: CLIs list descriptions on one or many lines.

    Newer CLIs also list spaces in place of invisible characters.
    """
    return " ".join(_INVISIBLE.sub(" ", html.unescape(text)).split())


def _unreported(declared: Declared, seen: Sequence[Observed]) -> Iterator[str]:
    """Yield declared parts that no source reports; only of use if both sources exist."""
    for same in zip(*(_kinds(declared, source) for source in seen), strict=True):
        kind, names, _ = same[0]
        if all(reported is None for _, _, reported in same):
            yield from (f"{kind} {name} (no source reports it)" for name in names)
    if declared.model is not None and all(source.model is None for source in seen):
        yield f"model {declared.model} (no source reports it)"


def _remark(source: Observed, name: str) -> str:
    remarks = [remark for remark in source.remarks if remark.startswith(f"{name}: ")]
    return f": {_short(remarks[0].removeprefix(f'{name}: '))}" if remarks else ""


def _prompt_missing(declared: Declared, text: str, lines: Sequence[str], inventory: Inventory | None) -> Iterator[str]:
    prompt = declared.system_prompt
    if prompt is not None and prompt.replace is not None:
        if text != prompt.replace:
            yield (
                f"the declared system prompt of {counted(len(prompt.replace.encode()), 'byte')} "
                f"(seen: {counted(len(text.encode()), 'byte')})"
            )
        return
    if prompt is not None and prompt.append is not None and prompt.append not in text:
        yield f"the appended system prompt of {counted(len(prompt.append.encode()), 'byte')}"
    cli_lines = set(map(line_hash, lines)) - _appended(declared)
    if not cli_lines or (inventory is not None and not cli_lines & set(inventory.prompt_lines)):
        yield "the CLI's own system prompt"


def _undeclared(declared: Declared, source: Observed, inventory: Inventory | None) -> Iterator[str]:
    defaults = inventory or _UNKNOWN
    if declared.tools is not None:
        yield from _beyond("tool", source.tools, (*declared.tools, *declared.side_tools))
    elif inventory is not None and declared.usual_tools and declared.model in inventory.models:
        yield from _beyond("tool", source.tools, (*defaults.tools, *declared.side_tools))
    yield from _beyond("MCP server", (*(source.mcp_servers or ()), *source.idle_servers), declared.mcp_servers)
    yield from _beyond("program", source.programs, declared.programs)
    own_plugins = source.built_in_plugins if inventory is None else inventory.plugins
    yield from _beyond("plugin", source.plugins, (*declared.plugins, *own_plugins))
    if inventory is not None and source.source == "start event":  # in the request they are words among others
        yield from _beyond("skill", source.skills, (*declared.skills, *declared.own_skills, *defaults.skills))
        yield from _beyond("sub-agent", source.agents, (*declared.agents, *declared.own_agents, *defaults.agents))
    yield from (f"a second skill {_short(name)}, of the start state" for name in declared.repeated_skills)
    for path in source.instructions or ():  # read by the agent, which may read only these
        if not any(path == allowed or path.startswith(f"{allowed}/") for allowed in declared.places):
            yield f"instructions of {path[:_MAX_PATH_CHARACTERS]}"
    if source.model is not None and declared.model is not None and source.model != declared.model:
        yield f"model {_short(source.model)} instead of {declared.model}"
    if inventory is not None and _has_own_prompt(declared) and _has_lines(declared, inventory):
        known = {*inventory.prompt_lines, *_appended(declared)}
        strange = [line for line in source.prompt_lines or () if line_hash(line) not in known]
        yield from (f"system prompt line {_short(line.strip())!r}" for line in strange)


def _unguarded(declared: Declared, seen: Sequence[Observed]) -> Iterator[str]:
    """Yield calls without an event of the safety net's hook, and events of a safety net that was not declared."""
    for source in seen:
        if declared.safety_net and source.unguarded:
            yield f"safety net ({source.source}): it was not asked about {', '.join(source.unguarded[:_MAX_CALLS])}"
        if source.guarded and not declared.safety_net:
            yield "a safety net that was not declared"


def _names_in(request: Observed | None) -> set[str]:
    """Return the skills, plugins and sub-agents that the first request names, worded as faults."""
    if request is None:
        return set()
    skills = request.skills or ()
    plugins = (name.partition(":")[0] for name in skills if ":" in name)
    kinds = (("skill", skills), ("plugin", plugins), ("sub-agent", request.agents or ()))
    return {f"{kind} {_short(name)}" for kind, names in kinds for name in names}


def _beyond(kind: str, reported: Iterable[str] | None, allowed: Iterable[str]) -> Iterator[str]:
    known = set(allowed)
    return (f"{kind} {_short(name)}" for name in reported or () if name not in known)


def _short(text: str) -> str:
    return text[:_MAX_NAME_CHARACTERS]


def _has_own_prompt(declared: Declared) -> bool:
    return declared.system_prompt is None or declared.system_prompt.replace is None


def _has_lines(declared: Declared, inventory: Inventory) -> bool:
    return declared.model in inventory.models and declared.usual_prompt


def _appended(declared: Declared) -> set[str]:
    text = declared.system_prompt.append if declared.system_prompt else None
    return {line_hash(line) for line in text.splitlines()} if text else set()


def _unverified_skills(declared: Declared) -> Iterator[str]:
    unlisted = (name for name, silent in declared.unlisted.items() if ALWAYS_SEEN.issubset(silent))
    yield from (f"the skill {name}: its front matter lets no session list it at the start" for name in unlisted)
    if declared.forked_skill:
        yield f"prompt, tools and lists of the main conversation: the sub-agent of {declared.forked_skill} asks first"


def _unverified(declared: Declared, seen: Sequence[Observed], inventory: Inventory | None) -> Iterator[str]:
    sources = {source.source for source in seen}
    if "start event" not in sources and "start event" in declared.sources:
        yield "the CLI wrote no start event"
    if "first request" not in sources:
        yield "no request to the model was seen"
    yield from _unverified_skills(declared)
    if declared.safety_net and not declared.net_is_managed:
        yield "the safety net: on the host the agent could change it"
    if declared.safety_net and "hook events" not in sources:
        yield "the safety net: no call that it watches was made"
    if inventory is None:
        yield (
            "what the CLI brings by itself: there is no inventory of this version "
            "(`scylla-gha agent-baseline NAME@VERSION` measures one)"
        )
        return
    if declared.tools is None and not declared.usual_tools:
        yield "the CLI's choice of tools: these settings may change it"
    if _has_own_prompt(declared) and not _has_lines(declared, inventory):
        yield f"lines of the CLI's own system prompt: the inventory has none for {declared.model} with these settings"
