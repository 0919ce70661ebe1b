"""Sandboxes: image recipes, pinned tools, isolation, host patterns that a scenario may reach, and the egress log.

A host pattern is an exact name, or `*.` and a domain for all names below it, with an optional port; without a port, 443
and 80 are allowed. Names are ASCII in lower case: an international name is written as in the DNS (`xn--...`).
"""

import datetime
import ipaddress
import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, SerializerFunctionWrapHandler, model_serializer

from scylla_gha.model import Record, Slug

Network = Literal["open", "gateway", "provider", "none"]
Keys = Literal["exposed", "hidden"]
Files = Literal["open", "own"]
USUAL_PORTS: Final = (443, 80)
UNREAD: Final = "(unreadable)"  # replaces an invalid host
_LONGEST_NAME: Final = 253
_HIGHEST_PORT: Final = 65535
_LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PARTS: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\[\]:]+))(?::([1-9][0-9]{0,4}))?")
PackageName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?$")]
EntryPoint = Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*(:[A-Za-z_][\w.]*)?( *\[[\w ,.-]*\])?$")]
ImportRoot = Annotated[str, Field(pattern=r"^(\.|[\w-][\w.-]*(/[\w-][\w.-]*)*)$")]


class Isolation(Record):
    """Isolation that a sandbox gave a trial; stored with every trial."""

    network: Network = Field(
        description="Reachable network: open is the whole network, gateway is only models through a socket, provider "
        "is gateway and everything that the provider's own tools reach, none is nothing"
    )
    keys: Keys = Field(
        description="Access to the provider's key: exposed if the agent can read the memory of processes that "
        "hold it, otherwise hidden"
    )
    files: Files = Field(
        description="Reachable files: open is all files that this user may read or write, own is the trial's files"
    )


class ImageRecipe(Record):
    """Recipe of a Debian image: its release, and packages in addition to the essential ones."""

    id: Slug
    release: Slug = Field(description="Name of a Debian release, e.g. bookworm")
    packages: tuple[str, ...] = Field(min_length=1, description="Debian packages to install; must include python3")


@dataclass(frozen=True, slots=True)
class Pattern:
    """Pattern of reachable hosts. `host` is a name, or an address in the standard library's form."""

    host: str
    port: int | None = None
    below: bool = False

    def covers(self, host: str, port: int) -> bool:
        """Return whether the host, in the same form, may be reached on that port."""
        named = host.endswith(f".{self.host}") if self.below else host == self.host
        return named and (port in USUAL_PORTS if self.port is None else port == self.port)


def pattern_of(text: str) -> Pattern:
    """Parse a host pattern.

    Raises:
        ValueError: the pattern is invalid.
    """
    below = text.startswith("*.")
    parts = _PARTS.fullmatch(text[2:] if below else text)
    host = parts and (address(parts[1]) if parts[1] else name(parts[2]))
    port = int(parts[3]) if parts and parts[3] else None
    if host is None or (port or 0) > _HIGHEST_PORT:
        raise ValueError(f"{text!r} is not a host; write example.org, *.example.org or example.org:8443, in lower case")
    if below and ("." not in host or is_address(host)):
        raise ValueError(f"{text!r} covers too much; name a domain of at least two parts below *.")
    return Pattern(host, port, below)


def name(text: str) -> str | None:
    """Return a host's name or IPv4 address if it is valid and in lower case; otherwise None.

    Some programs read a name that ends in a number as an address, in many spellings (`127.1`, `0x7f000001`); only one
    spelling is accepted.
    """
    labels = text.split(".")
    if len(text) > _LONGEST_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        return None
    return address(text) if _NUMBER.fullmatch(labels[-1]) else text


def address(text: str) -> str | None:
    """Return an address in its canonical spelling, or None."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None


def is_address(host: str) -> bool:
    """Return whether the host is an address."""
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
        raise ValueError(f"{text!r} covers many hosts; name one")
    return text


HostPattern = Annotated[str, AfterValidator(_pattern)]
NamedHost = Annotated[str, AfterValidator(_named)]
OneHost = Annotated[str, AfterValidator(_exact)]


class NetworkAccess(Record):
    """Hosts that a scenario's agent may reach besides its model. Checks reach no host."""

    hosts: tuple[NamedHost, ...] = Field(
        default=(),
        description="Hosts that the agent may reach, such as pkg.example, *.example.org or example.org:8443; "
        "empty: none",
    )


class EgressOpened(Record):
    """Attempt to reach a host, written before the connection is made."""

    kind: Literal["opened"] = "opened"
    number: int = Field(ge=1, description="Number of the connection within the attempt, from 1")
    at: datetime.datetime
    how: Literal["connect", "http"]
    host: str
    port: int = Field(description="Port of the host; 0: the request could not be read")
    refused: Literal["host", "unreadable", "too_many"] | None = Field(
        default=None, description="Reason why the connection was refused; None: it was allowed"
    )


class EgressClosed(Record):
    """End of an allowed connection."""

    kind: Literal["closed"] = "closed"
    number: Annotated[int, Field(ge=1)]
    up_bytes: int
    down_bytes: int
    seconds: float
    error: Literal["private_address", "unreachable", "idle", "too_much", "cut", "ended_with_trial"] | None = Field(
        default=None, description="Reason why the connection was cut; None: both sides had finished"
    )


class HostContact(Record):
    """Hosts that an attempt tried to reach; a port other than 443 and 80 is named with the host.

    The record is complete if the proxy is the only way out; with an open network, programs can bypass the proxy unseen.
    """

    allowed: dict[str, int] = {}
    refused: dict[str, int] = {}
    up_bytes: int = 0
    down_bytes: int = 0
    unended: int = Field(
        default=0, description="Number of connections that were open when the gateway died, whose bytes are unknown"
    )


class EditableInstall(Record):
    """Python package of the start state, which is installed as by `pip install -e`, without running its build."""

    name: PackageName
    version: Annotated[str, Field(pattern=r"^[0-9][\w.+!-]*$")] = "0.0.0"
    roots: tuple[ImportRoot, ...] = Field(
        default=(".",), min_length=1, description="Folders that contain the package's modules"
    )
    entry_points: dict[str, dict[PackageName, EntryPoint]] = Field(
        default={},
        description="Entry points by group, e.g. console_scripts: {app: 'app.cli:main'}, which become programs on PATH",
    )


class Tools(Record):
    """Tools on the PATH of agent and checks."""

    python: dict[str, str] = Field(default={}, description="PyPI packages with exact versions, e.g. pytest: 9.2.0")
    node: dict[str, str] = Field(
        default={},
        description="npm packages with exact versions, e.g. vitest: 3.2.4, which programs of Node.js can import",
    )
    editable: EditableInstall | None = Field(
        default=None,
        description="Python package of the start state; its modules are loaded from the folder that a program runs in",
    )
    setup: str | None = Field(
        default=None,
        min_length=1,
        description="Command that installs what tests need; it runs once on each machine, with the machine's "
        "network, in a copy of the start state; agent and checks get its .venv, node_modules and "
        "go-modules",
    )
    prepared: str | None = Field(
        default=None,
        pattern=r"^[0-9a-f]{16}$",
        description="Folder in the toolkit's cache that `readiness --setup` made on this machine",
    )
    system: tuple[Slug, ...] = Field(default=(), description="Programs that must be installed on the machine")

    @model_serializer(mode="wrap")
    def _leave_out_unset(self, dump: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Leave out newer fields that are unset, so that keys of older scenarios stay the same."""
        fields: dict[str, object] = dump(self)
        return {name: tools for name, tools in fields.items() if name in {"python", "system"} or tools}
