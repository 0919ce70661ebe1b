"""Protocols of model providers and of API styles, and the parsed form of a request."""

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from multidict import CIMultiDict
from pydantic import JsonValue

from scylla_gha.lenient_json import InvalidJsonError, parse_json
from scylla_gha.model.traffic import Component, ModelInfo, ModelPrice, ServerToolUse, Tokens
from scylla_gha.providers.credentials import CredentialError, Credentials, Federation, TokenSource

Body = dict[str, Any]
Spans = Callable[[str], list[tuple[int, int]]]
Circumstances = Sequence[tuple[re.Pattern[bytes], bytes]]  # patterns to replace in a request's JSON, and replacements
_EVENT_END: Final = b"\n\n"
_ROUNDING_TOKENS: Final = 1e-6  # of a token: sums of floats are not exact
_TOKENS_PER_USE: Final = 10_000  # a guess: tokens that one use of a provider's tool adds to the prompt
_DEFAULT_MAX_OUTPUT_TOKENS: Final = 128_000  # of a model whose own limit is not known
CUT_BY_LIMIT: Final = frozenset({"max_tokens", "length", "max_output_tokens", "MAX_TOKENS"})  # stop reasons, by style
USES_TOOL: Final = "tool_use"  # stop reason of an answer that calls a tool, in all styles
_TOKEN_BYTES: Final = 36
MIN_LOWERED_TOKENS: Final = 8_192  # a limit is not lowered below this: a shorter answer is useless to an agent


