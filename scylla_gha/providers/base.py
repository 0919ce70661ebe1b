"""The interface of a model provider, and what the gateway knows of a request, whoever the provider is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from multidict import CIMultiDict
from pydantic import JsonValue

from scylla_gha.model.pricing import ModelInfo, ModelPrice
from scylla_gha.model.traffic import Component, ServerToolUse, Tokens
from scylla_gha.providers.federation import Federation

Body = dict[str, Any]
Spans = Callable[[str], list[tuple[int, int]]]
_EVENT_END: Final = b"\n\n"
_ROUNDING: Final = 1e-6  # of a token: sums of floats are not exact
MIN_LOWERED_TOKENS: Final = 8_192  # a limit is not lowered below this: a shorter answer is useless to an agent


class InvalidRequestError(ValueError):
    """A request that cannot be parsed unambiguously; the message is for the client."""


class CredentialError(Exception):
    """No token could be obtained, so the provider cannot be asked."""


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The highest cost of a request in USD: of the prompt, and of each token of an answer of `asked` tokens at most."""

    fixed: float
    each: float
    asked: int
    is_fixed: bool = False

    @property
    def least(self) -> int:
        """Return the lowest value that `asked` may be reduced to."""
        return self.asked if self.is_fixed else min(self.asked, MIN_LOWERED_TOKENS)

    def usd(self, tokens: int) -> float:
        """Return the cost with an answer of this many tokens."""
        return self.fixed + self.each * tokens

    def fits(self, usd: float) -> int:
        """Return how many answer tokens, up to `asked`, this much money buys beside the prompt."""
        if usd >= self.usd(self.asked):
            return self.asked
        return int((usd - self.fixed) / self.each + _ROUNDING) if self.each else 0


