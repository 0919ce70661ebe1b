"""What the runner tells of the event that started it: GitHub wrote the file, and strangers the words in it."""

import datetime
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.github.answers import Answer, Run, User

_MOST_BYTES: Final = 8 << 20

E = TypeVar("E", bound=Answer)


class Place(Answer):
    """The repository of an event."""

    full_name: str
    default_branch: str


class NewComment(Answer):
    """A comment that an event is about."""

    id: int
    body: str | None = None
    user: User
    created_at: datetime.datetime


class Thread(Answer):
    """The issue that it stands on; `pull_request` is there where it is one."""

    number: int
    pull_request: dict[str, object] | None = None


class CommentEvent(Answer):
    """An event of `issue_comment`."""

    action: str
    comment: NewComment
    issue: Thread
    repository: Place


class WorkflowRunEvent(Answer):
    """An event of `workflow_run`."""

    workflow_run: Run


class DispatchEvent(Answer):
    """An event of `workflow_dispatch`, or any other, which has no inputs."""

    inputs: dict[str, object] | None = None
    repository: Place | None = None


def read_event(path: Path, kind: type[E]) -> E:
    """The event in a file.

    Raises:
        ConfigError: there is none, or it is of another kind.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError(f"{path}: is no event of GitHub's, for its size")
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no event; GITHUB_EVENT_PATH names it in a job of Actions") from None
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ConfigError(f"{path}: is no {kind.__name__}: {where}; is this job of another trigger?") from None
