"""Filters of a workflow's triggers: branches, tags, paths and types of activity.

See https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#filter-pattern-cheat-sheet
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.hub.operations.plain_yaml import list_of, mapping_of, text_of

_OPENING: Final = ("opened", "synchronize", "reopened")  # the types of `pull_request` without `types`
_LONGEST: Final = 300
_ANY_FOLDERS: Final = "**/"
Matches = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class TriggerEvent:
    """Event in a repository, as filters look at it.

    Attributes:
        name: push or pull_request.
        branch: the pushed one, or the base of the pull request; None: a tag was pushed.
        tag: the pushed one.
        paths: returns the changed files; it is called if a filter needs them.
        activity: type of a pull request's activity.
    """

    name: str
    branch: str | None = None
    tag: str | None = None
    paths: Callable[[], Sequence[str]] = tuple
    activity: str = ""


@dataclass(frozen=True, slots=True)
class _PatternPart:
    """Part of a pattern: the characters that it matches, and how many of them."""

    matches: Matches
    least: int = 1
    is_repeated: bool = False


def is_triggered(triggers: Mapping[str, Any], event: TriggerEvent) -> bool:
    """Return whether an event starts a workflow with these triggers."""
    if event.name not in triggers:
        return False
    filters = mapping_of(triggers[event.name])
    if event.name == "pull_request" and event.activity not in (_texts(filters, "types") or _OPENING):
        return False
    if event.tag is not None:
        return _is_ref_selected(filters, "tags", "branches", event.tag)
    return _is_ref_selected(filters, "branches", "tags", event.branch or "") and _are_paths_selected(filters, event)


def filter_fault(event: str, filters: object) -> str | None:
    """Return why GitHub refuses the filters of an event, or None."""
    keys = mapping_of(filters)
    for name in ("branches", "tags", "paths"):
        if name in keys and f"{name}-ignore" in keys:
            return f"you may only define one of `{name}` and `{name}-ignore` for a single event (on.{event})"
    return None


def _is_ref_selected(filters: Mapping[Any, Any], kind: str, other: str, name: str) -> bool:
    """Return whether a branch or tag is selected; a filter for the other kind alone selects none of this one."""
    if kind in filters:
        return is_selected(_texts(filters, kind), name)
    if f"{kind}-ignore" in filters:
        return not is_selected(_texts(filters, f"{kind}-ignore"), name)
    return other not in filters and f"{other}-ignore" not in filters


def _are_paths_selected(filters: Mapping[Any, Any], event: TriggerEvent) -> bool:
    if "paths" in filters:
        wanted = _texts(filters, "paths")
        return any(is_selected(wanted, path) for path in event.paths())
    if "paths-ignore" in filters:
        ignored = _texts(filters, "paths-ignore")
        return any(not is_selected(ignored, path) for path in event.paths())
    return True


def _texts(filters: Mapping[Any, Any], name: str) -> list[str]:
    patterns = filters.get(name)
    return [
        text_of(text) for text in (list_of(patterns) if isinstance(patterns, list) else [patterns] if patterns else [])
    ]


def is_selected(patterns: Iterable[str], name: str) -> bool:
    """Return whether patterns select a name: of those that match, the last one decides, and `!` deselects."""
    selected = False
    for pattern in patterns:
        if _fits(pattern.removeprefix("!"), name):
            selected = not pattern.startswith("!")
    return selected


def _fits(pattern: str, name: str) -> bool:
    """Return whether a pattern matches a whole name.

    `ends` are the numbers of characters that the pattern may have used up, so that no pattern takes long.
    """
    ends = {0}
    for part in _parts(pattern[:_LONGEST]):
        if isinstance(part, str):  # any folders, or none
            ends |= {at + 1 for at in range(min(ends, default=len(name)), len(name)) if name[at] == "/"}
        else:
            ends = _ends_of(part, ends, name)
    return len(name) in ends


def _ends_of(part: _PatternPart, starts: set[int], name: str) -> set[int]:
    ends = set(starts) if part.least == 0 else set()
    waiting = starts
    while waiting:
        reached = {at + 1 for at in waiting if at < len(name) and part.matches(name[at])}
        waiting = reached - ends if part.is_repeated else set()
        ends |= reached
    return ends


def _parts(pattern: str) -> Iterator[_PatternPart | str]:
    at = 0
    while at < len(pattern):
        if pattern.startswith(_ANY_FOLDERS, at):
            yield _ANY_FOLDERS
            at += len(_ANY_FOLDERS)
            continue
        matches, at = _characters(pattern, at)
        quantifier = pattern[at : at + 1]
        if matches in (_is_any, _is_of_name):
            yield _PatternPart(matches, 0, is_repeated=True)
        elif quantifier in ("?", "+"):
            yield _PatternPart(matches, 0 if quantifier == "?" else 1, is_repeated=quantifier == "+")
            at += 1
        else:
            yield _PatternPart(matches)


def _characters(pattern: str, at: int) -> tuple[Matches, int]:
    """Return what matches the characters of the part at an offset, and the offset behind it."""
    if pattern.startswith("**", at):
        return _is_any, at + 2
    if pattern[at] == "*":
        return _is_of_name, at + 1
    end = pattern.find("]", at)
    if pattern[at] == "[" and end > at:
        return frozenset(_listed(pattern[at + 1 : end])).__contains__, end + 1
    if pattern[at] == "\\" and at + 1 < len(pattern):
        at += 1
    return pattern[at].__eq__, at + 1


def _is_any(_: str) -> bool:
    return True


def _is_of_name(character: str) -> bool:
    return character != "/"


def _listed(text: str) -> Iterator[str]:
    """Yield the characters of a list such as `a-f9`."""
    at = 0
    while at < len(text):
        if text[at + 1 : at + 2] == "-" and at + 2 < len(text) and text[at].isascii() and text[at + 2].isascii():
            yield from (chr(code) for code in range(ord(text[at]), ord(text[at + 2]) + 1))
            at += 3
        else:
            yield text[at]
            at += 1
