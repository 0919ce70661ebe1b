"""Models and their traffic: tokens, prices, and the request log of the gateway."""

import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from scylla_gha.model import Amounts, Record, Slug, Text
from scylla_gha.model.safety_net import SafetyNetSummary
from scylla_gha.model.trial import SessionEnd, Usage

_MILLION = 1_000_000
_USD_OF_A_SEARCH: Final = 0.01  # $10 for 1,000 (platform.claude.com/docs, pricing, web search tool, 2026-11-22)
# Price factor of inference in one region (the same page, data residency, 2026-11-22).
_REGIONS: Final = {"global": 1.0, "not_available": 1.0, "us": 1.1}
# Factor for budgets if the price of a speed, tier or region is unknown; no provider charges as much.
_UNKNOWN_AT_MOST: Final = 6.0
# Factor on the input price for budgets, for cache tokens of unknown price; no provider charges more.
_CACHE_AT_MOST = 2.0

_PRICED: Final = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")  # kinds of tokens

Role = Literal["agent", "judge"]
Component = Literal["system_prompt", "tool_schemas", "tool_input", "tool_output", "conversation"]
Rate = Annotated[float, Field(ge=0)]


class Tokens(Amounts):
    """Tokens by kind; `input` counts tokens that are neither read from the cache nor written to it.

    A provider's cache has entries of a short life (Anthropic: 5 minutes; OpenAI: 30) and of a long one (1 hour; 12).
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = Field(default=0, description="Tokens written to cache entries with a short life")
    cache_write_1h: int = Field(default=0, description="Tokens written to cache entries with a long life")
    reasoning: int | None = Field(
        default=None,
        exclude_if=lambda tokens: tokens is None,
        description="Part of `output` that the model used to reason; None: the provider does not state it",
    )

    @property
    def prompt(self) -> int:
        """Number of tokens of the prompt, cached or not."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    @property
    def total(self) -> int:
        """Tokens of all kinds, as a token budget counts them."""
        return self.prompt + self.output


class ServerToolUse(Record):
    """Parts of an answer that cost extra or multiply the token price, in the terms of the Messages API."""

    speed: str = "standard"
    tier: str = "standard"
    region: str = "global"
    searches: int = Field(default=0, ge=0, description="Number of web searches by the provider")
    unpriced: bool = Field(
        default=False, description="True if another model, or a tool without a known price, took part in the answer"
    )


_USUAL: Final = ServerToolUse()


class Rates(Record):
    """USD per million tokens, by kind; null if the source does not state it."""

    input: Rate
    output: Rate
    cache_read: Rate | None
    cache_write_5m: Rate | None = Field(
        description="Price of cache entries with a short life (Anthropic: five minutes, OpenAI: 30), in USD per "
        "million tokens; null: unknown"
    )
    cache_write_1h: Rate | None = Field(
        description="Price of cache entries with a long life (Anthropic: an hour, OpenAI: 12), in USD per million "
        "tokens; null: unknown"
    )

    def cost(self, tokens: Tokens) -> float | None:
        """Return the cost of the tokens in USD; None if the price of a kind is unknown."""
        used = [(count, getattr(self, kind)) for kind in _PRICED if (count := getattr(tokens, kind))]
        if any(rate is None for _, rate in used):
            return None
        return float(sum(count * rate for count, rate in used)) / _MILLION

    def at_most(self) -> "Rates":
        """Return the rates with a high guess for each unknown price, for budgets but never for a reported cost."""
        guess = self.input * _CACHE_AT_MOST
        return Rates.model_validate(
            {kind: guess if getattr(self, kind) is None else getattr(self, kind) for kind in _PRICED}
        )


class LongRates(Rates):
    """Rates of a request whose prompt is longer than `prompt_tokens`."""

    prompt_tokens: int = Field(
        gt=0, description="Number of prompt tokens, cached ones included, above which these prices apply"
    )


