"""Global ids of what git stores, which has no record: commits, trees, blobs, tags and refs."""

import base64
import binascii
from typing import Final, Literal

GitPrefix = Literal["C", "T", "B", "TA", "REF"]
_PREFIXES: Final[tuple[GitPrefix, ...]] = ("C", "T", "B", "TA", "REF")
_MARK: Final = "_kwDO"


def git_node_id(prefix: GitPrefix, repository: int, name: str) -> str:
    """Return the id of an object (by its SHA) or of a ref (by its full name) in the repository with an id."""
    packed = base64.urlsafe_b64encode(f"{repository}:{name}".encode()).decode().rstrip("=")
    return f"{prefix}{_MARK}{packed}"


def parse_git_node(node: str) -> tuple[GitPrefix, int, str] | None:
    """Return prefix, id of the repository, and SHA or full name of the ref; None if it is not such an id."""
    prefix, mark, packed = node.partition(_MARK)
    kind = next((known for known in _PREFIXES if known == prefix), None)
    if kind is None or not mark:
        return None
    try:
        text = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()
    except (binascii.Error, ValueError):
        return None
    repository, colon, name = text.partition(":")
    return (kind, int(repository), name) if colon and repository.isascii() and repository.isdecimal() else None
