"""Models and their traffic: tokens, prices, and the request log of the gateway."""

import datetime
from typing import Annotated, Final, Literal

from pydantic import Field

from scylla_gha.model import Amounts, Record, Slug, Text
from scylla_gha.model.trial import Usage

_MILLION = 1_000_000
_USD_OF_A_SEARCH: Final = 0.01  # $10 for 1,000 (platform.claude.com/docs, pricing, web search tool, 2026-11-22)
# What inference in one region costs, in prices of inference anywhere (the same page, data residency, 2026-11-22).
_REGIONS: Final = {"global": 1.0, "not_available": 1.0, "us": 1.1}
# What a budget is charged where the price of a speed, a tier or a region is not known: no provider asks as much.
_UNKNOWN_AT_MOST: Final = 6.0
# What a budget is charged for a token of the cache whose price is not known, in prices of uncached ones: no less than
# any provider asks.
_CACHE_AT_MOST = 2.0

Role = Literal["agent", "judge"]
Component = Literal["system_prompt", "tool_schemas", "tool_input", "tool_output", "conversation"]
Rate = Annotated[float, Field(ge=0)]


class Tokens(Amounts):
    """Tokens by kind; `input` counts those neither read from the cache nor written to it."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0

    @property
    def prompt(self) -> int:
        """Length of the prompt, cached or not."""
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
    searches: Annotated[int, Field(ge=0, description="of the web, by the provider")] = 0
    unpriced: Annotated[bool, Field(description="another model, or a tool without a known price, had a part in it")] = (
        False
    )


_USUAL: Final = ServerToolUse()


class Rates(Record):
    """USD per million tokens, by kind; null if the source does not say."""

    input: Rate
    output: Rate
    cache_read: Rate | None
    cache_write_5m: Annotated[Rate | None, Field(description="USD per million tokens, for a lifetime of five minutes")]
    cache_write_1h: Annotated[Rate | None, Field(description="USD per million tokens, for a lifetime of an hour")]

    def cost(self, tokens: Tokens) -> float | None:
        """Return the cost of the tokens in USD; None if one of their kinds has no known price."""
        used = [(count, getattr(self, kind)) for kind in Tokens.model_fields if (count := getattr(tokens, kind))]
        if any(rate is None for _, rate in used):
            return None
        return float(sum(count * rate for count, rate in used)) / _MILLION

    def at_most(self) -> "Rates":
        """Return the same with a high guess for each unknown price: for budgets, never for a reported cost."""
        guess = self.input * _CACHE_AT_MOST
        return Rates.model_validate(
            {kind: guess if getattr(self, kind) is None else getattr(self, kind) for kind in Tokens.model_fields}
        )


class LongRates(Rates):
    """Rates of a request whose prompt is longer than `prompt_tokens`."""

    prompt_tokens: Annotated[int, Field(gt=0, description="uncached, read from the cache and written to it together")]


class ModelPrice(Rates):
    """USD per million tokens, with date and source."""

    above: Annotated[LongRates | None, Field(description="instead of these, for a request with a longer prompt")] = None
    fast: Annotated[
        float | None, Field(gt=0, description="what fast mode costs, in these prices; null: not offered, or not known")
    ] = None
    date: datetime.date
    source: Text

    def usd(self, tokens: Tokens, use: ServerToolUse = _USUAL) -> float | None:
        """Return the cost of one request; None if a price that it needs is unknown."""
        cost, factor = self._rates(tokens).cost(tokens), self.factor(use)
        return None if cost is None or factor is None or use.unpriced else cost * factor + _extra(use)

    def usd_at_most(self, tokens: Tokens, use: ServerToolUse = _USUAL) -> float:
        """Return what one request is charged to budgets: its cost, or a high guess if that is unknown."""
        cost, factor = self._rates(tokens).at_most().cost(tokens) or 0.0, self.factor(use)
        return cost * (_UNKNOWN_AT_MOST if factor is None or use.unpriced else factor) + _extra(use)

    def worst(self, prompt: int, output: int, use: ServerToolUse = _USUAL, *, caches: bool = True) -> float:
        """Return the highest possible cost of a request with at most so many prompt and answer tokens.

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


def _extra(use: ServerToolUse) -> float:
    """Return the cost beside tokens: searches. Fetched pages and code execution beside them are free."""
    return use.searches * _USD_OF_A_SEARCH


