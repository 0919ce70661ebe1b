"""Hosts that an agent on the host seeks by the proxy that its environment names: a real gateway, and any client."""

import sys
from pathlib import Path

import pytest

from scylla_gha.model.agent_manifest import CliPackage
from scylla_gha.model.sandbox import HostContact
from scylla_gha.model.trial import Attempt
from scylla_gha.store.run_folder import AttemptFolder
from tests.support.agents import PACKAGE, Bench, ShellAgent
from tests.support.ask import ASK
from tests.support.shared_host import shared_host

FETCH = f'''{sys.executable} -c "
import sys, urllib.request
for url in sys.argv[1:]:
    try:
        urllib.request.urlopen(url, timeout=30)
    except OSError as error:
        print(error)
"'''


@pytest.fixture
def folder(tmp_path: Path) -> AttemptFolder:
    return AttemptFolder(tmp_path / "cell" / "attempt-1")


def work(
    tmp_path: Path, folder: AttemptFolder, script: str, *hosts: str, package: CliPackage | None = PACKAGE
) -> Attempt:
    """Run an agent on the host whose scenario declares these hosts."""
    bench = Bench.make(tmp_path, network={"hosts": hosts})
    with shared_host(tmp_path) as (host, _):
        return bench.run(ShellAgent(script, package=package), folder, gateway=host.gateway)


def test_an_agents_client_is_refused_what_its_scenario_does_not_declare(tmp_path: Path, folder: AttemptFolder) -> None:
    script = f"{ASK} dear x; {FETCH} http://a.example.org/ https://a.example.org/ https://localhost.example.org:22/"
    made = work(tmp_path, folder, script, "pkg.test")
    said = folder.file("transcript.jsonl").read_text().splitlines()
    assert said == [
        "Hi.",
        "HTTP Error 403: a.example.org:80 is not allowed",
        "<urlopen error Tunnel connection failed: 403 a.example.org:443 is not allowed>",
        "<urlopen error Tunnel connection failed: 403 localhost.example.org:22 is not allowed>",
    ]
    assert made.network == HostContact(refused={"a.example.org": 2, "localhost.example.org:22": 1})
    assert folder.file("network.jsonl").exists()


def test_what_is_declared_is_sought_and_counted(tmp_path: Path, folder: AttemptFolder) -> None:
    made = work(tmp_path, folder, f"{FETCH} http://nowhere.invalid/", "nowhere.invalid")
    assert "502" in folder.file("transcript.jsonl").read_text()
    assert made.network == HostContact(allowed={"nowhere.invalid": 1})


def test_an_agent_that_seeks_nothing_has_sought_nothing(tmp_path: Path, folder: AttemptFolder) -> None:
    assert work(tmp_path, folder, f"{ASK} dear x").network == HostContact()
    assert not folder.file("network.jsonl").exists()


def test_an_agent_without_a_lane_has_no_proxy(tmp_path: Path, folder: AttemptFolder) -> None:
    made = work(tmp_path, folder, "env | grep -i proxy; true", package=None)
    assert (made.network, folder.file("transcript.jsonl").read_text()) == (None, "")
