"""What a lane may reach through the proxy, and by which variables a program finds it."""

import base64
import ipaddress
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from scylla_gha.model.network import HostPattern, OneHost, pattern_of
from scylla_gha.model.record import Record

_NOT_THROUGH_IT: Final = "127.0.0.1,localhost,::1"


class Bounds(Record):
    """Limits of one lane."""

    connections: Annotated[int, Field(ge=1, description="at a time")] = 128
    attempts: Annotated[int, Field(ge=1, description="with a line in the journal; the rest is refused")] = 10_000
    total_bytes: Annotated[int, Field(ge=0, description="both ways together")] = 4_000_000_000
    idle_seconds: Annotated[float, Field(gt=0, description="a connection without a byte ends")] = 120
    connect_seconds: Annotated[float, Field(gt=0)] = 15


class Token(Record):
    """A header that the proxy adds to requests to a host, and that the box never sees."""

    header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")] = "Authorization"
    value: Annotated[str, Field(repr=False, pattern=r"^[!-~]+( [!-~]+)*$", description="such as `Bearer ghs_...`")]
    https: Annotated[bool, Field(description="whether the host is asked by https")] = True

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be found nowhere: the value without its scheme, and the password of a basic one."""
        scheme, _, rest = self.value.rpartition(" ")
        password = _password(rest) if scheme.lower() == "basic" else ""
        return tuple(each for each in (rest, password) if each)


def _password(basic: str) -> str:
    try:
        return base64.b64decode(basic, validate=True).decode(errors="replace").partition(":")[2]
    except ValueError:
        return ""


def _place(text: str) -> str:
    host, _, port = text.rpartition(":")
    ipaddress.ip_address(host.strip("[]"))
    if not port.isdecimal():
        raise ValueError(f"{text!r} is no address with a port")
    return text


class Permit(Record):
    """All that a lane may reach; by default nothing.

    A host with a token is reached as `http://HOST/...` through the proxy, which adds the token, and itself speaks https
    to the host where that is said; a tunnel to it, in which nothing can be added, is only let through where `hosts`
    covers it too. `local` are servers of the harness's own: the one way to an address that is not public.
    """

    hosts: tuple[HostPattern, ...] = ()
    tokens: dict[OneHost, Token] = Field(default_factory=dict)
    local: dict[OneHost, Annotated[str, AfterValidator(_place)]] = Field(default_factory=dict)
    bounds: Bounds = Bounds()

    def allows(self, host: str, port: int) -> bool:
        """Whether the host may be reached."""
        return any(pattern_of(each).covers(host, port) for each in (*self.hosts, *self.local))

    def token(self, host: str, port: int) -> Token | None:
        """What is added to requests to this host."""
        return next((token for each, token in self.tokens.items() if pattern_of(each).covers(host, port)), None)

    def place(self, host: str, port: int) -> tuple[str, int] | None:
        """Where a server of the harness's own is."""
        found = next((place for each, place in self.local.items() if pattern_of(each).covers(host, port)), None)
        if found is None:
            return None
        where, _, number = found.rpartition(":")
        return where.strip("[]"), int(number)

    @property
    def words(self) -> str:
        """The hosts, for a message."""
        return ", ".join(dict.fromkeys((*self.hosts, *self.local, *self.tokens))) or "none"


def environment(url: str, token: str) -> dict[str, str]:
    """The variables by which programs find the proxy.

    Args:
        url: the gateway's address as the program sees it, `http://127.0.0.1:PORT`.
        token: the lane's dummy key.
    """
    proxy = url.replace("http://", f"http://lane:{token}@", 1)
    names = {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": _NOT_THROUGH_IT}
    return names | {name.lower(): value for name, value in names.items()}  # curl heeds http_proxy in lower case only
