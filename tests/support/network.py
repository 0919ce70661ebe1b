"""Real servers that a box may or may not reach through the proxy, and a client that says just what it is told to."""

import base64
import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scylla_gha.egress_proxy import proxy_environment
from scylla_gha.gateway.client import SessionHandle
from tests.support.gateway import Reply


@dataclass
class Site:
    """A running server; what it was sent, and where it is."""

    port: int
    secure: bool = False
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's signature
        """Say nothing."""

    def do_GET(self) -> None:
        """`/bytes/N`: so many; `/echo`: all headers it was sent; `/hang`: nothing; `/cut`: half of what it promises."""
        self.site.headers.append({name.lower(): value for name, value in self.headers.items()})
        _, kind, *rest = self.path.partition("?")[0].split("/")
        if kind == "hang":
            self.site.ended.wait(60)
            return
        body = b"x" * int(rest[0]) if kind == "bytes" else json.dumps(self.site.headers[-1]).encode()
        self.send_response(302 if kind == "away" else 200)
        if kind == "echo":
            self.send_header("x-echo", self.headers.get("authorization", ""))
        if kind == "away":
            self.send_header("location", "http://elsewhere.example.com/")
        self.send_header("content-length", str(len(body) * (2 if kind == "cut" else 1)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection |= kind == "cut"

    def do_POST(self) -> None:
        self.site.bodies.append(self.rfile.read(int(self.headers.get("content-length", 0))))
        self.do_GET()


@contextlib.contextmanager
def site(certificate: Path | None = None) -> Iterator[Site]:
    """A server on a free port of loopback, by https where it has a certificate (its key is in the same file)."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 256
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that is gone is no fault."""

    made = Site(0, certificate is not None)
    server = Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": made}))
    made.port = server.server_address[1]
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.ended.set()
        server.shutdown()
        server.server_close()
        thread.join()


def make_certificate(folder: Path, name: str) -> Path:
    """A certificate of its own for this name, with its key."""
    folder.mkdir(parents=True, exist_ok=True)
    key, certificate, both = (folder / f"{name}.{kind}" for kind in ("key", "crt", "pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
                    "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)  # fmt: skip
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    return both


def credentials(session: SessionHandle) -> dict[str, str]:
    """The header that a client makes of the proxy's URL."""
    parts = urlsplit(proxy_environment(session.url, session.token)["HTTP_PROXY"])
    return http_basic(f"{parts.username}:{parts.password}")


def http_basic(text: str) -> dict[str, str]:
    return {"Proxy-Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


def fetch(session: SessionHandle, url: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Reply:
    """A request by http through the proxy; any text may stand in place of the URL."""
    connection = http.client.HTTPConnection(session.url.removeprefix("http://"), timeout=60)
    try:
        connection.putrequest(method, url, skip_host="Host" in headers, skip_accept_encoding=True)
        given = {**credentials(session), **{name.replace("_", "-"): value for name, value in headers.items()}}
        if body is not None:
            given["Content-Length"] = str(len(body))
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.headers.items()}
        try:
            return Reply(answer.status, {**named, "reason": answer.reason}, answer.read())
        except http.client.IncompleteRead as error:
            return Reply(answer.status, named, error.partial, whole=False)
    finally:
        connection.close()


def knock(session: SessionHandle, raw: bytes) -> bytes:
    """Return what comes back to these very bytes, up to the end of the head or of the connection."""
    with dialled(session) as connection:
        connection.sendall(raw)
        return head(connection)


@contextlib.contextmanager
def dialled(session: SessionHandle) -> Iterator[socket.socket]:
    host, _, port = session.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        yield connection


def head(connection: socket.socket) -> bytes:
    said = b""
    while b"\r\n\r\n" not in said and (chunk := connection.recv(1)):
        said += chunk
    return said


def connect_bytes(session: SessionHandle, authority: str, early: bytes = b"") -> bytes:
    """A CONNECT request."""
    name, value = next(iter(credentials(session).items()))
    return f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{name}: {value}\r\n\r\n".encode("latin-1") + early


@contextlib.contextmanager
def tunnel(session: SessionHandle, authority: str, early: bytes = b"") -> Iterator[tuple[socket.socket, bytes]]:
    """A tunnel, and the head of the proxy's answer to the wish for it."""
    with dialled(session) as connection:
        connection.sendall(connect_bytes(session, authority, early))
        yield connection, head(connection)


def get_by_tls(session: SessionHandle, authority: str, path: str, trusted: Path) -> Reply:
    """A request by https through a tunnel."""
    host = authority.rpartition(":")[0]
    with tunnel(session, authority) as (plain, said):
        if b" 200 " not in said:
            return Reply(int(said.split()[1]), {}, said)
        with ssl.create_default_context(cafile=trusted).wrap_socket(plain, server_hostname=host) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return Reply(answer.status, dict(answer.headers.items()), answer.read())
