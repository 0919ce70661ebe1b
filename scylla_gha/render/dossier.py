"""All that is stored of one cell, as one record: what `scylla-gha show` prints, and its `--json`."""

from typing import Annotated

from pydantic import Field

from scylla_gha.model.judgment import Judgment
from scylla_gha.model.plan import Arm, Cell
from scylla_gha.model.record import Record
from scylla_gha.model.traffic import Answered, Asked
from scylla_gha.model.trial import Attempt, Trajectory, Trial


class Work(Record):
    """What one start of the agent left."""

    number: Annotated[int, Field(ge=1)]
    attempt: Annotated[Attempt | None, Field(description="None: it goes on, or was killed in the middle")] = None
    trajectory: Annotated[Trajectory | None, Field(description="None: of a built-in agent, or of a killed one")] = None
    patch: Annotated[str | None, Field(description="None: nothing was changed, or nobody came to look")] = None
    traffic: tuple[Asked | Answered, ...] = ()
    judge_traffic: tuple[Asked | Answered, ...] = ()


class Dossier(Record):
    """One cell of an experiment; all but its names may be missing."""

    schema_version: int = 1
    experiment: str
    id: str
    cell: Cell | None = None
    arm: Arm | None = None
    trial: Trial | None = None
    judgment: Judgment | None = None
    works: tuple[Work, ...] = ()
