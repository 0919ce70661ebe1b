"""Order and filters that several connections have."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from scylla_gha.hub.errors import ContractGapError
from scylla_gha.hub.records import IssueRecord, PullRequestRecord

T = TypeVar("T")
_KEYS: Final[Mapping[str, str]] = {
    "CREATED_AT": "created_at",
    "UPDATED_AT": "updated_at",
    "PUSHED_AT": "pushed_at",
    "NAME": "name",
    "NUMBER": "number",
    "DUE_DATE": "due_on",
}


def in_order(items: Iterable[T], order: Mapping[str, str] | None, default: Mapping[str, str] | None = None) -> list[T]:
    """Return items in the order that an argument such as {field: CREATED_AT, direction: DESC} asks for.

    Raises:
        ContractGapError: the hub does not know that field.
    """
    wanted = order or default
    listed = list(items)
    if wanted is None:
        return listed
    if wanted["field"] not in _KEYS:
        raise ContractGapError(f"orderBy: {wanted['field']}")
    descending = wanted["direction"] == "DESC"
    listed.sort(key=_key(_KEYS[wanted["field"]]), reverse=descending)
    return listed


def _key(attribute: str) -> Callable[[Any], Any]:
    def key(item: Any) -> Any:  # noqa: ANN401 whatever is sorted
        value = getattr(item, attribute)
        text = value.casefold() if isinstance(value, str) else value
        return (value is None, "" if value is None else text, getattr(item, "id", 0))

    return key


def state_of(subject: IssueRecord) -> str:
    """Return the state of an issue or a pull request, by IssueState or PullRequestState."""
    if isinstance(subject, PullRequestRecord) and subject.merged_at is not None:
        return "MERGED"
    return subject.state.upper()


S = TypeVar("S", bound=IssueRecord)


def with_states(subjects: Iterable[S], states: Sequence[str] | None) -> list[S]:
    """Return the issues or pull requests in one of some states; None: in any."""
    return [subject for subject in subjects if not states or state_of(subject) in states]


def matching(items: Iterable[T], query: str | None, *attributes: str) -> list[T]:
    """Return the items of which an attribute contains all words of a query, whose case is ignored."""
    words = re.findall(r"\S+", (query or "").casefold())
    return [
        item
        for item in items
        if all(any(word in (getattr(item, name) or "").casefold() for name in attributes) for word in words)
    ]
