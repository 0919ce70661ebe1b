"""The harness's side of the gateway: start it, open and close lanes, start it again after a crash. For threads.

```python
with Gateway.start(settings) as gateway:
    door = gateway.open(Lane(cell=cell.id, role="agent", journal=folder / "traffic.jsonl"))
    ...                                   # ANTHROPIC_BASE_URL=door.url ANTHROPIC_API_KEY=door.token
    lost = gateway.lost(door)             # it died in between: what failed then was the provider's fault
    account = gateway.close(door)
```
"""

import http.client
import json
import os
import secrets
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from scylla_gha import process
from scylla_gha.errors import ToolError
from scylla_gha.gateway.budget import SHARED_BUDGETS
from scylla_gha.gateway.log import TrafficSummary, summarise_traffic
from scylla_gha.gateway.settings import (
    CONTROL,
    GatewaySettings,
    OpenedSession,
    RecordingSettings,
    Session,
    SessionSettings,
)
from scylla_gha.model.traffic import Role

_START_SECONDS: Final = 30.0
_GRACE_SECONDS: Final = 5.0
_UNREACHED: Final = 0
# What reaches the gateway of the harness's environment: the way to the provider, and how to find this package.
_PASSED_ON: Final = ("PATH", "LANG", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE",
                     "SSL_CERT_DIR", "PYTHONPATH", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG")  # fmt: skip


@dataclass(frozen=True, slots=True)
class SessionHandle:
    """Where a lane's requests go: the base URL, and the dummy key to send along."""

    url: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Open:
    """A lane that is open, and what its journal held before."""

    lane: Session
    before_usd: float

    def spent(self, now: TrafficSummary) -> float:
        return max(0.0, now.charged_usd - self.before_usd)


class GatewayProcess:
    """A running gateway. All methods may be called from any thread."""

    def __init__(self, settings: SessionSettings) -> None:
        self._settings = settings
        self._spent: dict[Role, float] = dict(settings.spent_usd)
        self._lanes: dict[str, _Open] = {}
        self._kept: dict[str, float] = {}
        self._lock = threading.Lock()
        self._service: process.Service | None = None
        self._port = self._control_port = 0
        self._control = secrets.token_urlsafe(32)
        self._overspent = False

    @classmethod
    def start(cls, settings: SessionSettings) -> Self:
        """Start the gateway's process and wait until it listens.

        Raises:
            ToolError: it does not start.
        """
        gateway = cls(settings)
        gateway._launch()
        return gateway

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        service = self._service
        return service is not None and service.alive

    @property
    def pid(self) -> int | None:
        """The process that runs now."""
        service = self._service
        return service.pid if service and service.alive else None

    def open(self, lane: Session) -> SessionHandle:
        """Open a lane; a gateway that has died is started again first, with what is spent taken from the journals.

        Raises:
            ToolError: the gateway does not start, or does not take the lane.
            ConfigError: the lane's journal is there and is none.
        """
        token = self._settings.api.new_session_token()
        opening = OpenedSession(token=token, lane=lane).model_dump_json()
        before = summarise_traffic(lane.journal).charged_usd
        status, answer = _UNREACHED, ""
        for _ in range(2):  # it may die just when it is asked
            door = SessionHandle(self._url(), token)
            status, answer = self._ask("POST", "/control/lanes", opening)
            if status == http.HTTPStatus.CREATED:
                self._lanes[token] = _Open(lane, before)
                return door
            if status == _UNREACHED:
                self._give_up(door)
        raise ToolError(f"{lane.cell}: the gateway does not open a lane ({status}): {answer}")

    def lost(self, door: SessionHandle) -> bool:
        """Whether the process that the lane was opened in has died.

        It is asked, since one that is just being killed closes its connections before it counts as ended.
        """
        if not self.alive or door.url != self._address:
            return True
        return self._ask("GET", "/", "")[0] == _UNREACHED

    def close(self, door: SessionHandle) -> TrafficSummary:
        """Close the lane when its answers have ended, or `drain_seconds` later, and account for it.

        A lane of a process that has died is accounted for as well. Closing twice gives an empty account.
        """
        known = self._lanes.get(door.token)
        if known is None:
            return TrafficSummary()
        if not self.lost(door):
            self._ask("DELETE", f"/control/lanes/{door.token}", "")
        made = summarise_traffic(known.lane.journal)
        with self._lock:
            if self._lanes.pop(door.token, None):
                role = known.lane.role
                self._spent[role] = self._spent.get(role, 0.0) + known.spent(made)
                self._overspent |= not SHARED_BUDGETS.isdisjoint(made.errors)
        return made

    @contextmanager
    def keep(self, cell: str, usd: float) -> Iterator[None]:
        """Keep so much of the experiment's budget for the judges of a cell, until the block ends."""
        if usd == 0:
            yield
            return
        self._keep(cell, usd)
        try:
            yield
        finally:
            self._keep(cell, 0.0)

    def _keep(self, cell: str, usd: float) -> None:
        with self._lock:
            self._kept.pop(cell, None)
            self._kept.update({cell: usd} if usd else {})
        self._ask("PUT", "/control/kept", RecordingSettings(cell=cell, usd=usd).model_dump_json())

    def spent_usd(self, *roles: Role) -> float:
        """What is known to be spent: before, and in lanes that are closed; of these roles, or of all."""
        with self._lock:
            return sum(usd for role, usd in self._spent.items() if not roles or role in roles)

    @property
    def overspent(self) -> bool:
        """Whether a request was refused since the budget of the experiment or of a role is spent."""
        return self._overspent

    @property
    def is_subscription(self) -> bool:
        """Whether a subscription pays, so that USD are what the price list would ask."""
        return self._settings.is_subscription

    def stop(self) -> None:
        """End the process, after what is in flight or two seconds."""
        with self._lock:
            if self._service is not None:
                self._service.stop(_GRACE_SECONDS)

    def __enter__(self) -> Self:
        """The gateway itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    @property
    def _address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def _url(self) -> str:
        """The address of a process that runs; a new one where the last has died."""
        with self._lock:
            if not self.alive:
                self._launch()
            return self._address

    def _give_up(self, door: SessionHandle) -> None:
        """End a process that does not answer, unless another thread has done so."""
        with self._lock:
            if self._service is not None and door.url == self._address:
                self._service.stop(0.0)

    def _launch(self) -> None:
        if self._service is not None:
            self._service.stop(0.0)
        settings = self._settings.model_copy(update={"spent_usd": self._spent_now(), "kept_usd": dict(self._kept)})
        start = GatewaySettings(settings=settings, control=self._control)
        env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        # -P: modules in the current folder, which may be a stranger's checkout, are not for who holds the key
        self._service = process.start([sys.executable, "-P", "-m", "scylla_gha.gateway"], env=env)
        said = self._service.converse(start.model_dump_json().encode(), _START_SECONDS)
        if not said.replace(" ", "").isdigit():
            self._service.stop(0.0)
            raise ToolError(f"the model gateway does not start: {self._service.message or 'it says nothing'}")
        self._port, self._control_port = map(int, said.split())

    def _spent_now(self) -> dict[Role, float]:
        """What closed lanes and those that were open in a dead process have spent."""
        spent = dict(self._spent)
        for known in list(self._lanes.values()):
            role = known.lane.role
            spent[role] = spent.get(role, 0.0) + known.spent(summarise_traffic(known.lane.journal))
        return spent

    def _ask(self, method: str, path: str, body: str) -> tuple[int, str]:
        """Ask the gateway itself; one that cannot be reached answers with status 0."""
        seconds = self._settings.drain_seconds + _START_SECONDS
        connection = http.client.HTTPConnection("127.0.0.1", self._control_port, timeout=seconds)
        try:
            connection.request(method, path, body, {CONTROL: self._control, "content-type": "application/json"})
            answer = connection.getresponse()
            return answer.status, _message(answer.read())
        except (OSError, http.client.HTTPException) as error:
            return _UNREACHED, str(error)
        finally:
            connection.close()


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:500]
