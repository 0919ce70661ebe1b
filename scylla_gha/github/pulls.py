"""Pull requests: their heads, when these were pushed, and who may have them evaluated."""

from typing import Final
from urllib.parse import quote

from scylla_gha.github.answers import Compared, Permission, Pull, Push, Run
from scylla_gha.github.channel import Ask, Channel
from scylla_gha.github.faults import Errand, RefusedRequestError

_MAY_WRITE: Final = {"admin", "maintain", "write"}
_NOT_FOUND: Final = 404
_UNSEEN: Final = {403, 404}


def pull(channel: Channel, number: int) -> Pull:
    """The pull request as it is now."""
    return channel.read(Ask("GET", f"/pulls/{number}", Errand(f"read #{number}", "pull-requests: read")), Pull)


def merge_base(channel: Channel, of: Pull) -> str:
    """Where a pull request branched off: a commit of the branch that it is for, so nobody's but the repository's."""
    spread = f"{of.base.ref}...{of.head.sha}"
    ask = Ask("GET", f"/compare/{quote(spread, safe='.')}", Errand(f"find where #{of.number} branched off",
              "contents: read"), query={"per_page": "1"})  # fmt: skip
    return channel.read(ask, Compared).merge_base_commit.sha


def may_write(channel: Channel, login: str) -> bool:
    """Whether GitHub lets a login write to the repository.

    The association that an event names says something else: members of an organisation may have no right to write,
    and those who have may be shown as strangers.
    """
    ask = Ask("GET", f"/collaborators/{quote(login, safe='')}/permission",
              Errand(f"ask what {login} may do", "metadata: read"))  # fmt: skip
    try:
        return channel.read(ask, Permission).permission in _MAY_WRITE
    except RefusedRequestError as error:
        if error.status == _NOT_FOUND:
            return False
        raise


def last_push(channel: Channel, of: Pull) -> Push | None:
    """The latest push to a pull request's branch, by GitHub's own clock; None where it does not tell.

    The dates in commits are their authors' to choose, so they prove nothing.
    """
    if of.head.repo is None:
        return None
    ask = Ask("GET", f"//repos/{of.head.repo.full_name}/activity", Errand(f"read the pushes to #{of.number}",
              "contents: read"), query={"ref": f"refs/heads/{of.head.ref}", "direction": "desc"})  # fmt: skip
    try:
        return next(iter(channel.some(ask, Push)), None)
    except RefusedRequestError as error:
        if error.status in _UNSEEN:
            return None
        raise


def workflow_run(channel: Channel, run: int) -> Run:
    """A workflow's run."""
    return channel.read(Ask("GET", f"/actions/runs/{run}", Errand(f"read the run {run}", "actions: read")), Run)
