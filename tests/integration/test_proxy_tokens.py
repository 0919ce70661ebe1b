"""A token that the proxy adds: it reaches the host, and nothing and nobody else."""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.gateway.client import Gateway
from scylla_gha.proxy.permit import Permit, Token
from tests.support.gateway import Host, hosted
from tests.support.network import Site, fetch, make_certificate, site, tunnel

HUB = "hub.example"
SECRET = "fixture-token-0123456789-canary"
BASIC = base64.b64encode(f"x-access-token:{SECRET}".encode()).decode()
SPELT = (SECRET, BASIC, base64.b64encode(SECRET.encode()).decode())


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"), HUB)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, certificate: Path) -> Iterator[Gateway]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(certificate))  # whom it trusts
        with hosted(tmp_path_factory.mktemp("gateway")) as made:
            yield made.gateway


@pytest.fixture
def host(gateway: Gateway, tmp_path: Path) -> Host:
    return Host(gateway, tmp_path)


def permit_for(where: Site, value: str = f"Bearer {SECRET}", header: str = "Authorization") -> Permit:
    token = Token(value=value, header=header, https=where.secure)
    return Permit(tokens={HUB: token}, local={f"{HUB}:80": where.place})


def silent(*texts: object) -> bool:
    """Whether no spelling of the token is in any of them."""
    return not any(spelling in str(text) for spelling in SPELT for text in texts)


@pytest.mark.parametrize("is_secure", [False, True], ids=["http", "https"])
def test_a_host_gets_the_token_and_the_box_gets_it_back_in_no_form(
    host: Host, certificate: Path, is_secure: bool
) -> None:
    with site(certificate if is_secure else None) as hub:
        door = host.lane(permit=permit_for(hub))
        reply = fetch(door, f"http://{HUB}/echo", Authorization="Bearer of-the-agent", Accept_Encoding="gzip",
                      Range="bytes=0-9")  # fmt: skip
    (seen,) = hub.headers
    assert (seen["authorization"], seen["host"], seen["accept-encoding"]) == (f"Bearer {SECRET}", HUB, "identity")
    assert "range" not in seen
    assert reply.status == 200
    assert json.loads(reply.body)["authorization"] == "Bearer [redacted]"
    assert reply.headers["x-echo"] == "Bearer [redacted]"
    assert silent(reply.body, reply.headers)


def test_the_password_of_a_basic_token_is_kept_back_as_well(host: Host) -> None:
    with site() as hub:
        door = host.lane(permit=permit_for(hub, f"Basic {BASIC}"))
        reply = fetch(door, f"http://{HUB}/echo")
    assert hub.headers[0]["authorization"] == f"Basic {BASIC}"
    assert reply.status == 200
    assert silent(reply.body, reply.headers)


def test_a_tunnel_to_such_a_host_is_refused_with_the_way_that_there_is(host: Host) -> None:
    with site() as hub:
        door = host.lane(permit=Permit(tokens={HUB: Token(value=f"Bearer {SECRET}")}))
        with tunnel(door, f"{HUB}:443") as (connection, said):
            body = connection.recv(4096)
    assert said.startswith(b"HTTP/1.1 403 ")
    assert f"is reached as http://{HUB}/... through this proxy".encode() in body
    assert hub.headers == []


def test_no_other_host_gets_it_nor_another_lane(host: Host) -> None:
    with site() as hub, site() as other:
        local = {f"{HUB}:80": hub.place, "other.example:80": other.place}
        door = host.lane(permit=Permit(tokens={HUB: Token(value=f"Bearer {SECRET}", https=False)}, local=local))
        fetch(door, "http://other.example/echo", Host=HUB)
        fetch(host.lane("another", permit=Permit(local=local)), f"http://{HUB}/echo")
    assert silent(hub.headers, other.headers)
    assert [seen["host"] for seen in other.headers] == ["other.example"]


def test_a_wrong_certificate_gets_no_token_and_is_told_without_it(host: Host, tmp_path: Path) -> None:
    with site(make_certificate(tmp_path / "false", HUB)) as impostor:
        reply = fetch(host.lane(permit=permit_for(impostor)), f"http://{HUB}/echo")
    assert (reply.status, impostor.headers) == (502, [])
    assert silent(reply.body, reply.headers)


def test_it_is_in_no_file_and_in_no_environment(host: Host, tmp_path: Path) -> None:
    with site() as hub:
        door = host.lane(permit=permit_for(hub))
        fetch(door, f"http://{HUB}/echo")
        fetch(door, f"http://{HUB}/cut")
        seen = (Path(f"/proc/{host.gateway.pid}/cmdline").read_bytes(), os.environ)
    host.gateway.close(door)
    assert silent(*seen, repr(permit_for(hub)), repr(door))
    assert silent(*(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()))


@pytest.mark.parametrize("value", ["Bearer short", f"Bearer {SECRET}\r\nX: 1"], ids=["too short", "two lines"])
def test_a_token_that_cannot_be_used_is_told_without_it(host: Host, value: str) -> None:
    token = Token.model_construct(header="Authorization", value=value, https=False)
    with pytest.raises(ToolError) as told:
        host.lane(permit=Permit.model_construct(hosts=(), tokens={HUB: token}, local={}))
    assert silent(told.value)
