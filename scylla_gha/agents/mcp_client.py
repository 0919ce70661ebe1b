"""Program inside a sandbox that starts an MCP server, lists its tools or calls one, and ends the server.

It imports nothing but the standard library, since it is run by the sandbox's own Python.

```text
mcp_client.py tools SPEC              prints {"tools": [...], "seconds": 0.1} or {"fault": "..."}
mcp_client.py call FILE TOOL JSON     prints the text of the answer; exit code 1 if the answer is an error
```

SPEC is an object in JSON with command, args, env and seconds. FILE holds a list of such objects, each also with the
names of its tools (null: not known); a call goes to the first server that has the tool.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time

_PROTOCOL = "2025-06-18"
_CLIENT = {"name": "scylla-gha", "version": "1"}
_USAGE = """usage: mcp-call TOOL JSON, such as: mcp-call list_issues '{"owner": "o", "repo": "r"}'"""


class ServerError(Exception):
    """Fault of a server, or of the way it was asked."""


def main() -> None:
    """List the tools of a server, or call one of its tools."""
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # a server may send half an emoji
    if sys.argv[1] == "tools":
        sys.stdout.write(json.dumps(_listing(json.loads(sys.argv[2]))))
        return
    try:
        text, failed = _answer(*sys.argv[2:])
    except ServerError as error:
        sys.exit(f"mcp-call: {error}")
    except TypeError:
        sys.exit(_USAGE)
    sys.stdout.write(text + "\n")
    sys.exit(1 if failed else 0)


def _listing(spec: dict) -> dict:  # type: ignore[type-arg]
    """Return the names of a server's tools, and the seconds until they were listed."""
    started = time.monotonic()
    try:
        with _Server(spec) as server:
            return {"tools": server.tools(), "seconds": round(time.monotonic() - started, 2)}
    except ServerError as error:
        return {"fault": str(error)}


def _answer(file: str, tool: str, arguments: str) -> "tuple[str, bool]":
    """Call a tool; return the text of the answer, and whether it is an error."""
    with open(file, encoding="utf-8") as stream:  # noqa: PTH123 pathlib is slow to start
        specs = json.load(stream)
    spec = next((spec for spec in specs if spec["tools"] is None or tool in spec["tools"]), None)
    if spec is None:
        names = sorted(name for spec in specs for name in spec["tools"])
        raise ServerError(f"there is no tool {tool!r}; there are: {', '.join(names)}")
    try:
        params = {"name": tool, "arguments": json.loads(arguments)}
    except (ValueError, RecursionError) as error:
        raise ServerError(f"{tool}: the arguments are not JSON: {error}") from None
    with _Server(spec) as server:
        result = server.ask("tools/call", params)
    parts = (part.get("text") or part.get("resource", {}).get("text") or "" for part in result.get("content", ()))
    return "\n".join(filter(None, parts)), bool(result.get("isError"))


class _Server:
    """A running server, which has been introduced to this client."""

    def __init__(self, spec: dict) -> None:  # type: ignore[type-arg]
        self._seconds, self._number = spec["seconds"], 0
        try:
            self._process = subprocess.Popen(
                [spec["command"], *spec["args"]],
                env={**os.environ, **spec["env"]},
                text=True,
                encoding="utf-8",
                errors="replace",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        except OSError as error:
            raise ServerError(f"the server does not start: {error}") from None
        self._timer = threading.Timer(self._seconds, self._process.kill)

    def __enter__(self) -> "_Server":
        self._timer.start()
        try:
            self.ask("initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": _CLIENT})
            self._send({"method": "notifications/initialized"})
        except ServerError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._process.kill()

    def tools(self) -> "list[str]":
        """Return the names of all tools, which may come in pages."""
        names, cursor, first = [], None, True
        while cursor is not None or first:
            page, first = self.ask("tools/list", {} if cursor is None else {"cursor": cursor}), False
            try:
                names += [str(tool["name"]) for tool in page["tools"]]
            except (LookupError, TypeError) as error:
                raise ServerError(str(error)) from None
            cursor = page.get("nextCursor")
        return names

    def ask(self, method: str, params: dict) -> dict:  # type: ignore[type-arg]
        """Return the result of a request."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        for line in self._process.stdout or ():
            message = _message(line)
            if message.get("id") == self._number and "method" not in message:
                if "result" not in message:
                    raise ServerError(f"{method} is refused: {json.dumps(message.get('error'))[:300]}")
                result: dict = message["result"]  # type: ignore[type-arg]
                return result
        if not self._timer.is_alive():
            raise ServerError(f"no answer within {self._seconds} s")
        raise ServerError(f"it ended with exit code {self._process.wait()} before it answered {method}")

    def _send(self, message: dict) -> None:  # type: ignore[type-arg]
        """Write a message. If the server has ended before it read it, reading its output tells so."""
        stream = self._process.stdin
        if not stream:
            return
        with contextlib.suppress(BrokenPipeError):
            stream.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            stream.flush()


def _message(line: str) -> dict:  # type: ignore[type-arg]
    """Return a line as a message; {} for a line that belongs to standard error."""
    try:
        message = json.loads(line) if line.startswith("{") else {}
    except (ValueError, RecursionError) as error:
        raise ServerError(str(error)) from None
    return message if isinstance(message, dict) else {}


if __name__ == "__main__":
    main()
