import asyncio
import threading
from collections.abc import Sequence

import pytest

from scylla_gha.egress_proxy import (
    Address,
    EgressLimits,
    EgressPolicy,
    EgressTarget,
    PrivateAddressError,
    Resolver,
    is_loopback,
    is_public,
    resolve,
)

TARGET = EgressTarget("a.example", 443)
PUBLIC, PUBLIC_6 = "93.184.216.34", "2606:2800:220:1::1"


def find(*found: str, permit: EgressPolicy | None = None) -> list[Address]:
    """Return which addresses of a name may be dialled."""
    return asyncio.run(Resolver(lambda _host, _port: found).addresses(TARGET, permit or EgressPolicy()))


@pytest.mark.parametrize("address", [PUBLIC, PUBLIC_6, "::ffff:93.184.216.34"])
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.255.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
     "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0",
     "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
     "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::a00:1", "2002:7f00:1::", "2002:a00:1::1",
     "2001:0:4136:e378:8000:63bf:3fff:fdd2", "", "a.example", "127.1"],
)  # fmt: skip
def test_any_other_is_not(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_this_machine_is_known_by_its_addresses_and_one_name(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", [PUBLIC, "10.0.0.1", "0.0.0.0", "localhost.a.example", "127.0.0.1.a.example", ""])
def test_no_other_name_is_taken_for_this_machine(host: str) -> None:
    assert not is_loopback(host)


def test_of_several_addresses_only_public_ones_are_dialled_each_once() -> None:
    assert find("10.0.0.1", PUBLIC, "127.0.0.1", PUBLIC_6, PUBLIC) == [(PUBLIC, 443), (PUBLIC_6, 443)]


def test_a_name_with_private_addresses_only_is_told_apart_from_one_without_any() -> None:
    with pytest.raises(PrivateAddressError):
        find("10.0.0.1", "::1")
    assert find() == []


def test_an_address_that_is_listed_is_looked_at_all_the_same() -> None:
    with pytest.raises(PrivateAddressError):
        asyncio.run(Resolver(resolve).addresses(EgressTarget("127.0.0.1", 443), EgressPolicy(hosts=("127.0.0.1",))))


@pytest.mark.parametrize("place", ["127.0.0.1:4000", "[::1]:4000"])
def test_a_server_of_the_harness_is_found_without_a_name_server(place: str) -> None:
    def never(host: str, port: int) -> Sequence[str]:
        raise AssertionError(f"{host}:{port} was looked up")

    permit = EgressPolicy(local={"a.example": place})
    assert asyncio.run(Resolver(never).addresses(TARGET, permit)) == [(place.rpartition(":")[0].strip("[]"), 4000)]


def test_a_name_server_that_never_answers_is_not_waited_for() -> None:
    late = threading.Event()

    def hang(_host: str, _port: int) -> Sequence[str]:
        late.wait(60)
        return [PUBLIC]

    async def look() -> None:
        resolver = Resolver(hang)
        try:
            await resolver.addresses(TARGET, EgressPolicy(limits=EgressLimits(connect_seconds=0.05)))
        finally:
            late.set()
            resolver.close()

    with pytest.raises(TimeoutError):
        asyncio.run(look())