class ModelInfo(Record):
    """A model (`config/models/<file>.yaml`). An unknown price makes a cost unknown, never 0."""

    id: Text
    provider: Text
    context_tokens: Annotated[int, Field(gt=0)]
    max_output_tokens: Annotated[int | None, Field(gt=0, description="Highest max_tokens of a request")] = None
    retires: Annotated[datetime.date | None, Field(description="Last day of service, if known")] = None
    price: ModelPrice | None = None
    accepts: Annotated[
        tuple[Literal["temperature", "max_tokens"], ...], Field(description="Settings that its requests may carry")
    ] = ("temperature", "max_tokens")


class PriceList(Record):
    """Named list of prices on a date (`config/prices/<name>.yaml`), used instead of the models' own."""

    name: Slug
    date: datetime.date
    source: Text
    prices: Annotated[dict[str, Rates], Field(min_length=1, description="Rates by model id")]

    def of(self, model: str) -> ModelPrice | None:
        """Return the price of a model; None if the list does not name it."""
        rates = self.prices.get(model)
        return None if rates is None else ModelPrice(**rates.model_dump(), date=self.date, source=self.source)


class RequestRecord(Record):
    """A request, logged before it is forwarded."""

    kind: Literal["asked"] = "asked"
    number: Annotated[int, Field(ge=1, description="within its session")]
    at: datetime.datetime
    role: Role
    model: str
    digest: Annotated[str, Field(description="of the normalised request: what a recording is found by")]
    characters: Annotated[dict[Component, int], Field(description="of the request's text, by component")]
    adjusted: Annotated[tuple[str, ...], Field(description="configured settings that were put into the request")] = ()
    unadjusted: Annotated[tuple[str, ...], Field(description="configured settings that the model does not take")] = ()
    counting: Annotated[bool, Field(description="asked only how many tokens it has, which costs nothing")] = False
    turn: Annotated[
        int | None, Field(description="of the main conversation, a repeated one the same; None: of another one")
    ] = None
    streamed: Annotated[bool, Field(description="asked for an answer as a stream")] = True
    lowered: Annotated[
        tuple[int, int] | None, Field(description="max_tokens as asked for and as sent: what the budgets could pay")
    ] = None
    reserved_usd: Annotated[float | None, Field(description="its worst case, set aside in budgets")] = None
    loaded_tools: Annotated[
        tuple[str, ...],
        Field(
            description="deferred tools whose definitions the conversation has loaded",
            exclude_if=lambda names: not names,
        ),
    ] = ()


class ResponseRecord(Record):
    """End of a request: the response and its cost."""

    kind: Literal["answered"] = "answered"
    number: Annotated[int, Field(ge=1)]
    source: Literal["live", "replay", "refused"]
    status: Annotated[int | None, Field(description="of HTTP; None: the provider was not reached")]
    error: Annotated[str | None, Field(description="the provider's error type, or ours")] = None
    complete: Annotated[bool, Field(description="the answer came to its end")]
    tokens: Tokens | None = None
    usd: Annotated[float | None, Field(description="None: unknown, by an unknown price or an answer that was cut")]
    charged_usd: Annotated[float | None, Field(description="to budgets, where usd is unknown")] = None
    use: Annotated[ServerToolUse | None, Field(description="None: nothing beside tokens at their usual prices")] = None
    stop_reason: Annotated[str | None, Field(description="why the model stopped, as the provider says it")] = None
    retries: Annotated[int, Field(description="how often the gateway itself asked again")] = 0
    met: Annotated[
        tuple[str, ...], Field(description="what each try met that failed: a status of HTTP, or `unreachable`")
    ] = ()
    crowded: Annotated[
        bool, Field(description="it met a rate limit, or waited for a budget, beside others of its session")
    ] = False
    exhausting: Annotated[bool, Field(description="its answer said that nothing is left of a rate limit")] = False
    fault: Annotated[
        str | None, Field(description="how the provider failed it for good: all tries, or a broken answer")
    ] = None
    waited_seconds: Annotated[float, Field(description="for rate limits, before it was asked for the last time")] = 0.0
    first_byte_seconds: Annotated[float | None, Field(description="since it was asked for the last time")] = None
    seconds: Annotated[float, Field(description="since it was asked for the last time")]

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
