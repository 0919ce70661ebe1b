from multidict import CIMultiDict

from scylla_gha.proxy.headers import HOP, named_in_connection, without


def test_headers_of_one_connection_are_left_out_in_any_case() -> None:
    given = CIMultiDict(
        {"Host": "a", "Proxy-Authorization": "x", "Accept": "b", "X-Hop": "c", "Connection": "close, X-Hop"}
    )
    assert dict(without(given, HOP | named_in_connection(given))) == {"Accept": "b"}


def test_without_a_connection_header_none_is_named() -> None:
    assert named_in_connection({}) == {""}
