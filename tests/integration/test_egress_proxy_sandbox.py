"""From a container without network, by the one socket it has: declared hosts are reached, and no others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.egress_proxy import NETWORK_LOG, EgressPolicy, egress_summary, proxy_environment
from scylla_gha.model.sandbox import HostContact
from scylla_gha.sandboxes.base import GATEWAY_SOCKET, GATEWAY_URL, socket_folder
from tests.support.docker_runner import DockerRunner
from tests.support.gateway import hosted
from tests.support.network import site

FETCH = """
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url, timeout=30).status)
    except OSError as error:
        print(error)
"""


@pytest.fixture
def place() -> Iterator[Path]:
    with socket_folder() as folder:
        yield folder / GATEWAY_SOCKET


def test_a_box_reaches_declared_hosts_by_its_one_socket_and_no_others(runner: DockerRunner, place: Path) -> None:
    runner.sockets = place.parent
    with site() as registry, site() as hub, hosted(runner.folder) as host:
        permit = EgressPolicy(local={"registry.example:80": registry.place, "hub.example:80": hub.place})
        session = host.open(egress=permit, socket=place)
        proxied: Any = proxy_environment(GATEWAY_URL, session.token)
        urls = ["http://registry.example/bytes/5", "http://hub.example/echo", "http://elsewhere.example.com/",
                "https://elsewhere.example.com/", f"http://10.0.0.1:{hub.port}/"]  # fmt: skip
        seen = runner.run(("python3", "-c", FETCH, *urls), **proxied)
        without = runner.run(("python3", "-c", FETCH, urls[0], f"http://{registry.place}/"))
        host.gateway.close(session)
    assert seen.out.splitlines() == [
        "200",
        "200",
        "HTTP Error 403: elsewhere.example.com:80 is not allowed",
        "<urlopen error Tunnel connection failed: 403 elsewhere.example.com:443 is not allowed>",
        f"HTTP Error 403: 10.0.0.1:{hub.port} is not allowed",
    ]
    assert [line.startswith("<urlopen error") for line in without.out.splitlines()] == [True, True]
    made = egress_summary(host.journal().with_name(NETWORK_LOG))
    assert made == HostContact(
        allowed={"registry.example": 1, "hub.example": 1},
        refused={"elsewhere.example.com": 2, f"10.0.0.1:{hub.port}": 1},
        up_bytes=made.up_bytes, down_bytes=made.down_bytes,
    )  # fmt: skip
