"""Faults that a cell's GitHub shows on demand, for tests and rehearsals of programs that use GitHub's interfaces."""

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from scylla_gha.model import Record, Text

FaultKind = Literal["server_error", "secondary_limit", "lost_connection", "stale_reads"]
_STATUSES: Final[dict[FaultKind, tuple[int, ...]]] = {
    "server_error": (500, 502, 503, 504),
    "secondary_limit": (403, 429),
}


class GitHubFault(Record):
    """Fault of the requests that a pattern matches, from the `nth` one on."""

    kind: FaultKind
    operation: Annotated[
        Text, Field(description="pattern of operations as the request log names them, such as `POST */issues`; "
                                "`*` stands for any characters")
    ] = "*"  # fmt: skip
    nth: Annotated[int, Field(ge=1, description="the first request, of those that match, to have it")] = 1
    times: Annotated[int, Field(ge=1, description="how many requests in a row have it")] = 1
    when: Annotated[
        Literal["before", "after"],
        Field(description="whether the request is done before its answer is an error, or is lost"),
    ] = "after"
    status: Annotated[
        int | None, Field(description="of the answer; null: 500 of a server error, 403 of a secondary limit")
    ] = None
    seconds: Annotated[int, Field(ge=0, description="in Retry-After of a secondary limit")] = 1
    reads: Annotated[int, Field(ge=1, description="that show the state before a write, of `stale_reads`")] = 1

    @model_validator(mode="after")
    def _fits(self) -> Self:
        statuses = _STATUSES.get(self.kind, ())
        if self.status is not None and self.status not in statuses:
            allowed = " or ".join(map(str, statuses)) or "no status"
            raise ValueError(f"status: {self.kind} takes {allowed}, not {self.status}")
        return self

    @property
    def answer_status(self) -> int:
        """The status of an answer that is an error."""
        return self.status or _STATUSES[self.kind][0]


class GitHubFaultPlan(Record):
    """File of faults; the first one that is due decides on a request."""

    faults: tuple[GitHubFault, ...]