class InvalidRequestError(ValueError):
    """A request that cannot be parsed unambiguously; the message is for the client."""


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The highest cost of a request in USD: of its prompt, and of each token of its answer.

    Attributes:
        asked: limit of the answer in tokens.
        is_fixed: the request names no limit, and none can be put in.
    """

    prompt_usd: float
    token_usd: float
    asked: int
    is_fixed: bool = False

    @property
    def least(self) -> int:
        """Return the lowest value that `asked` may be reduced to."""
        return self.asked if self.is_fixed else min(self.asked, MIN_LOWERED_TOKENS)

    def usd(self, tokens: int) -> float:
        """Return the cost with an answer of this many tokens."""
        return self.prompt_usd + self.token_usd * tokens

    def fits(self, usd: float) -> int:
        """Return how many answer tokens, at most `asked`, this amount pays for in addition to the prompt."""
        if usd >= self.usd(self.asked):
            return self.asked
        return int((usd - self.prompt_usd) / self.token_usd + _ROUNDING_TOKENS) if self.token_usd else 0


@dataclass(frozen=True, slots=True)
class CostTerms:
    """The parts of a request that decide its cost and its permissions.

    Attributes:
        max_tokens: limit of the answer; None if the request sets none.
        prompt_tokens: upper bound of the prompt's tokens, regardless of the model's limit.
        caches: the request may ask the provider to cache parts of it.
        uses: how often tools may run at the provider.
        tools: tools that run at the provider.
        fallbacks: models that may answer instead.
        edits: edits of the prompt by the provider, whose cost is not known beforehand.
        limitable: a limit of the answer can be put into a request that has none.
    """

    max_tokens: int | None
    prompt_tokens: int
    caches: bool
    use: ServerToolUse
    uses: int
    tools: frozenset[str]
    fallbacks: tuple[str, ...]
    edits: tuple[str, ...]
    limitable: bool = False

    def worst(self, model: ModelInfo, price: ModelPrice) -> WorstCase:
        """Return the highest cost of the request; the model refuses a prompt above its limit, at no cost."""
        # each use of a tool is a further pass over the prompt and the results of earlier uses
        prompt = min(self.prompt_tokens, model.context_tokens) * (1 + self.uses)
        prompt += _TOKENS_PER_USE * self.uses * (self.uses + 1) // 2
        prompt_usd = price.worst(prompt, 0, self.use, caches=self.caches)
        token_usd = price.worst(prompt, 1, self.use, caches=self.caches) - prompt_usd
        most = model.max_output_tokens or _DEFAULT_MAX_OUTPUT_TOKENS
        asked = most if self.max_tokens is None else self.max_tokens
        is_fixed = self.max_tokens is None and not self.limitable
        return WorstCase(prompt_usd, token_usd, asked, is_fixed=is_fixed)


@dataclass(frozen=True, slots=True)
class ConversationDigests:
    """Digests that tell conversations apart: of the first message, of session and system prompt, of all messages.

    `client` is of the client's session alone, which its sub-agents share; empty if the request states none.
    `shorter` are digests of the first message's beginnings: a client that keeps no answer without a tool call, such as
    mini-swe-agent, adds what it says about the answer to the messages before it.
    """

    opening: bytes = b""
    shorter: tuple[bytes, ...] = ()
    session: bytes = b""
    client: bytes = b""
    messages: bytes = b""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a tool call in a request: the call's id, the text (cut), and if the client states an error."""

    call: str
    text: str
    failed: bool


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """Call of a tool in an answer; `arguments` is empty if they are not needed or cannot be read."""

    id: str
    tool: str
    arguments: Body = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A parsed request.

    Attributes:
        body: the bytes that are sent to the provider.
        digest: the identity by which a recorded answer is found.
        characters: number of characters of its text, by component.
        conversation: digests that tell its conversation from others.
        counting: it only counts tokens.
        probing: it asks for one token, to see if it would be answered.
        lowered: the limit of answer tokens before and after it was lowered.
        loaded_tools: deferred tools whose definitions the conversation has loaded.
        results: results of tool calls after the last answer in the conversation.
        hides_usage: the gateway asked for the usage in a stream, so the event with it is not for the client.
    """

    body: bytes
    model: str
    streamed: bool
    digest: str
    characters: dict[Component, int]
    counting: bool
    conversation: ConversationDigests
    terms: CostTerms
    probing: bool = False
    adjusted: tuple[str, ...] = ()
    unadjusted: tuple[str, ...] = ()
    lowered: tuple[int, int] | None = None
    loaded_tools: tuple[str, ...] = ()
    results: tuple[ToolResult, ...] = ()
    hides_usage: bool = False

    @property
    def size(self) -> int:
        """Characters of all components."""
        return sum(self.characters.values())


@dataclass(frozen=True, slots=True)
class ModelQuestion:
    """A question that the toolkit itself asks a model, without tools.

    Attributes:
        temperature: None: the model uses its own.
        is_json: the answer should be one JSON object; where the API has a mode for that, it is asked for.
    """

    model: str
    system: str
    user: str
    max_tokens: int
    temperature: float | None = None
    is_json: bool = True


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Rate limits as the head of a response states them; `status` is None if there is no response.

    Attributes:
        is_refusal: the same request should be sent again later.
        retry_after: seconds to wait before that; None if not stated.
        exhausted_seconds: seconds until an exhausted limit is reset; 0 if no limit is exhausted.
        account_seconds: seconds until the account takes requests for any model again; 0 if it does now.
    """

    status: int | None = None
    is_refusal: bool = False
    retry_after: float | None = None
    exhausted_seconds: float = 0.0
    account_seconds: float = 0.0


NO_RESPONSE: Final = RateLimit()


