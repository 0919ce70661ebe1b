"""Entries of a file, and whether they are evals or trigger queries."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, Literal

from scylla_gha.skills.entry_values import PROMPTS
from scylla_gha.skills.json_source import Json, JsonFault, Place
from scylla_gha.skills.read_assertions import INVERTED_KEYS, KEYS
from scylla_gha.skills.read_triggers import LABELS, LISTS, has_route, listed_queries

Kind = Literal["evals", "triggers", "not evals"]
Entry = tuple[Place, Json]
TRIGGER_NAME: Final = re.compile(r"trigger|^eval_queries\.json$", re.IGNORECASE)
_WRAPPERS: Final = ("evals", "cases", "tests", "test_cases", "evaluations", "queries", "scenarios", "prompts")
_TEXTS: Final = "prompts"  # other tools list texts in it
_EVALS_NAME: Final = re.compile(r"evals?\.(?:jsonl?|ya?ml)", re.IGNORECASE)
_BY_LANGUAGE: Final = "inputs"
_LANGUAGE: Final = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z]{2,4})?")
_IDS: Final = ("id", "name")
_DEEPEST: Final = 3


def entries_of(value: Json, name: str) -> list[Entry]:
    """Return the entries of a file with their places; empty if there are none.

    Raises:
        JsonFault: the file has several lists of entries, or an object instead of a list.
    """
    return [each for place, entry in _listed(value, name) for each in _by_language(place, entry)]


def _listed(value: Json, name: str) -> list[Entry]:
    if isinstance(value, list):
        return [((index,), entry) for index, entry in enumerate(value)]
    if not isinstance(value, dict):
        return []
    lists = [key for key in _WRAPPERS if isinstance(value.get(key), list) and value[key]]
    lists = [key for key in lists if key != _TEXTS or any(map(_has_prompt, value[key]))]
    if _has_prompt(value) and not any(_has_prompt(entry) for key in lists for entry in value[key]):
        return [((), value)]
    if len(lists) > 1:
        raise JsonFault(f"{' and '.join(lists)}: a file has only one list of entries; move all entries to {lists[0]}")
    for key in _WRAPPERS:
        entries = value.get(key)
        if isinstance(entries, dict) and (
            name.lower() == "evals.json" or any(_has_prompt(each) for each in entries.values())
        ):
            raise JsonFault(f"{key}: must be a list; write [...] with an object for each eval")
    return [((lists[0], index), entry) for index, entry in enumerate(value[lists[0]])] if lists else []


def _by_language(place: Place, entry: Json) -> Iterator[Entry]:
    """Yield an entry, or one entry for each language in which it has a prompt."""
    texts = entry.get(_BY_LANGUAGE) if isinstance(entry, dict) else None
    if not isinstance(texts, dict) or not texts or not all(map(_LANGUAGE.fullmatch, texts)):
        yield place, entry
        return
    key = next((key for key in _IDS if isinstance(entry.get(key), str | int)), None)
    rest = {name: value for name, value in entry.items() if name != _BY_LANGUAGE}
    for language, text in texts.items():
        own = {key: f"{entry[key]}-{language}"} if key else {}
        yield (*place, _BY_LANGUAGE, language), {**rest, **own, "prompt": text}


def kind_of(name: str, value: Json, entries: list[Entry], skills: Collection[str]) -> Kind:
    """Return what the entries of a file are.

    Args:
        name: name of the file.
        value: its content.
        entries: its entries.
        skills: names that labels may contain.
    """
    listed = listed_queries(value, "")
    if listed is not None or (TRIGGER_NAME.search(name) and entries):
        return "triggers" if listed or entries else "not evals"
    objects = [entry for _, entry in entries if isinstance(entry, dict)]
    is_labelled = bool(objects) and all(map(_has_label, objects)) and not any(map(_has_assertion, objects))
    if is_labelled or (objects and all(has_route(entry, skills) for entry in objects)):
        return "triggers" if any(map(_has_prompt, objects)) else "not evals"
    if _EVALS_NAME.fullmatch(name) and any(map(_has_assertion, objects)):
        return "evals"
    prompts = sum(map(_has_prompt, objects))  # with few prompts, it is another tool's file
    return "evals" if prompts and prompts * 2 >= len(objects) else "not evals"


def prompt_lists(value: Json, place: Place = ()) -> Iterator[Place]:
    """Yield the places of all lists with prompts, or of the one prompt, at any usual depth."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if _is_prompt_list(value, place) or (_has_prompt(value) and (_has_label(value) or _has_assertion(value))):
        yield place
    elif len(place) < _DEEPEST:
        for name, element in members:
            yield from prompt_lists(element, (*place, name))


def _is_prompt_list(value: Json, place: Place) -> bool:
    is_labelled = bool(place) and place[-1] in LISTS and bool(value)
    return isinstance(value, list) and (is_labelled or any(map(_has_prompt, value)))


def _has_prompt(entry: Json) -> bool:
    return isinstance(entry, dict) and any(key in entry for key in PROMPTS)


def _has_label(entry: Mapping[str, Json]) -> bool:
    return any(entry.get(key) is not None for key in LABELS)


def _has_assertion(entry: Mapping[str, Json]) -> bool:
    return any(entry.get(key) for key in (*KEYS, *INVERTED_KEYS))
