"""Client of the hub in the harness: it starts the process, attaches and detaches cells, and replaces a dead process.

```python
with HubProcess.start() as hub:
    attached = hub.attach(AttachRequest(cell=cell.id, fixture=folder, cache=cache, folder=scratch, socket=socket))
    ...                                    # gh_environment(attached.socket, attached.tokens["author"], home)
    is_lost = hub.is_lost(attached)        # the process died meanwhile, and the state with it
    detached = hub.detach(attached, files) # github.json and github.bundle are in `files`
```
"""

import http.client
import secrets
import shutil
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Final, Self, TypeVar

from scylla_gha.errors import FixtureError, ToolError
from scylla_gha.hub.control import (
    CONTROL_HEADER,
    AttachedCell,
    AttachRequest,
    DetachedCell,
    DetachRequest,
    FaultRequest,
    HubStart,
)
from scylla_gha.hub.workflow_records import (
    AwaitStopRequest,
    DrainAnswer,
    DrainRequest,
    JobReport,
    NextRun,
    NextRunRequest,
    QueuedRun,
    RunEnd,
    StopAnswer,
)
from scylla_gha.model import Record
from scylla_gha.model.github_requests import GitHubFault
from scylla_gha.system.servers import ServerProcess

R = TypeVar("R", bound=Record)


class HubRefusalError(ToolError):
    """The hub lives, and answers that it cannot do what it was asked to do with a cell."""


