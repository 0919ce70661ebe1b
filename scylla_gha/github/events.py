"""Events of Actions, read from the runner's event file; names and texts in them are untrusted."""

import datetime
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.github.responses import GitHubResponse, PullRequest, User, WorkflowRun

_MAX_BYTES: Final = 8 << 20

E = TypeVar("E", bound=GitHubResponse)


class EventRepository(GitHubResponse):
    """The repository of an event."""

    full_name: str
    default_branch: str


class NewComment(GitHubResponse):
    """The comment of an event."""

    id: int
    body: str | None = None
    user: User
    created_at: datetime.datetime


class IssueThread(GitHubResponse):
    """The issue of a comment; `pull_request` is set if it is a pull request."""

    number: int
    pull_request: dict[str, object] | None = None


class CommentEvent(GitHubResponse):
    """An event of `issue_comment`."""

    action: str
    comment: NewComment
    issue: IssueThread
    repository: EventRepository


class PullEvent(GitHubResponse):
    """An event of `pull_request`."""

    pull_request: PullRequest
    repository: EventRepository


class WorkflowRunEvent(GitHubResponse):
    """An event of `workflow_run`."""

    workflow_run: WorkflowRun


class DispatchEvent(GitHubResponse):
    """An event of `workflow_dispatch`; other events have no inputs."""

    inputs: dict[str, object] | None = None
    repository: EventRepository | None = None


def read_event(path: Path, kind: type[E]) -> E:
    """Read an event file.

    Raises:
        ConfigError: the file is missing, too large, or of another event.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise ConfigError(f"{path}: not a GitHub event: larger than {_MAX_BYTES >> 20} MiB")
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"{path}: event file not found; in a job of Actions, GITHUB_EVENT_PATH names it") from None
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ConfigError(f"{path}: not a {kind.__name__}: {where}; does another trigger start this job?") from None
