"""The Anthropic Messages API as a provider: addresses, credentials, identity federation, headers and rate limits.

With federation, only the gateway exchanges the run's identity for tokens, so neither is in another process. The SDK
exchanges and renews (platform.claude.com/docs/en/manage-claude/workload-identity-federation, 2026-11-22).
"""

import datetime
import re
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlencode, urlsplit

import orjson
from multidict import CIMultiDict

from scylla_gha.egress_proxy import is_loopback
from scylla_gha.lenient_json import whole_number
from scylla_gha.model.traffic import ModelInfo
from scylla_gha.providers.anthropic.request import apply_settings, ask, lower_max_tokens, parse_request
from scylla_gha.providers.anthropic.response import MessageUsage, join_split, replace_arguments
from scylla_gha.providers.base import ApiStyle, Body, Circumstances, ListedModel, ModelRequest, RateLimit, objects
from scylla_gha.providers.credentials import CredentialError, Credentials, Federation, TokenSource
from scylla_gha.providers.json_requests import name_model
from scylla_gha.retry_after import decimal_number, retry_after_seconds

_RULE: Final = "ANTHROPIC_FEDERATION_RULE_ID"
_ORGANIZATION: Final = "ANTHROPIC_ORGANIZATION_ID"
_FILE: Final = "ANTHROPIC_IDENTITY_TOKEN_FILE"
# set if a job has id-token: write
_REQUEST_VARIABLES: Final = ("ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN")
_AUDIENCE: Final = "https://api.anthropic.com"
_KEY: Final = "ANTHROPIC_API_KEY"
_BEARERS: Final = ("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")  # the second is of a subscription
_SUBSCRIPTION_TOKEN: Final = "sk-ant-oat"  # noqa: S105 the prefix of a subscription's tokens
_OAUTH_BETA: Final = "oauth-2025-04-20"
_TOKEN_CHARACTERS: Final = 93
# Headers that Claude Code 2.1.197, 2.1.332 and the provider's SDKs send (2026-11-27). Left out are credentials (they
# are dummies), compression (usage could not be read) and headers for which an intermediary could refuse or answer.
_PASSED: Final = re.compile(
    r"content-type|accept|accept-language|user-agent|x-app|x-client-request-id|x-stainless-[a-z-]+|x-claude-code-[a-z-]+"
    r"|anthropic-(version|beta|client-platform|dangerous-direct-browser-access)"
)
_OVERLOADED: Final = 529
_LIMIT: Final = "anthropic-ratelimit-"
_KINDS: Final = ("requests", "tokens", "input-tokens", "output-tokens")  # each with -remaining and -reset
_SUBSCRIPTION_LIMIT: Final = "unified"  # -status, and -reset in seconds of Unix time
_MAX_EXHAUSTED_SECONDS: Final = 60.0  # limits are refilled all the time: some is free long before the reset


