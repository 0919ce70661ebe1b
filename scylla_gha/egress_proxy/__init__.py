"""Outgoing connections of a session: the policy of hosts and limits, and the connections that it allows or refuses.

A target is parsed strictly, since a name with two readings would be a way around the list of hosts. Connections are
opened to the public addresses that were checked here; no name is resolved twice. Connections are counted, limited and
logged in `network.jsonl`. A line is written before the action that it records, so a killed gateway leaves at worst a
connection without a logged end.
"""

import asyncio
import datetime
import ipaddress
import re
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, TypeAdapter

from scylla_gha.model import Record
from scylla_gha.model.sandbox import (
    UNREAD,
    USUAL_PORTS,
    EgressClosed,
    EgressOpened,
    HostContact,
    HostPattern,
    OneHost,
    address,
    name,
    pattern_of,
)
from scylla_gha.store import open_journal, read_journal

_NO_PROXY: Final = "127.0.0.1,localhost,::1"
_AUTHORITY: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{1,5}))?")
_ABSOLUTE: Final = re.compile(r"http://([^/?#]*)((?:[/?][!-\"$-~]*)?)", re.IGNORECASE)
_HTTP: Final = 80
_HIGHEST_PORT: Final = 65535
_THREADS: Final = 8
_MAX_ADDRESSES: Final = 6  # of one host to which a connection is tried
_NAT64: Final = ipaddress.ip_network("64:ff9b::/32")  # IPv4 addresses behind a translator
Address = tuple[str, int]
NETWORK_LOG: Final = "network.jsonl"  # in an attempt's folder
_MAX_HOSTS: Final = 50  # that are counted by name
_OTHERS: Final = "(others)"
_LINE: Final[TypeAdapter[EgressOpened | EgressClosed]] = TypeAdapter(
    Annotated[EgressOpened | EgressClosed, Field(discriminator="kind")]
)
Method = Literal["connect", "http"]
Refusal = Literal["host", "unreadable", "too_many"]
Error = Literal["private_address", "unreachable", "idle", "too_much", "cut", "ended_with_trial"]


class EgressLimits(Record):
    """Limits of one session."""

    connections: int = Field(default=128, ge=1, description="Maximum number of connections that are open at a time")
    attempts: int = Field(
        default=10_000, ge=1, description="Maximum number of logged attempts to reach a host; later ones are refused"
    )
    total_bytes: int = Field(
        default=4_000_000_000, ge=0, description="Maximum number of bytes in both directions together"
    )
    idle_seconds: float = Field(
        default=120, gt=0, description="Time in seconds after which a connection without traffic is closed"
    )
    connect_seconds: Annotated[float, Field(gt=0)] = 15


def _socket_address(text: str) -> str:
    host, _, port = text.rpartition(":")
    ipaddress.ip_address(host.strip("[]"))
    if not port.isdecimal():
        raise ValueError(f"{text!r} is not an address with a port")
    return text


class EgressPolicy(Record):
    """The hosts that a session may reach; by default none.

    `local` maps a host to the address of a server of the harness. It is the only way to an address that is not public.
    """

    hosts: tuple[HostPattern, ...] = ()
    local: dict[OneHost, Annotated[str, AfterValidator(_socket_address)]] = Field(default_factory=dict)
    limits: EgressLimits = EgressLimits()

    def allows(self, host: str, port: int) -> bool:
        """Return True if the session may reach the host."""
        return any(pattern_of(pattern).covers(host, port) for pattern in (*self.hosts, *self.local))

    def local_address(self, host: str, port: int) -> tuple[str, int] | None:
        """Return the address of the harness's server that stands in for this host; None if there is none."""
        for pattern, local in self.local.items():
            if pattern_of(pattern).covers(host, port):
                local_host, _, local_port = local.rpartition(":")
                return local_host.strip("[]"), int(local_port)
        return None

    @property
    def description(self) -> str:
        """The hosts, for a message."""
        return ", ".join(dict.fromkeys((*self.hosts, *self.local))) or "none"


