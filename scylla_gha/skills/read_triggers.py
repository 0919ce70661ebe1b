"""Reader of labels: which skill a query should trigger, in all the usual forms."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scylla_gha.skills.entry_values import EntryFault
from scylla_gha.skills.json_source import Json, Place

LABELS: Final = ("should_trigger", "shouldTrigger", "expected_trigger", "skills_expected_to_activate")
LISTS: Final = ("should_trigger", "should_not_trigger")
REJECTED: Final = "should_not_trigger"
_ROUTE: Final = "expected"  # in files of triggers: the name of a skill, or null
_WORDS: Final = frozenset({"true", "false", "yes", "no"})


@dataclass(frozen=True, slots=True)
class TriggerLabel:
    """Names of the skills that a query should trigger (may be empty), and of skills that it should not trigger."""

    expected: tuple[str, ...]
    rejected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownSkills:
    """Name of the skill whose file is read, and names of all skills that a label may have."""

    own: str
    names: Collection[str]

    def label(self, entry: Mapping[str, Json], place: Place, *, is_routing: bool) -> TriggerLabel | None:
        """Read the label of an entry; return None if there is none.

        Args:
            entry: entry of a file.
            place: place of the entry.
            is_routing: True for a file of triggers, where `expected` is the name of a skill or null.

        Raises:
            EntryFault: the label is invalid.
        """
        rejected = _names(entry.get(REJECTED), (*place, REJECTED)) if entry.get(REJECTED) is not None else ()
        key = next((key for key in LABELS if entry.get(key) is not None), None)
        if key is None and is_routing and _ROUTE in entry:
            key = _ROUTE
        if key is None:
            return TriggerLabel((), rejected) if rejected else None
        value, at = entry[key], (*place, key)
        if value is None:
            return TriggerLabel((), rejected or (self.own,))
        if isinstance(value, bool):
            return TriggerLabel((self.own,), rejected) if value else TriggerLabel((), rejected or (self.own,))
        names = _names(value, at)
        unknown = [name for name in names if not self._knows(name)]
        if isinstance(value, str) and unknown and (key in LABELS[:3] or value.lower() in _WORDS):
            message = f"{value!r} is text; write true or false, or the name of a skill that is here"
            raise EntryFault(at, message)
        return TriggerLabel(tuple(names), rejected)

    def unknown(self, label: TriggerLabel) -> list[str]:
        """Return the names in a label that no skill here has."""
        return [name for name in (*label.expected, *label.rejected) if not self._knows(name)]

    def _knows(self, name: str) -> bool:
        return name.rpartition(":")[2] in {self.own, *self.names}


def _names(value: Json, place: Place) -> tuple[str, ...]:
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) and name for name in names):
        raise EntryFault(place, "must be true, false, the name of a skill, or a list of names")
    return tuple(names)


@dataclass(frozen=True, slots=True)
class ListedQuery:
    """A query whose label is the name of its list."""

    place: Place
    value: Json
    label: TriggerLabel


def listed_queries(value: Json, own: str) -> list[ListedQuery] | None:
    """Return the queries of a file whose lists are labels; None if it has another form."""
    if not isinstance(value, dict):
        return None
    if isinstance(skills := value.get("skills"), list) and any(_has_lists(skill) for skill in skills):
        return [
            query
            for index, skill in enumerate(skills)
            if isinstance(skill, dict)
            for query in _of_lists(skill, ("skills", index), str(skill.get("name") or own))
        ]
    return list(_of_lists(value, (), own)) if _has_lists(value) else None


def _has_lists(value: Json) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in LISTS) and "query" not in value


def _of_lists(value: Mapping[str, Json], place: Place, name: str) -> Iterator[ListedQuery]:
    for key in LISTS:
        label = TriggerLabel((), (name,)) if key == REJECTED else TriggerLabel((name,))
        queries = value.get(key)
        for index, query in enumerate(queries if isinstance(queries, list) else []):
            yield ListedQuery((*place, key, index), query, label)
