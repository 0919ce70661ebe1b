"""OpenAI's API styles, and the providers that serve them: addresses, keys, headers, errors and rate limits.

Sources: developers.openai.com/api/docs (guides, rate limits; reference, headers) and the types of the SDK openai 3.57.0
(2026-11-28).
"""

import math
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import orjson
from multidict import CIMultiDict
from pydantic import JsonValue

from scylla_gha.lenient_json import inner_object, whole_number
from scylla_gha.model.traffic import ModelInfo
from scylla_gha.providers.answers import AnswerReader
from scylla_gha.providers.anthropic import MessagesStyle
from scylla_gha.providers.base import (
    ApiStyle,
    Body,
    Circumstances,
    KeyProvider,
    ListedModel,
    ModelQuestion,
    ModelRequest,
    RateLimit,
    objects,
    parse_object,
)
from scylla_gha.providers.credentials import Credentials
from scylla_gha.providers.json_requests import name_model, stated_code
from scylla_gha.providers.openai import chat, responses
from scylla_gha.retry_after import decimal_number, retry_after_seconds

# Headers that the SDKs and Codex 0.169 send (2026-11-28). Left out are credentials (they are dummies), the account to
# charge (`openai-organization`, `openai-project`), compression (usage could not be read), and identities of machines.
_PASSED: Final = re.compile(
    r"content-type|accept|accept-language|user-agent|originator|version|session[_-]id|x-client-request-id|openai-beta"
    r"|x-stainless-[a-z-]+|http-referer|x-title"
)
_LIMIT: Final = "x-ratelimit-"
_KINDS: Final = ("requests", "tokens")  # each with -remaining- and -reset- before it
_DURATION_PARTS: Final = re.compile(r"([0-9.]+)(ms|h|m|s)")  # such as 6m0s and 20ms
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_MAX_EXHAUSTED_SECONDS: Final = 60.0  # limits are refilled all the time: some is free long before the reset
NO_CREDIT: Final = "insufficient_quota"  # code of a 429 that waiting does not help
_TOKEN_BYTES: Final = 96
# Keys of OpenRouter's prices, in USD per token (openrouter.ai/docs/models, 2026-11-28).
_PRICES: Final = {
    "input": "prompt",
    "output": "completion",
    "cache_read": "input_cache_read",
    "cache_write_5m": "input_cache_write",
}
_MILLION: Final = 1_000_000
_ROUTER_KEY_BYTES: Final = 32


