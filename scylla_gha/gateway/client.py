"""Client of the gateway in the harness: it starts the process, opens and closes sessions, and replaces a dead process.

```python
with GatewayProcess.start(settings) as gateway:
    session = gateway.open(Session(cell=cell.id, role="agent", journal=folder / "traffic.jsonl"))
    ...                                   # the agent gets session.url and session.token
    is_lost = gateway.is_lost(session)    # True if the gateway died meanwhile
    summary = gateway.close(session)
```
"""

import datetime
import http.client
import json
import secrets
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from scylla_gha.errors import ToolError
from scylla_gha.gateway.budget import SHARED_BUDGETS
from scylla_gha.gateway.log import TrafficSummary, read_traffic, summarise_traffic, traffic_summary
from scylla_gha.gateway.settings import (
    CONTROL_HEADER,
    GatewaySettings,
    GatewayStart,
    JudgeReserveRequest,
    OpenSessionRequest,
    Session,
)
from scylla_gha.model.traffic import RequestRecord, ResponseRecord, Role
from scylla_gha.providers import PROVIDERS, own_style
from scylla_gha.providers.base import ApiStyle
from scylla_gha.system.process import Cancel, LinkedCancel
from scylla_gha.system.servers import ServerProcess

_START_SECONDS: Final = 30.0
_UNREACHED: Final = 0  # stands for a status if the gateway cannot be reached
# Environment variables that the gateway inherits, to reach the provider and to find this package.
_INHERITED: Final = (
    "PATH",
    "LANG",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "PYTHONPATH",
    "COVERAGE_PROCESS_START",
    "COVERAGE_PROCESS_CONFIG",
)


@dataclass(frozen=True, slots=True)
class SessionHandle:
    """An open session: the base URL of its requests, and the dummy key to send along."""

    url: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _OpenedSession:
    """An open session, and the USD that its log had charged before."""

    session: Session
    before_usd: float

    def spent(self, summary: TrafficSummary) -> float:
        return max(0.0, summary.charged_usd - self.before_usd)