def proxy_environment(url: str, token: str) -> dict[str, str]:
    """Return the variables by which programs find the proxy.

    Args:
        url: address of the gateway as the program sees it, `http://127.0.0.1:PORT`.
        token: dummy key of the session.
    """
    proxy = url.replace("http://", f"http://session:{token}@", 1)
    names = {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": _NO_PROXY}
    return names | {key.lower(): value for key, value in names.items()}  # curl reads http_proxy in lower case only


@dataclass(frozen=True, slots=True)
class EgressTarget:
    """A port of a host in canonical spelling; `path` includes the query, and is None for a tunnel."""

    host: str
    port: int
    path: str | None = None

    @property
    def label(self) -> str:
        """Name under which requests to it are counted."""
        return self.host if self.port in USUAL_PORTS else self.authority

    @property
    def authority(self) -> str:
        """Host and port."""
        return f"{_bracketed(self.host)}:{self.port}"

    @property
    def header(self) -> str:
        """Value of the Host header in a request to it."""
        return _bracketed(self.host) if self.port in USUAL_PORTS else self.authority


def tunnel_target(text: str) -> EgressTarget | None:
    """Parse the target of a CONNECT request, a host and a port; return None if it is invalid."""
    host, port = _split(text)
    return EgressTarget(host, port) if host is not None and port else None


def url_target(text: str) -> EgressTarget | None:
    """Parse an absolute http URL; return None if it is invalid, or has user information or a fragment."""
    parts = _ABSOLUTE.fullmatch(text)
    if parts is None:
        return None
    host, port = _split(parts[1])
    path = parts[2] if parts[2].startswith("/") else f"/{parts[2]}"
    return EgressTarget(host, _HTTP if port is None else port, path) if host is not None and port != 0 else None


def _split(text: str) -> tuple[str | None, int | None]:
    """Return host (None if invalid) and port (None if absent, 0 if invalid)."""
    parts = _AUTHORITY.fullmatch(text)
    if parts is None:
        return None, None
    plain = (parts[2] or "").lower().removesuffix(".")  # in the DNS, this is the same name
    host = address(parts[1]) if parts[1] else name(plain)
    port = int(parts[3]) if parts[3] else None
    return host, 0 if port is not None and port > _HIGHEST_PORT else port


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


class PrivateAddressError(Exception):
    """An allowed host has no public address."""


def resolve(host: str, port: int) -> list[str]:
    """Return a host's addresses by the machine's resolver."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(entry[4][0]) for entry in entries]


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolver of names with its own threads, so that a silent name server delays no other request."""

    resolve: Callable[[str, int], Sequence[str]] = resolve
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_THREADS, "names"))

    async def addresses(self, target: EgressTarget, policy: EgressPolicy) -> list[Address]:
        """Return the addresses to connect to.

        Raises:
            PrivateAddressError: the name has no public address.
            OSError: the name has no address, or was not resolved in time.
        """
        import asyncio  # here, since commands that only parse a policy do not need it

        local = policy.local_address(target.host, target.port)
        if local is not None:
            return [local]
        lookup = asyncio.get_running_loop().run_in_executor(self.threads, self.resolve, target.host, target.port)
        async with asyncio.timeout(policy.limits.connect_seconds):
            addresses = list(dict.fromkeys(await lookup))
        public = [(address, target.port) for address in addresses if is_public(address)]
        if addresses and not public:
            raise PrivateAddressError
        return public[:_MAX_ADDRESSES]

    def close(self) -> None:
        """Stop the threads without waiting for them."""
        self.threads.shutdown(wait=False, cancel_futures=True)


def is_public(text: str) -> bool:
    """Return True if an address is public; an IPv6 address that embeds an IPv4 address is judged by the latter."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id or address.is_site_local or address in _NAT64:
            return False
        embedded = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if embedded:
            return is_public(str(embedded)) and address.ipv4_mapped is not None
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def is_loopback(host: str) -> bool:
    """Return True if a host is a loopback address or `localhost`; no name is resolved."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class ConnectionLimitError(Exception):
    """The session has transferred as many bytes as it may."""


