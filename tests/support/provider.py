"""A local server that speaks the Anthropic Messages API, streaming, from a script.

The script is a function from what the model was really sent to what it answers, so it can only go on where a tool
really gave the result that it expects.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True)
class Say:
    """An answer: text, then perhaps one use of a tool."""

    text: str
    tool: str | None = None
    arguments: Body = field(default_factory=dict)
    stop_reason: str | None = None
    cut: bool = False  # end the stream in the middle

    @property
    def reason(self) -> str:
        return self.stop_reason or ("tool_use" if self.tool else "end_turn")


@dataclass(frozen=True)
class Fail:
    """An error status instead of an answer."""

    status: int


@dataclass(frozen=True)
class Hang:
    """No answer at all until the server ends."""


Script = Callable[[Body], Say | Fail | Hang]


@dataclass
class Provider:
    """A running server; `requests` are the bodies of all message requests, `keys` the keys they came with."""

    url: str
    requests: list[Body] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)


def tool_results(body: Body) -> list[str]:
    """The texts of all tool results in the conversation."""
    blocks = (block for message in body["messages"] if isinstance(message["content"], list)
              for block in message["content"])  # fmt: skip
    return [_text(block.get("content")) for block in blocks if block.get("type") == "tool_result"]


def user_texts(body: Body) -> list[str]:
    """All texts of the user's messages."""
    found: list[str] = []
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [block["text"] for block in blocks if message["role"] == "user" and block.get("type") == "text"]
    return found


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(str(part.get("text")) for part in content or ())


@contextmanager
def serve(script: Script) -> Iterator[Provider]:
    """Serve the script on a free port of loopback."""
    provider = Provider("")

    class Handler(_Handler):
        served = provider
        follow = staticmethod(script)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    provider.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Provider
    follow: Script

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's signature
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.path.startswith("/v1/messages?") and self.path != "/v1/messages":
            self._json(404, _error("not_found_error", self.path))
            return
        self.served.requests.append(body)
        self.served.keys.append(self.headers.get("x-api-key"))
        answer = type(self).follow(body)
        if isinstance(answer, Fail):
            self._json(answer.status, _error("scripted_error", f"scripted {answer.status}"))
        elif isinstance(answer, Hang):
            self.served.ended.wait(600)
            self.close_connection = True
        else:
            self._stream(body["model"], answer)

    def _json(self, status: int, content: Body) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, model: str, answer: Say) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        usage = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                 "output_tokens": 1}  # fmt: skip
        number = len(self.served.requests)
        message: Body = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip
        self._event("message_start", message=message)
        for index, (block, delta) in enumerate(_blocks(answer, number)):
            self._event("content_block_start", index=index, content_block=block)
            self._event("content_block_delta", index=index, delta=delta)
            if answer.cut:
                return
            self._event("content_block_stop", index=index)
        end = {"stop_reason": answer.reason, "stop_sequence": None}
        self._event("message_delta", delta=end, usage={"output_tokens": 25})
        self._event("message_stop")

    def _event(self, kind: str, **content: Any) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **content})}\n\n".encode())
        self.wfile.flush()


def _blocks(answer: Say, number: int) -> Iterator[tuple[Body, Body]]:
    yield {"type": "text", "text": ""}, {"type": "text_delta", "text": answer.text}
    if answer.tool:
        block = {"type": "tool_use", "id": f"toolu_{number:02d}", "name": answer.tool, "input": {}}
        yield block, {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}


def _error(kind: str, message: str) -> Body:
    return {"type": "error", "error": {"type": kind, "message": message}}
