import ipaddress

import pytest

from scylla_gha.proxy.target import Target, of_absolute, of_tunnel


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
    assert of_tunnel(text) == Target(host, port)


@pytest.mark.parametrize(
    "text",
    ["", ":443", "pkg.test", "pkg.test:", "pkg.test:0", "pkg.test:65536", "pkg.test:-1", "pkg.test:+443",
     "pkg.test:443:443", "pkg.test..:443", ".:443", "pkg.test/:443", "user@pkg.test:443", "user:pw@pkg.test:443",
     "pkg.test%2e:443", "pkg.test\r\nX:443", "pkg.test\x00:443", "pkg.test :443", "bücher.example:443", "127.1:443",
     "2130706433:443", "0x7f000001:443", "0177.0.0.1:443", "127.0.0.01:443", "[::1%lo]:443", "[v1.x]:443", "::1:443",
     "http://pkg.test:443", "pkg.test:\u0664\u0664\u0663"],
)  # fmt: skip
def test_what_is_no_host_and_port(text: str) -> None:
    assert of_tunnel(text) is None


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
    assert of_absolute(text) == Target(host, port, path)


@pytest.mark.parametrize(
    "text",
    ["", "/", "pkg.test", "//pkg.test/", "https://pkg.test/", "ftp://pkg.test/", "http:/pkg.test/", "http:///x",
     "http://user@pkg.test/", "http://user:pw@pkg.test/", "http://pkg.test\\@x/", "http://pkg.test#x",
     "http://pkg.test/#x", "http://pkg.test/a b", "http://pkg.test/\r\nX: 1", "http://pkg.test/ü", "http://pkg.test:/",
     "http://pkg.test:0/", "http://pkg.test:99999/", "http://127.1/", " http://pkg.test/"],
)  # fmt: skip
def test_what_is_no_such_url(text: str) -> None:
    assert of_absolute(text) is None


@pytest.mark.parametrize(
    ("target", "label", "header"),
    [
        (Target("a.org", 443), "a.org", "a.org"),
        (Target("a.org", 8443), "a.org:8443", "a.org:8443"),
        (Target("2001:db8::1", 22), "[2001:db8::1]:22", "[2001:db8::1]:22"),
        (Target("2001:db8::1", 80), "2001:db8::1", "[2001:db8::1]"),
    ],
)
def test_a_port_that_is_not_usual_is_named(target: Target, label: str, header: str) -> None:
    assert (target.label, target.header) == (label, header)
