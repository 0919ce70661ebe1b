"""Execution of GraphQL requests within limits of size, depth and nodes; errors are worded as GitHub's."""

import functools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from graphql import (
    DocumentNode,
    ExecutionResult,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLResolveInfo,
    OperationDefinitionNode,
    SelectionSetNode,
    execute_sync,
    parse,
    specified_rules,
    validate,
)
from graphql.validation import OverlappingFieldsCanBeMergedRule

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import ContractGapError, HubError
from scylla_gha.hub.graphql import RESOLVERS, Resolver, arguments_of
from scylla_gha.hub.graphql.node_limit import node_excess
from scylla_gha.hub.graphql.register import register
from scylla_gha.hub.graphql.schema import github_schema, resolve_type
from scylla_gha.hub.graphql.wording import worded

_MOST_CHARACTERS: Final = 100_000
_MOST_DEPTH: Final = 40  # introspection of clients nests 13 deep
_MOST_FIELDS: Final = 5_000
_MOST_RESOLVED: Final = 200_000
_MOST_OF_SCHEMA: Final = 200_000  # values of the schema; an introspection of all of it has 121,000
_MOST_SECONDS: Final = 10.0  # of a query; GitHub ends requests then, too
_MOST_SCHEMA_ANSWERS: Final = 4  # that are kept; one of the whole schema has some 40 MB
# GitHub takes gh's own queries, which the rule refuses: it lets aliases of String and String! overlap.
_RULES: Final = tuple(rule for rule in specified_rules if rule is not OverlappingFieldsCanBeMergedRule)


@dataclass
class QueryWork:
    """Work of a query so far: values of records, values of the schema itself, and the time at which it must end."""

    resolved: int = field(default=0, init=False)
    of_schema: int = field(default=0, init=False)
    deadline: float = field(default_factory=lambda: time.monotonic() + _MOST_SECONDS, init=False)

    def count_record(self) -> None:
        """Count a value of a record. Its resolver may start git, so the time counts as well.

        Raises:
            HubError: the query is above a limit; the error is worded as GitHub's.
        """
        self.resolved += 1
        _require(self.resolved <= _MOST_RESOLVED and time.monotonic() <= self.deadline)

    def count_schema(self) -> None:
        """Count a value of the schema. The number alone decides, so the answer is the same on a slow machine.

        Raises:
            HubError: the query is above the limit; the error is worded as GitHub's.
        """
        self.of_schema += 1
        _require(self.of_schema <= _MOST_OF_SCHEMA)


def _require(is_within_limits: bool) -> None:
    if not is_within_limits:
        raise HubError(422, "Resource limits for this query exceeded.", (), "RESOURCE_LIMITS_EXCEEDED")


@dataclass
class GraphQLRun(QueryWork):
    """Request in a session: `gaps` are the fields outside the contract that it asked for."""

    session: HubSession
    gaps: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class GraphQLAnswer:
    """Answer of the interface, what it asked for (as "query repository, viewer"), and the gaps it met."""

    body: dict[str, Any]
    operation: str
    gaps: tuple[str, ...] = ()


def answer(session: HubSession, request: Mapping[str, Any]) -> GraphQLAnswer:
    """Run a request: a JSON object with `query`, and perhaps `variables` and `operationName`."""
    text, variables, name = request.get("query"), request.get("variables"), request.get("operationName")
    if not isinstance(text, str) or not text.strip():
        return _refused("A query attribute must be specified and must be a string.")
    if variables is not None and not isinstance(variables, dict):
        return _refused("Variables must be an object.")
    register()
    document = _checked(text)
    if isinstance(document, tuple):
        return GraphQLAnswer({"errors": list(document)}, "invalid")
    if (reason := node_excess(document, variables or {}, name or None)) is not None:
        return GraphQLAnswer({"errors": [{"type": "MAX_NODE_LIMIT_EXCEEDED", "message": reason}]}, "invalid")
    if not variables and _asks_for_schema_alone(document):
        return _schema_answer(text, name or None)
    run = GraphQLRun(session)
    middleware = (_count_schema,) if "__" in text else None  # it costs time, and others do not need it
    result = execute_sync(github_schema(), document, context_value=run, variable_values=variables,
                          operation_name=name or None, field_resolver=_resolve, type_resolver=resolve_type,
                          middleware=middleware)  # fmt: skip
    return GraphQLAnswer(_body(result, document), _operation(document, name), tuple(dict.fromkeys(run.gaps)))


