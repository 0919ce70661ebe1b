"""What passed through the model gateway: one record when a request came, one when its answer had ended.

An attempt's `traffic.jsonl` holds them in the order of time. A request without its answer was in flight when the
gateway or the machine died: its cost is unknown.
"""

import datetime
from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model.record import Record

Role = Literal["agent", "judge"]
Component = Literal["system_prompt", "tool_schemas", "tool_input", "tool_output", "conversation"]


class Tokens(Record):
    """Tokens by kind; `input` is what was neither read from the cache nor written to it."""

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
        """Of all kinds, as a budget of tokens counts them."""
        return self.prompt + self.output

    def plus(self, other: "Tokens") -> "Tokens":
        """The sum, kind by kind."""
        return Tokens.model_validate({kind: getattr(self, kind) + getattr(other, kind) for kind in Tokens.model_fields})


class Use(Record):
    """What of an answer costs money beside its tokens, or multiplies their price, in the words of the Messages API."""

    speed: str = "standard"
    tier: str = "standard"
    region: str = "global"
    searches: Annotated[int, Field(ge=0, description="of the web, by the provider")] = 0
    unpriced: Annotated[bool, Field(description="another model, or a tool without a known price, had a part in it")] = (
        False
    )


class Asked(Record):
    """A request, written before anything is passed on."""

    kind: Literal["asked"] = "asked"
    number: Annotated[int, Field(ge=1, description="within its lane")]
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


class Answered(Record):
    """The end of a request: what came back, and what it cost."""

    kind: Literal["answered"] = "answered"
    number: Annotated[int, Field(ge=1)]
    source: Literal["live", "replay", "refused"]
    status: Annotated[int | None, Field(description="of HTTP; None: the provider was not reached")]
    error: Annotated[str | None, Field(description="the provider's error type, or ours")] = None
    complete: Annotated[bool, Field(description="the answer came to its end")]
    tokens: Tokens | None = None
    usd: Annotated[float | None, Field(description="None: unknown, by an unknown price or an answer that was cut")]
    charged_usd: Annotated[float | None, Field(description="to budgets, where usd is unknown")] = None
    use: Annotated[Use | None, Field(description="None: nothing beside tokens at their usual prices")] = None
    stop_reason: Annotated[str | None, Field(description="why the model stopped, as the provider says it")] = None
    retries: Annotated[int, Field(description="how often the gateway itself asked again")] = 0
    met: Annotated[
        tuple[str, ...], Field(description="what each try met that failed: a status of HTTP, or `unreachable`")
    ] = ()
    crowded: Annotated[
        bool, Field(description="it met a rate limit while other requests of its session were in flight")
    ] = False
    fault: Annotated[
        str | None, Field(description="how the provider failed it for good: all tries, or a broken answer")
    ] = None
    waited_seconds: Annotated[float, Field(description="for rate limits, before it was asked for the last time")] = 0.0
    first_byte_seconds: Annotated[float | None, Field(description="since it was asked for the last time")] = None
    seconds: Annotated[float, Field(description="since it was asked for the last time")]
