"""Faults that a cell's GitHub injects on request, to test programs that use GitHub's interfaces."""

from typing import Final, Literal, Self

from pydantic import Field, model_validator

from scylla_gha.model import Record, Text

FaultKind = Literal["server_error", "secondary_limit", "lost_connection", "stale_reads"]
_STATUSES: Final[dict[FaultKind, tuple[int, ...]]] = {
    "server_error": (500, 502, 503, 504),
    "secondary_limit": (403, 429),
}


class GitHubFault(Record):
    """Fault of requests that match a pattern, beginning with the `nth` of them."""

    kind: FaultKind
    operation: Text = Field(
        default="*",
        description="Pattern of operations as in the request log, such as `POST */issues`; `*` stands for any "
        "characters",
    )
    nth: int = Field(default=1, ge=1, description="Number of the first matching request that has the fault, from 1")
    times: int = Field(default=1, ge=1, description="Number of consecutive requests that have the fault")
    when: Literal["before", "after"] = Field(
        default="after",
        description="after: the request is carried out, and only its answer fails; before: it is not carried out",
    )
    status: int | None = Field(
        default=None, description="HTTP status of the answer; null: 500 for a server error, 403 for a secondary limit"
    )
    seconds: int = Field(default=1, ge=0, description="Seconds in the Retry-After header of a secondary limit")
    reads: int = Field(
        default=1, ge=1, description="Number of reads that still show the state before a write, for `stale_reads`"
    )

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
    """File of faults; the first fault that is due applies to a request."""

    faults: tuple[GitHubFault, ...]
