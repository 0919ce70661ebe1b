"""Faults of a cell's GitHub, when a plan asks for them: errors, refusals, lost connections, and reads of an old state.

The plan is empty unless a test or a rehearsal gives one. Requests are counted, not time, so faults can be repeated.
"""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Final

import orjson

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.git_http import git_operation
from scylla_gha.hub.graphql.execute import operation_name
from scylla_gha.hub.http_request import HubRequest
from scylla_gha.hub.rest import RestAnswer, find_route
from scylla_gha.hub.state import HubState
from scylla_gha.model.github_faults import GitHubFault

LOST: Final = RestAnswer(0)  # no answer: the connection is closed instead
_LIMIT: Final = {
    "documentation_url": "https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api"
                         "#about-secondary-rate-limits",
    "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
}  # fmt: skip
_ERRORS: Final = {500: "Server Error", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}


class FaultInjector:
    """Applies a plan to the requests of one cell, which come one at a time."""

    def __init__(self, hub: Hub, plan: Sequence[GitHubFault] = ()) -> None:
        """Apply `plan` from the next request on."""
        self._hub = hub
        self._plan = tuple(plan)
        self._counts = [0] * len(self._plan)
        self._stale: HubState | None = None
        self._stale_reads = 0

    def answered(
        self, request: HubRequest, path: str, proceed: Callable[[], RestAnswer]
    ) -> tuple[RestAnswer, str | None]:
        """Answer a request by `proceed`, or with the fault that is due.

        Args:
            request: as it was sent.
            path: its path at api.github.com.
            proceed: does the request and returns its answer.

        Returns:
            The answer, and the kind of its fault (None: it has none).
        """
        if not self._plan:
            return proceed(), None
        operation = requested_operation(request, path)
        fault = self._due(operation)
        if fault is None:
            return self._read(operation, proceed)
        return self._faulty(fault, proceed), fault.kind

    def _due(self, operation: str) -> GitHubFault | None:
        due = None
        for number, fault in enumerate(self._plan):
            if fnmatchcase(operation, fault.operation):
                self._counts[number] += 1
                is_due = fault.nth <= self._counts[number] < fault.nth + fault.times
                due = fault if is_due and due is None else due
        return due

    def _faulty(self, fault: GitHubFault, proceed: Callable[[], RestAnswer]) -> RestAnswer:
        if fault.kind == "stale_reads":
            old = HubState.restored(self._hub.state.snapshot())
            answer = proceed()
            self._stale, self._stale_reads = old, fault.reads
            return answer
        if fault.kind == "secondary_limit":
            return RestAnswer(fault.answer_status, _LIMIT, headers={"Retry-After": str(fault.seconds)})
        if fault.when == "after":
            proceed()
        if fault.kind == "lost_connection":
            return LOST
        return RestAnswer(fault.answer_status, {"message": _ERRORS[fault.answer_status]})

    def _read(self, operation: str, proceed: Callable[[], RestAnswer]) -> tuple[RestAnswer, str | None]:
        """Answer a request; if it reads a list while an old state is shown, from that state."""
        if self._stale is None or not _reads_list(operation):
            return proceed(), None
        current, self._hub.state = self._hub.state, self._stale
        try:
            return proceed(), "stale_reads"
        finally:
            self._hub.state = current
            self._stale_reads -= 1
            if self._stale_reads == 0:
                self._stale = None


def requested_operation(request: HubRequest, path: str) -> str:
    """Return the operation that a request asks for, as the request log names it."""
    if operation := git_operation(request):
        return operation
    if path == "/graphql":
        try:
            body = orjson.loads(request.content)
        except orjson.JSONDecodeError:
            return "invalid"
        return operation_name(body) if isinstance(body, dict) else "invalid"
    matched = find_route(request.method, path)
    return f"{request.method} {matched[0].template if matched else path}"


def _reads_list(operation: str) -> bool:
    """Return whether an operation is a query, a search or a list; `GET .../issues/{issue_number}` is one object."""
    return operation.startswith("query ") or (operation.startswith("GET ") and not operation.endswith("}"))
