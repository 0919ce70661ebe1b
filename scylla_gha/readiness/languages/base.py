"""Protocol of a language's parser, and the walk through a syntax tree that all of them share."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from tree_sitter import Node

from scylla_gha.readiness.languages.drafts import Scope
from scylla_gha.readiness.source_code import Language, SourceFile

Steps = Iterable[tuple[Node, Scope]]
# Returns what to visit next, in order; None: the node's children in the same scope.
NodeHandler = Callable[[Node, Scope], Steps | None]


class LanguageParser(Protocol):
    """Parser of source files of one language; `suffixes` are those of its files."""

    language: Language
    suffixes: frozenset[str]

    def parse(self, path: str, text: str, root: Node, *, is_test: bool) -> SourceFile:
        """Return the functions, classes, imports and calls of a file.

        Args:
            path: relative to the repository's root, with forward slashes.
            text: the file's text.
            root: syntax tree of the text; functions in which it has errors are left out.
            is_test: the file holds tests, or helps them.
        """


def walk(root: Node, scope: Scope, handlers: Mapping[str, NodeHandler]) -> None:
    """Visit a tree in the order of its text, as deep as it may be; leaves (names, numbers) have no handlers."""
    pending = [(root, scope)]
    while pending:
        node, inside = pending.pop()
        handler = handlers.get(node.type)
        steps = handler(node, inside) if handler else None
        if steps is None:
            pending += [(child, inside) for child in reversed(node.named_children) if child.child_count]
        else:
            pending += reversed(list(steps))
