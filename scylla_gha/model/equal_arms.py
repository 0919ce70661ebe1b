"""Equal arms: what verdicts say where there is nothing to find."""

from typing import Annotated

from pydantic import Field

from scylla_gha.model.analysis import Verdict
from scylla_gha.model.record import Record


class Shares(Record):
    """Of verdicts on halves of one arm. A verdict of `better` or `worse` is false there."""

    verdicts: int
    false: int
    false_share: float
    low: Annotated[float, Field(description="of the 95 % Wilson interval, each verdict counted as independent")]
    high: float
    equivalent_share: float
    flip_rate: Annotated[float | None, Field(description="chance that two of the verdicts differ; null: only one")]


class EqualArm(Record):
    """One arm against itself."""

    arm: str
    scenarios: Annotated[int, Field(description="with two repetitions or more")]
    repetitions: Annotated[tuple[int, int], Field(description="of these scenarios: fewest, most")]
    as_run: Annotated[Verdict, Field(description="on odd against even repetitions")]
    why: str
    resampled: Annotated[Shares, Field(description="over random halves")]


class EqualArms(Record):
    """All arms of a run, each against itself."""

    experiment: str
    family: Annotated[int, Field(description="comparisons that each p is multiplied by, as in a real verdict")]
    margin: float
    resamples: int
    arms: tuple[EqualArm, ...]
    left_out: Annotated[tuple[str, ...], Field(description="arms without a scenario of two repetitions")] = ()
    over_all: Shares | None
    meaning: str
