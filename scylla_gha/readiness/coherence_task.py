"""Cross-File Coherence: the chain of calls from an entry to a sink; where there are too few, which tests fail."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from scylla_gha.model.readiness import ItemPart, ReadinessItem
from scylla_gha.readiness.anchors import function_digest, sample
from scylla_gha.readiness.answer_keys import PlaceNames, answer_text
from scylla_gha.readiness.call_chains import (
    Edges,
    ExecutedFunctions,
    certain_edges,
    functions_on_every_path,
    paths_of,
    reach,
)
from scylla_gha.readiness.call_graph import refutes
from scylla_gha.readiness.failing_files import failing_file_items
from scylla_gha.readiness.flow_ends import entries, is_sink
from scylla_gha.readiness.material import ReadinessMaterial
from scylla_gha.readiness.named_functions import is_called_implicitly
from scylla_gha.readiness.question_prompts import PLACE_EXAMPLES, PLACE_FORM, item_id, prompt_of
from scylla_gha.readiness.source_code import CodeIndex, Function
from scylla_gha.readiness.trace_efficiency import CHARACTERS_PER_TOKEN

_SHORTEST, _LONGEST = 3, 6  # functions of a chain
_MOST_NAMED: Final = 8
_MOST_PLACES: Final = 60
_MOST_PER_FILE: Final = 3
_QUESTION: Final = """\
How does it get there?

`{entry}` in `{entry_path}` leads, through other functions, to `{sink}` in `{sink_path}`{effect}. Name the chain of
calls in the list `chain`: first `{entry}`, then the function or method that it calls on this way, and so on, last
`{sink}`. Each one calls the next one directly. If there are several chains, any short one will do; name {most}
functions at most."""


@dataclass(frozen=True, slots=True)
class FlowChain:
    """Chain of calls from an entry to a sink.

    Attributes:
        path: ids of its functions, from the entry to the sink.
        required: those between the ends that every path has.
    """

    entry: Function
    path: tuple[str, ...]
    required: tuple[str, ...]


def coherence_items(material: ReadinessMaterial, counts: Counter[str] | None = None) -> list[ReadinessItem]:
    """Return an item for each sampled entry with a chain; questions on failing test files fill up.

    Args:
        material: of the code base.
        counts: gets the yields, by name.

    Raises:
        ToolError: the tests cannot be run.
    """
    edges = certain_edges(material.index)
    chains = {chain.entry.id: chain for chain in flow_chains(material, edges)}
    drawn = sample((chain.entry for chain in chains.values()), material.seed, material.wanted, _MOST_PER_FILE)
    names = PlaceNames(material.index, material.seed)
    items = [_chain_item(material, names, edges, chains[anchor.id]) for anchor in drawn]
    more = failing_file_items(material, drawn, material.wanted - len(items))
    if counts is not None:
        counts["entries with a chain over files"] = len(chains)
        counts["questions on chains"], counts["questions on failing test files"] = len(items), len(more)
    return items + more


def flow_chains(material: ReadinessMaterial, edges: Edges) -> Iterator[FlowChain]:
    """Yield a chain for each entry that has one: of 3 to 6 functions in two files at least."""
    executed = ExecutedFunctions(material)
    for entry in entries(material.index):
        own = executed.edges_from(entry, edges) if executed.is_known else edges
        chain = _chain(material, entry, own, edges)
        if chain is not None:
            yield chain


def _chain(material: ReadinessMaterial, entry: Function, own: Edges, edges: Edges) -> FlowChain | None:
    """Return the entry's chain to a sink, else to a deepest function that calls no other."""
    index, reached = material.index, reach(own, entry.id)
    ends = (name for name in reached.before if not is_called_implicitly(index.functions[name]))
    paths = [path for path in map(reached.path, ends)
             if _SHORTEST <= len(path) <= _LONGEST and len(paths_of(path)) > 1]  # fmt: skip
    sinks = [path for path in paths if is_sink(index.functions[path[-1]], edges.get(path[-1], ()))]
    leaves = [path for path in paths if not own.get(path[-1])]
    deepest = max(map(len, leaves), default=0)
    for path in sorted(sinks or (path for path in leaves if len(path) == deepest), key=_hash_of(entry, material.seed)):
        required = functions_on_every_path(edges, path)
        if required:
            return FlowChain(entry, tuple(path), tuple(required))
    return None


