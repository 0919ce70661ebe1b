"""Errors of queries in the words of GitHub's GraphQL server (graphql-ruby), which clients look for."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    ArgumentNode,
    DocumentNode,
    FieldNode,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLSchema,
    ListValueNode,
    Node,
    ObjectFieldNode,
    OperationDefinitionNode,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    print_ast,
    visit,
)

_Match = re.Match[str]
_INVALID_VARIABLE: Final = re.compile(r"Variable '\$(?P<name>\w+)' has invalid value: (?P<why>.*)", re.DOTALL)
_MISMATCH: Final = re.compile(
    r"Variable '\$(?P<name>\w+)' of type '(?P<own>[^']+)' used in position expecting type '(?P<wanted>[^']+)'\."
)
_REQUIRED_INPUT: Final = re.compile(r"Expected value of type '(?P<type>\w+)' to include required field '(?P<name>\w+)'")
_UNKNOWN_INPUT: Final = re.compile(
    r"Expected value of type '(?P<type>\w+)' not to include unknown field '(?P<name>\w+)'"
)
_UNKNOWN_TYPE: Final = re.compile(r"Unknown type '(?P<name>\w+)'\.")
_NAMED: Final = "anonymous query"
# Pattern of graphql-core, message of GitHub, and the code and names of its `extensions`.
_WORDINGS: Final[tuple[tuple[re.Pattern[str], str, str, tuple[str, ...]], ...]] = tuple(
    (re.compile(pattern), message, code, names)
    for pattern, message, code, names in (
        (
            r"Cannot query field '(?P<fieldName>\w+)' on type '(?P<typeName>\w+)'\.",
            "Field '{fieldName}' doesn't exist on type '{typeName}'",
            "undefinedField",
            ("typeName", "fieldName"),
        ),
        (
            r"Unknown argument '(?P<argumentName>\w+)' on field '\w+\.(?P<name>\w+)'\.",
            "Field '{name}' doesn't accept argument '{argumentName}'",
            "argumentNotAccepted",
            ("name", "argumentName"),
        ),
        (
            r"Argument '(?:\w+\.)?(?P<name>\w+)\((?P<arguments>\w+):\)' of type '[^']+' is required",
            "Field '{name}' is missing required arguments: {arguments}",
            "missingRequiredArguments",
            ("name", "arguments"),
        ),
        (
            r"Field '(?:\w+\.)?(?P<name>\w+)' argument '(?P<arguments>\w+)' of type '[^']+' is required",
            "Field '{name}' is missing required arguments: {arguments}",
            "missingRequiredArguments",
            ("name", "arguments"),
        ),
        (
            r"Field '(?P<name>\w+)' of type '\W*(?P<typeName>\w+)\W*' must have a selection of subfields\.",
            (
                "Field must have selections (field '{name}' returns {typeName} but has no selections. "
                "Did you mean '{name} {{ ... }}'?)"
            ),
            "selectionMismatch",
            ("typeName",),
        ),
        (
            r"Field '(?P<name>\w+)' must not have a selection since type '\W*(?P<typeName>\w+)\W*' has no subfields\.",
            "Selections can't be made on scalars (field '{name}' returns {typeName} but has selections)",
            "selectionMismatch",
            ("typeName",),
        ),
        (
            r"Variable '\$(?P<variableName>\w+)' is never used(?: in operation '(?P<operation>\w+)')?\.",
            "Variable ${variableName} is declared by {operation} but not used",
            "variableNotUsed",
            ("variableName",),
        ),
        (
            r"Variable '\$(?P<variableName>\w+)' is not defined(?: by operation '(?P<operation>\w+)')?\.",
            "Variable ${variableName} is used by {operation} but not declared",
            "variableNotDefined",
            ("variableName",),
        ),
        (
            r"Expected value of type '(?P<name>\w+)' not to include unknown field '(?P<argumentName>\w+)'",
            "InputObject '{name}' doesn't accept argument '{argumentName}'",
            "argumentNotAccepted",
            ("name", "argumentName"),
        ),
        (
            r"Unknown fragment '(?P<fragmentName>\w+)'\.",
            "Fragment {fragmentName} was used, but not defined",
            "useAndDefineFragment",
            ("fragmentName",),
        ),
        (r"Must provide operation name if query", "An operation name is required", "operationNameRequired", ()),
        (r"Unknown operation named '(?P<name>\w+)'", 'No operation named "{name}"', "operationNotFound", ("name",)),
    )
)


def worded(error: GraphQLError, schema: GraphQLSchema, document: DocumentNode) -> dict[str, Any]:
    """Return message and `extensions` of an error about a query; a message that is not known stays as it is."""
    for pattern, template, code, names in _WORDINGS:
        if matched := pattern.match(error.message):
            words = matched.groupdict(default=_NAMED)
            extensions = {"code": code, **{name: words[name] for name in names}}
            return {"message": template.format(**words), "extensions": extensions}
    wording: dict[str, Any] = {"message": _about_value(error, schema, document) or error.message}
    if matched := _INVALID_VARIABLE.match(error.message):
        wording["extensions"] = {"problems": [{"path": [], "explanation": matched["why"]}]}
    return wording


def _about_value(error: GraphQLError, schema: GraphQLSchema, document: DocumentNode) -> str | None:
    """Return the wording of an error about a value, a variable or a type; None if it is about something else."""
    for pattern, words in (
        (_INVALID_VARIABLE, _invalid_variable),
        (_MISMATCH, _mismatch),
        (_REQUIRED_INPUT, _required_input),
        (_UNKNOWN_TYPE, _unknown_type),
    ):
        if matched := pattern.match(error.message):
            return words(matched, error, schema, document)
    node = error.nodes[0] if error.nodes else None
    holder = _holder_of(node, schema, document) if node is not None else None
    if holder is None or node is None:
        return None
    return (
        f"Argument '{holder.argument}' on {holder.kind} '{holder.name}' has an invalid value ({print_ast(node)}). "
        f"Expected type '{holder.type}'."
    )


def _invalid_variable(matched: _Match, _error: GraphQLError, _schema: GraphQLSchema, document: DocumentNode) -> str:
    kind = dict(_variables(document)).get(matched["name"], "?")
    return f"Variable ${matched['name']} of type {kind} was provided invalid value{_problem(matched['why'])}"


def _mismatch(matched: _Match, error: GraphQLError, schema: GraphQLSchema, document: DocumentNode) -> str:
    own, wanted = matched["own"], matched["wanted"]
    holder = _holder_of(error.nodes[-1], schema, document) if error.nodes else None
    kind = "Nullability" if own.rstrip("!") == wanted.rstrip("!") else "Type"
    argument = holder.argument if holder else "?"
    return f"{kind} mismatch on variable ${matched['name']} and argument {argument} ({own} / {wanted})"


def _required_input(matched: _Match, _error: GraphQLError, schema: GraphQLSchema, _document: DocumentNode) -> str:
    kind = schema.type_map.get(matched["type"])
    wanted = f" Expected type {kind.fields[matched['name']].type}" if isinstance(kind, GraphQLInputObjectType) else ""
    return f"Argument '{matched['name']}' on InputObject '{matched['type']}' is required.{wanted}"


def _unknown_type(matched: _Match, _error: GraphQLError, _schema: GraphQLSchema, document: DocumentNode) -> str:
    name = matched["name"]
    variable = next((variable for variable, kind in _variables(document) if kind.strip("[]!") == name), None)
    if variable is not None:
        return f"{name} isn't a defined input type (on ${variable})"
    return f"No such type {name}, so it can't be a fragment condition"


def _problem(why: str) -> str:
    if matched := _REQUIRED_INPUT.match(why):
        return f" for {matched['name']} (Expected value to not be null)"
    if matched := _UNKNOWN_INPUT.match(why):
        return f" for {matched['name']} (Field is not defined on {matched['type']})"
    return ""


def _variables(document: DocumentNode) -> Iterator[tuple[str, str]]:
    for operation in document.definitions:
        if isinstance(operation, OperationDefinitionNode):
            for definition in operation.variable_definitions or ():
                yield definition.variable.name.value, print_ast(definition.type)


@dataclass(frozen=True, slots=True)
class ArgumentHolder:
    """Argument of a field or of an input object: `kind` is Field or InputObject."""

    kind: str
    name: str
    argument: str
    type: str


class _HolderFinder(Visitor):
    """Finds the argument whose value, or an item of it, is a node."""

    def __init__(self, target: Node, types: TypeInfo) -> None:
        super().__init__()
        self.holder: ArgumentHolder | None = None
        self._target, self._types = target, types
        self._field = ""

    def enter_field(self, node: FieldNode, *_: object) -> None:
        self._field = node.name.value

    def enter_argument(self, node: ArgumentNode, *_: object) -> None:
        argument = self._types.get_argument()
        if argument is not None and self._is_in(node.value):
            self.holder = ArgumentHolder("Field", self._field, node.name.value, str(argument.type))

    def enter_object_field(self, node: ObjectFieldNode, *_: object) -> None:
        parent = self._types.get_parent_input_type()
        if parent is not None and self._is_in(node.value):
            wanted = str(self._types.get_input_type())
            self.holder = ArgumentHolder("InputObject", str(parent).strip("[]!"), node.name.value, wanted)

    def _is_in(self, value: Node) -> bool:
        items = value.values if isinstance(value, ListValueNode) else ()
        return any(node is self._target for node in (value, *items))


def _holder_of(node: Node, schema: GraphQLSchema, document: DocumentNode) -> ArgumentHolder | None:
    types = TypeInfo(schema)
    finder = _HolderFinder(node, types)
    visit(document, TypeInfoVisitor(types, finder))
    return finder.holder