class ModelPrice(Rates):
    """USD per million tokens, with date and source."""

    above: LongRates | None = Field(
        default=None, description="Prices of requests with a longer prompt; null: the same prices"
    )
    fast: float | None = Field(
        default=None, gt=0, description="Factor of fast mode on these prices; null: not offered, or unknown"
    )
    date: datetime.date
    source: Text

    @property
    def is_free(self) -> bool:
        """True if no token costs anything, so that a cost is known even if the number of tokens is not."""
        return self.above is None and not any(getattr(self, kind) is None or getattr(self, kind) for kind in _PRICED)

    def usd(self, tokens: Tokens, use: ServerToolUse = _USUAL) -> float | None:
        """Return the cost of one request in USD; None if a necessary price is unknown."""
        cost, factor = self._rates(tokens).cost(tokens), self.factor(use)
        return None if cost is None or factor is None or use.unpriced else cost * factor + _extra(use)

    def usd_at_most(self, tokens: Tokens, use: ServerToolUse = _USUAL) -> float:
        """Return the USD that a request takes from budgets: its cost, or a high guess if the cost is unknown."""
        cost, factor = self._rates(tokens).at_most().cost(tokens) or 0.0, self.factor(use)
        return cost * (_UNKNOWN_AT_MOST if factor is None or use.unpriced else factor) + _extra(use)

    def worst(self, prompt: int, output: int, use: ServerToolUse = _USUAL, *, caches: bool = True) -> float:
        """Return the highest possible cost of a request with at most this number of prompt and answer tokens.

        With `caches` the prompt is charged at the highest price of all kinds of prompt tokens.
        """
        rates = self._rates(Tokens(input=prompt)).at_most()
        kinds = [rates.input, rates.cache_read or 0.0, rates.cache_write_5m or 0.0, rates.cache_write_1h or 0.0]
        dearest = max(kinds) if caches else rates.input
        factor = self.factor(use)
        tokens_usd = (prompt * dearest + output * rates.output) / _MILLION
        return tokens_usd * (_UNKNOWN_AT_MOST if factor is None else factor) + _extra(use)

    def factor(self, use: ServerToolUse) -> float | None:
        """Return the factor of speed, tier and region on the prices; None if it is unknown."""
        speed = 1.0 if use.speed == "standard" else self.fast if use.speed == "fast" else None
        region = _REGIONS.get(use.region)
        return None if speed is None or region is None or use.tier != "standard" else speed * region

    def _rates(self, tokens: Tokens) -> Rates:
        if self.above is not None and tokens.prompt > self.above.prompt_tokens:
            return self.above
        return self


FREE: Final = ModelPrice(
    input=0,
    output=0,
    cache_read=0,
    cache_write_5m=0,
    cache_write_1h=0,
    date=datetime.date(2026, 11, 28),
    source="a server of your own charges nothing",
)


def _extra(use: ServerToolUse) -> float:
    """Return the cost of web searches; fetched pages and code execution cost only tokens."""
    return use.searches * _USD_OF_A_SEARCH


class ModelInfo(Record):
    """A model (`config/models/<file>.yaml`). An unknown price makes a cost unknown, never 0."""

    id: Text
    provider: Text
    context_tokens: Annotated[int, Field(gt=0)]
    max_output_tokens: int | None = Field(
        default=None, gt=0, description="Maximum of max_tokens in a request; null: unknown"
    )
    retires: datetime.date | None = Field(default=None, description="Last day of service; null: unknown")
    price: ModelPrice | None = None
    accepts: tuple[Literal["temperature", "max_tokens"], ...] = Field(
        default=("temperature", "max_tokens"), description="Settings that requests to the model may have"
    )


class PriceList(Record):
    """Named list of prices on a date (`config/prices/<name>.yaml`), used instead of the models' own."""

    name: Slug
    date: datetime.date
    source: Text
    prices: dict[str, Rates] = Field(min_length=1, description="Prices by model id, in USD per million tokens")

    def of(self, model: str) -> ModelPrice | None:
        """Return the price of a model; None if the list does not name it."""
        rates = self.prices.get(model)
        return None if rates is None else ModelPrice(**rates.model_dump(), date=self.date, source=self.source)


class ToolWatch(Record):
    """Tool calls of an agent that the gateway notes, to find out which resources were used."""

    tools: dict[str, tuple[str, ...]] = Field(
        default={},
        description="Arguments to note, by the tool's name, or by the beginning of names followed by *",
    )
    texts: dict[str, str] = Field(
        default={}, description="Texts to find in the results of any tool, by the resource of the text"
    )

    def arguments(self, tool: str) -> tuple[str, ...] | None:
        """Return the names of a tool's arguments to note; None if its calls are not noted."""
        names = self.tools.get(tool)
        if names is not None:
            return names
        starts = (start for start in self.tools if start.endswith("*") and tool.startswith(start[:-1]))
        return next((self.tools[start] for start in starts), None)


class StopRule(Record):
    """Calls that decide a session: at the last of them, or after some answers, the gateway ends it."""

    tool: Text
    argument: Text = Field(description="Argument of the tool's calls that has a name")
    names: tuple[tuple[Text, ...], ...] = Field(
        min_length=1, description="Names that must all be called, each with its spellings; another spelling is no call"
    )
    answers: int = Field(
        gt=0,
        description="Number of whole answers of the main conversation after which the session ends undecided, "
        "if the last of them asks for a tool",
    )


class AnswerCall(Record):
    """Call of a tool in a complete answer of the provider."""

    id: str
    tool: str
    arguments: dict[str, str] = Field(default={}, description="Noted arguments that are texts, which may be cut")


class CallResult(Record):
    """Result of a tool call, as in the next request."""

    call: str = Field(description="Id of the call")
    text: str = Field(description="Beginning of the result's text")
    failed: bool = Field(default=False, description="True if the agent CLI reports an error")


class WatchedCall(Record):
    """Noted call of a tool, with its result."""

    tool: str
    arguments: dict[str, str]
    turn: int = Field(
        description="Number of the main conversation's turn in or after which the call was made; 0: before any"
    )
    result: CallResult | None = Field(default=None, description="Result of the call; None: no later request has one")
    is_last: bool = Field(
        default=False, description="True if the gateway ended the session at the answer with the call"
    )


