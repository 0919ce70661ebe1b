"""Evidence beside a score: features of missed and solved anchors, and the files that were missed most.

Counts are associations: they say where misses are, and not why. Only twins and a compared commit are experiments.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import floor
from statistics import median
from typing import Final

from scylla_gha.counting import counted
from scylla_gha.model.readiness import (
    AnchorScore,
    Association,
    Dimension,
    ItemSet,
    ObservedTrial,
    ReadinessItem,
    ReadinessScore,
    WorstFile,
)
from scylla_gha.readiness.source_code import CodeIndex

_MOST_FILES: Final = 5
_FEWEST_MISSED: Final = 2  # anchors of a file that is shown
_SAME_NAME, _DOCUMENTED, _LINES, _FAN_OUT = "same name", "documented", "lines", "fan-out"  # names of notes
_YES, _NO = "yes", "no"


def with_features(items: ItemSet, index: CodeIndex) -> ItemSet:
    """Note facts about each anchor's function in its item, from which associations are counted later."""
    names = Counter(function.short_name for function in index.functions.values())
    callees: dict[str, set[str]] = defaultdict(set)
    for edge in index.edges:
        callees[edge.caller].add(edge.callee)

    def noted(item: ReadinessItem) -> ReadinessItem:
        function = index.functions.get(item.anchor)
        if function is None:
            return item
        facts = {
            _SAME_NAME: str(names[function.short_name] - 1), _DOCUMENTED: _YES if function.docstring else _NO,
            _LINES: str(function.span.last - function.span.first + 1), _FAN_OUT: str(len(callees[function.id])),
        }  # fmt: skip
        return item.model_copy(update={"notes": {**item.notes, **facts}})

    return items.model_copy(update={"items": tuple(noted(item) for item in items.items)})


def with_evidence(score: ReadinessScore, items: ItemSet, trials: Iterable[ObservedTrial]) -> ReadinessScore:
    """Add associations and the worst files to a score."""
    by_id = {item.id: item for item in items.items}
    scored = [anchor for anchor in score.anchors if anchor.score is not None and anchor.item in by_id]
    return score.model_copy(update={
        "associations": _associations(scored, {name: item.notes for name, item in by_id.items()}),
        "worst_files": _worst_files(scored, by_id, list(trials)),
    })  # fmt: skip


def _associations(anchors: Sequence[AnchorScore], notes: Mapping[str, Mapping[str, str]]) -> tuple[Association, ...]:
    features = _features(notes)
    dimensions: list[Dimension | None] = [None, *dict.fromkeys(anchor.dimension for anchor in anchors)]
    return tuple(
        association for dimension in dimensions for feature, items in features.items()
        if (association := _association(dimension, feature, items, anchors)) is not None
    )  # fmt: skip


def _features(notes: Mapping[str, Mapping[str, str]]) -> dict[str, frozenset[str]]:
    """Return the items that have each feature; long and many are above the median of all items."""
    known = {name: facts for name, facts in notes.items() if _LINES in facts}
    if not known:
        return {}
    lines, calls = (floor(median(int(facts[fact]) for facts in known.values())) + 1 for fact in (_LINES, _FAN_OUT))
    long, many = counted(lines, "line"), counted(calls, "function")
    return {
        "same name elsewhere": frozenset(name for name, facts in known.items() if int(facts[_SAME_NAME]) > 0),
        "no docstring": frozenset(name for name, facts in known.items() if facts[_DOCUMENTED] == _NO),
        f"at least {long} long": frozenset(name for name, facts in known.items() if int(facts[_LINES]) >= lines),
        f"calls at least {many} of the code base":
            frozenset(name for name, facts in known.items() if int(facts[_FAN_OUT]) >= calls),
    }  # fmt: skip


def _association(
    dimension: Dimension | None, feature: str, items: frozenset[str], anchors: Sequence[AnchorScore]
) -> Association | None:
    own = [anchor for anchor in anchors if dimension in {None, anchor.dimension}]
    missed = [anchor.item in items for anchor in own if not anchor.is_solved]
    solved = [anchor.item in items for anchor in own if anchor.is_solved]
    if not missed or not solved or not any([*missed, *solved]):
        return None
    return Association(dimension=dimension, feature=feature, missed=sum(missed), of_missed=len(missed),
                       solved=sum(solved), of_solved=len(solved))  # fmt: skip


def _worst_files(
    anchors: Sequence[AnchorScore], items: Mapping[str, ReadinessItem], trials: Sequence[ObservedTrial]
) -> tuple[WorstFile, ...]:
    """Return the files with the most missed anchors; a file with one missed anchor says little."""
    by_file: dict[str, list[AnchorScore]] = defaultdict(list)
    for anchor in anchors:
        by_file[anchor.file].append(anchor)
    rows = [(file, [anchor for anchor in own if not anchor.is_solved], own) for file, own in by_file.items()]
    rows = [row for row in rows if len(row[1]) >= _FEWEST_MISSED]
    rows.sort(key=lambda row: (-len(row[1]), -len(row[1]) / len(row[2]), row[0]))
    return tuple(
        WorstFile(file=file, missed=len(missed), anchors=len(own), evidence=_sentence(file, missed, items, trials))
        for file, missed, own in rows[:_MOST_FILES]
    )


def _sentence(
    file: str, missed: Sequence[AnchorScore], items: Mapping[str, ReadinessItem], trials: Sequence[ObservedTrial]
) -> str:
    """Say what the traces of the missed anchors show: which files were opened, and functions of the same name."""
    names = {anchor.item for anchor in missed}
    opened = [trial.opened for trial in trials if trial.item in names and trial.outcome.measures_agent]
    never = sum(1 for paths in opened if file not in paths)
    others = Counter(paths[0] for paths in opened if paths and paths[0] != file)
    parts = []
    if others:
        first, count = min(others.items(), key=lambda pair: (-pair[1], pair[0]))
        parts.append(f"{first} was opened first in {count} of {counted(len(opened), 'trial')}")
    if never:
        parts.append(f"the file itself was never opened in {counted(never, 'trial')}")
    shared = [anchor for anchor in missed if int(items[anchor.item].notes.get(_SAME_NAME, "0")) > 0]
    if shared:
        name = shared[0].anchor.rpartition("::")[2].rpartition(".")[2]
        more = int(items[shared[0].item].notes[_SAME_NAME])
        parts.append(f"{counted(more, 'other function')} {'is' if more == 1 else 'are'} named `{name}` too")
    return "; ".join(parts) or "the traces show no other file that was opened first"
