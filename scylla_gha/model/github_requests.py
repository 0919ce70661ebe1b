"""Requests that a trial sent to its GitHub, one a line of `github-requests.jsonl`, and their counts."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.model import Record

GitHubServer = Literal["hub", "github.com"]
Interface = Literal["rest", "graphql", "git", "site"]


CallCounts = dict[str, Annotated[int, Field(ge=1)]]  # by category, such as pr.read


class GitHubRequest(Record):
    """One request, and how it was answered."""

    time: Annotated[str, Field(description="when it arrived, UTC, by the clock of this machine")]
    interface: Annotated[Interface, Field(description="`site` is a page for people, which this GitHub has not")]
    operation: Annotated[
        str, Field(description="such as `GET /repos/{owner}/{repo}`, `query repository`, `git-receive-pack`")
    ]
    identity: Annotated[str | None, Field(description="login; null if nobody was signed in")]
    status: Annotated[int, Field(description="of the answer; 0 if a fault lost it")]
    milliseconds: Annotated[float, Field(ge=0)]
    client: Annotated[str, Field(description="from User-Agent, such as `gh/2.102.0`, which any program can send")]
    token: Annotated[
        str | None,
        Field(
            description="client that its token was made for (git, gh, mcp or program); any: a token for all clients; "
            "none: no valid token; null: not recorded"
        ),
    ] = None
    gaps: Annotated[tuple[str, ...], Field(description="what it asked for outside the contract")] = ()
    refused: Annotated[str | None, Field(description="why the request was refused as such")] = None
    fault: Annotated[str | None, Field(description="kind of the fault that a test asked for")] = None
    calls: Annotated[CallCounts, Field(description="API operations in it; git's further requests have none")] = {}
    target: Annotated[str, Field(description="a path, or the ids, names and numbers that GraphQL was given")] = ""
    failed: Annotated[bool, Field(description="the answer is an error, which GraphQL sends with the status 200")] = (
        False
    )


class GitHubTraffic(Record):
    """Counts of a trial's requests."""

    requests: int = 0
    gaps: Annotated[int, Field(description="requests that met a gap in the contract")] = 0
    foreign: Annotated[int, Field(description="requests with a token of another cell")] = 0
    errors: Annotated[int, Field(description="requests that failed by a fault of this GitHub")] = 0
    unlogged: Annotated[int, Field(description="requests that are counted here alone, since the log was full")] = 0
    clients: Annotated[
        dict[str, int],
        Field(description="requests by the client's name in User-Agent; with no token for the API, that is added"),
    ] = {}
    calls: Annotated[
        CallCounts, Field(description="API operations by category: pr.read, pr.write, issue.read, git.write, ...")
    ] = {}
    failed: Annotated[int, Field(description="API operations in requests that were answered with an error")] = 0
    repeated: Annotated[
        int,
        Field(description="API operations whose last request with the same target had failed, so that it was retried"),
    ] = 0
