"""What came of the rows that other machines sent (`refused.json`)."""

from typing import Annotated

from pydantic import Field

from scylla_gha.model.record import Record


class Refusal(Record):
    """An artifact of which nothing was taken."""

    artifact: Annotated[str, Field(description="its name; cut, and in ASCII, where it is none of ours")]
    reason: str


class Intake(Record):
    """How many rows were taken, from where, and what was not."""

    schema_version: int = 1
    artifacts: Annotated[int, Field(ge=0, description="that were taken")]
    rows: Annotated[int, Field(ge=0, description="that stand, those that were reused left out")]
    reused: Annotated[int, Field(ge=0, description="rows that were there before anything was run")] = 0
    superseded: Annotated[
        int, Field(ge=0, description="artifacts of earlier attempts, before it was planned anew; not looked into")
    ] = 0
    refused: tuple[Refusal, ...] = ()
    missing: Annotated[
        dict[str, str], Field(description="cells without a row that nobody chose to leave, and why")
    ] = {}
