"""Process of the hub: cells apart from each other, the files that they leave, and a hub that is killed."""

import json
import os
import signal
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.hub.client import HubProcess
from scylla_gha.hub.control import CONTROL_HEADER, AttachedCell, AttachRequest
from scylla_gha.hub.trial_files import BUNDLE_FILE, REQUESTS_FILE, STATE_FILE
from tests.support.hub_server import ask_socket

FIXTURE = Path(__file__).parents[1] / "support/hub_fixture"
LABELS = "/repos/octo-org/demo/labels"


@pytest.fixture(scope="module")
def hub() -> Iterator[HubProcess]:
    with HubProcess.start() as hub:
        yield hub


def attach(hub: HubProcess, folder: Path, cell: str, fixture: Path = FIXTURE) -> AttachedCell:
    home = folder / cell
    home.mkdir()
    return hub.attach(
        AttachRequest(cell=cell, fixture=fixture, cache=folder / "cache", folder=home / "hub",
                      socket=home / "hub.sock", log=home / REQUESTS_FILE, loopback=True)
    )  # fmt: skip


def label(cell: AttachedCell, name: str, token: str | None = None) -> int:
    headers = {"Authorization": f"token {token or cell.tokens['author']}"}
    return ask_socket(cell.socket, "POST", LABELS, json.dumps({"name": name}), headers)[0]


def names(cell: AttachedCell) -> set[str]:
    return {entry["name"] for entry in json.loads(ask_socket(cell.socket, "GET", LABELS)[1])}


def test_cells_of_a_fixture_start_alike_and_do_not_meet(hub: HubProcess, tmp_path: Path) -> None:
    first, second = attach(hub, tmp_path, "one"), attach(hub, tmp_path, "two")
    assert first.bindings == second.bindings
    assert first.bindings["pr.review_me"]["number"] == 2
    assert set(first.tokens.values()).isdisjoint(second.tokens.values())
    assert label(first, "mine") == 201
    assert names(first) - names(second) == {"mine"}
    assert label(second, "theirs", first.tokens["author"]) == 401, "a token selects nothing but its own cell"
    done = hub.detach(second, None)
    assert (done.traffic.foreign, done.traffic.requests, done.end_digest) == (1, 2, None)
    hub.detach(first)
    assert not first.socket.exists() or ask_socket(first.socket, "GET", "/")[0] == 0


def test_a_cell_leaves_files_and_digests(hub: HubProcess, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    cells = [attach(hub, tmp_path, name) for name in ("quiet", "busy", "same")]
    for cell in cells[1:]:
        assert label(cell, "new") == 201
    quiet, busy, same = (hub.detach(cell, tmp_path / "files") for cell in cells)
    assert quiet.start_digest == quiet.end_digest == busy.start_digest
    assert busy.end_digest == same.end_digest != busy.start_digest
    content = json.loads((tmp_path / "files" / STATE_FILE).read_text())
    assert [(entry["action"], entry["kind"]) for entry in content["journal"]] == [("create", "label")]
    assert content["names"]["pr.review_me"] == cells[0].names["pr.review_me"]
    assert (tmp_path / "files" / BUNDLE_FILE).stat().st_size > 0
    lines = (tmp_path / "busy" / REQUESTS_FILE).read_text().splitlines()
    assert [json.loads(line)["operation"] for line in lines] == ["POST /repos/{owner}/{repo}/labels"]
    assert not (tmp_path / "busy/hub").exists()


def test_an_invalid_fixture_is_named_and_the_hub_lives_on(hub: HubProcess, tmp_path: Path) -> None:
    with pytest.raises(FixtureError, match=r"github\.yaml: there is no such file"):
        attach(hub, tmp_path, "none", tmp_path)
    assert hub.alive


def test_control_needs_the_secret(hub: HubProcess) -> None:
    connection = HTTPConnection("127.0.0.1", hub.port)
    connection.request("POST", "/control/attach", "{}", {CONTROL_HEADER: "guess"})
    assert connection.getresponse().status == 403
    connection.close()


def test_the_process_has_no_key_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-ant-canary-0123456789"
    for name in ("ANTHROPIC_API_KEY", "GITHUB_TOKEN", "OPENAI_API_KEY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, secret)
    with HubProcess.start() as hub:
        environment = Path(f"/proc/{hub.pid}/environ").read_bytes()
        assert secret.encode() not in environment
        assert b"PATH=" in environment


def test_a_killed_hub_is_noticed_and_replaced(tmp_path: Path) -> None:
    with HubProcess.start() as hub:
        cell = attach(hub, tmp_path, "lost")
        assert not hub.is_lost(cell)
        assert hub.pid is not None
        os.kill(hub.pid, signal.SIGKILL)
        assert hub.is_lost(cell)
        with pytest.raises(ToolError, match="has died"):
            hub.detach(cell)
        again = attach(hub, tmp_path, "again")
        assert label(again, "new") == 201
        assert hub.is_lost(cell)