class OpenAIStyle(ABC):
    """Code that OpenAI's API styles share."""

    list_routes: tuple[str, ...] = ("/v1/models", "/v1/models/{model}")

    def url(self, base_url: str, target: str, model: str) -> str:  # noqa: ARG002 the Protocol's signature
        """Return the address with the client's path; the path of `base_url`, if it has one, replaces `/v1`.

        Examples of `base_url`: `https://api.openai.com/v1`, `https://api.openai.com`, `https://example.com/api/paas/v4`.
        """
        if urlsplit(base_url).path:
            return base_url + target.removeprefix("/v1")
        return base_url + target

    def list_target(self, after: str | None) -> str:
        """Return path and query of the list; OpenRouter's link to the next page has its query."""
        return f"/v1/models{f'?{after}' if after else ''}"

    def read_list(self, page: Body) -> tuple[list[ListedModel], str | None] | None:
        """Read a page of the list. OpenAI states ids alone, OpenRouter limits and prices, vLLM the context."""
        if not isinstance(page.get("data"), list):
            return None
        following = inner_object(page, "links").get("next")
        query = urlsplit(following).query if isinstance(following, str) else ""
        return [_listed(model) for model in objects(page["data"])], query or None

    def session_token(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:  # noqa: ARG002 the same
        """Return the bearer token."""
        return headers.get("authorization", "").removeprefix("Bearer ").strip()

    def request_headers(self, headers: Mapping[str, str], credentials: Credentials) -> CIMultiDict[str]:
        """Return the known headers, with the real key if the server needs one."""
        passed = CIMultiDict([(name, value) for name, value in headers.items() if _PASSED.fullmatch(name.lower())])
        passed["accept-encoding"] = "identity"
        if key := credentials.api_key or credentials.bearer:
            passed["authorization"] = f"Bearer {key}"
        return passed

    def error_body(self, status: int, kind: str, message: str) -> bytes:  # noqa: ARG002 the same
        """Return an error of OpenAI's APIs."""
        return orjson.dumps({"error": {"message": message, "type": kind, "param": None, "code": kind}})

    def models_body(self, models: Mapping[str, ModelInfo | None], name: str | None) -> bytes | None:
        """Return the list of models, or the model of this name; None if it is not in the list."""
        objects = {
            id_: {"id": id_, "object": "model", "created": 0, "owned_by": model.provider if model else "unknown"}
            for id_, model in models.items()
        }
        if name is None:
            return orjson.dumps({"object": "list", "data": list(objects.values())})
        return orjson.dumps(objects[name]) if name in objects else None

    def rate_limit(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> RateLimit:
        """Read `retry-after` and the `x-ratelimit-` headers.

        A 429 is a refusal, unless its body says that the account has no credit. So is a 503 that states a wait.
        """
        seconds = retry_after_seconds(headers)
        is_too_many = status == HTTPStatus.TOO_MANY_REQUESTS and error_code(body) != NO_CREDIT
        is_refusal = is_too_many or (status == HTTPStatus.SERVICE_UNAVAILABLE and seconds is not None)
        return RateLimit(status, is_refusal, seconds, exhausted_seconds(headers))

    @abstractmethod
    def usage_reader(self, *, streamed: bool, reads: Callable[[str], bool], keeps_texts: bool = False) -> AnswerReader:
        """Return a reader for one response."""


class ResponsesStyle(OpenAIStyle):
    """The Responses API."""

    name: str = "openai-responses"
    routes: tuple[str, ...] = ("/v1/responses", "/v1/responses/input_tokens")
    ends: frozenset[str] = frozenset({"completed"})
    ask = staticmethod(responses.ask)
    with_settings = staticmethod(responses.apply_settings)
    with_max_tokens = staticmethod(responses.lower_max_tokens)
    with_model = staticmethod(name_model)
    join_split = staticmethod(responses.join_split)
    replace_arguments = staticmethod(responses.replace_arguments)

    def parse(
        self, path: str, body: bytes, hide: Callable[[bytes], bytes], circumstances: Circumstances = ()
    ) -> ModelRequest:
        """Parse a request for a response or for a count of tokens."""
        return responses.parse_request(body, hide, circumstances, counting=path.endswith("/input_tokens"))

    def usage_reader(
        self, *, streamed: bool, reads: Callable[[str], bool], keeps_texts: bool = False
    ) -> responses.ResponseUsage:
        """Return a reader for one response, and for the arguments of the calls of tools that `reads` accepts."""
        return responses.ResponseUsage(streamed=streamed, reads=reads, keeps_texts=keeps_texts)

    def client_filter(self, request: ModelRequest) -> None:
        """Return None: all of an answer is passed on."""


class ChatStyle(OpenAIStyle):
    """Chat completions."""

    name: str = "openai-chat"
    routes: tuple[str, ...] = ("/v1/chat/completions",)
    ends: frozenset[str] = frozenset({"stop"})
    with_model = staticmethod(name_model)
    join_split = staticmethod(chat.join_split)
    replace_arguments = staticmethod(chat.replace_arguments)

    def __init__(self, limit_key: str) -> None:
        """Create the style of a server; `limit_key` is its key for the limit of an answer."""
        self._limit_key = limit_key

    def parse(
        self,
        path: str,  # noqa: ARG002 the Protocol's signature
        body: bytes,
        hide: Callable[[bytes], bytes],
        circumstances: Circumstances = (),
    ) -> ModelRequest:
        """Parse a request."""
        return chat.parse_request(body, hide, circumstances)

    def with_settings(
        self, request: ModelRequest, settings: dict[str, JsonValue], model: ModelInfo | None
    ) -> ModelRequest:
        """Return the request with those settings that its model accepts."""
        return chat.apply_settings(request, settings, model, self._limit_key)

    def with_max_tokens(self, request: ModelRequest, max_tokens: int) -> ModelRequest:
        """Return the request with an answer of at most `max_tokens`."""
        return chat.lower_max_tokens(request, max_tokens, self._limit_key)

    def ask(self, question: ModelQuestion) -> tuple[str, Body]:
        """Return path and body of a request that asks a question."""
        return chat.ask(question, self._limit_key)

    def usage_reader(
        self, *, streamed: bool, reads: Callable[[str], bool], keeps_texts: bool = False
    ) -> chat.ChatUsage:
        """Return a reader for one response, and for the arguments of the calls of tools that `reads` accepts."""
        return chat.ChatUsage(streamed=streamed, reads=reads, keeps_texts=keeps_texts)

    def client_filter(self, request: ModelRequest) -> chat.UsageEventFilter | None:
        """Return a filter of the event with the usage, if the client did not ask for it."""
        return chat.UsageEventFilter() if request.hides_usage else None


def _listed(model: Body) -> ListedModel:
    pricing, top = inner_object(model, "pricing"), inner_object(model, "top_provider")
    stated = ((kind, _price(pricing.get(key))) for kind, key in _PRICES.items())
    return ListedModel(
        str(model.get("id")),
        whole_number(model.get("context_length", model.get("max_model_len"))),
        whole_number(top.get("max_completion_tokens")),
        {kind: usd * _MILLION for kind, usd in stated if usd is not None},
    )


def _price(text: object) -> float | None:
    """Return a price, which is a number or a text; None for others, such as -1 of a router whose price depends."""
    try:
        usd = float(text) if isinstance(text, str | int | float) else -1.0
    except ValueError:
        return None
    return usd if 0 <= usd < math.inf else None


def error_code(body: bytes) -> str:
    """Return the error code in a body, or else the error's type; empty if it has neither."""
    return stated_code(inner_object(parse_object(body) or {}, "error"))


def exhausted_seconds(headers: Mapping[str, str]) -> float:
    """Return the seconds until the last reset of a used-up limit, at most a minute; 0 if none is used up."""
    exhausted = (kind for kind in _KINDS if decimal_number(headers.get(f"{_LIMIT}remaining-{kind}", "")) == 0)
    longest = max((_seconds(headers.get(f"{_LIMIT}reset-{kind}", "")) for kind in exhausted), default=0.0)
    return min(_MAX_EXHAUSTED_SECONDS, longest)


def _seconds(time: str) -> float:
    """Return the seconds of a time such as `1h2m3s`, `20ms` or `7`; 0 if it cannot be read."""
    if (seconds := decimal_number(time)) is not None:
        return seconds
    parts = _DURATION_PARTS.findall(time)
    return sum((decimal_number(number) or 0.0) * _SECONDS[unit] for number, unit in parts)


class OpenAI(KeyProvider):
    """OpenAI's servers."""

    styles: Mapping[str, ApiStyle] = {
        ResponsesStyle.name: ResponsesStyle(),
        ChatStyle.name: ChatStyle("max_completion_tokens"),
    }
    base_url: str = "https://api.openai.com/v1"
    base_url_variable: str = "OPENAI_BASE_URL"
    credential_variables: tuple[str, ...] = ("OPENAI_API_KEY",)

    def new_session_token(self) -> str:
        """Return a random key in the provider's form."""
        return f"sk-proj-{secrets.token_urlsafe(_TOKEN_BYTES)}"


# Both serve Anthropic's Messages API as well (openrouter.ai/docs/api; docs.vllm.ai, docs.ollama.com and the README of
# llama.cpp's server; 2026-11-28).
_COMPATIBLE_STYLES: Final[Mapping[str, ApiStyle]] = {
    ChatStyle.name: ChatStyle("max_tokens"),
    ResponsesStyle.name: ResponsesStyle(),
    MessagesStyle.name: MessagesStyle(),
}


class OpenRouter(KeyProvider):
    """OpenRouter, which passes requests on to many providers."""

    styles: Mapping[str, ApiStyle] = _COMPATIBLE_STYLES
    base_url: str = "https://openrouter.ai/api/v1"
    base_url_variable: str = "OPENROUTER_BASE_URL"
    credential_variables: tuple[str, ...] = ("OPENROUTER_API_KEY",)

    def new_session_token(self) -> str:
        """Return a random key in the provider's form."""
        return f"sk-or-v1-{secrets.token_hex(_ROUTER_KEY_BYTES)}"


class LocalServer(KeyProvider):
    """A server of the user's own, such as vLLM, Ollama or llama.cpp, whose models cost nothing. It may need no key."""

    styles: Mapping[str, ApiStyle] = _COMPATIBLE_STYLES
    base_url: str = ""
    base_url_variable: str = "SCYLLA_LOCAL_BASE_URL"
    credential_variables: tuple[str, ...] = ("SCYLLA_LOCAL_API_KEY",)
    needs_key: bool = False
