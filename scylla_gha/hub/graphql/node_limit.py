"""GitHub's limit on the nodes that a query may ask for at most, counted from the sizes of pages that it writes.

See https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api#node-limit
"""

from collections.abc import Mapping
from typing import Any, Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
)

MOST_NODES: Final = 500_000


def node_excess(document: DocumentNode, variables: Mapping[str, Any], name: str | None) -> str | None:
    """Return GitHub's message if an operation of a valid document asks for too many nodes; None if it does not."""
    fragments = {
        definition.name.value: definition.selection_set
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    for operation in document.definitions:
        if isinstance(operation, OperationDefinitionNode) and (name is None or _name(operation) == name):
            values = {**_defaults(operation), **variables}
            nodes = _NodeCounter(fragments, values).nodes(operation.selection_set)
            if nodes > MOST_NODES:
                return (
                    f"This query requests up to {nodes:,} possible nodes which exceeds the maximum limit of "
                    f"{MOST_NODES:,}."
                )
    return None


def _name(operation: OperationDefinitionNode) -> str | None:
    return operation.name.value if operation.name else None


def _defaults(operation: OperationDefinitionNode) -> dict[str, Any]:
    return {
        definition.variable.name.value: int(definition.default_value.value)
        for definition in operation.variable_definitions or ()
        if isinstance(definition.default_value, IntValueNode)
    }


class _NodeCounter:
    """Counts nodes; a fragment is counted once, and multiplied wherever it is spread."""

    def __init__(self, fragments: Mapping[str, SelectionSetNode], variables: Mapping[str, Any]) -> None:
        self._fragments, self._variables = fragments, variables
        self._known: dict[str, int] = {}

    def nodes(self, selections: SelectionSetNode) -> int:
        total = 0
        for node in selections.selections:
            if isinstance(node, FragmentSpreadNode):
                total += self._of_fragment(node.name.value)
                continue
            below: SelectionSetNode | None = getattr(node, "selection_set", None)
            inner = self.nodes(below) if below else 0
            size = self._page(node) if isinstance(node, FieldNode) else None
            total += inner if size is None else size * (1 + inner)
        return total

    def _of_fragment(self, name: str) -> int:
        if name not in self._known:
            self._known[name] = self.nodes(self._fragments[name])
        return self._known[name]

    def _page(self, field: FieldNode) -> int | None:
        sizes = [self._integer(argument.value) for argument in field.arguments or ()
                 if argument.name.value in ("first", "last")]  # fmt: skip
        return max((size for size in sizes if size is not None), default=None)

    def _integer(self, value: ValueNode) -> int | None:
        if isinstance(value, IntValueNode):
            return int(value.value)
        number = self._variables.get(value.name.value) if isinstance(value, VariableNode) else None
        return number if isinstance(number, int) else None
