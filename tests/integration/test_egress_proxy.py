"""The proxy of a real gateway before real servers, as a box sees it: what is let through, refused, counted."""

import contextlib
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.egress_proxy import NETWORK_LOG, EgressLimits, EgressPolicy, egress_summary, read_egress_log
from scylla_gha.gateway.client import GatewayProcess
from scylla_gha.model.sandbox import EgressClosed, EgressOpened
from tests.support.gateway import Host, at_once, hosted, until
from tests.support.network import Site, fetch, get_by_tls, http_basic, knock, make_certificate, site, tunnel

NAME = "registry.example"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    with hosted(tmp_path_factory.mktemp("gateway")) as made:
        yield made.gateway


@pytest.fixture
def host(gateway: GatewayProcess, tmp_path: Path) -> Host:
    return Host(gateway, tmp_path)


@pytest.fixture
def plain() -> Iterator[Site]:
    with site() as made:
        yield made


def permit_for(where: Site, **bounds: float) -> EgressPolicy:
    return EgressPolicy(local={f"{NAME}:{where.port}": where.place}, limits=EgressLimits.model_validate(bounds))


def journal(host: Host) -> Path:
    return host.journal().with_name(NETWORK_LOG)


def ends(host: Host) -> list[str | None]:
    return [each.error for each in read_egress_log(journal(host)) if isinstance(each, EgressClosed)]


def test_https_through_a_tunnel_is_end_to_end(host: Host, tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path / "tls", NAME)
    with site(certificate) as secure:
        session = host.open(egress=permit_for(secure))
        answer = get_by_tls(session, f"{NAME}:{secure.port}", "/bytes/300000", certificate)
    host.gateway.close(session)
    assert (answer.status, len(answer.body)) == (200, 300_000)
    made = egress_summary(journal(host))
    assert (made.allowed, made.refused, made.unended) == ({f"{NAME}:{secure.port}": 1}, {}, 0)
    assert made.down_bytes > 300_000
    assert made.up_bytes > 0
    assert ends(host) == [None]


def test_http_is_passed_on_both_ways(host: Host, plain: Site) -> None:
    session = host.open(egress=permit_for(plain))
    url = f"http://{NAME}:{plain.port}"
    assert fetch(session, f"{url}/bytes/70000?q=%2e%2e").body == b"x" * 70_000
    assert fetch(session, f"{url}/echo", "POST", b"y" * 200_000).status == 200
    host.gateway.close(session)
    assert plain.bodies == [b"y" * 200_000]
    made = egress_summary(journal(host))
    assert (made.allowed, made.up_bytes) == ({f"{NAME}:{plain.port}": 2}, 200_000)
    assert made.down_bytes > 70_000


def test_the_host_is_that_of_the_url_and_credentials_stay_here(host: Host, plain: Site) -> None:
    session = host.open(egress=permit_for(plain))
    fetch(session, f"http://{NAME.upper()}.:{plain.port}/echo", Host="elsewhere.example.com", X_Mine="1",
          Connection="x-hop", X_Hop="1")  # fmt: skip
    (seen,) = plain.headers
    assert (seen["host"], seen["x-mine"]) == (f"{NAME}:{plain.port}", "1")
    assert {"proxy-authorization", "x-hop"} & seen.keys() == set()
    assert session.token not in str(seen)


def test_what_is_not_listed_is_refused_by_name_and_counted(host: Host, plain: Site) -> None:
    session = host.open(egress=EgressPolicy(hosts=("pkg.test",), local={f"{NAME}:{plain.port}": plain.place}))
    by_http = fetch(session, "http://elsewhere.example.com/x")
    assert (by_http.status, by_http.headers["reason"]) == (403, "elsewhere.example.com:80 is not allowed")
    assert b"not among the hosts that this task may reach (pkg.test, " in by_http.body
    for wanted in ("elsewhere.example.com:443", "pkg.test:22", f"127.0.0.1:{plain.port}", f"localhost:{plain.port}",
                   f"[::1]:{plain.port}", f"[::ffff:127.0.0.1]:{plain.port}"):  # fmt: skip
        with tunnel(session, wanted) as (_, said):
            assert said.startswith(b"HTTP/1.1 403 "), wanted
    host.gateway.close(session)
    made = egress_summary(journal(host))
    assert (made.allowed, sum(made.refused.values())) == ({}, 7)
    assert (made.refused["elsewhere.example.com"], made.refused["pkg.test:22"]) == (2, 1)
    assert plain.headers == []


def test_the_gateways_own_address_is_no_way_around_its_sessions(host: Host) -> None:
    session = host.open(egress=EgressPolicy())
    reply = fetch(session, f"{session.url}/control/sessions", "POST", b"{}")
    assert reply.status == 403
    assert b"not among the hosts" in reply.body


