"""Answers of the hub, held against GitHub's own description of its REST API.

The description's answers are kept in the cache, without prose; an operation's schema is put together when it is first
needed. Errors are only held against the form that all of GitHub's errors have, since the description lists few of them.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import orjson
from jsonschema import Draft202012Validator, FormatChecker, ValidationError

from scylla_gha.hub.rest.dispatch import RestOutcome
from scylla_gha.hub.rest.documentation import UNDESCRIBED
from scylla_gha.prepare.tools import cache_root, locked
from tests.support.openapi import VERSION, packed_description

PROSE: Final = frozenset({"description", "example", "examples", "title", "default", "externalDocs", "deprecated"})
# What GitHub's description says and GitHub does not do, by operation and place in the answer.
_PULLS: Final = "/repos/{owner}/{repo}/pulls"
_NO_LINE: Final = tuple(  # an outdated comment has no line any more, and one on a whole file never had
    f"${part}.{name}: None is not" for part in ("", "[*]") for name in ("line", "position", "original_line")
)
WRONG: Final[Mapping[str, tuple[str, ...]]] = dict.fromkeys(
    (
        f"GET {_PULLS}/comments",
        f"GET {_PULLS}/comments/{{comment_id}}",
        f"PATCH {_PULLS}/comments/{{comment_id}}",
        f"GET {_PULLS}/{{pull_number}}/comments",
        f"POST {_PULLS}/{{pull_number}}/comments",
        f"POST {_PULLS}/{{pull_number}}/comments/{{comment_id}}/replies",
        f"GET {_PULLS}/{{pull_number}}/reviews/{{review_id}}/comments",
    ),
    _NO_LINE,
)
ERROR: Final[Mapping[str, Any]] = {
    "type": "object",
    "required": ["message"],
    "properties": {
        "message": {"type": "string", "minLength": 1},
        "documentation_url": {"type": "string"},
        "status": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["code"],
                                                     "properties": {"code": {"type": "string"}}}]},
        },
    },
}  # fmt: skip
_FORMATS: Final = FormatChecker(formats=())
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


@_FORMATS.checks("date-time")
def _is_time(value: object) -> bool:
    return not isinstance(value, str) or _TIME.fullmatch(value) is not None


@_FORMATS.checks("uri")
def _is_uri(value: object) -> bool:
    return not isinstance(value, str) or re.match(r"[a-z][a-z0-9+.-]*:\S*$", value) is not None


def outcome_faults(outcome: RestOutcome) -> list[str]:
    """Return what GitHub's description does not allow in an answer of the hub. Only JSON has a schema."""
    method, _, template = outcome.operation.partition(" ")
    if outcome.answer.status == 404 and not outcome.gap and not described(outcome.operation):  # nobody's operation
        return list(_faults(Draft202012Validator(ERROR), outcome.answer.body))
    if outcome.answer.status == 501 and outcome.gap:
        return [f"{outcome.gap}: {fault}" for fault in _faults(Draft202012Validator(ERROR), outcome.answer.body)]
    if outcome.answer.content is not None:
        return _content_faults(outcome)
    return answer_faults(method, template, outcome.answer.status, outcome.answer.body)


def _content_faults(outcome: RestOutcome) -> list[str]:
    """Return whether GitHub describes an operation, and the status of its answer that is not JSON."""
    if not described(outcome.operation):
        return [f"{outcome.operation} is not in GitHub's description"]
    statuses = description()["operations"][UNDESCRIBED.get(outcome.operation, outcome.operation)]
    is_known = str(outcome.answer.status) in statuses
    return [] if is_known else [f"{outcome.operation}: GitHub never answers {outcome.answer.status}"]


def answer_faults(method: str, template: str, status: int, body: object) -> list[str]:
    """Return what GitHub's description does not allow in a JSON answer (None: an empty body) of an operation."""
    name = UNDESCRIBED.get(f"{method} {template}", f"{method} {template}")
    if not described(name):
        return [f"{name} is not in GitHub's description"]
    if status >= 400:
        return [f"{name}: {status}: {fault}" for fault in _faults(Draft202012Validator(ERROR), body)]
    statuses = description()["operations"][name]
    if str(status) not in statuses and status != 304:
        return [f"{name}: GitHub answers {', '.join(sorted(statuses))}, never {status}"]
    validator = _validator(name, status)
    if validator is None:
        return [] if body is None else [f"{name}: {status} has no body"]
    allowed = WRONG.get(name, ())
    faults = [fault for fault in _faults(validator, body) if not re.sub(r"\[\d+\]", "[*]", fault).startswith(allowed)]
    return [f"{name}: {status}: {fault}" for fault in faults]


