"""Egress policy of a session: the hosts and limits, how a request's target is parsed, and the proxy's variables.

A target is parsed strictly: a name with two readings would be a way around the list of hosts.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from scylla_gha.model.record import Record
from scylla_gha.model.sandbox import USUAL_PORTS, HostPattern, OneHost, address, name, pattern_of

_NO_PROXY: Final = "127.0.0.1,localhost,::1"
_AUTHORITY: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{1,5}))?")
_ABSOLUTE: Final = re.compile(r"http://([^/?#]*)((?:[/?][!-\"$-~]*)?)", re.IGNORECASE)
_HTTP: Final = 80
_HIGHEST_PORT: Final = 65535


class EgressLimits(Record):
    """Limits of one session."""

    connections: Annotated[int, Field(ge=1, description="open at a time")] = 128
    attempts: Annotated[int, Field(ge=1, description="that are logged; later ones are refused")] = 10_000
    total_bytes: Annotated[int, Field(ge=0, description="in both directions together")] = 4_000_000_000
    idle_seconds: Annotated[float, Field(gt=0, description="after which a connection without traffic is closed")] = 120
    connect_seconds: Annotated[float, Field(gt=0)] = 15


def _socket_address(text: str) -> str:
    host, _, port = text.rpartition(":")
    ipaddress.ip_address(host.strip("[]"))
    if not port.isdecimal():
        raise ValueError(f"{text!r} is not an address with a port")
    return text


class EgressPolicy(Record):
    """The hosts that a session may reach; none by default.

    `local` maps a host to the address of a server of the harness: the only way to an address that is not public.
    """

    hosts: tuple[HostPattern, ...] = ()
    local: dict[OneHost, Annotated[str, AfterValidator(_socket_address)]] = Field(default_factory=dict)
    limits: EgressLimits = EgressLimits()

    def allows(self, host: str, port: int) -> bool:
        """Tell if the host may be reached."""
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
        url: the gateway's address as the program sees it, `http://127.0.0.1:PORT`.
        token: the session's dummy key.
    """
    proxy = url.replace("http://", f"http://session:{token}@", 1)
    names = {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": _NO_PROXY}
    return names | {key.lower(): value for key, value in names.items()}  # curl reads http_proxy in lower case only


@dataclass(frozen=True, slots=True)
class EgressTarget:
    """A host in its canonical spelling and a port; `path` (with the query) is None for a tunnel."""

    host: str
    port: int
    path: str | None = None

    @property
    def label(self) -> str:
        """The name under which it is counted."""
        return self.host if self.port in USUAL_PORTS else self.authority

    @property
    def authority(self) -> str:
        """Host and port."""
        return f"{_bracketed(self.host)}:{self.port}"

    @property
    def header(self) -> str:
        """The Host header of a request to it."""
        return _bracketed(self.host) if self.port in USUAL_PORTS else self.authority


def tunnel_target(text: str) -> EgressTarget | None:
    """Parse the target of a CONNECT request: host and port; None if it is anything else."""
    host, port = _split(text)
    return EgressTarget(host, port) if host is not None and port else None


def url_target(text: str) -> EgressTarget | None:
    """Parse an absolute http URL; None if it is not one, or has user information or a fragment."""
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
    plain = (parts[2] or "").lower().removesuffix(".")  # the same name in the DNS
    host = address(parts[1]) if parts[1] else name(plain)
    port = int(parts[3]) if parts[3] else None
    return host, 0 if port is not None and port > _HIGHEST_PORT else port


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
