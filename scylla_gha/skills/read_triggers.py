"""Reader of labels: which skill a query should trigger, in all the usual forms."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scylla_gha.skills.entry_values import EntryFault
from scylla_gha.skills.json_source import Json, Place

_NAMES: Final = ("expected_skill", "expect_skill")  # the name of a skill, or null
LABELS: Final = ("should_trigger", "shouldTrigger", "expected_trigger", "skills_expected_to_activate", *_NAMES)
LISTS: Final = ("should_trigger", "should_not_trigger")
REJECTED: Final = "should_not_trigger"
ROUTES: Final = (*_NAMES, "expected", "expect", "target")  # in files of triggers: the name of a skill, or null
OWNERS: Final = ("skill_name", "skill", "skills")  # of a file or of an entry: which skills it is for
_WORDS: Final = frozenset({"true", "false", "yes", "no"})
_NO_SKILL: Final = frozenset({"none", "null", "no-skill", "no_skill", "no-trigger", "-", ""})
_DEEPEST: Final = 3


@dataclass(frozen=True, slots=True)
class TriggerLabel:
    """Names of the skills that a query should trigger (may be empty), and of skills that it should not trigger."""

    expected: tuple[str, ...]
    rejected: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownSkills:
    """Name of the skill whose file is read, and names of all skills that a label may have.

    `own` is empty for a file of several skills, where only a name says which of them a query should trigger.
    """

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
        route = next((key for key in ROUTES if key in entry), None) if is_routing else None
        if key is None or (isinstance(entry[key], bool) and self._is_route(route, entry)):
            key = route or key
        if key is None and is_routing and any(label in entry for label in LABELS):
            return TriggerLabel((), rejected or self._own())  # null: no skill
        if key is None:
            return TriggerLabel((), rejected) if rejected else None
        value, at = entry[key], (*place, key)
        if _is_no_skill(value, self.all):
            return TriggerLabel((), rejected or self._own())
        if isinstance(value, bool):
            return self._of_flag(at, rejected, is_expected=value)
        names = _names(value, at)
        if any(entry.get(flag) is False for flag in LABELS):
            return TriggerLabel((), rejected or names)
        unknown = [name for name in names if not self._knows(name)]
        if isinstance(value, str) and unknown and (key in LABELS[:3] or value.lower() in _WORDS):
            message = f"{value!r} is text; write true or false, or the name of a skill that is here"
            raise EntryFault(at, message)
        return TriggerLabel(tuple(names), rejected)

    def _is_route(self, route: str | None, entry: Mapping[str, Json]) -> bool:
        """Return True if a name beside a flag says which skill the flag is about."""
        return has_route(entry, self.all) or (not self.own and route in _NAMES)

    def _of_flag(self, place: Place, rejected: tuple[str, ...], *, is_expected: bool) -> TriggerLabel:
        if not is_expected:
            return TriggerLabel((), rejected or self._own())
        if not self.own:
            raise EntryFault(place, 'does not say which skill; write its name: "should_trigger": "NAME"')
        return TriggerLabel((self.own,), rejected)

    def _own(self) -> tuple[str, ...]:
        return (self.own,) if self.own else ()

    @property
    def all(self) -> frozenset[str]:
        """All names that are known."""
        return frozenset({self.own, *self.names} - {""})

    def unknown(self, label: TriggerLabel) -> list[str]:
        """Return the names in a label that no skill here has."""
        return [name for name in (*label.expected, *label.rejected) if not self._knows(name)]

    def _knows(self, name: str) -> bool:
        return _plain(name) in self.all


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


def _plain(name: str) -> str:
    """Return a name without that of its plugin."""
    return name.rpartition(":")[2]


def _is_no_skill(value: Json, skills: Collection[str]) -> bool:
    return value is None or (isinstance(value, str) and value.lower() in _NO_SKILL and value not in skills)


def has_route(entry: Mapping[str, Json], skills: Collection[str]) -> bool:
    """Return True if an entry says by a name, or by null, which of these skills it should trigger."""
    key = next((key for key in ROUTES if key in entry), None)
    value = entry[key] if key else ""
    if key and _is_no_skill(value, skills):
        return True
    names = value if isinstance(value, list) and value else [value]
    return all(isinstance(name, str) and _plain(name) in skills for name in names)


def owners_of(value: Json) -> set[str]:
    """Return the names of the skills that a file says it is for, without those in its entries."""
    return set(_texts([value.get(key) for key in OWNERS])) if isinstance(value, dict) else set()


def named_skills(value: Json, depth: int = 0) -> set[str]:
    """Return all texts of a file at the keys that name skills."""
    if depth > _DEEPEST:
        return set()
    if isinstance(value, list):
        return set().union(*(named_skills(element, depth + 1) for element in value))
    if not isinstance(value, dict):
        return set()
    names = set(_texts([value.get(key) for key in (*LABELS, REJECTED, *ROUTES, *OWNERS)]))
    names |= {key for key, element in value.items() if _has_lists(element)}
    return names.union(*(named_skills(element, depth + 1) for element in value.values()))


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield _plain(value)
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element.get("name") if isinstance(element, dict) else element)


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
    if _has_lists(value):
        return list(_of_lists(value, (), own))
    by_name = {name: lists for name, lists in value.items() if _has_lists(lists)}
    return [query for name, lists in by_name.items() for query in _of_lists(lists, (name,), name)] or None


def _has_lists(value: Json) -> bool:
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in LISTS) and "query" not in value


def _of_lists(value: Mapping[str, Json], place: Place, name: str) -> Iterator[ListedQuery]:
    for key in LISTS:
        label = TriggerLabel((), (name,)) if key == REJECTED else TriggerLabel((name,))
        queries = value.get(key)
        for index, query in enumerate(queries if isinstance(queries, list) else []):
            yield ListedQuery((*place, key, index), query, label)