def _asks_for_schema_alone(document: DocumentNode) -> bool:
    """Return whether all operations read only the schema, which is the same for everybody."""
    nodes = [node for operation in _operations(document) for node in operation.selection_set.selections]
    return all(isinstance(node, FieldNode) and node.name.value in ("__schema", "__type") for node in nodes)


@functools.lru_cache(maxsize=_MOST_SCHEMA_ANSWERS)
def _schema_answer(text: str, name: str | None) -> GraphQLAnswer:
    """Answer a valid query that reads only the schema. It is kept, since tools ask for the whole schema again."""
    document = _checked(text)
    assert isinstance(document, DocumentNode)  # noqa: S101 it is valid
    result = execute_sync(github_schema(), document, context_value=QueryWork(), operation_name=name,
                          middleware=(_count_schema,))  # fmt: skip
    return GraphQLAnswer(_body(result, document), _operation(document, name))


def operation_name(request: Mapping[str, Any]) -> str:
    """Return what a request asks for, as `GraphQLAnswer.operation` says it, without running it."""
    text, name = request.get("query"), request.get("operationName")
    document = _checked(text) if isinstance(text, str) else ()
    return "invalid" if isinstance(document, tuple) else _operation(document, name or None)


def _refused(message: str) -> GraphQLAnswer:
    return GraphQLAnswer({"errors": [{"message": message}]}, "invalid")


@functools.lru_cache(maxsize=512)
def _checked(text: str) -> DocumentNode | tuple[dict[str, Any], ...]:
    """Return a parsed and valid query, or the errors of it."""
    if len(text) > _MOST_CHARACTERS:
        return ({"type": "MAX_NODE_LIMIT_EXCEEDED", "message": f"Query has more than {_MOST_CHARACTERS} characters"},)
    try:
        document = parse(text, max_tokens=4 * _MOST_FIELDS)
        if (reason := _excess(document)) is not None:
            return ({"type": "MAX_NODE_LIMIT_EXCEEDED", "message": reason},)
        errors = validate(github_schema(), document, _RULES, max_errors=10)
    except GraphQLError as error:
        return ({"message": error.message, "locations": _locations(error)},)
    except RecursionError:
        return ({"type": "MAX_NODE_LIMIT_EXCEEDED", "message": "Query is nested too deep"},)
    if errors:
        return tuple({**worded(error, github_schema(), document), "locations": _locations(error)} for error in errors)
    return document


