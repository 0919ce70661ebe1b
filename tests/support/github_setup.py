"""A local server that tells how a repository is set up, as GitHub's REST API does."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

NAME, TOKEN = "octo-org/app", "ghp_" + "s3cret" * 6
PAGE = f"https://github.com/{NAME}"
SECRET_VALUE = "a variable's value, which nobody is to see"
KEY = {"total_count": 1, "secrets": [{"name": "ANTHROPIC_API_KEY", "created_at": "x", "updated_at": "x"}]}
NO_SECRETS = {"total_count": 0, "secrets": []}
REVIEWERS = {"id": 3, "node_id": "x", "type": "required_reviewers", "prevent_self_review": False, "reviewers": []}
CALLER = {"id": 1, "name": "Scylla", "path": ".github/workflows/scylla.yml", "state": "active"}
Told = Mapping[str, Any]


def variables(*names: str) -> Told:
    return {"total_count": len(names), "variables": [{"name": name, "value": SECRET_VALUE} for name in names]}


def facts(**given: Any) -> Told:
    """The repository, as its own page tells of it."""
    return {"id": 456, "owner": {"id": 123, "login": "octo-org"}, "full_name": NAME, "html_url": PAGE,
            "private": False, "fork": False, "archived": False,
            "default_branch": "main", "permissions": {"admin": True, "push": True}, **given}  # fmt: skip


def right() -> dict[str, Any]:
    """Return the answers by path within the repository if all is as it should be; a number is a status."""
    return {
        "": facts(),
        "/actions/permissions": {"enabled": True, "allowed_actions": "all"},
        "/actions/permissions/workflow": {
            "default_workflow_permissions": "read", "can_approve_pull_request_reviews": False,
        },
        "/actions/workflows": {"total_count": 1, "workflows": [CALLER]},
        "/environments/scylla-eval": {"id": 1, "name": "scylla-eval", "protection_rules": [REVIEWERS]},
        "/environments/scylla-eval/secrets": KEY,
        "/environments/scylla-eval/variables": variables(),
        "/actions/secrets": NO_SECRETS,
        "/actions/organization-secrets": NO_SECRETS,
        "/actions/variables": variables(),
        "/actions/organization-variables": variables(),
        "/pages": {"url": "x", "status": "built", "build_type": "workflow", "public": True},
        "/branches/scylla-results": {"name": "scylla-results", "protected": True},
    }  # fmt: skip


@dataclass
class Served:
    """Answers, how the token is told of, and what was asked."""

    told: dict[str, Any] = field(default_factory=right)
    headers: Mapping[str, str] = field(default_factory=lambda: {"x-oauth-scopes": "repo, workflow"})
    url: str = ""
    asked: list[str] = field(default_factory=list)


@contextmanager
def serve(served: Served) -> Iterator[Served]:
    """Serve on a free port of loopback."""

    class Handler(_Handler):
        state = served

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state: Served

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's signature
        """Say nothing."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path.removeprefix(f"/repos/{NAME}")
        self.state.asked.append(f"GET {path}")
        said = self.headers.get("authorization")
        found = self.state.told.get(path, 404) if said in {None, f"token {TOKEN}", f"Bearer {TOKEN}"} else 401
        status, body = (found, {"message": "No"}) if isinstance(found, int) else (200, found)
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(data)),
            **self.state.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
