"""Items of a code base asked on its twin: the same questions and edits at the same functions, under their new names."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

from scylla_gha.model.readiness import ANSWER_FILE, ChangedText, ItemPart, ItemSet, ReadinessItem
from scylla_gha.readiness.anchors import function_digest
from scylla_gha.readiness.answer_keys import PlaceNames
from scylla_gha.readiness.source_code import CodeIndex
from scylla_gha.readiness.twins import Twin

_CODE: Final = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_WORD: Final = re.compile(r"[^\W\d]\w*")


def items_in_twin(items: ItemSet, twin: Twin, index: CodeIndex, tree: str) -> ItemSet:
    """Return the items that can be asked on the twin, with the same ids.

    Left out: items about functions that were merged away, and edits of files in which functions were merged, whose
    start states cannot be carried over.

    Args:
        items: of the code base.
        twin: its twin.
        index: of the twin.
        tree: digest of the twin's files.
    """
    names = PlaceNames(index, items.seed)
    asked = [_item(item, twin, index, names) for item in items.items if _can_be_asked(item, twin, index)]
    return items.model_copy(update={"tree": tree, "items": tuple(asked)})


def _can_be_asked(item: ReadinessItem, twin: Twin, index: CodeIndex) -> bool:
    if item.anchor in twin.homes or twin.id_of(item.anchor) not in index.functions:
        return False
    if any(twin.id_of(name) not in index.functions for part in item.parts for name in _places(part)):
        return False
    is_merged = twin.kind == "merging"
    return not (is_merged and any(change.path in twin.changed_files for change in (*item.start, *item.solution)))


def _places(part: ItemPart) -> Iterable[str]:
    places = part.key.get("places")
    return places if isinstance(places, dict) else ()


def _item(item: ReadinessItem, twin: Twin, index: CodeIndex, names: PlaceNames) -> ReadinessItem:
    anchor = twin.id_of(item.anchor)
    return item.model_copy(update={
        "anchor": anchor,
        "anchor_digest": function_digest(index, index.functions[anchor]),
        "prompt": _renamed_code(item.prompt, twin.names),
        "parts": tuple(_part(part, twin, names) for part in item.parts),
        "start": _changes(item.start, twin),
        "solution": _changes(item.solution, twin),
        "hidden": _changes(item.hidden, twin),
    })  # fmt: skip


def _renamed_code(prompt: str, names: Mapping[str, str]) -> str:
    """Replace names in what the prompt shows as code."""
    return _CODE.sub(lambda code: _WORD.sub(lambda word: names.get(word[0], word[0]), code[0]), prompt)


def _part(part: ItemPart, twin: Twin, names: PlaceNames) -> ItemPart:
    key = {field: _renamed_ids(content, twin) for field, content in part.key.items()}
    if "places" in key:
        key["places"] = names.key(twin.id_of(name) for name in _places(part))
    candidates = tuple(dict.fromkeys(twin.id_of(name) for name in part.candidates))
    return part.model_copy(update={"key": key, "candidates": candidates})


def _renamed_ids(content: object, twin: Twin) -> object:
    """Replace ids of functions in a key, in lists and in names of objects."""
    match content:
        case str():
            return twin.id_of(content) if "::" in content else content
        case list() | tuple():
            return list(dict.fromkeys(_renamed_ids(part, twin) for part in content)) if _is_flat(content) else [
                _renamed_ids(part, twin) for part in content
            ]  # fmt: skip
        case dict():
            return {_renamed_ids(name, twin): _renamed_ids(part, twin) for name, part in content.items()}
        case _:
            return content


def _is_flat(content: Iterable[object]) -> bool:
    return all(isinstance(part, str) for part in content)


def _changes(changes: Iterable[ChangedText], twin: Twin) -> tuple[ChangedText, ...]:
    return tuple(change.model_copy(update={"text": _text(change, twin)}) for change in changes)


def _text(change: ChangedText, twin: Twin) -> str | None:
    if change.text is None:
        return None
    if change.path != ANSWER_FILE:
        return twin.transform(change.path, change.text)
    answers = _renamed_ids(json.loads(change.text), twin)
    return json.dumps(answers, indent=2, ensure_ascii=False) + "\n"
