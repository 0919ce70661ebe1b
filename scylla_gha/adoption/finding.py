"""What `doctor` says of one thing."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.github.setup import Hidden, Missing
from scylla_gha.model.record import Record

State = Literal["ok", "optional", "problem", "unknown"]


class Finding(Record):
    """One thing that was looked at.

    `optional`: it is not there, and only some ways of use want it. `unknown`: the token may not see it.
    """

    id: str
    state: State
    what: Annotated[str, Field(description="what was found")]
    mend: Annotated[str, Field(description="a command or an address; empty where nothing is to be done")] = ""


def ok(name: str, what: str, mend: str = "") -> Finding:
    """It is as it should be; `mend` may say how it would be better still."""
    return Finding(id=name, state="ok", what=what, mend=mend)


def optional(name: str, what: str, mend: str) -> Finding:
    """Only some ways of use want it."""
    return Finding(id=name, state="optional", what=what, mend=mend)


def problem(name: str, what: str, mend: str) -> Finding:
    """Something does not work before it is mended."""
    return Finding(id=name, state="problem", what=what, mend=mend)


def unknown(name: str, what: str, mend: str) -> Finding:
    """It cannot be seen."""
    return Finding(id=name, state="unknown", what=what, mend=mend)


def hidden(name: str, what: str, found: Missing | Hidden) -> Finding:
    """What is said of a thing that the token may not see."""
    status = found.status if isinstance(found, Hidden) else 404
    mend = "ask with an administrator's token: GH_TOKEN=$(gh auth token) scylla-gha doctor"
    return unknown(name, f"{what}: this token may not see it ({status})", mend)


def plain(text: str | None) -> str:
    """What GitHub says, fit for a terminal."""
    return "".join(filter(str.isprintable, text or ""))[:200]
