"""A local server that speaks every API style by the package's scripted answers, and fails in scripted ways.

The same cases for each style: what a request is, where its key is, and what one answer costs.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from scylla_gha.model.traffic import ModelPrice, Tokens
from scylla_gha.providers.base import Body
from scylla_gha.providers.scripted import STYLES
from scylla_gha.providers.scripted_style import ScriptedAnswer, ScriptedStyle

HELLO = ScriptedAnswer("Hello, Mars.")
RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


@dataclass(frozen=True)
class Fault:
    """A failure in the place of an answer: a status, an answer that is cut after some events, or silence.

    With `cut_after` and `hangs`, the answer begins, and the silence follows.
    """

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    code: str = "scripted"
    details: tuple[Body, ...] = ()
    cut_after: int | None = None
    is_clean: bool = False  # of a cut stream: its framing has an end
    last: str = ""  # event at the end of a cut stream
    hangs: bool = False
    hangs_up: bool = False  # the connection ends without an answer


Script = Callable[[ScriptedStyle, Body, str], ScriptedAnswer | Fault]  # the text is the model


@dataclass(frozen=True)
class StyleCase:
    """An API style as the gateway's tests ask it."""

    style: str
    provider: str
    path: str
    body: Body
    key: Callable[[str], dict[str, str]]  # headers with a key
    tokens: Tokens
    stream_path: str | None = None  # if the path tells that a stream is asked for
    models_path: str = "/v1/models"
    limit: tuple[str, ...] = ("max_tokens",)  # path to the limit of the answer in the body

    def request(self, text: str = "Hello?", model: str = "dear", **more: Any) -> tuple[str, Body]:
        """Path and body of a request for a stream."""
        body = json.loads(json.dumps(self.body).replace("TEXT", text).replace("MODEL", model))
        return (self.stream_path or self.path).replace("MODEL", model), {**body, **more}

    def limit_of(self, body: Body) -> int | None:
        value: Any = body
        for name in self.limit:
            value = value.get(name, {}) if isinstance(value, dict) else {}
        return value if isinstance(value, int) else None

    def usd(self, price: ModelPrice) -> float:
        usd = price.usd(self.tokens)
        assert usd is not None
        return usd


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


RESPONSES = StyleCase(
    "openai-responses",
    "openai",
    "/v1/responses",
    {"model": "MODEL", "stream": True, "instructions": "Be.", "input": [{"role": "user", "content": "TEXT"}]},
    bearer,
    Tokens(input=1_000, output=200, cache_read=30_000, cache_write_5m=4_000, reasoning=64),
    limit=("max_output_tokens",),
)
CHAT = StyleCase(
    "openai-chat",
    "openai",
    "/v1/chat/completions",
    {"model": "MODEL", "stream": True, "messages": [{"role": "user", "content": "TEXT"}]},
    bearer,
    RESPONSES.tokens,
    limit=("max_completion_tokens",),
)
GEMINI = StyleCase(
    "gemini",
    "gemini",
    "/v1beta/models/MODEL:generateContent",
    {"contents": [{"role": "user", "parts": [{"text": "TEXT"}]}]},
    lambda key: {"x-goog-api-key": key},
    Tokens(input=5_000, output=264, cache_read=30_000, reasoning=64),
    models_path="/v1beta/models",
    stream_path="/v1beta/models/MODEL:streamGenerateContent?alt=sse",
    limit=("generationConfig", "maxOutputTokens"),
)
CASES = [RESPONSES, CHAT, GEMINI]


@dataclass
class ModelApis:
    """A running server. It fails by `faults`, one for each request, and then answers, by its script if it has one."""

    url: str
    faults: list[Fault] = field(default_factory=list)
    bodies: list[Body] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    answer: ScriptedAnswer = HELLO
    edit: Callable[[str], str] = lambda event: event  # what is sent for an event of a stream
    script: Script | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def next_answer(self, style: ScriptedStyle, body: Body, path: str) -> ScriptedAnswer | Fault:
        """Return what the next request gets."""
        if self.script is not None:
            in_path = re.search(r"/models/([^/:]+):", path)
            return self.script(style, body, in_path[1] if in_path else str(body.get("model")))
        return self.faults.pop(0) if self.faults else self.answer


@contextmanager
def serving(
    *faults: Fault,
    answer: ScriptedAnswer = HELLO,
    edit: Callable[[str], str] = lambda event: event,
    script: Script | None = None,
) -> Iterator[ModelApis]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    url = f"http://127.0.0.1:{server.server_address[1]}"
    apis = ModelApis(url, list(faults), answer=answer, edit=edit, script=script)
    server.apis = apis  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield apis
    finally:
        apis.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's signature
        """Say nothing."""

    def do_POST(self) -> None:
        apis: ModelApis = self.server.apis  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        apis.bodies.append(body)
        apis.headers.append({name.lower(): value for name, value in self.headers.items()})
        apis.targets.append(self.path)
        path = self.path.partition("?")[0]
        style = next(style for style in STYLES if style.PATHS.search(path) or style.COUNT_PATHS.search(path))
        following = apis.next_answer(style, body, path)
        fault = following if isinstance(following, Fault) else Fault()
        answer = apis.answer if isinstance(following, Fault) else following
        if fault.status is not None:
            error = {"message": "scripted", "type": fault.code, "code": fault.code, "details": list(fault.details)}
            self._send(fault.status, json.dumps({"error": error}), fault.headers)
        elif fault.hangs_up or (fault.hangs and fault.cut_after is None):
            self._end(fault)
        elif style.COUNT_PATHS.search(path):
            self._send(200, json.dumps(style.count()))
        elif style.is_streamed(path, body):
            self._stream(list(style.events(body, answer)), fault)
        else:
            self._send(200, json.dumps(style.whole(body, answer)), cut=fault)

    def _stream(self, events: list[str], fault: Fault) -> None:
        edit = self.server.apis.edit  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events[: fault.cut_after]:
            data = edit(event).encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            time.sleep(0.005)
        if fault.last:
            self.wfile.write(f"{len(fault.last):x}\r\n{fault.last}\r\n".encode())
        if fault.cut_after is None or fault.is_clean:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._end(fault)

    def _send(self, status: int, text: str, headers: dict[str, str] | None = None, cut: Fault = Fault()) -> None:
        content = text.encode()
        self.send_response(status)
        kept = {"content-type": "application/json", "content-length": str(len(content))}
        for name, value in {**kept, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if cut.cut_after is None:
            self.wfile.write(content)
        else:
            self.wfile.write(content[: len(content) // 2])
            self._end(cut)

    def _end(self, fault: Fault) -> None:
        """End the connection, after a silence if the fault has one."""
        if fault.hangs:
            apis: ModelApis = self.server.apis  # type: ignore[attr-defined]
            self.wfile.flush()
            apis.ended.wait(600)
        self.close_connection = True