class WatchedTraffic(Record):
    """Calls and texts that the gateway noted by a `ToolWatch`, in chronological order."""

    calls: tuple[WatchedCall, ...] = ()
    shown: dict[str, int] = Field(
        default={},
        description="Turn in or after which a call first had a result with the resource's text, by resource",
    )


class RequestRecord(Record):
    """A request, logged before it is forwarded."""

    kind: Literal["asked"] = "asked"
    number: int = Field(ge=1, description="Number of the request within its session, from 1")
    at: datetime.datetime
    role: Role
    model: str
    digest: str = Field(description="Digest of the normalised request, the key of its answer in a recording")
    characters: dict[Component, int] = Field(description="Number of characters of the request's text, by component")
    adjusted: tuple[str, ...] = Field(
        default=(), description="Configured settings that the gateway added to the request"
    )
    unadjusted: tuple[str, ...] = Field(default=(), description="Configured settings that the model does not accept")
    counting: bool = Field(default=False, description="True if the request only counts tokens, which costs nothing")
    turn: int | None = Field(
        default=None,
        description=(
            "Number of the turn in the main conversation, equal for repeated requests; None: another conversation"
        ),
    )
    streamed: bool = Field(default=True, description="True if the answer was requested as a stream")
    lowered: tuple[int, int] | None = Field(
        default=None,
        description="max_tokens as requested and as sent, lowered to fit the budgets; None: not lowered",
    )
    reserved_usd: float | None = Field(
        default=None, description="Highest possible cost in USD, reserved in the budgets; None: nothing was reserved"
    )
    loaded_tools: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda names: not names,
        description="Deferred tools whose definitions the conversation has loaded",
    )
    results: tuple[CallResult, ...] = Field(
        default=(),
        exclude_if=lambda results: not results,
        description="Results of noted calls that no earlier request contains",
    )
    shown: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda names: not names,
        description="Resources whose text is in the result of a tool call",
    )


class ResponseRecord(Record):
    """End of a request: the response and its cost."""

    kind: Literal["answered"] = "answered"
    number: Annotated[int, Field(ge=1)]
    source: Literal["live", "replay", "refused"]
    status: int | None = Field(description="HTTP status of the answer; None: the provider was not reached")
    error: str | None = Field(default=None, description="Error type of the provider or of the gateway; None: no error")
    complete: bool = Field(description="True if the answer was received to its end")
    tokens: Tokens | None = None
    usd: float | None = Field(description="Cost in USD; None: unknown, since a price is unknown or the answer was cut")
    charged_usd: float | None = Field(
        default=None, description="Amount in USD that budgets are charged if `usd` is unknown"
    )
    use: ServerToolUse | None = Field(
        default=None, description="Extra-cost features of the answer; None: only tokens at their usual prices"
    )
    stop_reason: str | None = Field(default=None, description="Reason why the model stopped, in the provider's words")
    calls: tuple[AnswerCall, ...] = Field(
        default=(), exclude_if=lambda calls: not calls, description="Noted calls of tools in a complete answer"
    )
    ends: SessionEnd | None = Field(
        default=None,
        exclude_if=lambda ends: ends is None,
        description="How the session's stop rule ended it at this answer; None: it did not",
    )
    safety_net: SafetyNetSummary | None = Field(
        default=None,
        exclude_if=lambda summary: summary is None,
        description="Calls of the answer that the safety net judged; None: it judged none",
    )
    retries: int = Field(default=0, description="Number of times that the gateway repeated the request")
    met: tuple[str, ...] = Field(default=(), description="Fault of each failed try: an HTTP status, or `unreachable`")
    crowded: bool = Field(
        default=False,
        description=(
            "True if the request met a rate limit, or waited for a budget, while other requests of its session ran"
        ),
    )
    exhausting: bool = Field(default=False, description="True if the answer reports an exhausted rate limit")
    fault: str | None = Field(
        default=None,
        description="Final failure of the provider: all tries failed, or the answer was broken; None: no failure",
    )
    waited_seconds: float = Field(
        default=0.0, description="Time in seconds of waiting for rate limits before the last try"
    )
    first_byte_seconds: float | None = Field(
        default=None, description="Time in seconds from the last try to the first byte; None: no answer"
    )
    seconds: float = Field(description="Time in seconds from the last try to the end of the answer")
    silent_seconds: float | None = Field(
        default=None,
        exclude_if=lambda seconds: seconds is None,
        description="Time in seconds without a byte at the end of an incomplete answer; None: the answer is complete, "
        "did not begin, or the client did not read it",
    )

    @property
    def usage(self) -> Usage:
        """Tokens by kind and cost; unknown without the provider's count."""
        if self.tokens is None:
            return Usage(usd=self.usd)
        return Usage(
            input_tokens=self.tokens.input,
            output_tokens=self.tokens.output,
            cache_read_tokens=self.tokens.cache_read,
            cache_write_tokens=self.tokens.cache_write_5m + self.tokens.cache_write_1h,
            usd=self.usd,
        )
