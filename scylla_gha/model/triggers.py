"""Triggers of skills: which skill each query should trigger, what each trial used, and the statistics of both."""

from typing import Annotated, Final

from pydantic import Field

from scylla_gha.model import Record, Text
from scylla_gha.model.analysis import Ruling

TRIGGERS_FILE: Final = "triggers.json"


class LabelledQuery(Record):
    """A query with the skills that it should trigger, and those that it should not.

    Attributes:
        id: of its scenario.
        split: `train` or `validation` if its file says so.
        by_name: it calls a skill by name, so that it is not in a rate.
    """

    id: str
    text: Text
    expected: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    split: str = ""
    by_name: bool = False


class TriggerTrial(Record):
    """One trial of a query, as the gateway saw it."""

    query: str = Field(description="Id of the query's scenario")
    used: dict[str, int] = Field(
        default={}, description="Number of the answer that first called a skill, by the skill's name"
    )
    read: dict[str, int] = Field(
        default={}, description="Number of the answer that first had a skill's file read by another tool, by skill"
    )
    refused: tuple[str, ...] = Field(default=(), description="Names that were called and are no skill")
    undecided: int | None = Field(
        default=None, description="Number of answers after which the trial was ended; null: the conversation was whole"
    )
    missing: str | None = Field(
        default=None, description="Outcome for which the trial is no observation, such as a timeout; null: it is one"
    )

    def fired(self, *, is_strict: bool) -> dict[str, int]:
        """Return the answer at which each skill was triggered; a file that was read counts unless `is_strict`."""
        return dict(self.used) if is_strict else {**self.read, **self.used}


class QueryCounts(Record):
    """Trials of one query, counted for one skill."""

    query: str
    text: str
    should: bool = Field(description="True if the query should trigger the skill")
    split: str = ""
    fired: int = Field(description="Number of trials that triggered the skill")
    read: int = Field(default=0, description="Number of these that only read the skill's file")
    trials: int = Field(description="Number of trials that are observations")
    undecided: int = Field(default=0, description="Number of trials that were ended before the skill was triggered")
    turns: tuple[int, ...] = Field(default=(), description="Number of the answer of each first use, in rising order")
    before: tuple[int, int] | None = Field(
        default=None,
        description="Trials of the last version that triggered it, and its observations; null: none",
    )


class FiringRate(Record):
    """Mean of the queries' rates of triggering a skill, with its 95 % interval, which is clustered by query."""

    fired: int
    trials: int
    queries: int
    rate: float
    low: float | None = None
    high: float | None = None


class TriggerChange(Record):
    """Difference between the skill and its last version, paired by query; both classes of queries apart."""

    should: Ruling | None = Field(default=None, description="Null: no query of this class has trials of both versions")
    should_not: Ruling | None = None
    warning: str = Field(default="", description="What must be said first; empty: nothing")


class SkillTriggers(Record):
    """Answer for one skill."""

    skill: str
    should: FiringRate | None = Field(
        default=None, description="Rate on queries that should trigger it; null: no trial"
    )
    should_not: FiringRate | None = None
    is_validation: bool = Field(
        default=False, description="True if the rates are those of the queries of the split `validation` alone"
    )
    queries: tuple[QueryCounts, ...] = ()
    missing: dict[str, int] = Field(default={}, description="Number of trials that are no observation, by outcome")
    change: TriggerChange | None = Field(default=None, description="Null: there is no last version")
    not_run: str = Field(default="", description="Reason why its queries were not run; empty: they were")


class TriggerConfusion(Record):
    """Counts of trials: a row for each label, a column for the skill that was used first."""

    labels: tuple[str, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class SkillSwap(Record):
    """Trials in which another skill was used first than the one that the query should trigger."""

    expected: str
    used: str
    trials: int
    of: int


class TriggerReport(Record):
    """Answer to: do the skills trigger when they should, and stay quiet when not?"""

    schema_version: int = 1
    agent: str
    model: str
    repetitions: int
    turns: Annotated[int, Field(description="Number of answers after which a trial was ended")]
    strict: bool = Field(default=False, description="True if a skill whose file was only read does not count")
    skills: tuple[SkillTriggers, ...]
    confusion: TriggerConfusion | None = None
    swaps: tuple[SkillSwap, ...] = ()
    notes: tuple[str, ...] = ()