class Connections:
    """Connections of a session; `tasks` are the tasks of its open connections."""

    def __init__(self, policy: EgressPolicy, path: Path) -> None:
        """Continue the log at `path`, which is created at the first attempt; an incomplete last line is removed.

        Raises:
            ConfigError: the file is not a log of connections.
        """
        self.policy = policy
        self.tasks: set[asyncio.Task[object]] = set()
        self._path = path
        if path.exists():
            open_journal(path).close()
        self._number = max((record.number for record in read_egress_log(path)), default=0)
        self._bytes = 0

    def open(self, method: Method, target: EgressTarget | None) -> "Connection | Refusal":
        """Log an attempt to connect, and decide on it; `target` is None if it could not be parsed."""
        refusal = self._refusal(target)
        if self._number >= self.policy.limits.attempts:
            return "too_many"
        self._number += 1
        host, port = (target.host, target.port) if target else (UNREAD, 0)
        now = datetime.datetime.now(datetime.UTC)
        self.log(EgressOpened(number=self._number, at=now, how=method, host=host, port=port, refused=refusal))
        if refusal is not None or target is None:
            return refusal or "unreadable"
        return Connection(self, self._number, target)

    def log(self, record: EgressOpened | EgressClosed) -> None:
        """Append a line to the log; a crash of this process afterwards does not lose it."""
        with self._path.open("ab", buffering=0) as file:
            file.write(record.model_dump_json().encode() + b"\n")

    def count_bytes(self, size: int) -> None:
        """Count bytes before they are passed on.

        Raises:
            ConnectionLimitError: the bytes exceed the session's limit.
        """
        self._bytes += size
        if self._bytes > self.policy.limits.total_bytes:
            raise ConnectionLimitError

    async def close(self) -> None:
        """End all open connections, and complete the log."""
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _refusal(self, target: EgressTarget | None) -> Refusal | None:
        if target is None:
            return "unreadable"
        if not self.policy.allows(target.host, target.port):
            return "host"
        return "too_many" if len(self.tasks) >= self.policy.limits.connections else None


@dataclass
class Connection:
    """One allowed connection or request."""

    connections: Connections
    number: int
    target: EgressTarget
    error: Error | None = None
    timeout: asyncio.Timeout | None = None
    _up: int = 0
    _down: int = 0
    _is_closed: bool = False
    _start: float = field(default_factory=time.monotonic)

    def count_bytes(self, up: int = 0, down: int = 0) -> None:
        """Count bytes before they are passed on, and restart the idle timeout.

        Raises:
            ConnectionLimitError: they exceed the session's limit.
        """
        try:
            self.connections.count_bytes(up + down)
        except ConnectionLimitError:
            self.error = "too_much"  # set here, since the reader of a body may raise another error instead
            raise
        self._up += up
        self._down += down
        if self.timeout is not None and not self.timeout.expired():
            self.timeout.reschedule(asyncio.get_running_loop().time() + self.connections.policy.limits.idle_seconds)

    def idle_timeout(self) -> asyncio.Timeout:
        """Return a timeout that expires if no byte is passed for `idle_seconds`."""
        self.timeout = asyncio.timeout(self.connections.policy.limits.idle_seconds)
        return self.timeout

    def close(self) -> None:
        """Log the end of the connection, at most once."""
        if not self._is_closed:
            self._is_closed = True
            seconds = round(time.monotonic() - self._start, 6)
            self.connections.log(
                EgressClosed(
                    number=self.number, up_bytes=self._up, down_bytes=self._down, seconds=seconds, error=self.error
                )
            )


def read_egress_log(path: Path) -> list[EgressOpened | EgressClosed]:
    """Read all records in order of time; return an empty list if there is no file.

    Raises:
        ConfigError: a line other than an incomplete last line is not a record of a connection.
    """
    return read_journal(path, _LINE, "the network")


def egress_summary(path: Path) -> HostContact:
    """Summarise a log; return zeros if there is no file.

    Raises:
        ConfigError: the file is not a log of connections.
    """
    records = read_egress_log(path)
    ends = {record.number: record for record in records if isinstance(record, EgressClosed)}
    allowed: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    unended = 0
    for record in records:
        if isinstance(record, EgressOpened):
            end = ends.get(record.number)
            is_refused = record.refused is not None or (end is not None and end.error == "private_address")
            (refused if is_refused else allowed)[EgressTarget(record.host, record.port or 443).label] += 1
            unended += record.refused is None and end is None
    return HostContact(
        allowed=_named(allowed),
        refused=_named(refused),
        up_bytes=sum(end.up_bytes for end in ends.values()),
        down_bytes=sum(end.down_bytes for end in ends.values()),
        unended=unended,
    )


def _named(counts: Counter[str]) -> dict[str, int]:
    """Count the most frequent hosts by name and all others together, since an agent may name any number of hosts."""
    frequent = dict(counts.most_common(_MAX_HOSTS))
    rest = counts.total() - sum(frequent.values())
    return frequent | ({_OTHERS: rest} if rest else {})
