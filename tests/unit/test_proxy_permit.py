import base64

import pytest
from pydantic import ValidationError

from scylla_gha.proxy.permit import Permit, Token, environment

SECRET = "fixture-token-0123456789-canary"


def test_by_default_nothing_is_allowed() -> None:
    assert not Permit().allows("pkg.test", 443)
    assert (
        Permit().words,
        Permit().token("pkg.test", 443),
        Permit().place("pkg.test", 443),
    ) == ("none", None, None)


def test_a_token_is_for_its_host_and_allows_no_tunnel_to_it() -> None:
    permit = Permit(tokens={"hub.example": Token(value=f"Bearer {SECRET}")})
    assert permit.token("hub.example", 80) is not None
    assert permit.token("a.hub.example", 80) is None
    assert permit.token("hub.example", 8080) is None
    assert not permit.allows("hub.example", 443)


@pytest.mark.parametrize(
    ("value", "secrets"),
    [
        (SECRET, (SECRET,)),
        (f"token {SECRET}", (SECRET,)),
        (f"Basic {base64.b64encode(f'x:{SECRET}'.encode()).decode()}",
         (base64.b64encode(f"x:{SECRET}".encode()).decode(), SECRET)),
        ("Basic nothing!", ("nothing!",)),
    ],
)  # fmt: skip
def test_what_is_secret_of_a_header(value: str, secrets: tuple[str, ...]) -> None:
    assert Token(value=value).secrets == secrets


@pytest.mark.parametrize("value", ["", " ", "a\nb", "a\r\nX: 1", "a  b", "ü", "a\x00"])
def test_a_header_is_one_line_of_ascii(value: str) -> None:
    with pytest.raises(ValidationError, match="value"):
        Token(value=value)


@pytest.mark.parametrize("header", ["", "A:", "A\r\nB", "A b"])
def test_a_headers_name_is_one_word(header: str) -> None:
    with pytest.raises(ValidationError, match="header"):
        Token(value=SECRET, header=header)


def test_a_token_is_not_shown() -> None:
    assert SECRET not in repr(Permit(tokens={"hub.example": Token(value=SECRET)}))


@pytest.mark.parametrize("local", [{"*.hub.example": "127.0.0.1:1"}, {"hub.example": "localhost:1"},
                                   {"hub.example": "127.0.0.1"}, {"hub.example": "127.0.0.1:x"}])  # fmt: skip
def test_a_local_server_is_one_host_at_an_address_with_a_port(local: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="local"):
        Permit(local=local)


def test_programs_find_the_proxy_in_both_spellings_and_the_gateway_without_it() -> None:
    found = environment("http://127.0.0.1:4141", "sk-scylla-x")
    url = "http://lane:sk-scylla-x@127.0.0.1:4141"
    assert {found[name] for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy")} == {url}
    assert found["NO_PROXY"] == found["no_proxy"] == "127.0.0.1,localhost,::1"
