"""Git over HTTP that wants a login, and sees which processes know the secret."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.git_server import Handler, served

USER, TOKEN = "x-access-token", "ghs_0123456789abcdef"
BASIC = base64.b64encode(f"{USER}:{TOKEN}".encode()).decode()


def command_lines() -> Iterator[str]:
    """Of all processes on this machine."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue


@contextmanager
def serving(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve the repositories in a folder: the address, and the command lines in which the secret was seen."""
    seen: list[str] = []

    class Guarded(Handler):
        folder = root

        def serve(self, body: bytes) -> None:
            seen.extend(line for line in command_lines() if TOKEN in line or BASIC in line)
            if self.headers.get("Authorization") == f"Basic {BASIC}":
                super().serve(body)
                return
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.send_header("Content-Length", "0")
            self.end_headers()

    with served(Guarded) as address:
        yield address, seen
