"""Providers and an agent that are added as CONTRIBUTING says: models of two providers in one experiment, end to end."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support import plugins
from tests.support.ask import ASK
from tests.support.command import Said, scylla
from tests.support.library import write_model
from tests.support.plugins import installed_plugins
from tests.support.provider import Body, Say, serve
from tests.support.records import make_model
from tests.support.repository import make_repository
from tests.support.scripted_claude import CANARY, claude_environment, write_claude_experiment

MIRROR_KEY, ACME_KEY = "mirror-canary-0123456789", "acme-canary-0123456789"
MODEL = 'for word; do [ "$before" = --model ] && model=$word; before=$word; done; '
CLAUDE = f'{MODEL}{ASK} "$model" Hello Agent,Bash,Edit,Read,Skill,Write\n'
ACME_CLI = f"""\
#!/bin/sh
[ "$1" = --version ] && {{ echo 1.0.0; exit; }}
exec {sys.executable} {Path(plugins.__file__).with_name("acme_cli.py")} "$2"
"""
CHAT = {"choices": [{"message": {"role": "assistant", "content": f"hello, not {ACME_KEY}"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 20,
                  "prompt_tokens_details": {"cached_tokens": 400}}}  # fmt: skip
CHAT_USD = (600 * 1.0 + 400 * 0.1 + 20 * 10.0) / 1e6  # at the prices of `make_model`


@dataclass
class ChatServer:
    """A local server of chat completions; it fails with each of `statuses` before it answers."""

    url: str = ""
    statuses: list[int] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)

    @contextmanager
    def serving(self) -> Iterator["ChatServer"]:
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                chat.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                chat.keys.append(str(self.headers["authorization"]))
                status = chat.statuses.pop(0) if chat.statuses else 200
                answer = CHAT if status == 200 else {"error": {"type": "scripted", "message": f"no, {ACME_KEY}"}}
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's signature
                """Say nothing."""

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


@pytest.fixture(scope="module")
def toolkit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed_plugins(tmp_path_factory.mktemp("toolkit"))


@dataclass(frozen=True)
class House:
    """A repository with models of three providers, and the environment of the toolkit with plug-ins."""

    root: Path
    environ: dict[str, str]

    def run(self, *args: str, **env: str) -> Said:
        return scylla(*args, cwd=self.root, env={**self.environ, **env})

    def rows(self) -> dict[str, dict[str, Any]]:
        lines = (self.root / "runs" / "greet" / "results.jsonl").read_text().splitlines()
        return {row["model"]: row for row in map(json.loads, lines)}

    def stored(self) -> bytes:
        """All bytes of the run's folder."""
        files = (path for path in (self.root / "runs").rglob("*") if path.is_file())
        return b"".join(path.read_bytes() for path in files)


@pytest.fixture
def house(tmp_path: Path, toolkit: Path) -> House:
    root = make_repository(tmp_path / "repo").root
    write_model(root, make_model(id="mirror-1", provider="mirror"))
    write_model(root, make_model(id="acme-1", provider="acme", context_tokens=100_000, accepts=("max_tokens",)))
    keys = {"MIRROR_API_KEY": MIRROR_KEY, "ACME_API_KEY": ACME_KEY}
    nobody = dict.fromkeys(("MIRROR_BASE_URL", "ACME_BASE_URL"), "http://127.0.0.1:9")
    environ = claude_environment(tmp_path, CLAUDE, PYTHONPATH=str(toolkit), **keys, **nobody)
    program = tmp_path / "bin" / "acme"
    program.write_text(ACME_CLI)
    program.chmod(0o755)
    return House(root, environ)


def write_acme_experiment(root: Path, **more: Any) -> Path:
    arm = "t0-00-empty.acme-cli.acme-1"
    return write_claude_experiment(root, **{"agents": ("acme-cli",), "models": ("acme-1",), "baseline": arm, **more})


