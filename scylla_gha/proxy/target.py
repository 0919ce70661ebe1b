"""Whom a request to the proxy is for, read strictly: two readings of one name would be a way around the list."""

import re
from dataclasses import dataclass
from typing import Final

from scylla_gha.model.network import USUAL_PORTS, address, name

_AUTHORITY: Final = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{1,5}))?")
_ABSOLUTE: Final = re.compile(r"http://([^/?#]*)((?:[/?][!-\"$-~]*)?)", re.IGNORECASE)
_HTTP: Final = 80
_HIGHEST_PORT: Final = 65535


@dataclass(frozen=True, slots=True)
class Target:
    """A host in its one spelling, and a port; of a request that is no tunnel, the path with its query."""

    host: str
    port: int
    path: str | None = None

    @property
    def label(self) -> str:
        """As it is counted."""
        return self.host if self.port in USUAL_PORTS else self.authority

    @property
    def authority(self) -> str:
        """Host and port."""
        return f"{_bracketed(self.host)}:{self.port}"

    @property
    def header(self) -> str:
        """The Host header of a request by http or, on its own port, by https."""
        return _bracketed(self.host) if self.port in USUAL_PORTS else self.authority


def of_tunnel(text: str) -> Target | None:
    """Of a CONNECT request: host and port, both given; None where it is anything else."""
    host, port = _split(text)
    return Target(host, port) if host is not None and port else None


def of_absolute(text: str) -> Target | None:
    """Of a request for an http URL; None where it is none, or has user information or a fragment."""
    parts = _ABSOLUTE.fullmatch(text)
    if parts is None:
        return None
    host, port = _split(parts[1])
    path = parts[2] if parts[2].startswith("/") else f"/{parts[2]}"
    return Target(host, _HTTP if port is None else port, path) if host is not None and port != 0 else None


def _split(text: str) -> tuple[str | None, int | None]:
    """Host, None where it is none, and port, 0 where it is none."""
    parts = _AUTHORITY.fullmatch(text)
    if parts is None:
        return None, None
    plain = (parts[2] or "").lower().removesuffix(".")  # the same name in the DNS
    host = address(parts[1]) if parts[1] else name(plain)
    port = int(parts[3]) if parts[3] else None
    return host, 0 if port is not None and port > _HIGHEST_PORT else port


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
