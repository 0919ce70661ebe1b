"""What the controls of one judge found, on one scenario or on one trial; and what a judging came to."""

from typing import Annotated

from pydantic import Field

from scylla_gha.model.panel import Control
from scylla_gha.model.record import Record, Seal, Text
from scylla_gha.model.trial import NO_USAGE, Usage


class Probe(Record):
    """One line of `controls.jsonl`. It is written before a judge is asked, so what was paid for is never lost."""

    schema_version: int = 1
    key: Annotated[str, Field(description="covers the judge, its words, and all that it was asked about")]
    judge: Text
    scenario: Text
    cell: Annotated[str | None, Field(description="the trial that was asked about again; None: known answers")] = None
    times: Annotated[int, Field(ge=1, description="how often each question was asked")] = 1
    controls: tuple[Control, ...] = ()
    error: Annotated[str | None, Field(description="why not all could be decided; it is asked again then")] = None
    usage: Annotated[Usage, Field(description="all that was ever asked under this key")] = NO_USAGE
    traffic: Annotated[Seal | None, Field(description="its requests; None: of an older version")] = None
    stands: Annotated[bool, Field(description="false: of a judge, words or a rubric that the report is not by")] = True

    @property
    def subject(self) -> str:
        """What it is about: the cell, or else the scenario."""
        return self.cell or self.scenario


class PanelSummary(Record):
    """What a panel made of the trials, beside what the experiment's own made of them."""

    panel: Annotated[str, Field(description="`experiment`, or what was given instead")]
    judges: tuple[str, ...]
    trials: Annotated[int, Field(description="that were to be judged")]
    judged: int
    passed: int
    mean_score: float | None
    compared: Annotated[int, Field(description="trials with a score by this panel and by the experiment's own")] = 0
    difference: Annotated[float | None, Field(description="mean absolute difference of those scores")] = None
    flips: Annotated[tuple[str, ...], Field(description="cells that pass by one of both and not by the other")] = ()
    usd: Annotated[float | None, Field(description="of these judgments, whenever they were made; None: unknown")]


class Judged(Record):
    """All that `scylla-gha judge` prints."""

    schema_version: int = 1
    experiment: str
    panels: tuple[PanelSummary, ...]
    probes: tuple[Probe, ...]