class GatewayProcess(ServerProcess):
    """A running gateway. All methods may be called from any thread."""

    def __init__(self, settings: GatewaySettings) -> None:
        super().__init__("the model gateway", "scylla_gha.gateway.server", _INHERITED)
        self._settings = settings
        self._spent: dict[Role, float] = dict(settings.spent_usd)
        self._sessions: dict[str, _OpenedSession] = {}
        self._judge_reserves: dict[str, float] = {}
        self._port = self._control_port = 0
        self._control = secrets.token_urlsafe(32)
        self._overspent = False
        self._answered: set[str] = set()  # providers

    @classmethod
    def start(cls, settings: GatewaySettings) -> Self:
        """Start the gateway's process and wait until it listens.

        Raises:
            ToolError: it does not start.
        """
        gateway = cls(settings)
        gateway._launch()
        return gateway

    def open(self, session: Session) -> SessionHandle:
        """Open a session. A dead gateway is started again first, with the spent amounts from the logs.

        Raises:
            ToolError: the gateway does not start, or does not open the session.
            ConfigError: the session's log exists and cannot be read.
        """
        model = session.models[0] if session.models else None
        token = PROVIDERS[self._settings.provider_of(model)].new_session_token()
        opening = OpenSessionRequest(token=token, session=session).model_dump_json()
        before = summarise_traffic(session.journal).charged_usd
        status, answer = _UNREACHED, ""
        for _ in range(2):  # the gateway may die during the first request
            handle = SessionHandle(self._url(), token)
            status, answer = self._ask("POST", "/control/sessions", opening)
            if status == http.HTTPStatus.CREATED:
                self._sessions[token] = _OpenedSession(session, before)
                return handle
            if status == _UNREACHED:
                self._end_unresponsive(handle)
        raise ToolError(f"{session.cell}: the gateway does not open a session ({status}): {answer}")

    def is_lost(self, handle: SessionHandle) -> bool:
        """Tell if the process in which the session was opened has died.

        This sends a request: a dying process closes its connections before it counts as ended.
        """
        if not self.alive or handle.url != self._address:
            return True
        return self._ask("GET", "/", "")[0] == _UNREACHED

    @contextmanager
    def ending(self, handle: SessionHandle, cancel: Cancel) -> Iterator[Cancel]:
        """Yield a flag that is set when the session ends, or the gateway dies, or `cancel` is set."""
        connection, sources = http.client.HTTPConnection("127.0.0.1", self._control_port), [cancel.fileno()]
        try:
            with suppress(OSError, http.client.HTTPException):  # closing the session detects a dead gateway
                connection.request(
                    "GET", f"/control/sessions/{handle.token}/end", headers={CONTROL_HEADER: self._control}
                )
                sources.append(connection.sock.fileno())
            with closing(LinkedCancel(*sources)) as flag:
                yield flag
        finally:
            connection.close()

    def close(self, handle: SessionHandle, until: datetime.datetime | None = None) -> TrafficSummary:
        """Close the session when its answers have ended, or `drain_seconds` later, and return its summary.

        `until` is when its client ended: later answers are not evidence. The summary is also complete if the gateway
        has died. A second call returns an empty summary.
        """
        opened = self._sessions.get(handle.token)
        if opened is None:
            return TrafficSummary()
        if not self.is_lost(handle):
            self._ask("DELETE", f"/control/sessions/{handle.token}", "")
        summary = summarise_traffic(opened.session.journal, until)
        with self._lock:
            if self._sessions.pop(handle.token, None):
                role = opened.session.role
                self._spent[role] = self._spent.get(role, 0.0) + opened.spent(summary)
                self._overspent |= not SHARED_BUDGETS.isdisjoint(summary.errors)
        return summary

    @contextmanager
    def reserve_for_judges(self, cell: str, usd: float) -> Iterator[None]:
        """Reserve a part of the experiment's budget for the judges of a cell, until the block ends."""
        if usd == 0:
            yield
            return
        self._set_judge_reserve(cell, usd)
        try:
            yield
        finally:
            self._set_judge_reserve(cell, 0.0)

    def _set_judge_reserve(self, cell: str, usd: float) -> None:
        with self._lock:
            self._judge_reserves.pop(cell, None)
            self._judge_reserves.update({cell: usd} if usd else {})
        self._ask("PUT", "/control/judge-reserves", JudgeReserveRequest(cell=cell, usd=usd).model_dump_json())

    def spent_usd(self, *roles: Role) -> float:
        """Return the USD spent before this gateway and in closed sessions, by these roles or by all."""
        with self._lock:
            return sum(usd for role, usd in self._spent.items() if not roles or role in roles)

    @property
    def overspent(self) -> bool:
        """True if a request was refused because the budget of the experiment or of a role is spent."""
        return self._overspent

    def is_subscription(self, models: Iterable[str | None]) -> bool:
        """Tell if a subscription pays for one of these models, so that costs are list prices."""
        return self._settings.is_subscription(models)

    def provider_of(self, model: str | None) -> str:
        """Return the name of a model's provider; for an unlisted model, the first provider with access."""
        return self._settings.provider_of(model)

    def style_of(self, model: str) -> ApiStyle:
        """Return the API style in which judges ask a model."""
        return own_style(self.provider_of(model))

    def dead_ends(self, log_file: Path) -> dict[str, str]:
        """Return the reasons why no request can reach a provider, by provider, from a session's log.

        A provider that answered a request in an earlier log is left out.
        """
        if self._settings.replay is not None:
            return {}
        lines, reasons = read_traffic(log_file), {}
        providers = {line.number: self.provider_of(line.model) for line in lines if isinstance(line, RequestRecord)}
        for access in self._settings.access:
            evidence = traffic_summary(line for line in lines if providers.get(line.number) == access.provider).evidence
            if evidence.answers:
                self._answered.add(access.provider)
            if access.provider not in self._answered:
                errors = (
                    access.too_long(line.error)
                    for line in lines
                    if isinstance(line, ResponseRecord) and providers.get(line.number) == access.provider and line.error
                )
                reason = access.dead_end(evidence.fault) if evidence.fault else next(filter(None, errors), None)
                reasons.update({access.provider: reason} if reason else {})
        return reasons

    @property
    def _address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def _url(self) -> str:
        """Return the gateway's address; start a new process if the last one has died."""
        with self._lock:
            if not self.alive:
                self._launch()
            return self._address

    def _end_unresponsive(self, handle: SessionHandle) -> None:
        """End a process that does not answer, unless another thread has ended it."""
        with self._lock:
            if handle.url == self._address:
                self._end(0.0)

    def _launch(self) -> None:
        self._end(0.0)
        changes = {"spent_usd": self._spent_now(), "judge_reserves_usd": dict(self._judge_reserves)}
        start = GatewayStart(settings=self._settings.model_copy(update=changes), control=self._control)
        self._port, self._control_port = self._start(start.model_dump_json())

    def _spent_now(self) -> dict[Role, float]:
        """Return the USD spent in closed sessions and in sessions that were open in a dead process."""
        spent = dict(self._spent)
        for opened in list(self._sessions.values()):
            role = opened.session.role
            spent[role] = spent.get(role, 0.0) + opened.spent(summarise_traffic(opened.session.journal))
        return spent

    def _ask(self, method: str, path: str, body: str) -> tuple[int, str]:
        """Send a control request; return status 0 if the gateway cannot be reached."""
        seconds = self._settings.drain_seconds + _START_SECONDS
        connection = http.client.HTTPConnection("127.0.0.1", self._control_port, timeout=seconds)
        try:
            connection.request(method, path, body, {CONTROL_HEADER: self._control, "content-type": "application/json"})
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
