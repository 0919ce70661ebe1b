"""Connections: pages of a list by `first` and `after`, or by `last` and `before`, of at most 100 items."""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError
from scylla_gha.hub.graphql import arguments_of, field

MOST: Final = 100
_PAGE: Final = frozenset({"first", "last", "after", "before"})
_PAGED: Final = frozenset({"totalCount", "pageInfo", "nodes", "edges"})


class GraphQLConnection(Mapping[str, Any]):
    """Page of a list, with the fields that every connection of the schema has, and further ones.

    As on GitHub, `totalCount` may be asked for without `first` or `last`, and the items may not.
    """

    def __init__(
        self, name: str, items: Sequence[Any], page: Mapping[str, Any], further: Mapping[str, Any] | None = None
    ) -> None:
        """Hold the items of field `name`, of which the arguments `page` select some.

        Raises:
            HubError: a page of more than 100 items, or of fewer than 0, is asked for.
        """
        self._name, self._items, self._page, self._further = name, items, page, further or {}
        for argument in ("first", "last"):
            size = page.get(argument)
            if size is not None and size > MOST:
                raise HubError(422, f"Requesting {size} records on the `{name}` connection exceeds the `{argument}` "
                                    f"limit of {MOST} records.", (), "EXCESSIVE_PAGINATION")  # fmt: skip
            if size is not None and size < 0:
                raise HubError(422, f"`{argument}` on the `{name}` connection cannot be less than zero.", (),
                               "INVALID_PAGINATION")  # fmt: skip

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 whatever the schema says
        """Return a field of the connection."""
        if key == "totalCount":
            return len(self._items)
        if key not in _PAGED:
            return self._further[key]
        start, stop = self._bounds(strict=key != "pageInfo")
        if key == "nodes":
            return self._items[start:stop]
        if key == "edges":
            return [self._edge(index) for index in range(start, stop)]
        return {
            "hasNextPage": stop < len(self._items),
            "hasPreviousPage": start > 0,
            "startCursor": _cursor(start) if start < stop else None,
            "endCursor": _cursor(stop - 1) if start < stop else None,
        }

    def _edge(self, index: int) -> Mapping[str, Any]:
        item = self._items[index]
        further = self._further["edge"](item) if "edge" in self._further else {}
        return {"node": item, "cursor": _cursor(index), **further}

    def _bounds(self, *, strict: bool) -> tuple[int, int]:
        first, last = self._page.get("first"), self._page.get("last")
        if strict and first is None and last is None:
            raise HubError(422, f"You must provide a `first` or `last` value to properly paginate the `{self._name}` "
                                "connection.", (), "MISSING_PAGINATION_BOUNDARIES")  # fmt: skip
        start, stop = 0, len(self._items)
        if (after := self._page.get("after")) is not None:
            start = min(_index(after) + 1, stop)
        if (before := self._page.get("before")) is not None:
            stop = max(min(_index(before), stop), start)
        if first is not None:
            stop = min(stop, start + first)
        if last is not None:
            start = max(start, stop - last)
        return start, stop

    def __contains__(self, key: object) -> bool:
        """Return whether the connection has a field."""
        return key in _PAGED or key in self._further

    def __iter__(self) -> Iterator[str]:
        """Yield the fields' names."""
        yield from (*_PAGED, *self._further)

    def __len__(self) -> int:
        """Return the number of fields."""
        return len(_PAGED) + len(self._further)


def _cursor(index: int) -> str:
    return base64.b64encode(f"cursor:v2:{index + 1}".encode()).decode()


def _index(cursor: str) -> int:
    try:
        head, _, number = base64.b64decode(cursor, validate=True).decode().rpartition(":")
        if head == "cursor:v2" and number.isascii() and number.isdecimal() and len(number) < 10:  # noqa: PLR2004
            return int(number) - 1
    except ValueError:
        pass
    raise HubError(422, f"`{cursor}` does not appear to be a valid cursor.", (), "INVALID_CURSOR_ARGUMENTS")


Lister = Callable[..., Sequence[Any]]
L = TypeVar("L", bound=Lister)


def connection(*names: str, **further: Callable[..., Any]) -> Callable[[L], L]:
    """Register a function that returns a list, for fields that are connections of the schema.

    `further` are functions of the list for fields such as `checkRunCount`; `edge` gives an item's further fields.
    """

    def register(lister: L) -> L:
        for name in names:
            field(name)(_pager(name.partition(".")[2], lister, further))
        return lister

    return register


def _pager(name: str, lister: Lister, further: Mapping[str, Callable[..., Any]]) -> Callable[..., GraphQLConnection]:
    def paged(parent: Any, session: HubSession, *, first: int | None = None, last: int | None = None,  # noqa: ANN401
              after: str | None = None, before: str | None = None, **arguments: Any) -> GraphQLConnection:  # noqa: ANN401  # fmt: skip
        items = lister(parent, session, **arguments)
        page = {"first": first, "last": last, "after": after, "before": before}
        more = {key: value if key == "edge" else value(items) for key, value in further.items()}
        return GraphQLConnection(name, items, page, more)

    own = arguments_of(lister)
    paged.arguments = None if own is None else own | _PAGE  # type: ignore[attr-defined]
    return paged


def no_items(*names: str) -> None:
    """Register connections that are always empty, since the hub has none of what they list."""
    connection(*names)(lambda parent, session, **arguments: ())  # noqa: ARG005 the signature of resolvers
