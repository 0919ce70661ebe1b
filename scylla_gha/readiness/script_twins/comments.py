"""JavaScript and TypeScript code without its comments; all else stays as it is."""

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import text_of
from scylla_gha.readiness.script_twins.edits import Edit, owners_of, parsed, safely_edited
from scylla_gha.readiness.twin_texts import Choice

# Comments that tools read: checkers, linters, coverage, test runners, bundlers, compilers; and licences.
_DIRECTIVE: Final = re.compile(
    r"@ts-|eslint|prettier-|biome-|oxlint|tslint|jshint|jscs|istanbul|\bc8\b|\bv8 ignore|node:coverage|vitest|@jest|"
    r"webpack[A-Z]|@vite|turbopack|[#@]__|@jsx|@license|@preserve|@copyright|@flow|@swc|@babel|@internal|stryker|"
    r"sourceMappingURL|sourceURL|@deno|deno-|\bglobals?\s|\bexported\s|@cc_on",
)
_TRIPLE: Final = re.compile(r"///\s*<")


def without_comments(text: str, path: str, choose: Choice) -> str:
    """Remove comments and JSDoc of chosen functions, and of the module.

    Kept: what tools read, licences. A text that does not parse is returned as it is.
    """
    root = parsed(text, path)
    if root is None:
        return text
    owners = owners_of(text, path, root)
    code = text.encode()
    edits: dict[str, list[Edit]] = {}
    for node in _comments(root):
        owner = owners.get(node.start_point[0] + 1, "")
        if choose(owner):
            edits.setdefault(owner, []).append(_edit(code, node))
    return safely_edited(text, path, edits.values())


def _comments(root: Node) -> Iterator[Node]:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type == "comment" and not _is_kept(text_of(node)):
            yield node
        pending += node.children


def _is_kept(comment: str) -> bool:
    return bool(comment.startswith("/*!") or _TRIPLE.match(comment) or _DIRECTIVE.search(comment))


def _edit(code: bytes, node: Node) -> Edit:
    """Return the removal of a comment: of its lines if nothing else is in them, else what keeps words apart."""
    start, end = node.start_byte, node.end_byte
    first, last = code.rfind(b"\n", 0, start) + 1, code.find(b"\n", end)
    last = len(code) if last < 0 else last
    before, after = code[first:start], code[end:last]
    if not before.strip() and not after.strip():
        return first, min(last + 1, len(code)), ""
    if not before.strip():
        return start, end, ""
    if not after.strip():
        return first + len(before.rstrip()), end, ""
    return start, end, "\n" if b"\n" in code[start:end] else " "
