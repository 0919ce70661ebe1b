"""The Gemini API as a provider: addresses, key, headers, errors and rate limits. The model is in the path.

Sources: ai.google.dev/api (generate content, errors) and the types of the SDK google-genai 3.6.1 (2026-11-28).
"""

import re
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import orjson
from multidict import CIMultiDict

from scylla_gha.lenient_json import InvalidJsonError, inner_object, parse_json, whole_number
from scylla_gha.model.traffic import ModelInfo
from scylla_gha.providers.base import (
    ApiStyle,
    Body,
    Circumstances,
    KeyProvider,
    ListedModel,
    ModelRequest,
    RateLimit,
    objects,
)
from scylla_gha.providers.credentials import Credentials
from scylla_gha.providers.gemini import generate_content
from scylla_gha.providers.gemini.generate_content import GeminiUsage
from scylla_gha.retry_after import decimal_number, retry_after_seconds

_VERSION: Final = "/v1beta"
# Headers that the SDK and Gemini CLI 0.61 send (2026-11-28). Left out are credentials (they are dummies), the project
# to charge (`x-goog-user-project`) and compression (usage could not be read).
_PASSED: Final = re.compile(r"content-type|accept|accept-language|user-agent|x-goog-api-client")
_KEY_HEADER: Final = "x-goog-api-key"
_STATUSES: Final = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
}
_PER_DAY: Final = "PerDay"  # in the id of a quota that no wait of minutes mends
_KEY_CHARACTERS: Final = 35
_METHODS: Final = ["generateContent", "streamGenerateContent", "countTokens"]


class GeminiStyle:
    """The Gemini API's `generateContent`, streamed and in one piece."""

    name: str = "gemini"
    routes: tuple[str, ...] = (f"{_VERSION}/models/{{model}}:{{method}}",)
    ends: frozenset[str] = frozenset({"STOP"})
    ask = staticmethod(generate_content.ask)
    list_routes: tuple[str, ...] = (f"{_VERSION}/models", f"{_VERSION}/models/{{model}}")
    with_settings = staticmethod(generate_content.apply_settings)
    with_max_tokens = staticmethod(generate_content.lower_max_tokens)
    with_model = staticmethod(generate_content.name_model)
    join_split = staticmethod(generate_content.join_split)
    replace_arguments = staticmethod(generate_content.replace_arguments)

    def url(self, base_url: str, target: str, model: str) -> str:
        """Return the address for a model and the client's method, without a key that the client had in its query."""
        parts = urlsplit(target)
        if ":" not in parts.path:
            return base_url.removesuffix(_VERSION) + target
        method = parts.path.rpartition(":")[2]
        query = "?alt=sse" if parse_qs(parts.query).get("alt") == ["sse"] else ""
        return f"{base_url.removesuffix(_VERSION)}{_VERSION}/models/{quote(model, safe='')}:{method}{query}"

    def list_target(self, after: str | None) -> str:
        """Return path and query of a page with up to 1,000 models (ai.google.dev/api/models, 2026-11-28)."""
        return f"{_VERSION}/models?{urlencode({'pageSize': 1000, **({'pageToken': after} if after else {})})}"

    def read_list(self, page: Body) -> tuple[list[ListedModel], str | None] | None:
        """Read a page of the list; names begin with `models/`."""
        if not isinstance(page.get("models"), list):
            return None
        models = [
            ListedModel(
                str(model.get("name")).removeprefix("models/"),
                whole_number(model.get("inputTokenLimit")),
                whole_number(model.get("outputTokenLimit")),
            )
            for model in objects(page["models"])
        ]
        token = page.get("nextPageToken")
        return models, token if isinstance(token, str) and token else None

    def session_token(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """Return the key in `x-goog-api-key`, in the query's `key`, or as a bearer token."""
        bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
        return headers.get(_KEY_HEADER) or query.get("key") or bearer

    def request_headers(self, headers: Mapping[str, str], credentials: Credentials) -> CIMultiDict[str]:
        """Return the known headers with the real key."""
        passed = CIMultiDict([(name, value) for name, value in headers.items() if _PASSED.fullmatch(name.lower())])
        passed["accept-encoding"] = "identity"
        if key := credentials.api_key or credentials.bearer:
            passed[_KEY_HEADER] = key
        return passed

    def error_body(self, status: int, kind: str, message: str) -> bytes:
        """Return an error of Google's APIs, in which `kind` is a detail."""
        details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": kind}]
        error = {"code": status, "message": message, "status": _STATUSES.get(status, "UNKNOWN"), "details": details}
        return orjson.dumps({"error": error})

    def models_body(self, models: Mapping[str, ModelInfo | None], name: str | None) -> bytes | None:
        """Return a list of models, or one of them."""
        if name is None:
            return orjson.dumps({"models": [_model(id_, info) for id_, info in models.items()]})
        return orjson.dumps(_model(name, models[name])) if name in models else None

    def parse(
        self, path: str, body: bytes, hide: Callable[[bytes], bytes], circumstances: Circumstances = ()
    ) -> ModelRequest:
        """Parse a request for an answer or for a count of tokens; its path names model and method."""
        return generate_content.parse_request(path, body, hide, circumstances)

    def rate_limit(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> RateLimit:
        """Read `retry-after`, or the delay in the details of an error. A 429 of a day's quota is not waited for."""
        details = objects(inner_object(_error_of(body), "error").get("details"))
        seconds = retry_after_seconds(headers)
        delays = (str(detail.get("retryDelay", "")).removesuffix("s") for detail in details)
        stated = next((delay for text in delays if (delay := decimal_number(text)) is not None), None)
        violations = (violation for detail in details for violation in objects(detail.get("violations")))
        is_of_day = any(_PER_DAY in str(violation.get("quotaId")) for violation in violations)
        is_refusal = status == HTTPStatus.TOO_MANY_REQUESTS and not is_of_day
        return RateLimit(status, is_refusal, stated if seconds is None else seconds)

    def usage_reader(self, *, streamed: bool, reads: Callable[[str], bool], keeps_texts: bool = False) -> GeminiUsage:
        """Return a reader for one response, and for the arguments of the calls of tools that `reads` accepts."""
        return GeminiUsage(streamed=streamed, reads=reads, keeps_texts=keeps_texts)

    def client_filter(self, request: ModelRequest) -> None:
        """Return None: all of an answer is passed on."""


def _error_of(body: bytes) -> Body:
    """Return the object of an error; without `alt=sse`, a stream's error is in a list."""
    try:
        content = parse_json(body)
    except InvalidJsonError:
        return {}
    first = content[0] if isinstance(content, list) and content else content
    return first if isinstance(first, dict) else {}


def _model(name: str, info: ModelInfo | None) -> Body:
    limits = {"inputTokenLimit": info.context_tokens, "outputTokenLimit": info.max_output_tokens} if info else {}
    return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": _METHODS, **limits}


class Gemini(KeyProvider):
    """Google's servers of the Gemini API."""

    styles: Mapping[str, ApiStyle] = {GeminiStyle.name: GeminiStyle()}
    base_url: str = "https://generativelanguage.googleapis.com"
    base_url_variable: str = "GOOGLE_GEMINI_BASE_URL"
    credential_variables: tuple[str, ...] = ("GEMINI_API_KEY",)

    def new_session_token(self) -> str:
        """Return a random key in the provider's form."""
        return f"AIza{secrets.token_urlsafe(_KEY_CHARACTERS)[: _KEY_CHARACTERS - 1]}0"