def test_models_of_two_providers_are_asked_at_their_own_addresses_with_their_own_keys(house: House) -> None:
    write_claude_experiment(house.root, models=("claude-sonnet-5", "mirror-1"))
    with serve(lambda _: Say("Hi.")) as anthropic, serve(lambda _: Say(f"Not {MIRROR_KEY}.")) as mirror:
        addresses = {"ANTHROPIC_BASE_URL": anthropic.url, "MIRROR_BASE_URL": mirror.url}
        lacking = house.run("evaluate", "greet", "--yes", **addresses, MIRROR_API_KEY="")
        assert (lacking.code, anthropic.requests, mirror.requests) == (5, [], []), lacking.err
        said = house.run("evaluate", "greet", "--yes", **addresses)
    assert "claude-code needs a key of mirror to reach mirror-1; set MIRROR_API_KEY, or give --replay" in lacking.err
    assert "ANTHROPIC_API_KEY" not in lacking.err
    assert said.code == 0, said.err
    assert {body["model"] for body in anthropic.requests} == {"claude-sonnet-5"}
    assert {body["model"] for body in mirror.requests} == {"mirror-1"}
    assert (set(anthropic.keys), set(mirror.keys)) == ({CANARY}, {MIRROR_KEY})
    assert house.rows()["mirror-1"]["usd"] == pytest.approx((100 * 1.0 + 25 * 10.0) / 1e6)
    assert MIRROR_KEY.encode() not in house.stored(), "the agent printed what the server said"


def test_another_api_is_read_priced_retried_and_redacted(house: House) -> None:
    write_acme_experiment(house.root, limits={"provider_retries": 2})
    with ChatServer(statuses=[503]).serving() as chat:
        said = house.run("evaluate", "greet", "--yes", ACME_BASE_URL=chat.url)
    assert said.code == 0, said.err
    row = house.rows()["acme-1"]
    assert (row["outcome"], row["input_tokens"], row["output_tokens"], row["cache_read_tokens"]) == (
        "completed", 600, 20, 400)  # fmt: skip
    assert row["usd"] == pytest.approx(CHAT_USD)
    assert chat.keys == [f"Bearer {ACME_KEY}"] * 2, "asked again after the 503"
    assert ACME_KEY.encode() not in house.stored()


def test_a_budget_refuses_a_request_before_it_is_sent(house: House) -> None:
    write_acme_experiment(house.root, limits={"usd": 0.000001})
    with ChatServer().serving() as chat:
        house.run("evaluate", "greet", "--yes", ACME_BASE_URL=chat.url)
    assert (chat.bodies, house.rows()["acme-1"]["outcome"]) == ([], "budget_exceeded")


def test_a_key_that_is_rejected_is_named(house: House) -> None:
    write_acme_experiment(house.root, limits={"provider_retries": 0})
    with ChatServer(statuses=[401] * 9).serving() as chat:
        said = house.run("evaluate", "greet", "--yes", ACME_BASE_URL=chat.url)
    assert f"{chat.url} rejects the value of ACME_API_KEY (401 scripted); correct it" in said.err
    assert len(chat.bodies) == 1
    assert ACME_KEY.encode() not in house.stored(), "the server's error quotes it"


def test_an_agent_that_cannot_speak_the_models_api_is_refused(house: House) -> None:
    write_claude_experiment(house.root, models=("acme-1",), baseline="t0-00-empty.claude-code.acme-1")
    said = house.run("plan", "greet")
    assert said.code != 0
    assert (
        "experiment greet: claude-code cannot use the model acme-1: its provider acme speaks openai-chat, and "
        "claude-code speaks anthropic-messages; choose another model, or an agent that can ask acme "
        "(acme-cli, "
    ) in said.err
    write_acme_experiment(house.root, judges=("acme-1", "claude-opus-5"))
    said = house.run("plan", "greet")
    assert said.code == 0, "a judge may be a model of any provider"


def test_doctor_names_the_key_that_a_workflow_lacks_for_the_experiments_models(house: House) -> None:
    write_acme_experiment(house.root)
    workflow = house.root / ".github" / "workflows" / "scylla.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(
        "jobs:\n  evaluate:\n    uses: octo-org/scylla-gha/.github/workflows/evaluate.yml@v1\n"
        "    secrets:\n      ANTHROPIC_API_KEY: ${{ secrets.ANTHROPIC_API_KEY }}\n"
    )
    said = house.run("doctor")
    assert "scylla.yml does not pass the secret ACME_API_KEY, so models of acme cannot be asked with a key" in said.out
    assert "MIRROR_API_KEY" not in said.out, "no experiment uses its models"
