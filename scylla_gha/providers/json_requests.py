"""Code that all API styles share for requests: strict parsing, identity, and changes of settings."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, cast

import orjson
from pydantic import JsonValue

from scylla_gha.model.traffic import ModelInfo
from scylla_gha.providers.base import Body, Circumstances, InvalidRequestError, ModelRequest, objects

LONGEST_TOOL_NAME: Final = 128  # characters, as the APIs allow
LONGEST_RESULT: Final = 64 * 1024  # characters of a tool's result that are kept while a request is handled
BYTES_PER_TOKEN: Final = 2  # of a prompt, at least
FULL_CONTEXT: Final = 1 << 40  # tokens of a prompt of unknown size: more than any model accepts
_BEGINNINGS: Final = 16  # of a conversation's first messages, whose digests are kept
_BAD_REQUEST: Final = 400
_NO_MODEL: Final = "the request is not a JSON object with a model"


def shown_content(content: Body, body: bytes, hide: Callable[[bytes], bytes]) -> Body:
    """Return the content with aliases for folders and without secrets."""
    hidden = hide(body)
    return content if hidden == body else unambiguous_object(hidden)[0]


def unambiguous_object(body: bytes) -> tuple[Body, bytes]:
    """Parse an object in which no key is repeated at any depth; also return it as orjson writes it.

    The objects are large, so few should be alive at a time: allocating memory anew for each request costs time.
    Providers refuse what is not strict JSON, such as half of a UTF-16 pair, with status 400; so does the gateway.

    Raises:
        InvalidRequestError: it is not an object, or two programs could parse it differently.
    """
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequestError(f"the request body is not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise InvalidRequestError(_NO_MODEL)
    try:
        written = orjson.dumps(content)
    except orjson.JSONEncodeError:
        raise InvalidRequestError("the request is nested too deep") from None
    if written != body and _quotes(body) != written.count(b'"'):
        try:
            json.loads(body, object_pairs_hook=_require_unique_keys)
        except (ValueError, RecursionError) as error:
            raise InvalidRequestError(str(error)) from None
    return content, written


def _quotes(body: bytes) -> int:
    """Count quotation marks, including those written as escapes.

    Each string has at least as many here as in orjson's output, so if the sums are equal, orjson dropped no key.
    """
    return body.count(b'"') + (body.count(b"\\u0022") if b"\\" in body else 0)


def _require_unique_keys(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise InvalidRequestError(f"the key {key[:80]!r} is repeated in an object of the request")
        seen.add(key)


def model_of(content: Body) -> str:
    """Return the model that a request's body names.

    Raises:
        InvalidRequestError: it names none.
    """
    if not isinstance(content.get("model"), str):
        raise InvalidRequestError(_NO_MODEL)
    return str(content["model"])


def name_model(request: ModelRequest, model: str) -> ModelRequest:
    """Return the request with the id of its model in place of an alias; its digest does not change."""
    content = orjson.loads(request.body)
    return replace(request, body=orjson.dumps({**content, "model": model}), model=model)


def token_limit(content: Body, name: str) -> int | None:
    """Return a limit of the answer's tokens; None if the request sets none.

    Raises:
        InvalidRequestError: it is not a whole number.
    """
    limit = content.get(name)
    if limit is not None and (type(limit) is not int or limit < 0):
        raise InvalidRequestError(f"{name} must be a whole number")
    return limit


def request_digest(text: bytes, circumstances: Circumstances, prefix: bytes = b"") -> str:
    """Return the SHA-256 of a request's JSON, with constants in place of texts that differ between equal runs."""
    for pattern, constant in circumstances:
        text = pattern.sub(constant, text)
    return hashlib.sha256(prefix + text).hexdigest()


def keyed_hash(value: object) -> bytes:
    """Return Python's own hash, of 64 bits and with the process's secret key: it takes half the time of SHA-256.

    Digests are compared within the gateway's process only, and a client that wants an equal one can send equal text.
    """
    return hash(orjson.dumps(value)).to_bytes(8, "little", signed=True)


def stated_code(error: Body) -> str:
    """Return the code of an error of OpenAI's APIs, or else its type; llama.cpp has the status 400 as its code."""
    code = error.get("code")
    return str((None if code == _BAD_REQUEST else code) or error.get("type") or code or "")


def beginnings(opening: list[Any]) -> tuple[bytes, ...]:
    """Return the digests of a list's first item, first two items and so on, without that of the whole list."""
    return tuple(keyed_hash(opening[:end]) for end in range(1, min(len(opening), _BEGINNINGS)))


def text_length(content: object) -> int:
    """Return the number of characters of a text, or of the texts in a list of blocks, nested ones included."""
    if isinstance(content, str):
        return len(content)
    return sum(text_length(block.get("text") or block.get("content")) for block in objects(content))


def texts_of(content: object) -> Iterator[str]:
    """Yield a text, or the texts of a list of blocks."""
    if isinstance(content, str):
        yield content
    yield from (text for block in objects(content) if isinstance(text := block.get("text"), str))


def accepted_settings(settings: dict[str, JsonValue], model: ModelInfo | None) -> dict[str, JsonValue]:
    """Return the settings that a model accepts: its file names them, and a limit is not above its own."""
    supported, most = (model.accepts, model.max_output_tokens) if model else ((), None)

    def is_above(name: str, value: JsonValue) -> bool:
        return name == "max_tokens" and most is not None and isinstance(value, int) and value > most

    return {name: value for name, value in settings.items() if name in supported and not is_above(name, value)}


def with_limit(request: ModelRequest, max_tokens: int, put: Callable[[Body], Body]) -> ModelRequest:
    """Return the request with an answer of at most `max_tokens`; `put` writes the limit into the body."""
    before = request.terms.max_tokens
    if before is not None and before <= max_tokens:
        return request
    content = put(orjson.loads(request.body))
    return replace(request, body=orjson.dumps(content), terms=replace(request.terms, max_tokens=max_tokens))


def with_accepted(
    request: ModelRequest, settings: Iterable[str], accepted: dict[str, JsonValue], content: Body
) -> ModelRequest:
    """Return the request with settings put in.

    Args:
        request: the parsed request.
        settings: names of all configured settings.
        accepted: settings that are put in.
        content: the body with the accepted settings.
    """
    max_tokens = cast("int | None", accepted.get("max_tokens", request.terms.max_tokens))
    return replace(
        request,
        body=orjson.dumps(content) if accepted else request.body,
        terms=replace(request.terms, max_tokens=max_tokens),
        adjusted=tuple(accepted),
        unadjusted=tuple(name for name in settings if name not in accepted),
    )