def test_a_listed_name_that_leads_to_a_private_address_is_refused(host: Host, plain: Site) -> None:
    session = host.open(egress=EgressPolicy(hosts=(f"localhost:{plain.port}", f"127.0.0.1:{plain.port}")))
    for name in ("localhost", "127.0.0.1"):
        assert fetch(session, f"http://{name}:{plain.port}/echo").status == 403
        with tunnel(session, f"{name}:{plain.port}") as (_, said):
            assert b" 403 " in said
    host.gateway.close(session)
    made = egress_summary(journal(host))
    assert (made.allowed, sum(made.refused.values()), plain.headers) == ({}, 4, [])
    assert ends(host) == ["private_address"] * 4


@pytest.mark.parametrize(
    "credentials",
    [
        {},
        http_basic("session:nobody"),
        {"Proxy-Authorization": "Basic %%%"},
        {"Proxy-Authorization": "Bearer x"},
    ],
    ids=["none", "unknown", "no base64", "another kind"],
)
def test_without_a_sessions_credentials_nobody_is_let_through(
    host: Host, plain: Site, credentials: dict[str, str]
) -> None:
    session = host.open(egress=permit_for(plain))
    lines = "".join(f"{name}: {value}\r\n" for name, value in credentials.items())
    for method, wanted in (("GET", f"http://{NAME}:{plain.port}/"), ("CONNECT", f"{NAME}:{plain.port}")):
        said = knock(session, f"{method} {wanted} HTTP/1.1\r\nHost: {NAME}\r\n{lines}\r\n".encode())
        assert said.startswith(b"HTTP/1.1 407 ")
        assert b"proxy-authenticate: basic" in said.lower()
    assert plain.headers == []
    assert not journal(host).exists()


def test_a_session_that_is_closed_lets_nobody_through(host: Host, plain: Site) -> None:
    session = host.open(egress=permit_for(plain))
    host.gateway.close(session)
    assert fetch(session, f"http://{NAME}:{plain.port}/").status == 407


@pytest.mark.parametrize(
    "wanted",
    [
        b"GET http://user:pw@NAME/ HTTP/1.1",
        b"GET http://NAME@elsewhere.example.com/ HTTP/1.1",
        b"GET http://elsewhere.example.com#@NAME/ HTTP/1.1",
        b"GET http://elsewhere.example.com\\@NAME/ HTTP/1.1",
        b"GET http://NAME%00.elsewhere.example.com/ HTTP/1.1",
        b"GET http://NAME%0d%0aX:1/ HTTP/1.1",
        b"GET https://NAME/ HTTP/1.1",
        b"GET ftp://NAME/ HTTP/1.1",
        "GET http://regístry.example/ HTTP/1.1".encode(),
        b"CONNECT NAME@elsewhere.example.com:443 HTTP/1.1",
        b"CONNECT registry.example HTTP/1.1",
        b"CONNECT registry.example:0 HTTP/1.1",
        b"CONNECT registry.example:99999 HTTP/1.1",
        b"CONNECT registry.example..:443 HTTP/1.1",
        b"CONNECT 2130706433:443 HTTP/1.1",
        b"CONNECT 0x7f000001:443 HTTP/1.1",
        b"CONNECT 127.1:443 HTTP/1.1",
        b"CONNECT [::1%25lo]:443 HTTP/1.1",
    ],
)
def test_what_can_be_read_in_two_ways_is_not_read(host: Host, plain: Site, wanted: bytes) -> None:
    session = host.open(egress=permit_for(plain))
    name, value = next(iter(http_basic(f"session:{session.token}").items()))
    line = wanted.replace(b"NAME", f"{NAME}:{plain.port}".encode())
    said = knock(session, line + f"\r\nHost: {NAME}\r\n{name}: {value}\r\n\r\n".encode())
    assert said.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 ", b"HTTP/1.1 403 ")), said
    assert plain.headers == []


def test_what_comes_behind_a_request_for_a_tunnel_goes_into_it(host: Host, plain: Site) -> None:
    session = host.open(egress=permit_for(plain))
    early = b"GET /bytes/5 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with tunnel(session, f"{NAME}:{plain.port}", early) as (connection, said):
        connection.shutdown(socket.SHUT_WR)  # one side that is done does not cut the other
        rest = b"".join(iter(lambda: connection.recv(4096), b""))
    assert b" 200 " in said
    assert rest.endswith(b"\r\n\r\nxxxxx")


def test_fifty_at_once(host: Host, plain: Site) -> None:
    session = host.open(egress=permit_for(plain))

    def by_tunnel() -> int:
        with tunnel(session, f"{NAME}:{plain.port}", b"GET /bytes/99999 HTTP/1.0\r\n\r\n") as (connection, _):
            return b"".join(iter(lambda: connection.recv(65536), b"")).count(b"x")

    def by_http() -> int:
        return fetch(session, f"http://{NAME}:{plain.port}/bytes/99999").body.count(b"x")

    found = at_once([by_tunnel, by_http] * 25)
    host.gateway.close(session)
    assert found == [99_999] * 50
    made = egress_summary(journal(host))
    assert (sum(made.allowed.values()), made.unended, set(ends(host))) == (50, 0, {None})


