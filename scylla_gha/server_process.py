"""Process of a server of the harness, such as the gateway or the hub: its clients start it, replace and end it."""

import os
import sys
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from scylla_gha import process
from scylla_gha.errors import ToolError

_START_SECONDS: Final = 30.0
_GRACE_SECONDS: Final = 5.0
# Without searches for garbage, to start takes a sixth less; `main` enables them when all is imported.
_PROGRAM: Final = "import gc, importlib, sys; gc.disable(); importlib.import_module(sys.argv[1]).main()"


class ServerProcess:
    """A server that runs. All methods may be called from any thread."""

    def __init__(self, name: str, module: str, passed_on: Sequence[str]) -> None:
        """Prepare to run a module, with these variables of the harness's environment and no others.

        Args:
            name: of the server in messages, such as "the hub".
            module: whose `main` runs.
            passed_on: names of the variables.
        """
        self._name, self._module, self._passed_on = name, module, passed_on
        self._lock = threading.Lock()
        self._service: process.Service | None = None

    @property
    def alive(self) -> bool:
        """True if its process runs."""
        service = self._service
        return service is not None and service.alive

    @property
    def pid(self) -> int | None:
        """The process that runs now."""
        service = self._service
        return service.pid if service and service.alive else None

    def stop(self) -> None:
        """End the process, after what is in flight or some seconds; what only it knows is lost."""
        with self._lock:
            self._end(_GRACE_SECONDS)

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the process."""
        self.stop()

    def _end(self, grace_seconds: float) -> None:
        if self._service is not None:
            self._service.stop(grace_seconds)

    def _start(self, line: str) -> list[int]:
        """Start a new process, send it a line, and return the ports that it prints.

        Raises:
            ToolError: it does not start.
        """
        self._end(0.0)
        env = {name: os.environ[name] for name in self._passed_on if name in os.environ}
        # -P: no modules of the current folder, which may be a stranger's checkout, in a process that may have a key
        self._service = process.Service([sys.executable, "-P", "-c", _PROGRAM, self._module], env=env)
        answer = self._service.converse(line.encode(), _START_SECONDS)
        if not answer.replace(" ", "").isdigit():
            self._end(0.0)
            raise ToolError(f"{self._name} does not start: {self._service.message or 'it prints nothing'}")
        return list(map(int, answer.split()))
