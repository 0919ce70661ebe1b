"""Requests of a trial to its GitHub, one per line of `github-requests.jsonl`, and faults injected into them."""

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from scylla_gha.model import Record, Text

GitHubServer = Literal["hub", "github.com"]
Interface = Literal["rest", "graphql", "git", "site"]
CallCounts = dict[str, Annotated[int, Field(ge=1)]]  # by category, such as pr.read
FaultKind = Literal["server_error", "secondary_limit", "lost_connection", "stale_reads"]
_STATUSES: Final[dict[FaultKind, tuple[int, ...]]] = {
    "server_error": (500, 502, 503, 504),
    "secondary_limit": (403, 429),
}


class GitHubRequest(Record):
    """One request, and the facts about its answer."""

    time: str = Field(description="Time of arrival in UTC, by this machine's clock")
    interface: Interface = Field(
        description="Interface of the request; `site` is a web page for people, which the hub does not have"
    )
    operation: str = Field(
        description="Operation, such as `GET /repos/{owner}/{repo}`, `query repository` or `git-receive-pack`"
    )
    identity: str | None = Field(description="Login of the user; null: nobody was signed in")
    status: int = Field(description="HTTP status of the answer; 0: an injected fault suppressed the answer")
    milliseconds: Annotated[float, Field(ge=0)]
    client: str = Field(
        description="Client as User-Agent names it, such as `gh/2.102.0`; any program can send any name"
    )
    token: str | None = Field(
        default=None,
        description="Client that the token was made for (git, gh, mcp or program); any: a token for all "
        "clients; none: no valid token; null: not recorded",
    )
    gaps: tuple[str, ...] = Field(default=(), description="Requested features that the hub lacks")
    refused: str | None = Field(
        default=None, description="Reason why the request was refused; null: it was not refused"
    )
    fault: str | None = Field(default=None, description="Kind of the fault that a test injected; null: none")
    calls: CallCounts = Field(
        default={},
        description="Number of API operations in the request, by category; a git command counts in its first "
        "request only",
    )
    target: str = Field(
        default="", description="Object of the request: a path, or the ids, names and numbers in a GraphQL query"
    )
    failed: bool = Field(
        default=False, description="True if the answer is an error, including a GraphQL error with the status 200"
    )


class GitHubTraffic(Record):
    """Counts of a trial's requests."""

    requests: int = 0
    gaps: int = Field(default=0, description="Number of requests for features that the hub lacks")
    foreign: int = Field(default=0, description="Number of requests with a token of another cell")
    errors: int = Field(default=0, description="Number of requests that failed because of a fault in the hub")
    unlogged: int = Field(
        default=0, description="Number of requests that are counted but not logged, since the log was full"
    )
    clients: dict[str, int] = Field(
        default={},
        description="Number of requests by the client's name in User-Agent, marked if it had no token for the API",
    )
    calls: CallCounts = Field(
        default={}, description="Number of API operations by category: pr.read, pr.write, issue.read, git.write, ..."
    )
    failed: int = Field(default=0, description="Number of API operations that were answered with an error")
    repeated: int = Field(
        default=0,
        description="Number of API operations that repeat an operation on the same target which had just failed",
    )


class GitHubFault(Record):
    """Fault injected into `times` requests that match a pattern, from the `nth` on."""

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
        description="after: the request takes effect, and only its answer fails; before: the request has no effect",
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
            raise ValueError(f"status: {self.kind} must be {allowed}, not {self.status}")
        return self

    @property
    def answer_status(self) -> int:
        """HTTP status of the answer to a request with this fault."""
        return self.status or _STATUSES[self.kind][0]


class GitHubFaultPlan(Record):
    """File of faults; of the faults due at a request, the first one applies."""

    faults: tuple[GitHubFault, ...]
