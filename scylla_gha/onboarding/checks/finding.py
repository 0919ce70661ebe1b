"""Findings of `doctor`."""

from typing import Annotated, Literal

from pydantic import Field

from scylla_gha.github.setup import HiddenResource, MissingResource
from scylla_gha.model.record import Record

State = Literal["ok", "optional", "problem", "unknown"]


class Finding(Record):
    """One checked item.

    `optional`: missing, and needed for some uses only. `unknown`: the token has no access to it.
    """

    id: str
    state: State
    what: Annotated[str, Field(description="what was found")]
    mend: Annotated[str, Field(description="a command or an address; empty: nothing to do")] = ""


def ok(name: str, what: str, mend: str = "") -> Finding:
    """Return a finding without a fault; `mend` may name an improvement."""
    return Finding(id=name, state="ok", what=what, mend=mend)


def optional(name: str, what: str, mend: str) -> Finding:
    """Return a finding that matters for some uses only."""
    return Finding(id=name, state="optional", what=what, mend=mend)


def problem(name: str, what: str, mend: str) -> Finding:
    """Return a finding that must be corrected."""
    return Finding(id=name, state="problem", what=what, mend=mend)


def unknown(name: str, what: str, mend: str) -> Finding:
    """Return a finding about something that cannot be read."""
    return Finding(id=name, state="unknown", what=what, mend=mend)


def hidden(name: str, what: str, answer: MissingResource | HiddenResource) -> Finding:
    """Return the finding about something that the token has no access to."""
    status = answer.status if isinstance(answer, HiddenResource) else 404
    mend = "ask with an administrator's token: GH_TOKEN=$(gh auth token) scylla-gha doctor"
    return unknown(name, f"{what}: this token has no access ({status})", mend)


def plain(text: str | None) -> str:
    """Return a text from GitHub without control characters, at most 200 characters."""
    return "".join(filter(str.isprintable, text or ""))[:200]
