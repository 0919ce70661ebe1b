"""Report of a readiness measurement (`readiness.json`): score, change against another commit, twins, limits."""

import datetime
from typing import Annotated, Final

from pydantic import Field

from scylla_gha.model import Record
from scylla_gha.model.readiness import Dimension, MissingDimension
from scylla_gha.model.readiness_score import ReadinessScore, ScoreComparison

REPORT_FILE: Final = "readiness.json"  # in the folder of a run, and of a run on the results branch
LIMITS: Final = (
    "It measures agent, model and code together. Do not compare repositories: their tasks differ in difficulty.",
    "Intents from history favour careful commit subjects; masked names make them harder than real requests.",
    "Public code may be remembered by the model; the closed-book control bounds that.",
    "Dynamic dispatch leaves calls unknown, which are not scored; small repositories get n/a.",
    "A dollar shows large changes only. Only --head and `why` are experiments; all else is an association.",
    "The project's tests run in the box: if its environment cannot be built there, two of four dimensions remain.",
)


class SuiteFacts(Record):
    """Facts of one code base that items were made from.

    Attributes:
        side: "" for the measured commit; "head" or a twin's name.
        tree: digest of its files.
        yields: counts by name, as the report shows what could be made.
        planned: items by dimension.
        missing: dimensions without items, with reasons.
        notes: sentences on what was left out.
        renamed: new ids of anchors in a twin.
    """

    side: str
    commit: str
    tree: str
    language: str
    yields: dict[str, int] = {}
    planned: dict[Dimension, int] = {}
    missing: tuple[MissingDimension, ...] = ()
    notes: tuple[str, ...] = ()
    renamed: dict[str, str] = {}


class TwinEffect(Record):
    """Effect of one change of the code on the score, measured on a twin.

    Attributes:
        name: of the twin, such as "names-100".
        what: the change in words.
        missing: why there is no comparison; None: there is one.
    """

    name: str
    what: str
    comparison: ScoreComparison | None = None
    missing: str | None = None


class MadeSuite(Record):
    """Record of a written suite (`suite.json`); one with the same key is used again."""

    key: str
    sides: tuple[SuiteFacts, ...]
    unusable: Annotated[tuple[TwinEffect, ...], Field(description="twins that could not be measured")] = ()


class ReadinessReport(Record):
    """Everything that is printed and published of a measurement.

    Attributes:
        unavailable: why no agent was run; None: it was.
        score: of the measured commit; None if `unavailable`.
        head: of the commit that it is compared with.
        usd: cost of all sessions and controls; None: unknown.
    """

    schema_version: int = 1
    repository: str
    at: datetime.datetime
    toolkit_version: str
    agent: str
    agent_version: str | None = None
    model: str | None = None
    sessions: Annotated[int, Field(description="planned sessions of all sides")] = 0
    budget_usd: float | None = None
    usd: float | None = None
    unavailable: str | None = None
    facts: tuple[SuiteFacts, ...]
    score: ReadinessScore | None = None
    head: ReadinessScore | None = None
    comparison: ScoreComparison | None = None
    twins: tuple[TwinEffect, ...] = ()
    limits: tuple[str, ...] = LIMITS
