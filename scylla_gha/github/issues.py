"""Issues that the toolkit opens, keeps up to date and closes; each is known by a marker in its first line."""

from collections.abc import Iterator
from typing import Final, Literal

from scylla_gha.github.answers import Anything, Issue
from scylla_gha.github.channel import Ask, Channel
from scylla_gha.github.faults import Errand, RefusedRequestError

_NEEDS: Final = "issues: write"
_NOT_FOUND: Final = 404
_EXISTS: Final = 422
_COLOUR: Final = "b60205"


def find(channel: Channel, author: str, marker: str, label: str) -> Issue | None:
    """The author's newest issue with the label that begins with the marker, open ones first."""
    found = sorted(_marked(channel, author, marker, label), key=lambda one: (one.state == "open", one.number))
    return found[-1] if found else None


def _marked(channel: Channel, author: str, marker: str, label: str) -> Iterator[Issue]:
    ask = Ask("GET", "/issues", Errand("read issues", "issues: read"), query={"state": "all", "labels": label})
    return (one for one in channel.each(ask, Issue) if one.author == author and (one.body or "").startswith(marker))


def open_issue(channel: Channel, author: str, title: str, body: str, label: str) -> Issue:
    """Open an issue, once, with a label that is made where it is missing."""
    _ensure_label(channel, label)
    marker = body.partition("\n")[0]
    ask = Ask("POST", "/issues", Errand("open an issue", _NEEDS), {"title": title, "body": body, "labels": [label]})

    def search() -> Issue | None:
        found = find(channel, author, marker, label)
        return found if found and found.state == "open" else None

    return channel.create(ask, Issue, search)


def update(channel: Channel, number: int, body: str, state: Literal["open", "closed"]) -> Issue:
    """Replace an issue's text, and open or close it."""
    more = {"state_reason": "completed"} if state == "closed" else {}
    ask = Ask("PATCH", f"/issues/{number}", Errand(f"update the issue #{number}", _NEEDS),
              {"body": body, "state": state, **more})  # fmt: skip
    return channel.read(ask, Issue)


def _ensure_label(channel: Channel, label: str) -> None:
    try:
        channel.read(Ask("GET", f"/labels/{label}", Errand(f"read the label {label}", "issues: read")), Anything)
    except RefusedRequestError as error:
        if error.status != _NOT_FOUND:
            raise
        _make_label(channel, label)


def _make_label(channel: Channel, label: str) -> None:
    body = {"name": label, "color": _COLOUR, "description": "An agent does worse than it did"}
    try:
        channel.send(Ask("POST", "/labels", Errand(f"make the label {label}", _NEEDS), body))
    except RefusedRequestError as error:
        if error.status != _EXISTS:
            raise