def _hash_of(entry: Function, seed: int) -> Callable[[list[str]], str]:
    def rank(path: list[str]) -> str:
        return hashlib.sha256(f"{seed}\0{entry.id}\0{path[-1]}".encode()).hexdigest()

    return rank


def _chain_item(material: ReadinessMaterial, names: PlaceNames, edges: Edges, chain: FlowChain) -> ReadinessItem:
    index, path = material.index, chain.path
    sink = index.functions[path[-1]]
    text = _QUESTION.format(
        entry=chain.entry.name,
        entry_path=chain.entry.path,
        sink=sink.name,
        sink_path=sink.path,
        effect=", which writes, sends or executes something" if is_sink(sink, edges.get(sink.id, ())) else "",
        most=_MOST_NAMED,
    )
    paths = paths_of(path)
    return ReadinessItem(
        id=item_id("chain", chain.entry, material.seed),
        dimension="cross-file-coherence",
        anchor=chain.entry.id,
        anchor_digest=function_digest(index, chain.entry),
        files=tuple(sorted(paths)),
        prompt=prompt_of([text], {"chain": PLACE_EXAMPLES}, [PLACE_FORM]),
        has_shell=False,
        parts=_parts(material, names, edges, chain),
        solution=(answer_text({"chain": path}),),
        notes={"sink": sink.id, "functions": str(len(path)), "files": str(len(paths)), "step": "chain"},
    )


def _parts(material: ReadinessMaterial, names: PlaceNames, edges: Edges, chain: FlowChain) -> tuple[ItemPart, ...]:
    nearby = _nearby(edges, chain)
    first, *_, last = chain.path
    others = (name for name in names.candidates(chain.path) if name not in (first, last))
    candidates = (first, *others, last)  # a guesser puts a chain between the ends that the prompt names
    key: dict[str, object] = {
        "places": names.key(nearby),
        "required": list(chain.required),
        "ends": [chain.path[0], chain.path[-1]],
        "certain": {name: [other for other in edges.get(name, ()) if other in nearby] for name in nearby},
        "undecided": _undecided(material.index, edges, nearby),
        "most": _MOST_NAMED,
    }
    files = paths_of(chain.path)
    tokens = sum(len(material.index.files[path].text) for path in files) // CHARACTERS_PER_TOKEN
    return (
        ItemPart(id="completeness", form="completeness", weight=50, key=key, candidates=candidates),
        ItemPart(id="accuracy", form="accuracy", weight=30, key=key, candidates=candidates),
        ItemPart(
            id="efficiency", form="efficiency", weight=20, key={"files": files, "tokens": tokens}, from_trace=True
        ),
    )


def _nearby(edges: Edges, chain: FlowChain) -> list[str]:
    """Return the functions that answers may name without being wrong for certain: the chain, its callees, and on."""
    beside = (callee for name in chain.path for callee in edges.get(name, ()))
    onward = reach(edges, chain.path[0]).before
    return sorted(islice(dict.fromkeys((*chain.path, *beside, *onward)), _MOST_PLACES))


def _undecided(index: CodeIndex, edges: Edges, nearby: list[str]) -> dict[str, list[str]]:
    """Return pairs of functions of which nobody can say whether one calls the other."""
    pairs = {
        name: [other for other in nearby
               if other != name and other not in edges.get(name, ()) and not refutes(index, name, other)]
        for name in nearby
    }  # fmt: skip
    return {name: others for name, others in pairs.items() if others}
