"""`scylla-gha agent-updates post`, against a local server that knows GitHub's API; and npm's look-up of a version."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scylla_gha.errors import ToolError
from scylla_gha.model.publication import AgentDifference, AgentUpdate, AgentUpdates
from scylla_gha.prepare.tools import newest_npm_version
from scylla_gha.store import write_record
from tests.support.github_api import State, serving, sha
from tests.support.jobs import Job

MARKER = "<!-- scylla:agent-updates -->"


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with serving(State()) as state:
        yield Job(state, tmp_path, sha("a"))


def post(job: Job, *differences: str) -> dict[str, str]:
    parts = tuple(AgentDifference(part="inventory, tools", text=text) for text in differences)
    update = AgentUpdate(agent="claude-code", version="9.9.9", stored="2.1.197", sub_tests=3, differences=parts)
    write_record(job.root / "updates.json", AgentUpdates(agents=(update,)))
    said = job.scylla("agent-updates", "post", "updates.json")
    assert said.code == 0, said.err
    return job.outputs


def test_there_is_one_issue_from_the_first_difference_to_the_last(job: Job) -> None:
    assert post(job) == {"state": "quiet", "issue": ""}
    assert job.state.issues == {}

    opened = post(job, "added: ToolSearch")
    ((number, issue),) = job.state.issues.items()
    assert (opened["state"], opened["issue"]) == ("opened", issue["html_url"])
    assert issue["labels"] == ["scylla-agents"]
    assert issue["body"].startswith(f"{MARKER}\n<!-- scylla:data ")
    assert "added: ToolSearch" in issue["body"]
    assert "`9.9.9`" in issue["body"]

    assert post(job, "added: ToolSearch")["state"] == "updated"
    assert job.state.bodies(number) == [], "nothing new"
    assert post(job, "added: ToolSearch", "removed: Read")["state"] == "updated"
    assert job.state.bodies(number)[-1].startswith("Measured again, with other differences (")

    assert post(job)["state"] == "closed"
    assert issue["state"] == "closed"
    assert post(job, "added: ToolSearch")["state"] == "reopened"
    assert (len(job.state.issues), issue["state"]) == (1, "open")


def test_an_issue_of_somebody_else_is_left_alone(job: Job) -> None:
    job.state.issues[5] = {"number": 5, "state": "open", "user": {"login": "mallory"}, "body": MARKER,
                           "html_url": "https://x", "labels": ["scylla-agents"]}  # fmt: skip
    assert post(job)["state"] == "quiet"
    assert post(job, "added: ToolSearch")["state"] == "opened"
    assert job.state.issues[5]["body"] == MARKER


def test_a_file_that_is_missing_is_named(job: Job) -> None:
    said = job.scylla("agent-updates", "post", "none.json")
    assert said.code == 3
    assert "none.json: there is no such file; `scylla-gha agent-updates measure` writes it" in said.err


class _Registry(BaseHTTPRequestHandler):
    """A registry of npm with one package."""

    def do_GET(self) -> None:
        known = self.path == "/tool"
        versions: dict[str, object] = {
            version: {"name": "tool", "version": version, "dist": {}} for version in ("1.0.0", "1.2.0", "2.0.0-b")
        }
        answer = {"name": "tool", "dist-tags": {"latest": "1.2.0", "next": "2.0.0-b"}, "versions": versions}
        content = json.dumps(answer if known else {"error": "not found"}).encode()
        self.send_response(200 if known else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 the base's name


def test_the_newest_version_is_what_npm_would_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (tmp_path / "npmrc").write_text(f"registry=http://127.0.0.1:{server.server_address[1]}/\n")
        for name, value in (("userconfig", tmp_path / "npmrc"), ("cache", tmp_path / "cache"), ("fetch_retries", 0)):
            monkeypatch.setenv(f"NPM_CONFIG_{name.upper()}", str(value))
        monkeypatch.delenv("NPM_CONFIG_REGISTRY", raising=False)
        assert newest_npm_version("tool") == "1.2.0"
        with pytest.raises(ToolError, match="npm could not look up no-such-tool: "):
            newest_npm_version("no-such-tool")
        server.shutdown()
