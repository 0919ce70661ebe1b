"""Which headers of a request or an answer are of one connection only."""

from collections.abc import Iterable, Mapping
from typing import Final

from multidict import CIMultiDict

# Of one connection only (RFC 9110, 7.6.1), or made anew for the other side.
HOP: Final = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
     "transfer-encoding", "upgrade", "host", "content-length", "date", "server"}
)  # fmt: skip


def without(headers: Mapping[str, str], names: Iterable[str]) -> CIMultiDict[str]:
    """The headers but for those names, which are in lower case."""
    gone = frozenset(names)
    return CIMultiDict([(name, value) for name, value in headers.items() if name.lower() not in gone])


def named_in_connection(headers: Mapping[str, str]) -> set[str]:
    """Headers that the sender says are of this connection only."""
    return {name.strip().lower() for name in headers.get("connection", "").split(",")}
