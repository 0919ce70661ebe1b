"""Program inside a sandbox that starts an MCP server, asks for its tools over standard input and output, and ends it.

It is fed to the sandbox's own Python, and imports nothing but the standard library. The argument is an object in JSON
with command, args, env and seconds. Its output is an object in JSON with `tools` and `seconds`, or with `fault`.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time

_PROTOCOL = "2025-06-18"
_CLIENT = {"name": "probe", "version": "1"}


def main() -> None:
    """Print the names of a server's tools, and how long it took to list them."""
    spec = json.loads(sys.argv[1])
    started = time.monotonic()
    try:
        server = subprocess.Popen(
            [spec["command"], *spec["args"]], env={**os.environ, **spec["env"]}, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip
    except OSError as error:
        sys.stdout.write(json.dumps({"fault": f"it does not start: {error}"}))
        return
    timer = threading.Timer(spec["seconds"], server.kill)
    timer.start()
    try:
        tools = _tools(server)
        answer = {"tools": tools, "seconds": round(time.monotonic() - started, 2)}
    except (EOFError, OSError, LookupError, TypeError, ValueError) as error:
        answer = {"fault": f"no answer within {spec['seconds']} s" if not timer.is_alive() else str(error)}
    timer.cancel()
    server.kill()
    sys.stdout.write(json.dumps(answer))


def _tools(server: "subprocess.Popen[str]") -> list[str]:
    """Return the names of all tools, which may come in pages."""
    _ask(server, 1, "initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": _CLIENT})
    _send(server, {"method": "notifications/initialized"})
    names, cursor, number = [], None, 2
    while cursor is not None or number == 2:  # noqa: PLR2004 the first page
        page = _ask(server, number, "tools/list", {} if cursor is None else {"cursor": cursor})
        names += [str(tool["name"]) for tool in page["tools"]]
        cursor, number = page.get("nextCursor"), number + 1
    return names


def _ask(server: "subprocess.Popen[str]", number: int, method: str, params: dict) -> dict:  # type: ignore[type-arg]
    _send(server, {"id": number, "method": method, "params": params})
    for line in server.stdout or ():
        message = json.loads(line) if line.startswith("{") else {}  # other lines belong to standard error
        if message.get("id") == number and "method" not in message:
            if "result" not in message:
                raise ValueError(f"{method} is refused: {json.dumps(message.get('error'))[:300]}")
            result: dict = message["result"]  # type: ignore[type-arg]
            return result
    raise EOFError(f"it ended with exit code {server.wait()} before it answered {method}")


def _send(server: "subprocess.Popen[str]", message: dict) -> None:  # type: ignore[type-arg]
    """Write a message; where the server has ended before it read it, reading its output tells so."""
    if not server.stdin:
        return
    with contextlib.suppress(BrokenPipeError):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()


if __name__ == "__main__":
    main()