def _excess(document: DocumentNode) -> str | None:
    """Return which limit a query is beyond. Fragments count wherever they are spread, so that they cannot multiply."""
    fragments = {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    sizes: dict[str, tuple[int, int]] = {}
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            depth, fields = _measure(definition.selection_set, fragments, sizes, frozenset())
            if depth > _MOST_DEPTH:
                return f"Query has depth of {depth}, which exceeds max depth of {_MOST_DEPTH}"
            if fields > _MOST_FIELDS:
                return f"Query has too many fields: {fields}, and the maximum is {_MOST_FIELDS}"
    return None


def _measure(
    selections: SelectionSetNode,
    fragments: Mapping[str, FragmentDefinitionNode],
    sizes: dict[str, tuple[int, int]],
    within: frozenset[str],
) -> tuple[int, int]:
    """Return depth and number of fields. A fragment that spreads itself counts as nothing: validation refuses it."""
    depth = fields = 0
    for node in selections.selections:
        if isinstance(node, FragmentSpreadNode):
            name = node.name.value
            if name not in sizes and name in fragments and name not in within:
                sizes[name] = _measure(fragments[name].selection_set, fragments, sizes, within | {name})
            inner = sizes.get(name, (0, 0))
        else:
            below: SelectionSetNode | None = getattr(node, "selection_set", None)
            inner = _measure(below, fragments, sizes, within) if below else (0, 0)
        is_field = isinstance(node, FieldNode)
        depth, fields = max(depth, inner[0] + is_field), fields + inner[1] + is_field
    return depth, fields


def _resolve(parent: Any, info: GraphQLResolveInfo[GraphQLRun], **arguments: Any) -> Any:  # noqa: ANN401 whatever the schema says
    run = info.context
    run.count_record()
    try:
        return _value(parent, info, run.session, arguments)
    except ContractGapError as error:
        run.gaps.append(error.what)
        raise


def _count_schema(resolver: Resolver, parent: Any, info: GraphQLResolveInfo[QueryWork], **arguments: Any) -> Any:  # noqa: ANN401 whatever the schema says
    """Resolve a field, and count it if it is one of the schema."""
    if info.parent_type.name.startswith("__"):
        info.context.count_schema()
    return resolver(parent, info, **arguments)


def _value(
    parent: Any,  # noqa: ANN401 as above
    info: GraphQLResolveInfo[GraphQLRun],
    session: HubSession,
    arguments: dict[str, Any],
) -> Any:  # noqa: ANN401 as above
    if any(isinstance(value, str) and "\x00" in value for value in arguments.values()):
        raise HubError(422, "Null bytes are not allowed")  # nothing that an argument names can have one
    resolver = RESOLVERS.get((info.parent_type.name, info.field_name))
    if resolver is not None:
        return resolver(parent, session, **(_heeded(resolver, info, arguments) if arguments else {}))
    if isinstance(parent, Mapping) and info.field_name in parent:
        return parent[info.field_name]
    raise ContractGapError(f"{info.parent_type.name}.{info.field_name}")


def _heeded(resolver: Resolver, info: GraphQLResolveInfo[GraphQLRun], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a field that its resolver knows; others have to be null, or the schema's defaults."""
    names = arguments_of(resolver)
    if names is None or names.issuperset(arguments):
        return arguments
    written = {argument.name.value for node in info.field_nodes for argument in node.arguments or ()}
    unknown = [name for name in written.difference(names) if arguments.get(name) is not None]
    if unknown:
        raise ContractGapError(f"{info.parent_type.name}.{info.field_name}({unknown[0]}:)")
    return {name: value for name, value in arguments.items() if name in names}


def _body(result: ExecutionResult, document: DocumentNode) -> dict[str, Any]:
    errors = {"errors": [_error(error, document) for error in result.errors]} if result.errors else {}
    is_refused = result.data is None and all(error.path is None for error in result.errors or ())
    return errors if is_refused else {"data": result.data, **errors}


def _error(error: GraphQLError, document: DocumentNode) -> dict[str, Any]:
    cause = error.original_error
    locations = _locations(error)
    if isinstance(cause, HubError):
        return {"type": cause.kind, "path": error.path, "locations": locations, "message": error.message}
    if cause is not None and not isinstance(cause, GraphQLError):
        raise cause
    if error.path is None:
        return {**worded(error, github_schema(), document), "locations": locations}
    return {"path": error.path, "locations": locations, "message": error.message}


def _locations(error: GraphQLError) -> list[dict[str, int]]:
    return [{"line": location.line, "column": location.column} for location in error.locations or ()]


def _operation(document: DocumentNode, name: str | None) -> str:
    """Return kind and first fields of the operation that was asked for."""
    for definition in operations_of(document, name):
        fields = [node.name.value for node in definition.selection_set.selections if isinstance(node, FieldNode)]
        return f"{definition.operation.value} {', '.join(dict.fromkeys(fields))}"[:200]
    return "invalid"


def parsed_query(text: str) -> DocumentNode | None:
    """Return a query; None if it is invalid."""
    document = _checked(text)
    return None if isinstance(document, tuple) else document


def operations_of(document: DocumentNode, name: str | None) -> Iterator[OperationDefinitionNode]:
    """Yield the operations of a document that a request may mean: those with this name; None: all."""
    for definition in _operations(document):
        if name is None or (definition.name is not None and definition.name.value == name):
            yield definition


def _operations(document: DocumentNode) -> Iterator[OperationDefinitionNode]:
    yield from (definition for definition in document.definitions if isinstance(definition, OperationDefinitionNode))
