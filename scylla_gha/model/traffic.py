"""Request log of the gateway: requests, responses and tokens."""

import datetime
from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model.record import Record

Role = Literal["agent", "judge"]
Component = Literal["system_prompt", "tool_schemas", "tool_input", "tool_output", "conversation"]


class Tokens(Record):
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

    def plus(self, other: "Tokens") -> "Tokens":
        """Return the sum by kind."""
        return Tokens.model_validate({kind: getattr(self, kind) + getattr(other, kind) for kind in Tokens.model_fields})


class ServerToolUse(Record):
    """Parts of an answer that cost extra or multiply the token price, in the terms of the Messages API."""

    speed: str = "standard"
    tier: str = "standard"
    region: str = "global"
    searches: Annotated[int, Field(ge=0, description="of the web, by the provider")] = 0
    unpriced: Annotated[bool, Field(description="another model, or a tool without a known price, had a part in it")] = (
        False
    )


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
