"""A history: what one result set after the other says of the same arms."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model.analysis import Verdict
from scylla_gha.model.record import Record


class Point(Record):
    """One arm in one result set. Means are over scenarios that weigh the same."""

    run: str
    epoch: str
    trials: Annotated[int, Field(description="judged")]
    scenarios: int
    rate: Annotated[float | None, Field(description="pass rate; null: no judged trial")]
    usd: Annotated[float | None, Field(description="of a trial; null: one is unknown")]
    seconds: float | None
    difference: Annotated[float | None, Field(description="of the rate from the pinned baseline, paired")] = None
    low: Annotated[float | None, Field(description="one-sided 95 % limit of the difference")] = None
    verdict: Verdict | None = None
    not_worse: Annotated[bool | None, Field(description="`low` is above -margin; null: no interval, or the pin")] = None


class Shift(Record):
    """Where a series changes: by its distribution (E-divisive), or as a drift (CUSUM)."""

    kind: Literal["change", "drift"]
    metric: Literal["pass_rate", "usd", "seconds"]
    run: Annotated[str, Field(description="the first one after the change, or the one that gave the signal")]
    since: Annotated[str, Field(description="where it is likely to have begun")]
    before: Annotated[float | None, Field(description="mean of the stretch before")] = None
    after: float | None = None
    side: Literal["up", "down"]
    p: Annotated[float | None, Field(description="by permutation, of the change; a drift has none")] = None


class Series(Record):
    """One arm over time."""

    arm: str
    points: tuple[Point, ...]
    shifts: tuple[Shift, ...]
    notes: tuple[str, ...] = ()


class History(Record):
    """All arms over time."""

    baseline: Annotated[str, Field(description="the pinned result set")]
    margin: float
    series: tuple[Series, ...]
    notes: tuple[str, ...] = ()
