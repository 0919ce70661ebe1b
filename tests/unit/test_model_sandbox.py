from pathlib import Path

import pytest

from scylla_gha.config.library import Library
from scylla_gha.model.sandbox import NetworkAccess, pattern_of


@pytest.mark.parametrize(
    ("pattern", "host", "port", "covers"),
    [
        ("pkg.test", "pkg.test", 443, True),
        ("pkg.test", "pkg.test", 80, True),
        ("pkg.test:8443", "pkg.test", 8443, True),
        ("*.example.org", "a.example.org", 443, True),
        ("*.example.org", "b.a.example.org", 80, True),
        ("*.example.org", "xn--bcher-kva.example.org", 443, True),
        ("*.example.org:8080", "a.example.org", 8080, True),
        ("xn--bcher-kva.example", "xn--bcher-kva.example", 443, True),
        ("192.0.2.1", "192.0.2.1", 443, True),
        ("[2001:db8::1]:8443", "2001:db8::1", 8443, True),
        ("_under.example_score.org", "_under.example_score.org", 443, True),
        ("pkg.test", "pkg.test", 8080, False),
        ("pkg.test:8443", "pkg.test", 443, False),
        ("pkg.test", "a.pkg.test", 443, False),
        ("pkg.test", "notpkg.test", 443, False),
        ("pkg.test", "pkg.test.example.com", 443, False),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "notexample.org", 443, False),
        ("*.example.org", "a.example.org", 22, False),
        ("*.example.org", ".example.org.evil.com", 443, False),
        ("192.0.2.1", "192.0.2.10", 443, False),
    ],
)
def test_a_pattern_covers_hosts_and_ports(pattern: str, host: str, port: int, *, covers: bool) -> None:
    assert pattern_of(pattern).covers(host, port) is covers


@pytest.mark.parametrize(
    "text",
    ["", "*", "*.", "*.org", "a.*.org", "**.example.org", "*example.org", "Pkg.test", "pkg.test.", ".pkg.test",
     "pypi..org", "https://pkg.test", "pkg.test/simple", "user@pkg.test", "pkg.test:", "pkg.test:0", "pkg.test:080",
     "pkg.test:65536", "pkg.test:http", "pkg.test ", " pkg.test", "pkg.test\n", "pkg.test\r\nX: 1", "bücher.example",
     "-a.org", "a-.org", "a" * 64 + ".org", "a." * 127 + "org", "127.1", "0x7f000001", "0177.0.0.1", "2130706433",
     "a.1", "*.0.0.1", "*.192.0.2.1", "2001:db8::1", "[::1", "[pkg.test]", "[::ffff:1.2.3.4%eth0]", "pkg.test:\u0661"],
)  # fmt: skip
def test_what_is_no_pattern(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a host|too much"):
        pattern_of(text)


def test_a_scenario_names_hosts() -> None:
    assert NetworkAccess(hosts=("pkg.test", "*.pythonhosted.org", "example.org:8443")).hosts


def test_the_toolkits_own_recipe_has_what_the_sandbox_needs() -> None:
    recipe = Library.here(Path(__file__).parents[2]).image()
    assert {"python3", "git", "make"} <= set(recipe.packages)
