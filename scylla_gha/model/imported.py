"""Where rows come from that another tool measured, and how its columns became ours."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model.record import Record, Text

Format = Literal["csv", "jsonl", "parquet", "harbor", "inspect"]


class ColumnMap(Record):
    """How foreign rows are to be read (`--map-file`)."""

    columns: Annotated[dict[Text, str], Field(description="our field: their column; an empty one is not mapped")] = {}
    constants: Annotated[dict[Text, Text], Field(description="our field: its value in all rows")] = {}
    units: Annotated[dict[Text, Text], Field(description="their column or our field: ms, cent, percent, ...")] = {}
    passed_if: Annotated[Text | None, Field(description="a field, a comparison and a number, as score>=0.6")] = None
    baseline: Annotated[Text | None, Field(description="the arm that the others are compared with")] = None


class Imported(Record):
    """The source of a run folder that was imported, so that everyone can see what its numbers are worth."""

    file: str
    format: Format
    sha256: Annotated[str, Field(description="of the rows as they were read")]
    columns: Annotated[dict[str, str], Field(description="our field: their column")]
    ignored: Annotated[tuple[str, ...], Field(description="their columns that are no field of ours")] = ()
    passed_if: str | None = None
    notes: Annotated[tuple[str, ...], Field(description="what the reader of the report must know of them")] = ()
