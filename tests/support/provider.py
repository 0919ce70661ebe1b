"""A local server that speaks the Anthropic Messages API, streaming, from a script.

The script is a function from what the model was really sent to what it answers, so it can only go on where a tool
really gave the result that it expects.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
RULE = "fdrl_01test"
ASKING = "a-token-of-the-job-0123456789"
MINTED = "sk-ant-oat01-minted-0123456789"


@dataclass(frozen=True)
class Say:
    """An answer: text, then perhaps one use of a tool."""

    text: str
    tool: str | None = None
    arguments: Body = field(default_factory=dict)
    beside: tuple[Body, ...] = ()  # arguments of further uses of the same tool
    stop_reason: str | None = None
    cut: bool = False  # end the stream in the middle
    wait: float = 0.0  # seconds before the first byte
    pause: float = 0.0  # seconds in the middle
    pieces: int = 1  # events that each block's content comes in
    garbage: bytes = b""  # raw bytes between two events
    usage: Body = field(default_factory=dict)  # beside the usual counts
    output_tokens: int | None = 25  # None: the answer never says
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        return self.stop_reason or ("tool_use" if self.tool else "end_turn")


@dataclass(frozen=True)
class Fail:
    """An error status instead of an answer."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "scripted"


@dataclass(frozen=True)
class Hang:
    """No answer at all until the server ends."""


@dataclass(frozen=True)
class Hangup:
    """The connection ends without an answer."""


Script = Callable[[Body], Say | Fail | Hang | Hangup]


@dataclass
class Provider:
    """A running server; `requests` are the bodies of all message requests, `keys` the keys they came with."""

    url: str
    requests: list[Body] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    exchanges: list[Body] = field(default_factory=list)  # of identities for tokens
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


class ProviderServer(ThreadingHTTPServer):
    """A server whose script can be replaced, for clients that outlive one test."""

    request_queue_size = 512
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.provider = Provider(self.url)
        self.script: Script = lambda _: Say("Hi.")
        self.counting: Callable[[Body], Fail | None] = lambda _: None
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def follow(self, script: Script) -> Provider:
        """Follow another script from the next request on; return what it is sent."""
        self.provider, self.script = Provider(self.url), script
        return self.provider


@contextmanager
def serve(script: Script, counting: Callable[[Body], Fail | None] = lambda _: None) -> Iterator[Provider]:
    """Serve the script on a free port of loopback; `counting` tells which counts of tokens are refused."""
    server = ProviderServer()
    server.counting = counting
    provider = server.follow(script)
    try:
        yield provider
    finally:
        provider.ended.set()
        server.shutdown()
        server.server_close()
        server.thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ProviderServer
    served: Provider

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's signature
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_GET(self) -> None:
        """The identity that GitHub gives a job that may ask for it."""
        told = self.headers.get("authorization") == f"Bearer {ASKING}" and self.path.startswith("/identity?")
        self._json(200 if told else 403, {"value": f"identity{self.path.partition('audience=')[2]}"} if told else {})

    def _count(self, body: Body) -> None:
        refused = self.server.counting(body)
        if refused:
            self._json(refused.status, _error("scripted_error", refused.message), refused.headers)
        else:
            self._json(200, {"input_tokens": 42})

    def _exchange(self, body: Body) -> None:
        self.served.exchanges.append(body)
        if body["federation_rule_id"] != RULE:
            self._json(401, {"error": "invalid_grant"})
            return
        token = f"{MINTED}-{len(self.served.exchanges)}"
        self._json(200, {"access_token": token, "token_type": "Bearer", "expires_in": 3600})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["content-length"]))
        body = json.loads(raw)
        self.served = self.server.provider
        if self.path == "/v1/oauth/token":
            self._exchange(body)
            return
        if self.path.startswith("/v1/messages/count_tokens"):
            self._count(body)
            return
        if not self.path.startswith("/v1/messages?") and self.path != "/v1/messages":
            self._json(404, _error("not_found_error", self.path))
            return
        served = self.served
        served.requests.append(body)
        served.keys.append(self.headers.get("x-api-key"))
        served.paths.append(self.path)
        served.headers.append({name.lower(): value for name, value in self.headers.items()})
        served.raw.append(raw)
        answer = self.server.script(body)
        if isinstance(answer, Fail):
            content = _error("scripted_error", f"{answer.message} {answer.status}")
            self._json(answer.status, content, answer.headers)
        elif isinstance(answer, Hangup):
            self.close_connection = True
        elif isinstance(answer, Hang):
            self.served.ended.wait(600)
            self.close_connection = True
        elif body.get("stream"):
            self._stream(body["model"], answer)
        else:
            self._json(200, self._whole(body["model"], answer), answer.headers)

    def _json(self, status: int, content: Body, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _message(self, model: str, answer: Say) -> Body:
        usage = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                 "output_tokens": 1, **answer.usage}  # fmt: skip
        return {"id": f"msg_{len(self.served.requests)}", "type": "message", "role": "assistant", "model": model,
                "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}  # fmt: skip

    def _whole(self, model: str, answer: Say) -> Body:
        message = self._message(model, answer)
        message["content"] = [{"type": "text", "text": answer.text}]
        if answer.tool:
            tool = {"type": "tool_use", "id": "toolu_01", "name": answer.tool, "input": answer.arguments}
            message["content"].append(tool)
        message["usage"]["output_tokens"] = answer.output_tokens
        return {**message, "stop_reason": answer.reason}

    def _stream(self, model: str, answer: Say) -> None:
        self.served.ended.wait(answer.wait)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        self._event("message_start", message=self._message(model, answer))
        for index, (block, deltas) in enumerate(_blocks(answer, len(self.served.requests))):
            self._event("content_block_start", index=index, content_block=block)
            for delta in deltas:
                self._event("content_block_delta", index=index, delta=delta)
            if answer.cut:
                self.wfile.write(answer.garbage)
                return
            self.served.ended.wait(answer.pause)
            self._event("content_block_stop", index=index)
        self.wfile.write(answer.garbage)
        end = {"stop_reason": answer.reason, "stop_sequence": None}
        usage = {} if answer.output_tokens is None else {"usage": {"output_tokens": answer.output_tokens}}
        self._event("message_delta", delta=end, **usage)
        self._event("message_stop")

    def _event(self, kind: str, **content: Any) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **content})}\n\n".encode())
        self.wfile.flush()


def _blocks(answer: Say, number: int) -> Iterator[tuple[Body, list[Body]]]:
    yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": text} for text in _cut(answer.text, answer)]
    for use, arguments in enumerate((answer.arguments, *answer.beside) if answer.tool else ()):
        suffix = f"_{use}" if use else ""
        block: Body = {"type": "tool_use", "id": f"toolu_{number:02d}{suffix}", "name": answer.tool, "input": {}}
        pieces = _cut(json.dumps(arguments), answer)
        yield block, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def _cut(text: str, answer: Say) -> list[str]:
    size = max(1, -(-len(text) // answer.pieces))
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def _error(kind: str, message: str) -> Body:
    return {"type": "error", "error": {"type": kind, "message": message}}