class CostTerms(Protocol):
    """The parts of a request that decide its cost and its permissions.

    Attributes:
        max_tokens: limit of the answer; None if the request sets none.
        tools: tools that run at the provider.
        fallbacks: models that may answer instead.
        edits: of the prompt by the provider, at a cost that is not known beforehand.
    """

    @property
    def max_tokens(self) -> int | None: ...  # noqa: D102
    @property
    def use(self) -> ServerToolUse: ...  # noqa: D102
    @property
    def caches(self) -> bool: ...  # noqa: D102
    @property
    def tools(self) -> frozenset[str]: ...  # noqa: D102
    @property
    def fallbacks(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def edits(self) -> tuple[str, ...]: ...  # noqa: D102

    def worst(self, model: ModelInfo, price: ModelPrice) -> WorstCase:
        """Return the highest cost of the request."""


@dataclass(frozen=True, slots=True)
class RequestDigests:
    """Digests that tell conversations apart: of the first message, of session and system prompt, of all messages."""

    opening: bytes = b""
    session: bytes = b""
    messages: bytes = b""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A parsed request.

    Attributes:
        body: the bytes that are sent to the provider.
        digest: the identity by which a recorded answer is found.
        counting: it only counts tokens.
        probing: it asks for one token, to see if it would be answered.
        lowered: the limit of answer tokens before and after it was lowered.
    """

    body: bytes
    model: str
    streamed: bool
    digest: str
    characters: dict[Component, int]
    counting: bool
    marks: RequestDigests
    terms: CostTerms
    probing: bool = False
    adjusted: tuple[str, ...] = ()
    unadjusted: tuple[str, ...] = ()
    lowered: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """Characters of all components."""
        return sum(self.characters.values())


@dataclass(frozen=True, slots=True)
class RateLimit:
    """What the head of a response says about rate limits; `status` is None if there is no response.

    Attributes:
        is_refusal: the same request should be sent again later.
        retry_after: seconds to wait before that; None if not stated.
        exhausted_seconds: until a limit is reset of which nothing is left; 0 if none is used up.
        account_seconds: until the account takes requests for any model again; 0 if it does now.
    """

    status: int | None = None
    is_refusal: bool = False
    retry_after: float | None = None
    exhausted_seconds: float = 0.0
    account_seconds: float = 0.0


NO_RESPONSE: Final = RateLimit()


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials in an environment: a key, a bearer token or an identity to exchange; all None if there is none."""

    api_key: str | None = field(default=None, repr=False)
    bearer: str | None = field(default=None, repr=False)
    federation: Federation | None = None

    def __bool__(self) -> bool:
        """Tell if there is any."""
        return bool(self.api_key or self.bearer or self.federation)


class UsageReader(Protocol):
    """Reader of one response, fed with its bytes as they pass.

    Attributes:
        complete: its last event, or the whole body, was read.
        malformed: an event or the body was not a JSON object.
        error: the type of the error that it reports.
        stop_reason: `tool_use` if the model asked for a tool.
    """

    streamed: bool
    complete: bool
    malformed: bool
    error: str | None
    stop_reason: str | None

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes."""

    def end(self) -> None:
        """Note that the response has ended."""

    @property
    def tokens(self) -> Tokens | None:
        """Tokens by kind; None if unknown."""

    @property
    def use(self) -> ServerToolUse:
        """What costs money beside the tokens, or multiplies their price."""


class TokenSource(Protocol):
    """Source of short-lived tokens."""

    async def token(self) -> str:
        """Return a valid token.

        Raises:
            CredentialError: none could be obtained.
        """


class Provider(Protocol):
    """A model API.

    Attributes:
        base_url: where it is asked if `base_url_variable` is not set.
        credential_variables: environment variables with a key or token, in order of precedence.
        federation_variable: the variable that configures an identity exchange.
        secret_variables: all environment variables that must be hidden from started processes.
        routes: paths of POST requests.
    """

    base_url: str
    base_url_variable: str
    credential_variables: tuple[str, ...]
    federation_variable: str
    secret_variables: tuple[str, ...]
    routes: tuple[str, ...]

    def credentials(self, environ: Mapping[str, str]) -> Credentials:
        """Read the credentials in an environment."""

    def is_subscription(self, bearer: str | None) -> bool:
        """Tell if a bearer token is of a subscription."""

    def token_source(self, federation: Federation, base_url: str) -> TokenSource:
        """Return the source of tokens for an identity."""

    def new_session_token(self) -> str:
        """Return a random dummy key in the provider's form."""

    def session_token(self, headers: Mapping[str, str]) -> str:
        """Return the dummy key of a client's request, or an empty string."""

    def request_headers(self, headers: Mapping[str, str], credentials: Credentials) -> CIMultiDict[str]:
        """Return the headers to send to the provider for a client's headers."""

    def error_body(self, kind: str, message: str) -> bytes:
        """Return an error body in the provider's form, so that every client shows its message."""

    def parse(self, path: str, body: bytes, hide: Callable[[bytes], bytes]) -> ModelRequest:
        """Parse a request to one of `routes`; `hide` replaces what differs between equal runs.

        Raises:
            InvalidRequestError: it cannot be parsed unambiguously.
        """

    def with_settings(
        self, request: ModelRequest, settings: dict[str, JsonValue], model: ModelInfo | None
    ) -> ModelRequest:
        """Return the request with those settings that its model accepts."""

    def with_max_tokens(self, request: ModelRequest, max_tokens: int) -> ModelRequest:
        """Return the request with an answer of at most `max_tokens`."""

    def rate_limit(self, status: int, headers: Mapping[str, str]) -> RateLimit:
        """Read what a response's head says about rate limits."""

    def usage_reader(self, *, streamed: bool) -> UsageReader:
        """Return a reader for one response."""

    def join_split(self, body: bytes, spans: Spans) -> bytes:
        """Return a stream in which no span of its texts (from, to) is split over events."""


def split_events(body: bytes) -> list[bytes]:
    """Split a stream into its events, each with its end."""
    *events, rest = body.split(_EVENT_END)
    return [event + _EVENT_END for event in events] + ([rest] if rest else [])