class MessagesStyle:
    """The Messages API."""

    name: str = "anthropic-messages"
    routes: tuple[str, ...] = ("/v1/messages", "/v1/messages/count_tokens")
    list_routes: tuple[str, ...] = ()  # Claude Code asks for none
    ends: frozenset[str] = frozenset({"end_turn", "stop_sequence"})
    ask = staticmethod(ask)
    with_settings = staticmethod(apply_settings)
    with_max_tokens = staticmethod(lower_max_tokens)
    with_model = staticmethod(name_model)
    join_split = staticmethod(join_split)
    replace_arguments = staticmethod(replace_arguments)

    def url(self, base_url: str, target: str, model: str) -> str:  # noqa: ARG002 the Protocol's signature
        """Return the address with the client's path. `/v1` at its end, as in addresses of other APIs, is left out."""
        return base_url.removesuffix("/v1") + target

    def list_target(self, after: str | None) -> str:
        """Return path and query of a page with up to 1,000 models (type `ModelInfo` of the SDK anthropic 2.12)."""
        return f"/v1/models?{urlencode({'limit': 1000, **({'after_id': after} if after else {})})}"

    def read_list(self, page: Body) -> tuple[list[ListedModel], str | None] | None:
        """Read a page of the list; newer servers state the limits of a model."""
        if not isinstance(page.get("data"), list):
            return None
        models = [
            ListedModel(
                str(model.get("id")),
                whole_number(model.get("max_input_tokens")),
                whole_number(model.get("max_tokens")),
            )
            for model in objects(page["data"])
        ]
        last = page.get("last_id") if page.get("has_more") else None
        return models, last if isinstance(last, str) else None

    def session_token(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:  # noqa: ARG002 the same
        """Return the key in `x-api-key` or `authorization`."""
        return headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ").strip()

    def request_headers(self, headers: Mapping[str, str], credentials: Credentials) -> CIMultiDict[str]:
        """Return the known headers with the real key, or with a bearer token."""
        passed = CIMultiDict([(name, value) for name, value in headers.items() if _PASSED.fullmatch(name.lower())])
        passed["accept-encoding"] = "identity"
        if credentials.api_key:
            passed["x-api-key"] = credentials.api_key
        elif credentials.bearer:
            passed["authorization"] = f"Bearer {credentials.bearer}"
            if is_subscription(credentials.bearer) or credentials.federation:
                passed["anthropic-beta"] = ",".join([*passed.popall("anthropic-beta", []), _OAUTH_BETA])
        return passed

    def error_body(self, status: int, kind: str, message: str) -> bytes:  # noqa: ARG002 the same
        """Return an error of the Messages API."""
        return orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})

    def models_body(self, models: Mapping[str, ModelInfo | None], name: str | None) -> bytes | None:  # noqa: ARG002 the same
        """Return nothing: there are no routes for lists of models."""
        return None

    def parse(
        self, path: str, body: bytes, hide: Callable[[bytes], bytes], circumstances: Circumstances = ()
    ) -> ModelRequest:
        """Parse a request for a message or for a count of tokens."""
        return parse_request(body, hide, circumstances, counting=path.endswith("/count_tokens"))

    def rate_limit(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> RateLimit:  # noqa: ARG002 the same
        """Read `retry-after` and the `anthropic-ratelimit-` headers.

        A 429 is a refusal, with or without a stated wait. So is a 529 that states a wait, in seconds or as a date. A
        529 that states none is a failure of the provider, which is tried again as often as any 5xx.
        """
        is_too_many = status == HTTPStatus.TOO_MANY_REQUESTS
        seconds = retry_after_seconds(headers)
        account = subscription_exhausted_seconds(headers) if is_too_many else 0.0
        seconds = (account or None) if seconds is None else seconds
        is_refusal = is_too_many or (status == _OVERLOADED and seconds is not None)
        return RateLimit(status, is_refusal, seconds, exhausted_seconds(headers), account)

    def usage_reader(self, *, streamed: bool, reads: Callable[[str], bool], keeps_texts: bool = False) -> MessageUsage:
        """Return a reader for one response, and for the arguments of the calls of tools that `reads` accepts."""
        return MessageUsage(streamed=streamed, reads=reads, keeps_texts=keeps_texts)

    def client_filter(self, request: ModelRequest) -> None:
        """Return None: all of an answer is passed on."""


class Anthropic:
    """Anthropic's servers."""

    styles: Mapping[str, ApiStyle] = {MessagesStyle.name: MessagesStyle()}
    base_url: str = "https://api.anthropic.com"
    base_url_variable: str = "ANTHROPIC_BASE_URL"
    needs_key: bool = True
    credential_variables: tuple[str, ...] = (_KEY, *_BEARERS)
    federation_variables: tuple[str, ...] = (_RULE, _ORGANIZATION)
    secret_variables: tuple[str, ...] = (_KEY, *_BEARERS, *_REQUEST_VARIABLES)

    def credentials(self, environ: Mapping[str, str]) -> Credentials:
        """Read a key and a bearer token, or else an identity to exchange."""
        key_variable, *bearer_variables = self.credential_variables
        key = environ.get(key_variable) or None
        bearer = next((token for name in bearer_variables if (token := environ.get(name))), None)
        is_federated = bool(self.federation_variables) and not (key or bearer)
        return Credentials(key, bearer, federation_in(environ) if is_federated else None)

    def is_subscription(self, bearer: str | None) -> bool:
        """Tell if a bearer token belongs to a subscription."""
        return is_subscription(bearer)

    def token_source(self, federation: Federation, base_url: str) -> TokenSource:
        """Return the exchange of an identity for tokens."""
        return _FederationToken(federation, base_url)

    def new_session_token(self) -> str:
        """Return a random key in the provider's form, so that an agent cannot tell it from a real one."""
        return f"sk-ant-api03-{secrets.token_urlsafe(72)[:_TOKEN_CHARACTERS]}AA"


def is_subscription(bearer: str | None) -> bool:
    """Tell if a bearer token belongs to a subscription."""
    return bool(bearer and bearer.startswith(_SUBSCRIPTION_TOKEN))


def exhausted_seconds(headers: Mapping[str, str]) -> float:
    """Return the seconds until the last reset of a used-up limit, at most a minute; 0 if none is used up."""
    exhausted = (kind for kind in _KINDS if decimal_number(headers.get(f"{_LIMIT}{kind}-remaining", "")) == 0)
    longest = max((_seconds_until(headers.get(f"{_LIMIT}{kind}-reset", "")) for kind in exhausted), default=0.0)
    return min(_MAX_EXHAUSTED_SECONDS, longest)


def subscription_exhausted_seconds(headers: Mapping[str, str]) -> float:
    """Return the seconds (perhaps hours) until a subscription that refused a request is reset; 0 if it did not."""
    if headers.get(f"{_LIMIT}{_SUBSCRIPTION_LIMIT}-status") != "rejected":
        return 0.0
    return _seconds_until(headers.get(f"{_LIMIT}{_SUBSCRIPTION_LIMIT}-reset", ""))


def _seconds_until(reset: str) -> float:
    """Return the seconds until a time in RFC 3339 (UTC without an offset) or in seconds of Unix time.

    It is 0 if the time is past, or cannot be read.
    """
    now = datetime.datetime.now(datetime.UTC)
    if (unix := decimal_number(reset)) is not None:
        return max(0.0, unix - now.timestamp())
    try:
        at = datetime.datetime.fromisoformat(reset)
    except ValueError:
        return 0.0
    return max(0.0, ((at if at.tzinfo else at.replace(tzinfo=datetime.UTC)) - now).total_seconds())


def federation_in(environ: Mapping[str, str]) -> Federation | None:
    """Read the SDK's variables; None if federation is not configured, or there is no identity.

    A URL for the identity must be https or on this machine, since a token is sent to it.
    """
    rule, organization, file = (environ.get(name, "").strip() for name in (_RULE, _ORGANIZATION, _FILE))
    url, token = (environ.get(name, "") for name in _REQUEST_VARIABLES)
    parts = urlsplit(url)
    is_requestable = bool(token) and (parts.scheme == "https" or is_loopback(parts.hostname or ""))
    if not rule or not organization or not (file or is_requestable):
        return None
    account, workspace = (environ.get(f"ANTHROPIC_{name}_ID") or None for name in ("SERVICE_ACCOUNT", "WORKSPACE"))
    return Federation(
        rule=rule,
        organization=organization,
        service_account=account,
        workspace=workspace,
        file=Path(file) if file else None,
        url=None if file else url,
        token=None if file else token,
        audience=_AUDIENCE,
    )


class _FederationToken:
    """The token of a federation, renewed before it expires."""

    def __init__(self, federation: Federation, base_url: str) -> None:
        from anthropic.lib.credentials import TokenCache, WorkloadIdentityCredentials

        credentials = WorkloadIdentityCredentials(
            identity_token_provider=federation.identity,
            federation_rule_id=federation.rule,
            organization_id=federation.organization,
            service_account_id=federation.service_account,
            workspace_id=federation.workspace,
        )
        credentials.bind_base_url(base_url)
        self._cache = TokenCache(credentials)

    async def token(self) -> str:
        """Return a valid token.

        Raises:
            CredentialError: none could be obtained.
        """
        from anthropic import AnthropicError

        try:
            return await self._cache.async_get_token()
        except (AnthropicError, OSError, ValueError) as error:
            raise CredentialError(
                f"the provider gives no token for this run's identity ({error}); check {_RULE}, "
                f"{_ORGANIZATION}, and the rule's conditions"
            ) from None
