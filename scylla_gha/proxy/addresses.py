"""From a name to addresses that may be dialled. What is dialled is what was looked at: nothing is resolved twice."""

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.proxy.permit import Permit
from scylla_gha.proxy.target import Target

_THREADS: Final = 8
_MOST: Final = 6  # addresses of a host that are tried
Address = tuple[str, int]


class PrivateError(Exception):
    """A host that may be reached has only addresses that may not."""


def resolve(host: str, port: int) -> list[str]:
    """The addresses that the machine's resolver knows."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return [str(each[4][0]) for each in found]


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks up names, in threads of its own: a name server that never answers holds up nobody else's requests."""

    resolve: Callable[[str, int], Sequence[str]] = resolve
    threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_THREADS, "names"))

    async def find(self, target: Target, permit: Permit) -> list[Address]:
        """Where to dial.

        Raises:
            PrivateError: the name leads to no public address.
            OSError: the name leads nowhere, or nobody says in time.
        """
        place = permit.place(target.host, target.port)
        if place is not None:
            return [place]
        looking = asyncio.get_running_loop().run_in_executor(self.threads, self.resolve, target.host, target.port)
        async with asyncio.timeout(permit.bounds.connect_seconds):
            found = list(dict.fromkeys(await looking))
        public = [(each, target.port) for each in found if is_public(each)]
        if found and not public:
            raise PrivateError
        return public[:_MOST]

    def close(self) -> None:
        """Wait for no thread."""
        self.threads.shutdown(wait=False, cancel_futures=True)


def is_public(text: str) -> bool:
    """Whether an address is one of the internet; one that wraps another is what it wraps."""
    try:
        each = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(each, ipaddress.IPv6Address):
        if each.scope_id or each.is_site_local or each in _TRANSLATED:
            return False
        wrapped = each.ipv4_mapped or each.sixtofour or (each.teredo and each.teredo[1])
        if wrapped:
            return is_public(str(wrapped)) and each.ipv4_mapped is not None
    return each.is_global and not (each.is_multicast or each.is_reserved or each.is_unspecified)


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine, by itself: no name but `localhost` is looked up."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_TRANSLATED: Final = ipaddress.ip_network("64:ff9b::/32")  # IPv4 behind a translator
