"""Program inside a sandbox that gives one prompt to an agent of the Agent Client Protocol, and prints its updates.

It imports nothing but the standard library, since it is run by the sandbox's own Python.

```text
acp_client.py FILE PROGRAM [FLAG...]    the prompt is on standard input
```

FILE holds an object in JSON with `cwd`, the absolute path of the agent's folder, and `mcpServers`: objects with
command, args and env, by name. Each update of the session is a line of JSON, and the last line has `type`: `end` with
the agent's `stopReason`, or `error` with a message. The exit code is 0 only after `end_turn`. Permissions are given,
since a trial runs in a sandbox; the agent gets no files and terminals of the client, and uses its own.

Protocol: version 1 (https://agentclientprotocol.com/protocol, schema 1.19.0, read 2026-11-28).
"""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

_VERSION = 1
_CLIENT = {"name": "scylla-gha", "version": "1"}
_ALLOWED = ("allow_always", "allow_once")  # kinds of options, the preferred one first
_UNKNOWN_METHOD = -32601  # error code of JSON-RPC

_Json = dict[str, Any]


class AgentError(Exception):
    """Failure of the agent: an error in its answer, or its end before an answer."""


def main() -> None:
    """Run one session, and print its updates and its end."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # an agent may send half an emoji
    with open(sys.argv[1], encoding="utf-8") as stream:  # noqa: PTH123 pathlib is slow to start
        session = json.load(stream)
    try:
        process = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            reason = _run(_Connection(process), session, sys.stdin.read())
        finally:
            process.terminate()
            with contextlib.suppress(OSError):  # what the agent did not read
                process.stdin.close()  # type: ignore[union-attr]
    except (AgentError, OSError) as error:
        _print({"type": "error", "message": str(error)})
        sys.exit(1)
    _print({"type": "end", "stopReason": reason})
    sys.exit(reason != "end_turn")


def _run(connection: "_Connection", session: _Json, prompt: str) -> str:
    """Return the reason why the agent stopped."""
    hello = {"protocolVersion": _VERSION, "clientCapabilities": {}, "clientInfo": _CLIENT}
    answer = connection.ask("initialize", hello)
    if answer.get("protocolVersion") != _VERSION:
        raise AgentError(f"the agent speaks version {answer.get('protocolVersion')} of the protocol, not {_VERSION}")
    servers = [_server(name, spec) for name, spec in session.get("mcpServers", {}).items()]
    started = connection.ask("session/new", {"cwd": session["cwd"], "mcpServers": servers})
    text = [{"type": "text", "text": prompt}]
    ended = connection.ask("session/prompt", {"sessionId": started.get("sessionId"), "prompt": text})
    return str(ended.get("stopReason"))


def _server(name: str, spec: _Json) -> _Json:
    env = [{"name": key, "value": value} for key, value in spec.get("env", {}).items()]
    return {"name": name, "command": spec["command"], "args": spec.get("args", []), "env": env}


class _Connection:
    """JSON-RPC over the standard streams of an agent, one message in each line."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._number = 0

    def ask(self, method: str, params: _Json) -> _Json:
        """Return the result of a request; print updates and answer the agent's own requests until it comes.

        Raises:
            AgentError: the result is an error, or the agent ended.
        """
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        for message in self._messages():
            if "method" in message:
                self._serve(message)
            elif message.get("id") == self._number:
                if "error" in message:
                    raise AgentError(f"{method}: {_reason(message['error'])}")
                result = message.get("result")
                return result if isinstance(result, dict) else {}
        raise AgentError(f"the agent ended with exit code {self._process.wait()} before it answered {method}")

    def _messages(self) -> Iterator[_Json]:
        """Yield the agent's messages; other lines go to standard error."""
        for line in self._process.stdout or ():
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if isinstance(message, dict):
                yield message
            else:
                sys.stderr.buffer.write(line)

    def _serve(self, message: _Json) -> None:
        """Print an update, or answer a request of the agent."""
        method, params = message["method"], message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "session/update":
            _print(params.get("update"))
        elif method == "session/request_permission":
            self._send({"id": message.get("id"), "result": {"outcome": _permission(params.get("options"))}})
        elif "id" in message:
            refusal = {"code": _UNKNOWN_METHOD, "message": f"this client has no method {method}"}
            self._send({"id": message["id"], "error": refusal})

    def _send(self, message: _Json) -> None:
        if self._process.stdin is None:
            return
        try:
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise AgentError(f"the agent ended with exit code {self._process.wait()}") from None


def _permission(options: object) -> _Json:
    """Return the outcome of a request for permission: the option that allows most, else a cancellation."""
    offered = [option for option in (options if isinstance(options, list) else ()) if isinstance(option, dict)]
    for kind in _ALLOWED:
        for option in offered:
            if option.get("kind") == kind:
                return {"outcome": "selected", "optionId": option.get("optionId")}
    return {"outcome": "cancelled"}


def _reason(error: object) -> str:
    """Return the message of an error, with its details."""
    if not isinstance(error, dict):
        return str(error)
    details = f": {json.dumps(error['data'])}" if error.get("data") else ""
    return f"{error.get('message')}{details}"


def _print(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