class UsageReader(Protocol):
    """Reader of one response, fed with its bytes as they pass.

    Attributes:
        complete: its last event, or the whole body, was read.
        malformed: an event was not a JSON object, or a whole body was neither an answer nor an error.
        error: the type of the error that it reports.
        stop_reason: `tool_use` if the model asked for a tool, `refusal` if it refused.
        texts: pieces of the answer's text, without its thinking; empty if they are not kept.
        has_call, has_gap: a call of a tool has begun; a part of the answer could not be read.
    """

    has_call: bool
    has_gap: bool
    streamed: bool
    complete: bool
    malformed: bool
    error: str | None
    stop_reason: str | None
    texts: list[str]

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes."""

    def end(self) -> None:
        """Note that the response has ended."""

    @property
    def calls(self) -> tuple[ToolRequest, ...]:
        """Calls of tools in the answer; none unless the answer is whole and without an error."""

    @property
    def begun_calls(self) -> dict[object, ToolRequest]:
        """Calls of tools that have begun, by a key for `ApiStyle.replace_arguments`."""

    @property
    def tokens(self) -> Tokens | None:
        """Tokens by kind; None if unknown."""

    @property
    def use(self) -> ServerToolUse:
        """Use of server tools and service tiers: costs in addition to tokens, and factors of the token price."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model in a provider's own list, with what the list states: limits, and prices in USD per million tokens."""

    id: str
    context_tokens: int | None = None
    max_output_tokens: int | None = None
    prices: Mapping[str, float] = field(default_factory=dict)


