import base64

import pytest

from scylla_gha.proxy.gate import password


def basic(text: bytes) -> str:
    return base64.b64encode(text).decode()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"Basic {basic(b'lane:sk-x')}", "sk-x"),
        (f"basic  {basic(b'anyone:sk:x')} ", "sk:x"),
        (f"Basic {basic(b'sk-x')}", ""),
        (f"Bearer {basic(b'lane:sk-x')}", ""),
        ("Basic", ""),
        ("Basic !", ""),
        ("Basic ü", ""),
        (f"Basic {basic(bytes([255, 58, 255]))}", "\ufffd"),
        ("", ""),
    ],
)
def test_the_password_of_proxy_credentials(value: str, expected: str) -> None:
    assert password({"proxy-authorization": value}) == expected
