"""GitHub's public GraphQL schema, with what clients send beside it.

`schema.graphql.gz` is `schema.graphql` of npm's @octokit/graphql-schema 15.26.1 (MIT, LICENSE-schema.md) without its
descriptions; `tests/support/graphql_schema.py` makes it. `extension.graphql` has what that version lacks.
"""

import datetime
import functools
import gzip
from pathlib import Path
from typing import Any, Final

from graphql import (
    GraphQLAbstractType,
    GraphQLResolveInfo,
    GraphQLScalarType,
    GraphQLSchema,
    build_ast_schema,
    extend_schema,
    parse,
)

from scylla_gha.hub.actions_records import CheckRecord, RunRecord, WorkflowRecord
from scylla_gha.hub.records import (
    CommentRecord,
    IssueRecord,
    LabelRecord,
    MilestoneRecord,
    ProtectionRecord,
    PullRequestRecord,
    ReleaseRecord,
    RepositoryRecord,
    ReviewRecord,
    ThreadRecord,
    UserRecord,
)

_FOLDER: Final = Path(__file__).parent
_WRITTEN_AS_TEXT: Final = ("BigInt", "DateTime", "GitTimestamp", "PreciseDateTime")
_TYPES: Final[dict[type, str]] = {
    IssueRecord: "Issue",
    PullRequestRecord: "PullRequest",
    RepositoryRecord: "Repository",
    LabelRecord: "Label",
    MilestoneRecord: "Milestone",
    ReviewRecord: "PullRequestReview",
    ThreadRecord: "PullRequestReviewThread",
    ReleaseRecord: "Release",
    RunRecord: "WorkflowRun",
    WorkflowRecord: "Workflow",
    ProtectionRecord: "BranchProtectionRule",
}


@functools.cache
def github_schema() -> GraphQLSchema:
    """Return the schema; it takes about 0.7 s the first time."""
    packed = gzip.decompress((_FOLDER / "schema.graphql.gz").read_bytes()).decode()
    whole = build_ast_schema(parse(packed, no_location=True), assume_valid=True, assume_valid_sdl=True)
    extension = parse((_FOLDER / "extension.graphql").read_text(), no_location=True)
    schema = extend_schema(whole, extension, assume_valid=True, assume_valid_sdl=True)
    for name in _WRITTEN_AS_TEXT:
        scalar = schema.type_map[name]
        if isinstance(scalar, GraphQLScalarType):
            scalar.coerce_output_value = _text
    return schema


def _text(value: Any) -> str:  # noqa: ANN401 whatever a resolver returned
    return f"{value:%Y-%m-%dT%H:%M:%SZ}" if isinstance(value, datetime.datetime) else str(value)


def type_name(value: Any) -> str | None:  # noqa: ANN401 whatever a resolver returned
    """Return the name of a value's GraphQL type: of its record, or its own `graphql_type`."""
    if isinstance(value, UserRecord):
        return value.kind
    if isinstance(value, CommentRecord):
        return "IssueComment" if value.thread is None else "PullRequestReviewComment"
    if isinstance(value, CheckRecord):
        return "CheckRun" if value.kind == "check_run" else "StatusContext"
    return _TYPES.get(type(value)) or getattr(value, "graphql_type", None)


def resolve_type(value: Any, _info: GraphQLResolveInfo[Any], abstract: GraphQLAbstractType) -> str:  # noqa: ANN401 as above
    """Return the type of a value where the schema has an interface or a union."""
    name = type_name(value)
    if name is None:
        raise TypeError(f"{abstract.name}: {type(value).__name__} has no GraphQL type")
    return name
