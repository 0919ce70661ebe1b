"""A model's facts: what it is called and what it costs."""

import datetime
from typing import Annotated

from pydantic import Field

from scylla_gha.model.record import Record, Text
from scylla_gha.model.trial import Usage

_MILLION = 1_000_000


class Price(Record):
    """USD per million tokens, with the day and the place it was read."""

    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cache_read: Annotated[float, Field(ge=0)]
    cache_write: Annotated[float, Field(ge=0, description="for the lifetime of five minutes, the CLI's default")]
    date: datetime.date
    source: Text

    def usd(self, usage: Usage) -> float | None:
        """What the tokens cost; None where one of the four kinds is unknown."""
        parts = (
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
        )
        known = [tokens * price for tokens, price in parts if tokens is not None]
        return sum(known) / _MILLION if len(known) == len(parts) else None


class Model(Record):
    """A model (`config/models/<file>.yaml`). An unknown price makes a cost unknown, never 0."""

    id: Text
    provider: Text
    context_tokens: Annotated[int, Field(gt=0)]
    price: Price | None = None
