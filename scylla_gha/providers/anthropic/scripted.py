"""A local stand-in for the Messages API: it makes an agent use a shell once and then end."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from scylla_gha.providers.base import Body, objects, parse_object

SHELL_TEXT: Final = "scylla-gha was here"  # what the shell prints
_COMMAND: Final = f"echo {SHELL_TEXT}"
_SHELLS: Final = ("Bash",)
# Counts of all kinds, so that a cost that is computed from them depends on every price.
USAGE: Final = {
    "input_tokens": 1_000,
    "output_tokens": 200,
    "cache_read_input_tokens": 30_000,
    "cache_creation_input_tokens": 4_000,
}


@contextmanager
def scripted_provider() -> Iterator[str]:
    """Serve scripted answers on this machine; yield the base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a request for a message, or for a count of tokens."""
        body = parse_object(self.rfile.read(int(self.headers.get("content-length", 0)))) or {}
        if self.path.partition("?")[0].endswith("/count_tokens"):
            self._send(json.dumps({"input_tokens": USAGE["input_tokens"]}), "application/json")
            return
        message = _message(body)
        if body.get("stream") is True:
            self._send("".join(_events(message)), "text/event-stream")
        else:
            self._send(json.dumps(message), "application/json")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base's name
        """Print nothing."""

    def _send(self, text: str, kind: str) -> None:
        content = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _message(body: Body) -> dict[str, Any]:
    """Return the complete answer: a use of the shell if it is offered and was not used yet, else a text."""
    offered = [str(tool.get("name")) for tool in objects(body.get("tools"))]
    shell = next((name for name in _SHELLS if name in offered), None)
    parts = (part for message in objects(body.get("messages")) for part in objects(message.get("content")))
    is_used = any(part.get("type") == "tool_result" for part in parts)
    content: dict[str, Any] = {"type": "text", "text": "Done."}
    if shell and not is_used:
        content = {
            "type": "tool_use",
            "id": "toolu_scripted",
            "name": shell,
            "input": {"command": _COMMAND, "description": "Say hello"},
        }
    return {
        "id": f"msg_scripted_{is_used:d}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [content],
        "stop_reason": "tool_use" if content["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }


def _events(message: dict[str, Any]) -> Iterator[str]:
    (block,) = message["content"]
    is_tool = block["type"] == "tool_use"
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        if is_tool
        else {"type": "text_delta", "text": block["text"]}
    )
    start = {**message, "content": [], "stop_reason": None, "usage": {**USAGE, "output_tokens": 1}}
    empty = {**block, "input": {}} if is_tool else {**block, "text": ""}
    for event in (
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": USAGE["output_tokens"]},
        },
        {"type": "message_stop"},
    ):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
