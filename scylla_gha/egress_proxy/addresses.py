"""Name resolution of the proxy, to public addresses only.

The connection is opened to the addresses that were checked here: a name is never resolved twice.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.egress_proxy.policy import EgressPolicy, EgressTarget

_THREADS: Final = 8
_MAX_ADDRESSES: Final = 6  # of one host that are tried
_NAT64: Final = ipaddress.ip_network("64:ff9b::/32")  # IPv4 addresses behind a translator
Address = tuple[str, int]


class PrivateAddressError(Exception):
    """An allowed host has only addresses that are not public."""


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses that the machine's resolver knows."""
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(entry[4][0]) for entry in entries]


@dataclass(frozen=True, slots=True)
class Resolver:
    """Resolves names in its own threads, so that a name server that never answers delays no other request."""

    resolve: Callable[[str, int], Sequence[str]] = resolve
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_THREADS, "names"))

    async def addresses(self, target: EgressTarget, policy: EgressPolicy) -> list[Address]:
        """Return the addresses to connect to.

        Raises:
            PrivateAddressError: the name has no public address.
            OSError: the name has no address, or was not resolved in time.
        """
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
        """Stop without waiting for a thread."""
        self.threads.shutdown(wait=False, cancel_futures=True)


def is_public(text: str) -> bool:
    """Tell if an address is public; an IPv6 address that embeds an IPv4 address is judged by that."""
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
    """Tell if a host is this machine; no name except `localhost` is resolved."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
