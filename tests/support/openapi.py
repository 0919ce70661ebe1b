"""GitHub's own description of its REST API, against which the local server holds every request.

It comes from npm, in the version pinned here, once into the cache; of its 12 MB only the operations that the toolkit
uses are kept. `openapi_answers.py` holds answers against it.
"""

import hashlib
import re
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson
from jsonschema import Draft202012Validator

from scylla_gha.prepare.tools import cache_root, locked

VERSION: Final = "23.0.2"
_MEMBER: Final = "package/generated/api.github.com.json"
_REPO: Final = "/repos/{owner}/{repo}"
USED: Final = (
    "GET /user",
    f"GET {_REPO}",
    f"GET {_REPO}/pulls",
    f"GET {_REPO}/pulls/{{pull_number}}",
    f"GET {_REPO}/commits",
    f"GET {_REPO}/compare/{{basehead}}",
    f"GET {_REPO}/commits/{{commit_sha}}/pulls",
    f"GET {_REPO}/commits/{{ref}}/check-runs",
    f"GET {_REPO}/issues/{{issue_number}}/comments",
    f"POST {_REPO}/issues/{{issue_number}}/comments",
    f"PATCH {_REPO}/issues/comments/{{comment_id}}",
    f"POST {_REPO}/issues/comments/{{comment_id}}/reactions",
    f"POST {_REPO}/check-runs",
    f"POST {_REPO}/statuses/{{sha}}",
    f"GET {_REPO}/collaborators/{{username}}/permission",
    f"GET {_REPO}/activity",
    f"GET {_REPO}/actions/runs/{{run_id}}",
    f"GET {_REPO}/actions/runs/{{run_id}}/artifacts",
    f"GET {_REPO}/actions/workflows/{{workflow_id}}/runs",
    f"POST {_REPO}/actions/workflows/{{workflow_id}}/dispatches",
    f"GET {_REPO}/git/ref/{{ref}}",
    f"POST {_REPO}/git/refs",
    f"GET {_REPO}/issues",
    f"POST {_REPO}/issues",
    f"PATCH {_REPO}/issues/{{issue_number}}",
    f"GET {_REPO}/labels/{{name}}",
    f"POST {_REPO}/labels",
)
_SLASHES: Final = {f"GET {_REPO}/git/ref/{{ref}}"}  # where the last part of a path may have several


@dataclass(frozen=True)
class Operation:
    """Description of one kind of request."""

    name: str
    path: re.Pattern[str]
    query: Mapping[str, Draft202012Validator]
    body: Draft202012Validator | None
    fields: frozenset[str]

    def faults(self, parts: Mapping[str, str], query: Mapping[str, str], body: object) -> Iterator[str]:
        """Return what GitHub's description does not allow; `parts` are of the path."""
        yield from (f"{self.name} knows no parameter {name!r}" for name in query.keys() - self.query.keys())
        for name, value in {**query, **parts}.items():
            schema = self.query.get(name)
            if schema is not None and not any(schema.is_valid(each) for each in _read(value)):
                yield f"{self.name}: {name}={value!r} is not allowed"
        if self.body is None or body is None:
            yield from [] if self.body is body else [f"{self.name}: a body, or none, where there must be one or none"]
        else:
            yield from (f"{self.name}: {each.json_path}: {each.message}" for each in self.body.iter_errors(body))
            named = body.keys() if isinstance(body, dict) else set[str]()
            yield from (f"{self.name}: unknown field {each!r}" for each in named - self.fields)


def _read(value: str) -> Iterator[object]:
    """The values that a word of a query may stand for."""
    yield value
    if re.fullmatch("-?[0-9]+", value):
        yield int(value)
    if value in {"true", "false"}:
        yield value == "true"


@cache
def operations() -> tuple[tuple[str, Operation], ...]:
    """The used ones, each with its method."""
    return tuple((each["name"].split()[0], _operation(each)) for each in _described())


def faults(method: str, path: str, query: Mapping[str, str], body: object = None) -> list[str]:
    """Return what is wrong with a request, by GitHub's description."""
    found = find(method, path)
    if found is None:
        return [f"GitHub describes no {method} {path}, or tests/support/openapi.py does not name it"]
    return list(found[0].faults(found[1], query, body))


def find(method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
    """The operation of a request, and the parts of its path."""
    mine = [operation for of, operation in operations() if of == method]
    return next(((one, parts.groupdict()) for one in mine if (parts := one.path.fullmatch(path))), None)


def _operation(told: Mapping[str, Any]) -> Operation:
    name, path = told["name"], told["name"].split()[1]
    last = path.rindex("{") if name in _SLASHES else -1
    pattern = re.sub(r"\{(\w+)\}", lambda each: f"(?P<{each[1]}>.+)" if each.start() == last
                     else f"(?P<{each[1]}>[^/]+)", path)  # fmt: skip
    query = {each: Draft202012Validator(schema) for each, schema in told["query"].items()}
    body = Draft202012Validator(told["body"]) if told["body"] else None
    return Operation(name, re.compile(pattern), query, body, frozenset(told["body"].get("properties", {})))


def _described() -> Any:
    key = hashlib.sha256("\n".join(USED).encode()).hexdigest()[:12]
    kept = cache_root() / "openapi" / f"github-{VERSION}-{key}.json"
    with locked(kept):
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(orjson.dumps(list(_selected(orjson.loads(packed_description(kept.parent)[0])))))
    return orjson.loads(kept.read_bytes())


def packed_description(folder: Path) -> tuple[bytes, bytes]:
    """The whole description and its licence, as npm has them."""
    package = folder / f"octokit-openapi-{VERSION}.tgz"
    argv = ["npm", "pack", "--silent", "--pack-destination", str(folder), f"@octokit/openapi@{VERSION}"]
    subprocess.run(argv, check=True, capture_output=True, timeout=600)
    with tarfile.open(package) as packed:
        text, licence = (_content(packed, name) for name in (_MEMBER, "package/LICENSE"))
    package.unlink()
    return text, licence


def _content(package: tarfile.TarFile, name: str) -> bytes:
    file = package.extractfile(name)
    assert file is not None
    return file.read()


def _selected(document: Any) -> Iterator[dict[str, Any]]:
    for name in USED:
        method, path = name.split()
        told = document["paths"][path][method.lower()]
        parameters = [_whole(each, document) for each in told.get("parameters", ())]
        content = _whole(told.get("requestBody", {}), document).get("content", {})
        body = content.get("application/json", {}).get("schema", {})
        yield {"name": name, "query": {each["name"]: each["schema"] for each in parameters}, "body": body}


def _whole(schema: Any, document: Any) -> Any:
    """A schema with all that it refers to inside it, and OpenAPI's `nullable` in the words of JSON Schema."""
    if isinstance(schema, list):
        return [_whole(each, document) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        found = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return _whole(found, document)
    made = {name: _whole(each, document) for name, each in schema.items() if name not in {"nullable", "example"}}
    return {"anyOf": [made, {"type": "null"}]} if schema.get("nullable") is True else made
