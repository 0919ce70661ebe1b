"""Git over HTTP on loopback, with the real `git http-backend`: repositories are bare ones in a folder."""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit


@contextmanager
def serve(root: Path) -> Iterator[str]:
    """Serve a folder's repositories, to read and to push to; the address."""

    class Open(Handler):
        folder = root

    with served(Open) as address:
        yield address


@contextmanager
def served(handler: "type[Handler]") -> Iterator[str]:
    """The address of a server with a handler of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    """The real `git http-backend` over the repositories of a folder."""

    folder: Path

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base's signature
        """Say nothing."""

    def do_GET(self) -> None:
        self.serve(b"")

    def do_POST(self) -> None:
        if self.headers.get("transfer-encoding") == "chunked":
            self.serve(b"".join(iter(self._chunk, b"")))
        else:
            self.serve(self.rfile.read(int(self.headers.get("content-length") or 0)))

    def _chunk(self) -> bytes:
        size = int(self.rfile.readline(), 16)
        data = self.rfile.read(size)
        self.rfile.readline()
        return data

    def serve(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        env = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": parts.path, "QUERY_STRING": parts.query, "REQUEST_METHOD": self.command, "REMOTE_USER": "bot",
            "CONTENT_TYPE": self.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
