from pathlib import Path

import pytest
from pydantic import ValidationError

from scylla_gha.config.library import Library
from scylla_gha.model.sandbox import ImageRecipe, Isolation, NetworkAccess, pattern_of


@pytest.mark.parametrize(
    ("pattern", "host", "port"),
    [
        ("pkg.test", "pkg.test", 443),
        ("pkg.test", "pkg.test", 80),
        ("pkg.test:8443", "pkg.test", 8443),
        ("*.example.org", "a.example.org", 443),
        ("*.example.org", "b.a.example.org", 80),
        ("*.example.org", "xn--bcher-kva.example.org", 443),
        ("*.example.org:8080", "a.example.org", 8080),
        ("xn--bcher-kva.example", "xn--bcher-kva.example", 443),
        ("192.0.2.1", "192.0.2.1", 443),
        ("[2001:db8::1]:8443", "2001:db8::1", 8443),
        ("_under.example_score.org", "_under.example_score.org", 443),
    ],
)
def test_a_pattern_covers(pattern: str, host: str, port: int) -> None:
    assert pattern_of(pattern).covers(host, port)


@pytest.mark.parametrize(
    ("pattern", "host", "port"),
    [
        ("pkg.test", "pkg.test", 8080),
        ("pkg.test:8443", "pkg.test", 443),
        ("pkg.test", "a.pkg.test", 443),
        ("pkg.test", "notpkg.test", 443),
        ("pkg.test", "pkg.test.example.com", 443),
        ("*.example.org", "example.org", 443),
        ("*.example.org", "notexample.org", 443),
        ("*.example.org", "a.example.org", 22),
        ("*.example.org", ".example.org.evil.com", 443),
        ("192.0.2.1", "192.0.2.10", 443),
    ],
)
def test_a_pattern_does_not_cover(pattern: str, host: str, port: int) -> None:
    assert not pattern_of(pattern).covers(host, port)


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


@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.1:80", "[::1]", "Pkg.test", "*"])
def test_a_scenario_names_hosts_and_no_addresses(host: str) -> None:
    with pytest.raises(ValidationError, match="hosts"):
        NetworkAccess(hosts=(host,))
    assert NetworkAccess(hosts=("pkg.test", "*.pythonhosted.org", "example.org:8443")).hosts


def test_the_toolkits_own_recipe_has_what_the_sandbox_needs() -> None:
    recipe = Library.here(Path(__file__).parents[2]).image()
    assert {"python3", "git", "make"} <= set(recipe.packages)


def test_a_recipe_needs_packages() -> None:
    with pytest.raises(ValidationError):
        ImageRecipe(id="base", release="bookworm", packages=())


@pytest.mark.parametrize("field", ["network", "keys", "files"])
def test_only_known_words_say_what_a_sandbox_gives(field: str) -> None:
    given = {"network": "none", "keys": "hidden", "files": "own"}
    assert Isolation.model_validate(given).model_dump() == given
    with pytest.raises(ValidationError):
        Isolation.model_validate({**given, field: "some"})
