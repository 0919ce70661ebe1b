"""Comments on issues and pull requests, and reactions to them."""

from collections.abc import Iterator
from typing import Final, Literal

from scylla_gha.github.answers import Comment, User
from scylla_gha.github.channel import Ask, Channel
from scylla_gha.github.faults import Errand, RefusedRequestError

ACTIONS_BOT: Final = "github-actions[bot]"
_NEEDS: Final = "pull-requests: write"
_INSTALLATION: Final = "ghs_"  # how GitHub begins tokens of apps, the job's own among them
_NOT_A_USER: Final = {401, 403, 404}
_GONE: Final = {404, 410}


def own_login(channel: Channel) -> str:
    """Who writes by this token. A job's own token may not ask, and writes as the bot of Actions."""
    if (channel.access.token or "").startswith(_INSTALLATION):
        return ACTIONS_BOT
    try:
        return channel.read(Ask("GET", "//user", Errand("ask whose token this is", "none")), User).login
    except RefusedRequestError as error:
        if error.status in _NOT_A_USER:
            return ACTIONS_BOT
        raise


def comments(channel: Channel, number: int, author: str, since: str = "") -> Iterator[Comment]:
    """The comments of an author on an issue or pull request, oldest first, over all pages.

    Args:
        channel: to the repository.
        number: of the issue or pull request.
        author: a login.
        since: ISO time of the last change, after which they are; empty: all.
    """
    ask = Ask("GET", f"/issues/{number}/comments", Errand(f"read the comments on #{number}", "pull-requests: read"),
              query={"since": since} if since else {})  # fmt: skip
    return (one for one in channel.each(ask, Comment) if one.author == author)


def marked(channel: Channel, number: int, author: str, marker: str) -> list[Comment]:
    """The author's comments that begin with the marker, oldest first.

    Both count: by the marker alone anybody could have the bot edit a comment of theirs, or hide its own behind it.
    """
    return [one for one in comments(channel, number, author) if (one.body or "").startswith(marker)]


def post(channel: Channel, number: int, body: str, author: str) -> Comment:
    """Comment, once: before it is tried again, it is looked for by its first line."""
    first = body.partition("\n")[0]

    def search() -> Comment | None:
        return next((one for one in comments(channel, number, author) if (one.body or "").startswith(first)
                     and (one.body or "").strip() == body.strip()), None)  # fmt: skip

    return channel.create(
        Ask("POST", f"/issues/{number}/comments", Errand(f"comment on #{number}", _NEEDS), {"body": body}),
        Comment, search,
    )  # fmt: skip


def answer(channel: Channel, number: int, marker: str, text: str, author: str, since: str = "") -> None:
    """Comment, unless a comment of the author's with that first line is there; `since` as in `comments`."""
    if not any((one.body or "").startswith(marker) for one in comments(channel, number, author, since)):
        post(channel, number, f"{marker}\n{text}\n", author)


def edit(channel: Channel, comment: int, body: str) -> Comment | None:
    """Replace a comment's text; None where somebody deleted it meanwhile."""
    ask = Ask("PATCH", f"/issues/comments/{comment}", Errand(f"edit the comment {comment}", _NEEDS), {"body": body})
    try:
        return channel.read(ask, Comment)
    except RefusedRequestError as error:
        if error.status in _GONE:
            return None
        raise


def react(channel: Channel, comment: int, content: Literal["eyes", "confused", "rocket"]) -> None:
    """React to a comment; GitHub keeps one of a kind from each user."""
    channel.send(Ask("POST", f"/issues/comments/{comment}/reactions",
                     Errand(f"react to the comment {comment}", _NEEDS), {"content": content}))  # fmt: skip