@pytest.mark.parametrize(
    ("bounds", "path", "error"),
    [
        ({"idle_seconds": 0.2}, "/hang", "idle"),
        ({"total_bytes": 100_000}, "/bytes/5000000", "too_much"),
    ],
)
def test_limits_end_a_connection(host: Host, plain: Site, bounds: dict[str, float], path: str, error: str) -> None:
    session = host.open(egress=permit_for(plain, **bounds))
    with tunnel(session, f"{NAME}:{plain.port}", f"GET {path} HTTP/1.0\r\n\r\n".encode()) as (connection, _):
        try:
            found = b"".join(iter(lambda: connection.recv(65536), b""))
        except ConnectionResetError:
            found = b""
    by_http = fetch(session, f"http://{NAME}:{plain.port}{path}")
    host.gateway.close(session)
    assert len(found) < 1_000_000
    assert by_http.status in {403, 502} or not by_http.whole
    assert ends(host) == [error, error]


def test_what_is_sent_is_limited_as_well(host: Host, plain: Site) -> None:
    session = host.open(egress=permit_for(plain, total_bytes=100_000))
    assert fetch(session, f"http://{NAME}:{plain.port}/echo", "POST", b"y" * 300_000).status in {403, 502}
    host.gateway.close(session)
    assert ends(host) == ["too_much"]
    assert all(len(body) < 300_000 for body in plain.bodies)


def test_more_connections_than_a_session_may_have_are_refused(host: Host, plain: Site) -> None:
    session = host.open(egress=permit_for(plain, connections=2))
    authority = f"{NAME}:{plain.port}"
    with tunnel(session, authority), tunnel(session, authority), tunnel(session, authority) as (_, said):
        assert said.startswith(b"HTTP/1.1 429 ")


def test_more_attempts_than_are_logled_are_refused(host: Host) -> None:
    session = host.open(egress=EgressPolicy(limits=EgressLimits(attempts=3)))
    statuses = [fetch(session, "http://elsewhere.example.com/").status for _ in range(5)]
    assert (statuses, len(read_egress_log(journal(host)))) == ([403, 403, 403, 429, 429], 3)


def test_a_host_that_does_not_answer_or_stops_in_the_middle_is_told_as_such(host: Host, plain: Site) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
        session = host.open(egress=EgressPolicy(local={"gone.example:80": nobody, f"{NAME}:{plain.port}": plain.place}))
        reply = fetch(session, "http://gone.example/")
        with tunnel(session, "gone.example:80") as (_, said):
            assert b" 502 " in said
    assert (reply.status, b"gone.example:80 cannot be reached" in reply.body) == (502, True)
    assert not fetch(session, f"http://{NAME}:{plain.port}/cut").whole
    host.gateway.close(session)
    assert ends(host) == ["unreachable", "unreachable", "cut"]


def test_a_redirect_is_the_clients_to_follow(host: Host, plain: Site) -> None:
    session = host.open(egress=permit_for(plain))
    reply = fetch(session, f"http://{NAME}:{plain.port}/away")
    assert (reply.status, reply.headers["location"]) == (302, "http://elsewhere.example.com/")


def test_a_closed_session_ends_what_is_open_and_the_log_is_complete(host: Host, plain: Site) -> None:
    session = host.open(egress=permit_for(plain))
    with tunnel(session, f"{NAME}:{plain.port}", b"GET /hang HTTP/1.0\r\n\r\n") as (connection, _):
        until(lambda: plain.headers)
        host.gateway.close(session)
        assert ends(host) == ["ended_with_trial"]
        connection.settimeout(10)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_after_a_kill_the_log_tells_of_all_that_was_begun(host: Host, plain: Site) -> None:
    permit = permit_for(plain)
    session = host.open(egress=permit)
    fetch(session, "http://elsewhere.example.com/")
    with tunnel(session, f"{NAME}:{plain.port}", b"GET /hang HTTP/1.0\r\n\r\n"):
        until(lambda: plain.headers)
        os.kill(host.gateway.pid or 0, signal.SIGKILL)
        until(lambda: not host.gateway.alive)
    host.gateway.close(session)
    made = egress_summary(journal(host))
    assert (made.refused, made.unended) == ({"elsewhere.example.com": 1}, 1)
    with journal(host).open("ab") as file:
        file.write(b'{"kind":"ope')  # as of a kill in the middle of a line
    again = host.open(egress=permit)
    fetch(again, "http://elsewhere.example.com/")
    host.gateway.close(again)
    numbers = [each.number for each in read_egress_log(journal(host)) if isinstance(each, EgressOpened)]
    assert (numbers, egress_summary(journal(host)).refused) == ([1, 2, 3], {"elsewhere.example.com": 2})
