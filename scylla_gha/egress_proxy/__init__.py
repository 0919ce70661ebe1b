"""Egress policy of a session: hosts and limits, the parsing of a request's target, and the target's addresses.

A target is parsed strictly, since a name with two readings would be a way around the list of hosts. Connections are
opened to the public addresses that were checked here; no name is resolved twice.
"""

import ipaddress
import re
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from scylla_gha.model import Record
from scylla_gha.model.sandbox import USUAL_PORTS, HostPattern, OneHost, address, name, pattern_of

_NO_PROXY: Final = "127.0.0.1,localhost,::1"
_AUTHORITY: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{1,5}))?")
_ABSOLUTE: Final = re.compile(r"http://([^/?#]*)((?:[/?][!-\"$-~]*)?)", re.IGNORECASE)
_HTTP: Final = 80
_HIGHEST_PORT: Final = 65535
_THREADS: Final = 8
_MAX_ADDRESSES: Final = 6  # of one host to which a connection is tried
_NAT64: Final = ipaddress.ip_network("64:ff9b::/32")  # IPv4 addresses behind a translator
Address = tuple[str, int]


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
        """Return the address of the harness's server for this host, or None."""
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