def described(name: str) -> bool:
    """Return whether GitHub describes an operation such as "GET /user"."""
    operations: dict[str, Any] = description()["operations"]
    return UNDESCRIBED.get(name, name) in operations


def _faults(validator: Draft202012Validator, body: object) -> Iterator[str]:
    plain = orjson.loads(orjson.dumps(body))
    for error in validator.iter_errors(plain):
        deepest = error
        while deepest.context:
            deepest = min(deepest.context, key=lambda inner: (_is_null(inner), -len(inner.path)))
        path = "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in deepest.absolute_path)
        yield f"{path}: {deepest.message[:300]}"


def _is_null(error: ValidationError) -> bool:
    """Return whether a fault is only that a value is not null."""
    return bool(error.validator == "type" and error.validator_value == "null")


@cache
def _validator(name: str, status: int) -> Draft202012Validator | None:
    schema = description()["operations"][name].get(str(status))
    return None if schema is None else Draft202012Validator(_inlined(schema), format_checker=_FORMATS)


def _inlined(schema: Any) -> Any:
    """A schema with what it refers to inside it; parts that several places have are shared."""
    if isinstance(schema, list):
        return [_inlined(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _component(schema["$ref"])
    return {key: _inlined(part) for key, part in schema.items()}


@cache
def _component(reference: str) -> Any:
    return _inlined(description()["schemas"][reference.rpartition("/")[2]])


@cache
def description() -> Any:
    """The parts of GitHub's description that tests need."""
    stored = cache_root() / "openapi" / f"github-description-{VERSION}.json"
    with locked(stored):
        if not stored.exists():
            stored.parent.mkdir(parents=True, exist_ok=True)
            text, licence = packed_description(stored.parent)
            document = orjson.loads(text)
            parts = {**_answers_of(document), "pages": dict(_pages_of(document)), "license": licence.decode()}
            stored.write_bytes(orjson.dumps(parts))
    return orjson.loads(stored.read_bytes())


def _answers_of(document: Any) -> dict[str, Any]:
    """The schemas, and of each operation the schema of each answer below 400; None where it has no JSON."""
    operations = {
        f"{method.upper()} {path}": {
            status: _json_schema(_resolved(answer, document)) for status, answer in operation["responses"].items()
            if status < "400"
        }
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }  # fmt: skip
    schemas = {name: _plain(schema) for name, schema in document["components"]["schemas"].items()}
    return {"operations": operations, "schemas": schemas}


def _pages_of(document: Any) -> Iterator[tuple[str, str]]:
    """Each operation with its page below docs.github.com/rest, which is "" if it is elsewhere."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            address, _, page = operation.get("externalDocs", {}).get("url", "").partition("docs.github.com/rest/")
            yield f"{method.upper()} {path}", page if address == "https://" else ""


def _resolved(answer: Any, document: Any) -> Any:
    reference = answer.get("$ref")
    return answer if reference is None else document["components"]["responses"][reference.rpartition("/")[2]]


def _json_schema(answer: Any) -> Any:
    content: dict[str, Any] = answer.get("content", {})
    schemas = [_plain(media["schema"]) for kind, media in content.items() if kind.startswith("application/")]
    return {"anyOf": schemas} if schemas else None


def _plain(schema: Any, *, names: bool = False) -> Any:
    """A schema without prose, and OpenAPI's `nullable` in the words of JSON Schema. `names`: its keys are fields.

    `oneOf` becomes `anyOf`: GitHub uses it for forms that overlap, such as a file and a symbolic link.
    """
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if names:
        return {name: _plain(part) for name, part in schema.items()}
    plain = {
        "anyOf" if key == "oneOf" else key: part if key == "enum" else _plain(part, names=key == "properties")
        for key, part in schema.items()
        if key not in PROSE and key != "nullable"
    }
    return {"anyOf": [{"type": "null"}, plain]} if schema.get("nullable") is True else plain
