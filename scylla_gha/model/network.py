"""What a task may reach beside its model, and what of the network an attempt sought.

A pattern is a host's exact name, or `*.` and a domain for all names below it, and perhaps a port; without one, 443 and
80 are meant. Names are ASCII and in lower case: one in another script is given as it is in the DNS (`xn--...`).
"""

import datetime
import ipaddress
import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from scylla_gha.model.record import Record

USUAL_PORTS: Final = (443, 80)
UNREAD: Final = "(unreadable)"  # in the place of a host that is none
_LONGEST_NAME: Final = 253
_HIGHEST_PORT: Final = 65535
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PARTS: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:]+))(?::([1-9][0-9]{0,4}))?")


@dataclass(frozen=True, slots=True)
class Pattern:
    """Hosts that may be reached. `host` is a name, or an address as the standard library writes it."""

    host: str
    port: int | None = None
    below: bool = False

    def covers(self, host: str, port: int) -> bool:
        """Whether the host, in the same form, may be reached on that port."""
        named = host.endswith(f".{self.host}") if self.below else host == self.host
        return named and (port in USUAL_PORTS if self.port is None else port == self.port)


def pattern_of(text: str) -> Pattern:
    """Read a pattern.

    Raises:
        ValueError: it is none.
    """
    below = text.startswith("*.")
    parts = _PARTS.fullmatch(text[2:] if below else text)
    host = parts and (address(parts[1]) if parts[1] else name(parts[2]))
    port = int(parts[3]) if parts and parts[3] else None
    if host is None or (port or 0) > _HIGHEST_PORT:
        raise ValueError(f"{text!r} is no host; write example.org, *.example.org or example.org:8443, in lower case")
    if below and ("." not in host or is_address(host)):
        raise ValueError(f"{text!r} covers too much; name a domain of at least two parts below *.")
    return Pattern(host, port, below)


def name(text: str) -> str | None:
    """A host's name or IPv4 address, if it is one and in lower case.

    What ends in a number is an address to some programs in many spellings (`127.1`, `0x7f000001`); one is taken.
    """
    labels = text.split(".")
    if len(text) > _LONGEST_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    return address(text) if _NUMBER.fullmatch(labels[-1]) else text


def address(text: str) -> str | None:
    """An address in its one spelling."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None


def is_address(host: str) -> bool:
    """Whether it is an address and no name."""
    return address(host) is not None


def _pattern(text: str) -> str:
    pattern_of(text)
    return text


def _named(text: str) -> str:
    if is_address(pattern_of(text).host):
        raise ValueError(f"{text!r} is an address; give the host's name")
    return text


def _exact(text: str) -> str:
    if pattern_of(text).below:
        raise ValueError(f"{text!r} are many hosts; name one")
    return text


HostPattern = Annotated[str, AfterValidator(_pattern)]
NamedHost = Annotated[str, AfterValidator(_named)]
OneHost = Annotated[str, AfterValidator(_exact)]


class Reach(Record):
    """What a scenario's agent may reach beside its model; checks reach nothing."""

    hosts: Annotated[
        tuple[NamedHost, ...],
        Field(description="such as pkg.example, *.example.org, example.org:8443; else none"),
    ] = ()


class Opened(Record):
    """An attempt to reach a host, written before anything is done about it."""

    kind: Literal["opened"] = "opened"
    number: Annotated[int, Field(ge=1, description="within the attempt")]
    at: datetime.datetime
    how: Literal["connect", "http"]
    host: str
    port: Annotated[int, Field(description="0: what was sought cannot be read")]
    refused: Annotated[Literal["host", "unreadable", "too_many"] | None, Field(description="None: allowed")] = None


class Closed(Record):
    """The end of one that was allowed."""

    kind: Literal["closed"] = "closed"
    number: Annotated[int, Field(ge=1)]
    up_bytes: int
    down_bytes: int
    seconds: float
    error: Annotated[
        Literal["private_address", "unreachable", "idle", "too_much", "cut", "ended_with_trial"] | None,
        Field(description="None: both sides were done"),
    ] = None


class Reached(Record):
    """What an attempt sought, by host; a host with another port than 443 and 80 is named with it.

    It is all there is where there is no other way out; on a host whose network is open, a program that does not heed
    the proxy's address goes by unseen.
    """

    allowed: dict[str, int] = {}
    refused: dict[str, int] = {}
    up_bytes: int = 0
    down_bytes: int = 0
    unended: Annotated[int, Field(description="open when the gateway died, so with bytes that nobody counted")] = 0