_ASK_SECONDS: Final = 180.0
_UNREACHED: Final = 0
# All that the hub gets of the harness's environment: how to find programs and this package.
_PASSED_ON: Final = ("PATH", "LANG", "PYTHONPATH", "TMPDIR", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")


class HubProcess(ServerProcess):
    """A running hub. All methods may be called from any thread."""

    def __init__(self) -> None:
        super().__init__("the hub", "scylla_gha.hub.server", _PASSED_ON)
        self._port = 0
        self._control = secrets.token_urlsafe(32)
        self._owners: dict[str, int] = {}  # process ids by the cells that they serve

    @classmethod
    def start(cls) -> Self:
        """Start the hub's process and wait until it listens.

        Raises:
            ToolError: it does not start.
        """
        hub = cls()
        hub._launch()
        return hub

    @property
    def port(self) -> int:
        """The port of loopback on which the process is controlled."""
        return self._port

    def attach(self, request: AttachRequest) -> AttachedCell:
        """Serve a cell's GitHub; a process that has died is started again first.

        Raises:
            FixtureError: the fixture is invalid, or the cell cannot be served.
            ToolError: the hub does not start, or does not answer.
        """
        status, answer = _UNREACHED, ""
        for _ in range(2):  # it may die just when it is asked
            pid = self._running()
            status, answer = self._ask("/control/attach", request.model_dump_json())
            if status == HTTPStatus.OK and pid is not None:
                self._owners[request.cell] = pid
                return AttachedCell.model_validate_json(answer)
            if status != _UNREACHED or self._ask("/", None)[0] != _UNREACHED:
                break
            self._give_up(pid)
            shutil.rmtree(request.folder, ignore_errors=True)
        if status == HTTPStatus.UNPROCESSABLE_ENTITY:
            raise FixtureError(answer)
        raise ToolError(f"{request.cell}: the hub does not attach it ({status}): {answer}")

    def is_lost(self, cell: AttachedCell) -> bool:
        """Tell if the process that served a cell has died, and the cell's state with it."""
        if not self.alive or self._owners.get(cell.cell) != self.pid:
            return True
        return self._ask("/", None)[0] == _UNREACHED

    def detach(self, cell: AttachedCell, files: Path | None = None) -> DetachedCell:
        """End a cell; its state is written to the folder `files`, or lost if that is None.

        Raises:
            ToolError: the process that served it has died.
            HubRefusalError: it lives, and cannot write the files.
        """
        request = DetachRequest(cell=cell.cell, files=files)
        is_lost = self._owners.pop(cell.cell, None) != self.pid or self.pid is None
        status, answer = (_UNREACHED, "") if is_lost else self._ask("/control/detach", request.model_dump_json())
        if status == _UNREACHED:
            raise ToolError(f"{cell.cell}: the hub's process has died, and the state of this cell's GitHub with it")
        if status != HTTPStatus.OK:
            raise HubRefusalError(f"{cell.cell}: the hub does not detach it ({status}): {answer[:500]}")
        return DetachedCell.model_validate_json(answer)

    def set_faults(self, cell: AttachedCell, faults: Sequence[GitHubFault]) -> None:
        """Give the answers of a cell these faults from now on; none ends them.

        Raises:
            ToolError: the cell is not served, or its process has died.
        """
        request = FaultRequest(cell=cell.cell, faults=tuple(faults))
        status, answer = self._ask("/control/faults", request.model_dump_json())
        if status != HTTPStatus.OK:
            raise ToolError(f"{cell.cell}: the hub does not take its faults ({status}): {answer}")

    def next_run(self, cell: AttachedCell, seconds: float) -> NextRun:
        """Return the next queued run of a cell, which is in progress from then on; wait for it for some seconds.

        Raises:
            ToolError: the hub does not answer, or has lost the cell.
        """
        return self._control_runs("next-run", NextRunRequest(cell=cell.cell, seconds=seconds), NextRun)

    def report_job(self, report: JobReport) -> bool:
        """Store the state of a job; return whether its run is not in progress any more.

        Raises:
            ToolError: as of `next_run`.
        """
        return self._control_runs("report-job", report, StopAnswer).stopped

    def end_run(self, end: RunEnd) -> None:
        """Complete an attempt of a run.

        Raises:
            ToolError: as of `next_run`.
        """
        self._control_runs("end-run", end, StopAnswer)

    def await_stop(self, cell: AttachedCell, run: QueuedRun, seconds: float) -> bool:
        """Wait until an attempt is not in progress any more, or for some seconds; return whether it is not.

        Raises:
            ToolError: as of `next_run`.
        """
        request = AwaitStopRequest(cell=cell.cell, run=run.run, attempt=run.attempt, seconds=seconds)
        return self._control_runs("await-stop", request, StopAnswer).stopped

    def drain_runs(self, cell: AttachedCell, seconds: float) -> int | None:
        """Wait until no run is queued or in progress; None if some still are. With 0 seconds, cancel and count them.

        Raises:
            ToolError: as of `next_run`.
        """
        return self._control_runs("drain-runs", DrainRequest(cell=cell.cell, seconds=seconds), DrainAnswer).cancelled

    def _control_runs(self, path: str, request: Record, kind: type[R]) -> R:
        status, answer = self._ask(f"/control/{path}", request.model_dump_json())
        if status != HTTPStatus.OK:
            kind_of_error = ToolError if status == _UNREACHED else HubRefusalError
            raise kind_of_error(f"the hub does not answer {path} ({status}): {answer[:500]}")
        return kind.model_validate_json(answer)

    def _running(self) -> int | None:
        """Return the id of a running process; start one if the last has died."""
        with self._lock:
            if not self.alive:
                self._launch()
            return self.pid

    def _give_up(self, pid: int | None) -> None:
        """End a process that does not answer, unless another thread has done so."""
        with self._lock:
            if self.pid == pid:
                self._end(0.0)

    def _launch(self) -> None:
        (self._port,) = self._start(HubStart(control=self._control).model_dump_json())

    def _ask(self, path: str, body: str | None) -> tuple[int, str]:
        """Send a control request; return status 0 if the hub cannot be reached."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_ASK_SECONDS)
        headers = {CONTROL_HEADER: self._control, "content-type": "application/json"}
        try:
            content = None if body is None else body.encode()  # http.client would take Latin-1
            connection.request("GET" if body is None else "POST", path, content, headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            return _UNREACHED, str(error)
        finally:
            connection.close()
