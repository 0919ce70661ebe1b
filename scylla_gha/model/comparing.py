"""Two sets of results against each other: B against A."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model.analysis import Contrast, Ruling
from scylla_gha.model.record import Record

Metric = Literal["pass_rate", "score", "usd", "tokens", "seconds"]


class Flip(Record):
    """A scenario whose pass rate is another in B: passed of judged, before and after."""

    scenario: str
    before: tuple[int, int]
    after: tuple[int, int]


class ArmPair(Record):
    """An arm of B against an arm of A; in the contrasts they are called `b:arm` and `a:arm`."""

    a_arm: str
    b_arm: str
    before: Annotated[tuple[int, int], Field(description="passed of judged, in A")]
    after: Annotated[tuple[int, int], Field(description="passed of judged, in B")]
    ruling: Ruling
    others: Annotated[tuple[Contrast, ...], Field(description="all other metrics, to look around")]
    fixes: tuple[Flip, ...]
    regressions: tuple[Flip, ...]


class Compared(Record):
    """What `scylla-gha compare` found."""

    schema_version: int = 1
    a: str
    b: str
    metric: Metric
    margin: float
    pairs: tuple[ArmPair, ...]
    warnings: tuple[str, ...]