class ApiStyle(Protocol):
    """A form of requests and responses, such as the Messages API. Several providers may serve it.

    Attributes:
        name: its name, by which agents state the styles that they speak.
        routes: paths of POST requests, as patterns of aiohttp: `{model}` is a part that differs.
        list_routes: paths of GET requests for lists of models, which the gateway answers itself.
        ends: stop reasons of answers that the model ended by itself.
    """

    name: str
    routes: tuple[str, ...]
    list_routes: tuple[str, ...]
    ends: frozenset[str]

    def url(self, base_url: str, target: str, model: str) -> str:
        """Return where a request is sent.

        Args:
            base_url: address of the provider, without a slash at the end.
            target: path and query of the client's request.
            model: id of the requested model.
        """

    def list_target(self, after: str | None) -> str:
        """Return path and query of a page of the provider's list of models; `after` is from the page before it."""

    def read_list(self, page: Body) -> tuple[list[ListedModel], str | None] | None:
        """Read a page of a list of models, and what the next page is asked with; None if it is not such a page."""

    def session_token(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str:
        """Return the dummy key of a client's request, or an empty string."""

    def request_headers(self, headers: Mapping[str, str], credentials: Credentials) -> CIMultiDict[str]:
        """Return the headers to send to the provider for a client's headers."""

    def error_body(self, status: int, kind: str, message: str) -> bytes:
        """Return an error body in the style's form, so that every client shows its message."""

    def models_body(self, models: Mapping[str, ModelInfo | None], name: str | None) -> bytes | None:
        """Return the list of models by id (None: unknown), or the model of this name; None if the list lacks it."""

    def parse(
        self, path: str, body: bytes, hide: Callable[[bytes], bytes], circumstances: Circumstances = ()
    ) -> ModelRequest:
        """Parse a request to one of `routes`.

        Args:
            path: path of the request, without its query.
            body: the bytes that the client sent.
            hide: replaces folders and secrets, which differ between runs.
            circumstances: further texts that differ between runs, and are left out of the request's identity.

        Raises:
            InvalidRequestError: it cannot be parsed unambiguously.
        """

    def with_settings(
        self, request: ModelRequest, settings: dict[str, JsonValue], model: ModelInfo | None
    ) -> ModelRequest:
        """Return the request with the settings that its model accepts."""

    def with_max_tokens(self, request: ModelRequest, max_tokens: int) -> ModelRequest:
        """Return the request with an answer of at most `max_tokens`."""

    def with_model(self, request: ModelRequest, model: str) -> ModelRequest:
        """Return the request for the model whose alias it names."""

    def rate_limit(self, status: int, headers: Mapping[str, str], body: bytes = b"") -> RateLimit:
        """Read the rate limits from a response's status and headers, and from the body of an error."""

    def ask(self, question: ModelQuestion) -> tuple[str, Body]:
        """Return path and body of a request that asks a question and wants the answer as a stream."""

    def usage_reader(self, *, streamed: bool, reads: Callable[[str], bool], keeps_texts: bool = False) -> UsageReader:
        """Return a reader for one response.

        Args:
            streamed: the response is a stream.
            reads: tells if the arguments of a tool's calls are needed.
            keeps_texts: keep the text of a streamed answer.
        """

    def client_filter(self, request: ModelRequest) -> Callable[[bytes], bytes] | None:
        """Return a function that removes from an answer's bytes what the client did not ask for; None: nothing.

        It is called with each piece as it comes, and returns what is complete of it; an empty piece ends the answer.
        """

    def replace_arguments(self, body: bytes, arguments: Mapping[object, Body], *, streamed: bool) -> bytes:
        """Return the answer from its first call on with other arguments of calls, by the keys of `begun_calls`."""

    def join_split(self, body: bytes, spans: Spans) -> bytes:
        """Return the stream, changed so that no span (from, to) of its texts is split over events."""


class Provider(Protocol):
    """A server of models, with its address and credentials.

    Attributes:
        styles: API styles that it serves, by name.
        base_url: its address if `base_url_variable` is not set.
        needs_key: False: its address in `base_url_variable` gives access, with or without a key.
        credential_variables: environment variables with a key or token, in order of precedence; the first is its key.
        federation_variables: variables that an identity exchange needs; empty if it has none.
    """

    styles: Mapping[str, ApiStyle]
    base_url: str
    base_url_variable: str
    needs_key: bool
    credential_variables: tuple[str, ...]
    federation_variables: tuple[str, ...]

    @property
    def secret_variables(self) -> tuple[str, ...]:
        """All environment variables that must be hidden from started processes."""

    def credentials(self, environ: Mapping[str, str]) -> Credentials:
        """Read the credentials in an environment."""

    def is_subscription(self, bearer: str | None) -> bool:
        """Tell if a bearer token belongs to a subscription."""

    def token_source(self, federation: Federation, base_url: str) -> TokenSource:
        """Return the source of tokens for an identity."""

    def new_session_token(self) -> str:
        """Return a random dummy key in the provider's form."""


class KeyProvider:
    """A provider whose access is a key in one environment variable, which is sent as a bearer token."""

    styles: Mapping[str, ApiStyle]
    base_url: str
    base_url_variable: str
    credential_variables: tuple[str, ...]
    needs_key: bool = True
    federation_variables: tuple[str, ...] = ()

    @property
    def secret_variables(self) -> tuple[str, ...]:
        """Variables with the provider's key."""
        return self.credential_variables

    def credentials(self, environ: Mapping[str, str]) -> Credentials:
        """Read the key."""
        return Credentials(bearer=next((key for name in self.credential_variables if (key := environ.get(name))), None))

    def is_subscription(self, bearer: str | None) -> bool:  # noqa: ARG002 the Protocol's signature
        """Return False: every token is billed."""
        return False

    def token_source(self, federation: Federation, base_url: str) -> TokenSource:  # noqa: ARG002 the same
        """Refuse: there is no exchange of identities.

        Raises:
            CredentialError: always.
        """
        raise CredentialError(f"{base_url} exchanges no identity for a token; set {self.credential_variables[0]}")

    def new_session_token(self) -> str:
        """Return a random dummy key."""
        return f"sk-{secrets.token_urlsafe(_TOKEN_BYTES)}"


def parse_object(text: bytes | bytearray | str, *, keep_non_finite: bool = False) -> Body | None:
    """Parse a JSON object that an agent CLI or a provider wrote; None for other text."""
    try:
        content = parse_json(text, keep_non_finite=keep_non_finite)
    except InvalidJsonError:
        return None
    return content if isinstance(content, dict) else None


def objects(content: object) -> list[Body]:
    """Return the objects of a list; none if it is not a list."""
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def split_events(body: bytes) -> list[bytes]:
    """Split a stream into its events, each with its end."""
    *events, rest = body.split(_EVENT_END)
    return [event + _EVENT_END for event in events] + ([rest] if rest else [])
