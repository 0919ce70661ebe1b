"""API operations in a request: how many, of which category, and on what; a batch counts as what it holds.

| request | counts as |
|---|---|
| REST | one operation |
| GraphQL | each mutation; each lookup or list below `repository`, or one if there is none; each other field |
| git | one read per clone, fetch or `ls-remote` (their first request), one write per push |

A category is `NOUN.read` or `NOUN.write`. The noun of a GraphQL operation is the kind of the object whose id it is
given, if it is given one, else that of its field.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson
from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    OperationDefinitionNode,
    SelectionSetNode,
)
from graphql.utilities import value_from_ast_untyped

from scylla_gha.hub.codeload import archive_path
from scylla_gha.hub.git_http import git_operation
from scylla_gha.hub.graphql.execute import operations_of, parsed_query
from scylla_gha.hub.http_request import HubRequest

_REST: Final = (
    ("search", re.compile(r"/search/")),
    ("workflow", re.compile(r"/repos/[^/]+/[^/]+/(actions|check-runs|check-suites|statuses|deployments)(/|$)")),
    ("workflow", re.compile(r"/repos/[^/]+/[^/]+/commits/.+/(check-runs|check-suites|status|statuses)$")),
    ("pr", re.compile(r"/repos/[^/]+/[^/]+/(pulls(/|$)|commits/.+/pulls$)")),
    ("issue", re.compile(r"/repos/[^/]+/[^/]+/(issues|labels|milestones|assignees)(/|$)|/issues$")),
    ("release", re.compile(r"/repos/[^/]+/[^/]+/releases(/|$)")),
    ("repo", re.compile(r"/repos/|/(user|orgs/[^/]+|users/[^/]+)/repos$")),
)
# By the prefix of an id. If it is given several, as to label a pull request, the first of these kinds counts.
_KINDS: Final = {"PR": "pr", "PRR": "pr", "PRRT": "pr", "PRRC": "pr", "RE": "release", "CR": "workflow",
                 "CS": "workflow", "WFR": "workflow", "I": "issue", "IC": "issue", "LA": "issue",
                 "MI": "issue"}  # fmt: skip
_IDS: Final = re.compile(f"({'|'.join(_KINDS)})_")
_FIELDS: Final = (
    ("pr", re.compile(r"pull_?request|review|mergequeue", re.IGNORECASE)),
    ("issue", re.compile(r"issue|label|milestone|assignable|addcomment", re.IGNORECASE)),
    ("workflow", re.compile(r"check(run|suite)|workflow|deployment", re.IGNORECASE)),
    ("release", re.compile(r"release", re.IGNORECASE)),
    ("search", re.compile(r"^search$")),
    (
        "repo",
        re.compile(r"repositor|^(object|refs?$|branch|createref|updateref|deleteref)|commit|topic", re.IGNORECASE),
    ),
)
_TARGETS: Final = re.compile(r"(?i)(^|.*\.)(owner|name|repo|number|id|\w*ids?|\w*url)$")
_GIT: Final = {"info/refs git-upload-pack": "git.read", "git-receive-pack": "git.write"}
_LONGEST: Final = 200


def api_calls(request: HubRequest, path: str) -> "tuple[Counter[str], str]":
    """Return a request's operations by category, and its target: what it reads or changes, in words.

    Args:
        request: as it was sent.
        path: its path at api.github.com.
    """
    if operation := git_operation(request):
        return Counter([_GIT[operation]] if operation in _GIT else []), request.path
    if archive_path(request) is not None:  # the API operation was the redirect to it
        return Counter(), request.path
    if path == "/graphql" and request.method == "POST":
        return _graphql_calls(request.content)
    noun = next((noun for noun, pattern in _REST if pattern.match(path)), "other")
    return Counter([f"{noun}.{'read' if request.method in ('GET', 'HEAD') else 'write'}"]), path


def _graphql_calls(content: bytes) -> "tuple[Counter[str], str]":
    try:
        body = orjson.loads(content)
    except orjson.JSONDecodeError:
        body = None
    fields = body if isinstance(body, dict) else {}
    text, name, variables = (fields.get(key) for key in ("query", "operationName", "variables"))
    document = parsed_query(text) if isinstance(text, str) else None
    operation = next(operations_of(document, name or None), None) if document is not None else None
    if document is None or operation is None:
        return Counter(["other.read"]), ""
    reader = _QueryReader(document, variables if isinstance(variables, dict) else {})
    try:
        return Counter(reader.calls(operation)), reader.target(operation)[:_LONGEST]
    except RecursionError:  # variables that are nested too deep
        return Counter(["other.read"]), ""


class _QueryReader:
    """Reader of the operations in a valid document."""

    def __init__(self, document: DocumentNode, variables: Mapping[str, Any]) -> None:
        self._fragments = {node.name.value: node.selection_set for node in document.definitions
                           if isinstance(node, FragmentDefinitionNode)}  # fmt: skip
        self._variables = dict(variables)

    def calls(self, operation: OperationDefinitionNode) -> Iterator[str]:
        """Yield the category of each operation."""
        for node in self._fields(operation.selection_set):
            if operation.operation.value != "query":
                yield f"{self._noun(node)}.write"
                continue
            below = [_noun_of_field(field.name.value) for field in self._fields(node.selection_set)]
            lookups = [noun for noun in below if noun not in ("repo", "other")]
            nouns = lookups if node.name.value == "repository" and lookups else [self._noun(node)]
            yield from (f"{noun}.read" for noun in nouns)

    def target(self, operation: OperationDefinitionNode) -> str:
        """Return what an operation is about, by the ids, names and numbers that it is given."""
        words = dict(_flat(self._variables))
        for node in self._fields(operation.selection_set):
            words |= dict(_flat(self._arguments(node), node.alias.value if node.alias else ""))
        return " ".join(f"{key}={text}" for key, text in sorted(words.items()) if _TARGETS.fullmatch(key))

    def _noun(self, node: FieldNode) -> str:
        ids = (_IDS.match(str(text)) for _, text in _flat(self._arguments(node)))
        kinds = {_KINDS[matched[1]] for matched in ids if matched}
        return next((kind for kind in _KINDS.values() if kind in kinds), _noun_of_field(node.name.value))

    def _arguments(self, node: FieldNode) -> dict[str, Any]:
        return {part.name.value: value_from_ast_untyped(part.value, self._variables) for part in node.arguments or ()}

    def _fields(self, selections: SelectionSetNode | None) -> Iterator[FieldNode]:
        for node in selections.selections if selections else ():
            if isinstance(node, FieldNode):
                yield node
            elif isinstance(node, FragmentSpreadNode):
                yield from self._fields(self._fragments.get(node.name.value))
            else:
                yield from self._fields(getattr(node, "selection_set", None))


def _noun_of_field(name: str) -> str:
    return next((noun for noun, pattern in _FIELDS if pattern.search(name)), "other")


def _flat(content: object, key: str = "") -> Iterator[tuple[str, object]]:
    """Yield the plain values in a JSON value, with their paths."""
    if isinstance(content, dict):
        for name, part in content.items():
            yield from _flat(part, f"{key}.{name}" if key else str(name))
    elif isinstance(content, list):
        for number, part in enumerate(content):
            yield from _flat(part, f"{key}.{number}" if key else str(number))
    elif content is not None:
        yield key, content
