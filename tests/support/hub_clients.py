"""GitHub's MCP server, PyGithub and octokit as clients of a served hub."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from github import Auth, Github

from scylla_gha.hub.clients import mcp_environment
from scylla_gha.prepare.tools import cache_root, locked
from tests.support.hub import AUTHOR, NAME, OWNER
from tests.support.hub_server import BIN, ServedHub

OCTOKIT_VERSION = "5.0.5"
_OCTOKIT_START = """\
import { Octokit } from "octokit";
const [baseUrl, auth, owner, repo] = process.argv.slice(2);
const octokit = new Octokit({ baseUrl, auth, retry: { enabled: false }, throttle: { enabled: false } });
const at = { owner, repo };
"""


@dataclass
class McpSession:
    """GitHub's MCP server, spoken to over its standard input and output."""

    process: "subprocess.Popen[str]"
    _number: int = field(default=0, init=False)

    def tool(self, name: str, **arguments: Any) -> Any:
        """Return the answer of a tool about the hub's repository; JSON is read."""
        result = self.request("tools/call", {"name": name, "arguments": {"owner": OWNER, "repo": NAME, **arguments}})
        parts = [part.get("resource", part) for part in result["content"]]
        text = "\n".join(part.get("text", "") for part in parts)
        assert not result.get("isError"), f"{name}: {text}"
        with contextlib.suppress(json.JSONDecodeError):
            return json.loads(text)
        return text

    def request(self, method: str, params: Any) -> Any:
        """The result of a request."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self._number:
                assert "result" in message, f"{method}: {message}"
                return message["result"]
        raise AssertionError(f"{method}: the server has ended")

    def _send(self, message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def start(self) -> None:
        """Introduce the client."""
        client = {"name": "tests", "version": "1"}
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})


@contextlib.contextmanager
def mcp_server(served: ServedHub, token: str = AUTHOR) -> Iterator[McpSession]:
    """A running MCP server of a user."""
    environment = {"PATH": os.environ["PATH"], **mcp_environment(served.port, token)}
    with subprocess.Popen([BIN / "github-mcp-server", "stdio"], env=environment, text=True, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:  # fmt: skip
        try:
            session = McpSession(process)
            session.start()
            yield session
        finally:
            process.kill()


def pygithub(served: ServedHub, token: str = AUTHOR) -> Github:
    """PyGithub of a user."""
    return pygithub_at(base_url(served), token)


def pygithub_at(address: str, token: str) -> Github:
    """PyGithub at an address."""
    return Github(base_url=address, auth=Auth.Token(token), retry=None, seconds_between_requests=None,
                  seconds_between_writes=None)  # fmt: skip


def base_url(served: ServedHub) -> str:
    """The REST interface's address for clients that have such a setting."""
    return f"http://127.0.0.1:{served.port}/api/v3"


def octokit(served: ServedHub, script: str, token: str = AUTHOR) -> Any:
    """Return what a script writes as JSON. It has `octokit`, and `at` with owner and repo."""
    return octokit_at(base_url(served), token, served.folder, script, NAME)


def octokit_at(address: str, token: str, folder: Path, script: str, repository: str) -> Any:
    """Return what a script writes as JSON, of octokit at an address; its files are in the folder."""
    file = folder / "client.mjs"
    file.write_text(_OCTOKIT_START + script, encoding="utf-8")
    modules = folder / "node_modules"
    if not modules.exists():
        modules.symlink_to(_octokit_modules())
    argv = ["node", "--preserve-symlinks-main", str(file), address, token, OWNER, repository]
    ran = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def _octokit_modules() -> str:
    folder = cache_root() / "octokit" / OCTOKIT_VERSION
    with locked(folder):
        if not (folder / "node_modules/octokit").exists():
            folder.mkdir(parents=True, exist_ok=True)
            argv = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]
            argv += [str(folder), f"octokit@{OCTOKIT_VERSION}"]
            subprocess.run(argv, check=True, capture_output=True, timeout=600)
    return str(folder / "node_modules")
