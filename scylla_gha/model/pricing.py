"""A model's facts: what it is called and what it costs."""

import datetime
from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model.record import Record, Text
from scylla_gha.model.traffic import Tokens

_MILLION = 1_000_000


class Price(Record):
    """USD per million tokens, with the day and the place it was read."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cache_read: Annotated[float, Field(ge=0)]
    cache_write_5m: Annotated[float, Field(ge=0, description="for a lifetime of five minutes")]
    cache_write_1h: Annotated[float, Field(ge=0, description="for a lifetime of an hour")]
    date: datetime.date
    source: Text

    def usd(self, tokens: Tokens) -> float:
        """What the tokens cost."""
        return float(sum(getattr(tokens, kind) * getattr(self, kind) for kind in Tokens.model_fields)) / _MILLION


class Model(Record):
    """A model (`config/models/<file>.yaml`). An unknown price makes a cost unknown, never 0."""

    id: Text
    provider: Text
    context_tokens: Annotated[int, Field(gt=0)]
    price: Price | None = None
    accepts: Annotated[
        tuple[Literal["temperature", "max_tokens"], ...], Field(description="settings that its requests may carry")
    ] = ("temperature", "max_tokens")
