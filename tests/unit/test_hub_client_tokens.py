"""Which client asked GitHub is decided by its token. A name in User-Agent is no proof, and git's token opens no API."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.client import HubProcess
from scylla_gha.hub.client_tokens import TOKEN_CLIENTS, TokenClient, new_token
from scylla_gha.hub.control import AttachRequest
from scylla_gha.redaction import Redactor
from tests.support.hub import AUTHOR, NAME, OWNER, REPO, make_hub
from tests.support.hub_server import ServedHub, ask_socket, serving_hub

REFUSAL = "Resource not accessible by personal access token"
MCP_NAME = "github-mcp-server/0.12.1"
FIXTURE = Path(__file__).parents[1] / "support/hub_fixture"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedHub]:
    """A hub in which the author has a token for each client, which is the client's name."""
    hub = make_hub(tmp_path / "hub")
    clients: dict[str, TokenClient] = {client: client for client in TOKEN_CLIENTS}
    hub.tokens = {**hub.tokens, **dict.fromkeys(clients, hub.tokens[AUTHOR])}
    hub.token_clients = clients
    with serving_hub(hub, tmp_path / "served") as running:
        yield running


def ask(served: ServedHub, path: str, authorization: str | None, agent: str, body: Any = None) -> tuple[int, Any]:
    headers = {"User-Agent": agent, **({} if authorization is None else {"Authorization": authorization})}
    method = "GET" if body is None else "POST"
    status, content = ask_socket(served.socket, method, path, None if body is None else json.dumps(body), headers)
    return status, json.loads(content)


def test_the_api_refuses_gits_token_in_githubs_words(served: ServedHub) -> None:
    """https://docs.github.com/rest/authentication/permissions-required-for-fine-grained-personal-access-tokens"""
    status, answer = ask(served, f"{REPO}/issues", "token git", MCP_NAME, {"title": "By curl"})
    assert (status, answer["message"]) == (403, REFUSAL)
    assert answer["documentation_url"] == "https://docs.github.com/rest/issues/issues#create-an-issue"
    status, answer = ask(served, "/graphql", "bearer git", MCP_NAME, {"query": "{viewer{login}}"})
    assert (status, answer) == (200, {"data": None, "errors": [{"type": "FORBIDDEN", "message": REFUSAL}]})
    assert ask(served, "/user", "token mcp", MCP_NAME)[1]["login"] == AUTHOR
    assert served.endpoint.log.traffic.clients == {"github-mcp-server with git's token": 2, "github-mcp-server": 1}
    assert served.hub.state.journal == []


def test_gits_token_clones_and_pushes(served: ServedHub) -> None:
    url = f"https://github.com/{OWNER}/{NAME}"
    served.run("git", "clone", "-q", url, "work", token="git")
    served.run("git", "-C", "work", "push", "-q", "origin", "HEAD:refs/heads/new", token="git")
    assert "refs/heads/new" in served.run("git", "ls-remote", url, token="git")
    assert served.endpoint.log.traffic.clients.keys() == {"git"}


@pytest.mark.parametrize(
    ("token", "agent", "counted"),
    [
        ("gh", "GitHub CLI 2.102.0", "gh"),
        ("program", "mytool/1", "mytool"),
        ("mcp", "curl/8.5.0", "curl"),
        ("gh", "git/2.39.5", "git on the API"),
        (None, MCP_NAME, "github-mcp-server without a token"),
        ("ghp_other", MCP_NAME, "github-mcp-server without a token"),
        ("git", "GitHub CLI 2.102.0", "gh with git's token"),
    ],
)
def test_a_request_counts_for_a_client_by_token_and_name(
    served: ServedHub, token: str | None, agent: str, counted: str
) -> None:
    ask(served, REPO, None if token is None else f"token {token}", agent)
    assert served.endpoint.log.traffic.clients == {counted: 1}
    (entry,) = map(json.loads, (served.folder / "github-requests.jsonl").read_text().splitlines())
    assert entry["token"] == (token if token in TOKEN_CLIENTS else "none")


@pytest.mark.parametrize("header", ["token ", "Bearer ", "Basic ", "Basic Og==", "token", "Negotiate x"])
@pytest.mark.parametrize("path", ["/user", REPO])
def test_empty_credentials_are_bad_ones(served: ServedHub, header: str, path: str) -> None:
    """https://docs.github.com/rest/authentication/authenticating-to-the-rest-api#failed-login-limit"""
    status, answer = ask(served, path, header, "curl/8.5.0")
    assert (status, answer["message"]) == (401, "Bad credentials")


def test_a_token_is_a_user_name_or_a_password(served: ServedHub) -> None:
    for pair in (f"{AUTHOR}:", f"{AUTHOR}:x-oauth-basic", f"x-access-token:{AUTHOR}"):
        encoded = base64.b64encode(pair.encode()).decode()
        assert ask(served, "/user", f"Basic {encoded}", "curl/8.5.0")[1]["login"] == AUTHOR


def test_all_users_of_a_cell_have_a_token_for_each_client(tmp_path: Path) -> None:
    request = AttachRequest(cell="one", fixture=FIXTURE, cache=tmp_path / "cache", folder=tmp_path / "hub",
                            socket=tmp_path / "hub.sock")  # fmt: skip
    with HubProcess.start() as hub:
        cell = hub.attach(request)
        own = cell.client_tokens["author"]
        login = {"Authorization": f"token {own['mcp']}"}
        assert json.loads(ask_socket(cell.socket, "GET", "/user", None, login)[1])["login"] == cell.logins["author"]
        assert ask_socket(cell.socket, "GET", "/user", None, {"Authorization": f"token {own['git']}"})[0] == 403
    everything = [*cell.tokens.values(), *(token for by in cell.client_tokens.values() for token in by.values())]
    assert len(set(everything)) == len(cell.logins) * (1 + len(TOKEN_CLIENTS))
    assert "ghp_" not in repr(cell)
    assert "github_pat_" not in repr(cell)


def test_tokens_of_each_form_are_redacted() -> None:
    for client in (None, *TOKEN_CLIENTS):
        token = new_token(client).encode()
        assert token not in Redactor().redact_bytes(b"TOKEN=" + token)[0]
