"""Wrong keys, addresses, models and prices: each ends before anything is spent, and the message says what to do."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Said, scylla
from tests.support.judged_repository import RUBRIC
from tests.support.library import write_model
from tests.support.records import make_model
from tests.support.repository import environment, make_repository, write_greet_experiment
from tests.support.scripted_claude import ask, claude_environment, say, write_claude_experiment

HTML = b"<html><body>Welcome to nginx!</body></html>"
VARIABLES = ("OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")


@dataclass
class Server:
    """A server at a wrong address: what it answers to POST requests, and the models of its list (None: no list)."""

    status: int
    content: bytes
    kind: str = "text/html"
    models: list[str] | None = None
    posts: list[str] = field(default_factory=list)
    url: str = ""

    @contextmanager
    def serving(self) -> Iterator["Server"]:
        served = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's signature
                """Say nothing."""

            def do_GET(self) -> None:
                if served.models is None:
                    self._send(404, b"nothing here", "text/plain")
                else:
                    data = [{"id": name} for name in served.models]
                    models = [{"name": f"models/{name}"} for name in served.models]
                    self._send(200, json.dumps({"data": data, "models": models}).encode(), "application/json")

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                served.posts.append(self.path)
                self._send(served.status, served.content, served.kind)

            def _send(self, status: int, content: bytes, kind: str) -> None:
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = make_repository(tmp_path / "repo", rubric=RUBRIC).root
    write_model(root, make_model(id="gpt-x", provider="openai"))
    write_model(root, make_model(id="gemini-x", provider="gemini"))
    return root


def evaluate(repo: Path, env: dict[str, str]) -> Said:
    said = scylla("evaluate", "--yes", "--jobs", "1", "greet", cwd=repo, env=env)
    assert "Traceback" not in said.err
    return said


def claude(repo: Path, url: str) -> Said:
    """Run three trials of an agent whose provider is at the address; each asks once."""
    write_claude_experiment(repo, repetitions=3)
    script = f"echo 1 >>{repo}/starts; {ask('Hello?')} >/dev/null 2>&1; {say('401')}"
    return evaluate(repo, claude_environment(repo.parent, script) | {"ANTHROPIC_BASE_URL": url})


def judged(repo: Path, *judges: str, **variables: str) -> Said:
    """Judge a built-in agent's trials by models of several providers."""
    write_greet_experiment(repo, judges=judges, agents=("oracle",), baseline="oracle", repetitions=3)
    return evaluate(repo, environment(repo.parent) | dict.fromkeys(VARIABLES, "") | variables)


def usd(repo: Path) -> list[float | None]:
    return [json.loads(line)["usd"] for line in (repo / "runs/greet/results.jsonl").read_text().splitlines()]


def test_missing_keys_name_their_variables_and_the_models_that_need_them(repo: Path) -> None:
    said = judged(repo, "gpt-x", "gemini-x")
    assert said.code == 5
    assert "the judge panel needs a key of openai to reach gpt-x; set OPENAI_API_KEY, or give --replay" in said.err
    assert "the judge panel needs a key of gemini to reach gemini-x; set GEMINI_API_KEY, or give --replay" in said.err
    assert not (repo / "runs").exists()


@pytest.mark.parametrize(
    ("server", "what"),
    [
        (Server(404, HTML), "has no such model, or does not serve the agent's API (404"),
        (Server(405, HTML), "has no such model, or does not serve the agent's API (405"),
        (Server(200, HTML), "answers, but not in the agent's API"),
        (Server(200, b'{"ok": true}', "application/json"), "answers, but not in the agent's API"),
    ],
    ids=["404", "405", "a web page", "other JSON"],
)
def test_a_server_that_is_none_of_the_api_stops_the_run_after_one_trial(repo: Path, server: Server, what: str) -> None:
    with server.serving():
        said = claude(repo, server.url)
    print(said.code, said.err)
    assert said.code == 8
    assert f"{server.url} {what}" in said.err
    assert "check ANTHROPIC_BASE_URL" in said.err
    assert (repo / "starts").read_text() == "1\n"


def test_a_model_that_the_provider_lists_not_ends_before_a_trial(repo: Path) -> None:
    with Server(404, b"{}", models=["gpt-y", "claude-sonnet-5-1"]).serving() as server:
        said = judged(repo, "gpt-x", "gemini-x", OPENAI_API_KEY="k", GEMINI_API_KEY="k", OPENAI_BASE_URL=server.url)
        assert said.code == 5
        assert 'openai has no model gpt-x; did you mean "gpt-y"?; correct the id, or OPENAI_BASE_URL' in said.err
        said = claude(repo, server.url)
    assert said.code == 5
    assert 'anthropic has no model claude-sonnet-5; did you mean "claude-sonnet-5-1"?' in said.err
    assert server.posts == []
    assert not (repo / "runs").exists()


def test_a_key_over_plain_http_is_refused_before_a_trial(repo: Path) -> None:
    said = judged(
        repo, "gpt-x", "gemini-x", OPENAI_API_KEY="k", GEMINI_API_KEY="k", OPENAI_BASE_URL="http://models.example/v1"
    )
    assert said.code == 3
    assert "OPENAI_BASE_URL: http://models.example/v1 would get the value of OPENAI_API_KEY unencrypted" in said.err


@pytest.mark.parametrize(
    ("limits", "what"),
    [
        ({"usd": 1.0}, "limits.usd cannot be enforced; add the price in config/models/, or replace limits.usd by"),
        ({}, "no budget in USD limits its trials; add the price in config/models/, or set limits.tokens"),
    ],
)
def test_a_model_without_a_price_needs_a_budget_in_tokens(repo: Path, limits: dict[str, float], what: str) -> None:
    write_model(repo, make_model(id="claude-sonnet-5", price=None))
    write_claude_experiment(repo, limits=limits)
    said = evaluate(repo, claude_environment(repo.parent, say("401")))
    assert said.code == 6
    assert f"claude-sonnet-5: there is no known price, so {what}" in said.err
