"""Items of a code base asked on its twin: the same questions and edits at the same functions, under their new names."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final, cast

from scylla_gha.model.readiness import ANSWER_FILE, ChangedText, ItemPart, ItemSet, ReadinessItem
from scylla_gha.readiness.anchors import function_digest
from scylla_gha.readiness.answer_keys import PlaceNames
from scylla_gha.readiness.graders.pattern_rules import facts_in, holds
from scylla_gha.readiness.source_code import CodeIndex
from scylla_gha.readiness.twins import Twin

_CODE: Final = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_NAMED: Final = ("name", "names")  # fields of a rule about names
_OUTPUTS: Final = "outputs"  # of calls, which a twin does not change
_AS_THEY_ARE: Final = (_OUTPUTS, "guesses")
_WORD: Final = re.compile(r"#?[\w$]+")
_PLACE: Final = re.compile(r"(?P<path>[\w@+-][\w@.+-]*(?:/[\w@.+-]+)*\.\w+)(?P<name>::[^`\n]*)?|#?[\w$]+")


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
        "prompt": _renamed_code(item.prompt, twin, index),
        "parts": tuple(new for part in item.parts if (new := _part(part, twin, names, index))),
        "start": _changes(item.start, twin),
        "solution": _changes(item.solution, twin),
        "hidden": _changes(item.hidden, twin),
    })  # fmt: skip


def _renamed_code(prompt: str, twin: Twin, index: CodeIndex) -> str:
    """Replace names in what the prompt shows as code; paths of files, and names of tests, stay."""

    def renamed(match: re.Match[str]) -> str:
        path, name = match["path"], match["name"] or ""
        if path is None or not _is_path(path, index):
            return _renamed_words(match[0], twin.names)
        return match[0] if twin.is_test(path) else path + _renamed_words(name, twin.names)

    return _CODE.sub(lambda code: _PLACE.sub(renamed, code[0]), prompt) if twin.names else prompt


def _is_path(text: str, index: CodeIndex) -> bool:
    """Return True for the path of a file of code, possibly with folders before it."""
    parts = text.split("/")
    return any("/".join(parts[at:]) in index.files for at in range(len(parts)))


def _renamed_words(text: str, names: Mapping[str, str]) -> str:
    return _WORD.sub(lambda word: _renamed_word(word[0], names), text)


def _renamed_word(word: str, names: Mapping[str, str]) -> str:
    if word in names:
        return names[word]
    bare = word.removeprefix("#")
    return word.removesuffix(bare) + names.get(bare, bare)


def _part(part: ItemPart, twin: Twin, names: PlaceNames, index: CodeIndex) -> ItemPart | None:
    """Return a part with the twin's names; None: nothing of it can be asked there."""
    key = {field: content if field in _AS_THEY_ARE else _renamed_ids(content, twin)
           for field, content in part.key.items()}  # fmt: skip
    if "places" in key:
        key["places"] = names.key(twin.id_of(name) for name in _places(part))
    if "rules" in key:
        key |= _rules_key(part, twin, index)
        if not key["rules"]:
            return None
    candidates = tuple(dict.fromkeys(twin.id_of(name) for name in part.candidates))
    return part.model_copy(update={"key": key, "candidates": candidates})


def _rules_key(part: ItemPart, twin: Twin, index: CodeIndex) -> dict[str, object]:
    """Return the function's name in the twin, and the rules that its own code still keeps there."""
    path, name, language = (str(part.key[field]) for field in ("path", "name", "language"))
    new_name = twin.id_of(f"{path}::{name}").partition("::")[2]
    rules = [
        rule | {field: _renamed_rule(rule[field], twin.names) for field in _NAMED if field in rule}
        for rule in cast("list[dict[str, object]]", part.key["rules"])
    ]
    own = facts_in(index.files[path].text, language, new_name)
    return {"name": new_name, "rules": [rule for rule in rules if own is not None and holds(rule, own)]}


def _renamed_rule(content: object, names: Mapping[str, str]) -> object:
    """Replace the names that a rule is about, such as those of error types."""
    if isinstance(content, str):
        return _renamed_words(content, names)
    return [_renamed_rule(part, names) for part in content] if isinstance(content, list | tuple) else content


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
    answers = {field: answer if field == _OUTPUTS else _renamed_ids(answer, twin)
               for field, answer in json.loads(change.text).items()}  # fmt: skip
    return json.dumps(answers, indent=2, ensure_ascii=False) + "\n"
