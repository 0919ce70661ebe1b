"""Chat completions as a provider: `POST /v1/chat/completions`, a bearer key, usage at the end of the answer."""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

import orjson
from multidict import CIMultiDict
from pydantic import JsonValue

from scylla_gha.model.traffic import ModelInfo, ServerToolUse, Tokens
from scylla_gha.providers.base import (
    ApiStyle,
    Body,
    Circumstances,
    ConversationDigests,
    CostTerms,
    InvalidRequestError,
    ModelRequest,
    RateLimit,
    Spans,
    objects,
    parse_object,
)
from scylla_gha.providers.credentials import Credentials, Federation, TokenSource
from scylla_gha.retry_after import retry_after_seconds

_PASSED = ("content-type", "accept", "user-agent")


class AcmeChat:
    """Chat completions, as one provider speaks them."""

    name: str = "openai-chat"
    routes: tuple[str, ...] = ("/v1/chat/completions",)
    list_routes: tuple[str, ...] = ()

    def url(self, base_url: str, target: str, model: str) -> str:  # noqa: ARG002 the Protocol's signature
        """Return the address with the client's path."""
        return base_url + target

    def session_token(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:  # noqa: ARG002 the same
        """Return the bearer token."""
        return headers.get("authorization", "").removeprefix("Bearer ").strip()

    def request_headers(self, headers: Mapping[str, str], credentials: Credentials) -> CIMultiDict[str]:
        """Return the known headers with the real key."""
        passed = CIMultiDict([(name, value) for name, value in headers.items() if name.lower() in _PASSED])
        passed["authorization"] = f"Bearer {credentials.api_key}"
        return passed

    def error_body(self, kind: str, message: str) -> bytes:
        """Return an error of chat completions."""
        return orjson.dumps({"error": {"type": kind, "message": message}})

    def models_body(self, models: Mapping[str, ModelInfo | None], name: str | None) -> bytes | None:  # noqa: ARG002 the same
        """There are no routes for it."""
        return None

    def parse(
        self,
        path: str,  # noqa: ARG002 the same
        body: bytes,
        hide: Callable[[bytes], bytes],
        circumstances: Circumstances = (),  # noqa: ARG002
    ) -> ModelRequest:
        """Parse a request."""
        content, shown = parse_object(body), hide(body)
        if content is None or not isinstance(content.get("model"), str):
            raise InvalidRequestError("the request is not a JSON object with a model")
        texts = [str(message.get("content")) for message in objects(content.get("messages"))]
        most = content.get("max_completion_tokens")
        terms = CostTerms(most if isinstance(most, int) else None, len(body), caches=False, use=ServerToolUse(),
                          uses=0, tools=frozenset(), fallbacks=(), edits=())  # fmt: skip
        opening = hashlib.sha256("".join(texts[:1]).encode()).digest()
        return ModelRequest(
            body=body,
            model=content["model"],
            streamed=content.get("stream") is True,
            digest=hashlib.sha256(shown).hexdigest(),
            characters={"conversation": sum(map(len, texts))},
            counting=False,
            conversation=ConversationDigests(opening=opening, messages=hashlib.sha256(shown).digest()),
            terms=terms,
        )

    def with_settings(
        self, request: ModelRequest, settings: dict[str, JsonValue], model: ModelInfo | None
    ) -> ModelRequest:
        """Return the request with the settings that the model accepts."""
        accepted = {name: value for name, value in settings.items() if model is None or name in model.accepts}
        return replace(_changed(request, accepted), adjusted=tuple(accepted))

    def with_max_tokens(self, request: ModelRequest, max_tokens: int) -> ModelRequest:
        """Return the request with an answer of at most `max_tokens`."""
        before = request.terms.max_tokens
        if before is None or before <= max_tokens:
            return request
        terms = replace(request.terms, max_tokens=max_tokens)
        return replace(_changed(request, {"max_completion_tokens": max_tokens}), terms=terms)

    def with_model(self, request: ModelRequest, model: str) -> ModelRequest:
        """Return the request for a model."""
        return replace(_changed(request, {"model": model}), model=model)

    def rate_limit(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> RateLimit:  # noqa: ARG002
        """Read `retry-after` of a 429."""
        return RateLimit(status, status == HTTPStatus.TOO_MANY_REQUESTS, retry_after_seconds(headers))

    def usage_reader(self, *, streamed: bool, reads: Callable[[str], bool]) -> "ChatUsage":  # noqa: ARG002 the same
        """Return a reader for one response."""
        return ChatUsage(streamed)

    def client_filter(self, request: ModelRequest) -> None:
        """All of an answer is passed on."""

    def join_split(self, body: bytes, spans: Spans) -> bytes:  # noqa: ARG002 the Protocol's signature
        """Return the stream as it is."""
        return body


class Acme:
    """A provider that serves models by chat completions."""

    styles: Mapping[str, ApiStyle] = {"openai-chat": AcmeChat()}
    base_url: str = "https://api.acme.example"
    base_url_variable: str = "ACME_BASE_URL"
    needs_key: bool = True
    credential_variables: tuple[str, ...] = ("ACME_API_KEY",)
    federation_variables: tuple[str, ...] = ()
    secret_variables: tuple[str, ...] = ("ACME_API_KEY",)

    def credentials(self, environ: Mapping[str, str]) -> Credentials:
        """Read the key."""
        return Credentials(api_key=environ.get("ACME_API_KEY") or None)

    def is_subscription(self, bearer: str | None) -> bool:  # noqa: ARG002 the Protocol's signature
        """There are none."""
        return False

    def token_source(self, federation: Federation, base_url: str) -> TokenSource:
        """There is none."""
        raise NotImplementedError

    def new_session_token(self) -> str:
        """Return a random key in the provider's form."""
        return f"acme-{secrets.token_urlsafe(32)}"


def _changed(request: ModelRequest, fields: Mapping[str, JsonValue]) -> ModelRequest:
    return replace(request, body=orjson.dumps({**(parse_object(request.body) or {}), **fields}))


@dataclass
class ChatUsage:
    """Reader of one response."""

    streamed: bool
    complete: bool = False
    malformed: bool = False
    error: str | None = None
    stop_reason: str | None = None
    _usage: Body = field(default_factory=dict)
    _rest: bytes = b""

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes."""
        self._rest += chunk
        if self.streamed:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                self._line(line.removeprefix(b"data:").strip())

    def end(self) -> None:
        """Note that the response has ended."""
        if not self.streamed:
            content = parse_object(self._rest)
            self.malformed, self.complete = content is None, content is not None
            self._read(content or {})

    @property
    def calls(self) -> tuple[()]:
        """Calls of tools are not read."""
        return ()

    @property
    def tokens(self) -> Tokens | None:
        """Tokens by kind."""
        if not self._usage:
            return None
        cached = (self._usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        prompt = self._usage["prompt_tokens"] - cached
        return Tokens(input=prompt, output=self._usage["completion_tokens"], cache_read=cached)

    @property
    def use(self) -> ServerToolUse:
        """Nothing is priced beside tokens."""
        return ServerToolUse()

    def _line(self, line: bytes) -> None:
        if line == b"[DONE]":
            self.complete = True
        elif line:
            self._read(parse_object(line) or {})

    def _read(self, content: dict[str, Any]) -> None:
        self._usage = content.get("usage") or self._usage
        self.error = (content.get("error") or {}).get("type", self.error)
        for choice in objects(content.get("choices")):
            reason = choice.get("finish_reason")
            self.stop_reason = "tool_use" if reason == "tool_calls" else reason or self.stop_reason
