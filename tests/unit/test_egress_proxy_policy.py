"""Policy of the hosts that a session may reach: how a request's target is parsed, headers, variables."""

import base64
import ipaddress

import pytest
from multidict import CIMultiDict
from pydantic import ValidationError

from scylla_gha.egress_proxy import EgressPolicy, EgressTarget, proxy_environment, tunnel_target, url_target
from scylla_gha.egress_proxy.forward import HOP_BY_HOP, connection_headers, proxy_password, without_headers


def test_by_default_nothing_is_allowed() -> None:
    assert not EgressPolicy().allows("pkg.test", 443)
    assert (EgressPolicy().description, EgressPolicy().local_address("pkg.test", 443)) == ("none", None)


@pytest.mark.parametrize("local", [{"*.hub.example": "127.0.0.1:1"}, {"hub.example": "localhost:1"},
                                   {"hub.example": "127.0.0.1"}, {"hub.example": "127.0.0.1:x"}])  # fmt: skip
def test_a_local_server_is_one_host_at_an_address_with_a_port(local: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="local"):
        EgressPolicy(local=local)


def test_programs_find_the_proxy_in_both_spellings_and_the_gateway_without_it() -> None:
    found = proxy_environment("http://127.0.0.1:4141", "sk-scylla-x")
    url = "http://session:sk-scylla-x@127.0.0.1:4141"
    assert {found[name] for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")} == {url}
    assert found["NO_PROXY"] == found["no_proxy"] == "127.0.0.1,localhost,::1"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("pkg.test:443", "pkg.test", 443),
        ("PKG.test:443", "pkg.test", 443),
        ("pkg.test.:443", "pkg.test", 443),
        ("XN--Bcher-kva.example:443", "xn--bcher-kva.example", 443),
        ("192.0.2.1:8443", "192.0.2.1", 8443),
        ("[2001:DB8:0::1]:443", "2001:db8::1", 443),
        ("[::FFFF:127.0.0.1]:443", str(ipaddress.ip_address("::ffff:127.0.0.1")), 443),
    ],
)
def test_one_host_has_one_spelling(text: str, host: str, port: int) -> None:
    assert tunnel_target(text) == EgressTarget(host, port)


@pytest.mark.parametrize(
    "text",
    ["", ":443", "pkg.test", "pkg.test:", "pkg.test:0", "pkg.test:65536", "pkg.test:-1", "pkg.test:+443",
     "pkg.test:443:443", "pkg.test..:443", ".:443", "pkg.test/:443", "user@pkg.test:443", "user:pw@pkg.test:443",
     "pkg.test%2e:443", "pkg.test\r\nX:443", "pkg.test\x00:443", "pkg.test :443", "bücher.example:443", "127.1:443",
     "2130706433:443", "0x7f000001:443", "0177.0.0.1:443", "127.0.0.01:443", "[::1%lo]:443", "[v1.x]:443", "::1:443",
     "http://pkg.test:443", "pkg.test:\u0664\u0664\u0663"],
)  # fmt: skip
def test_what_is_no_host_and_port(text: str) -> None:
    assert tunnel_target(text) is None


@pytest.mark.parametrize(
    ("text", "host", "port", "path"),
    [
        ("http://pkg.test", "pkg.test", 80, "/"),
        ("HTTP://PKG.test./simple/?q=a#".removesuffix("#"), "pkg.test", 80, "/simple/?q=a"),
        ("http://pkg.test?q=a", "pkg.test", 80, "/?q=a"),
        ("http://pkg.test:8080//b/../c%2e%2e", "pkg.test", 8080, "//b/../c%2e%2e"),
        ("http://[2001:db8::1]/x@y", "2001:db8::1", 80, "/x@y"),
    ],
)
def test_a_url_is_read(text: str, host: str, port: int, path: str) -> None:
    assert url_target(text) == EgressTarget(host, port, path)


@pytest.mark.parametrize(
    "text",
    ["", "/", "pkg.test", "//pkg.test/", "https://pkg.test/", "ftp://pkg.test/", "http:/pkg.test/", "http:///x",
     "http://user@pkg.test/", "http://user:pw@pkg.test/", "http://pkg.test\\@x/", "http://pkg.test#x",
     "http://pkg.test/#x", "http://pkg.test/a b", "http://pkg.test/\r\nX: 1", "http://pkg.test/ü", "http://pkg.test:/",
     "http://pkg.test:0/", "http://pkg.test:99999/", "http://127.1/", " http://pkg.test/"],
)  # fmt: skip
def test_what_is_no_such_url(text: str) -> None:
    assert url_target(text) is None


@pytest.mark.parametrize(
    ("target", "label", "header"),
    [
        (EgressTarget("a.org", 443), "a.org", "a.org"),
        (EgressTarget("a.org", 8443), "a.org:8443", "a.org:8443"),
        (EgressTarget("2001:db8::1", 22), "[2001:db8::1]:22", "[2001:db8::1]:22"),
        (EgressTarget("2001:db8::1", 80), "2001:db8::1", "[2001:db8::1]"),
    ],
)
def test_a_port_that_is_not_usual_is_named(target: EgressTarget, label: str, header: str) -> None:
    assert (target.label, target.header) == (label, header)


def basic(text: bytes) -> str:
    return base64.b64encode(text).decode()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"Basic {basic(b'session:sk-x')}", "sk-x"),
        (f"basic  {basic(b'anyone:sk:x')} ", "sk:x"),
        (f"Basic {basic(b'sk-x')}", ""),
        (f"Bearer {basic(b'session:sk-x')}", ""),
        ("Basic", ""),
        ("Basic !", ""),
        ("Basic ü", ""),
        (f"Basic {basic(bytes([255, 58, 255]))}", "\ufffd"),
        ("", ""),
    ],
)
def test_the_password_of_proxy_credentials(value: str, expected: str) -> None:
    assert proxy_password({"proxy-authorization": value}) == expected


def test_headers_of_one_connection_are_left_out_in_any_case() -> None:
    given = CIMultiDict(
        {"Host": "a", "Proxy-Authorization": "x", "Accept": "b", "X-Hop": "c", "Connection": "close, X-Hop"}
    )
    assert dict(without_headers(given, HOP_BY_HOP | connection_headers(given))) == {"Accept": "b"}


def test_without_a_connection_header_none_is_named() -> None:
    assert connection_headers({}) == {""}
