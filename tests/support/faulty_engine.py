"""A socket that leads to the real engine, but for some requests, which it answers with an error of its own."""

import contextlib
import select
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SAID = b'{"message": "Cannot pause container: OCI runtime pause failed: unable to freeze: unknown"}'
REFUSAL = b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"


@dataclass
class FaultyEngine:
    """Refuses the first `refusals` requests to pause a container."""

    engine: str
    refusals: int
    refused: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def serve(self, server: socket.socket) -> None:
        """Answer until the socket is closed."""
        while True:
            try:
                client = server.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.lead, args=(client,), daemon=True).start()

    def lead(self, client: socket.socket) -> None:
        """Pass on both directions of one connection, which may carry many requests one after the other."""
        with client, socket.socket(socket.AF_UNIX) as far, contextlib.suppress(OSError):
            far.connect(self.engine)
            while True:
                for ready in select.select([client, far], [], [])[0]:
                    data = ready.recv(1 << 16)
                    if ready is client and self._refuses(data):
                        client.sendall(REFUSAL % (len(SAID), SAID))
                    elif data:
                        (far if ready is client else client).sendall(data)
                    elif ready is far:
                        return
                    else:
                        far.shutdown(socket.SHUT_WR)

    def _refuses(self, data: bytes) -> bool:
        with self.lock:
            refuse = b"/pause HTTP/" in data.partition(b"\r\n")[0] and self.refused < self.refusals
            self.refused += refuse
            return refuse


@contextlib.contextmanager
def before(engine: str, folder: Path, refusals: int) -> Iterator[tuple[str, FaultyEngine]]:
    """One before the engine at `engine` (unix://...); where it is found."""
    path = folder / "sock"
    faulty = FaultyEngine(engine.removeprefix("unix://"), refusals)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        threading.Thread(target=faulty.serve, args=(server,), daemon=True).start()
        yield f"unix://{path}", faulty
        server.shutdown(socket.SHUT_RDWR)
