"""Control of a hub's process by the harness: what is sent over a pipe and loopback, never in a file."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from scylla_gha.hub.client_tokens import TokenClient
from scylla_gha.model import Record, Sha, Text
from scylla_gha.model.github_requests import GitHubFault, GitHubTraffic

CONTROL_HEADER: Final = "x-scylla-control"  # of the secret that attaches and detaches cells


class HubStart(Record):
    """First line of the process's standard input."""

    control: Annotated[str, Field(repr=False)]


class AttachRequest(Record):
    """Cell to serve.

    Attributes:
        cell: its name, unique in the process.
        fixture: folder with `github.yaml`.
        start: commit of the fixture's own files, if it has some, and the git directory that has it.
        cache: folder of cached seeds.
        folder: where the cell's repositories and blobs are to be; it must not exist, and is removed at the end.
        socket: path of the Unix socket to listen on.
        log: the request log to write.
        loopback: whether to listen on a free port of loopback as well.
        faults: that its answers are to have.
        runner: whether the harness takes queued runs of workflows; otherwise pushes start none.
    """

    cell: Text
    fixture: Path
    start: Sha | None = None
    start_git_dir: Path | None = None
    cache: Path
    folder: Path
    socket: Path
    log: Path | None = None
    loopback: bool = False
    faults: tuple[GitHubFault, ...] = ()
    runner: bool = False


class AttachedCell(Record):
    """Cell that is served. Tokens and logins are by the fixture's names of users, such as `author`.

    A token of `tokens` works with any client; those of `client_tokens`, by client, say which client asked.
    `bindings` are facts by the fixture's names, such as those of `pr.review_me`; `names` are ids of records.
    """

    cell: str
    socket: Path
    port: Annotated[int | None, Field(description="of loopback, if it was asked for")] = None
    tokens: Annotated[dict[str, str], Field(repr=False)]
    client_tokens: Annotated[dict[str, dict[TokenClient, str]], Field(repr=False)]
    logins: dict[str, str]
    bindings: dict[str, dict[str, str | int]]
    names: dict[str, int]


class FaultRequest(Record):
    """Faults that the answers of a cell are to have from now on; requests are counted anew."""

    cell: Text
    faults: tuple[GitHubFault, ...]


class DetachRequest(Record):
    """End of a cell; the state is written to the folder `files`, or (None) lost."""

    cell: Text
    files: Path | None = None


class DetachedCell(Record):
    """Counts of a cell's requests, and digests of its state without times before and after; None if it was not kept."""

    traffic: GitHubTraffic
    start_digest: str | None = None
    end_digest: str | None = None
