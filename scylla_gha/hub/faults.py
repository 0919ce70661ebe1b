"""Faults of a cell's GitHub, when a plan asks for them: errors, refusals, lost connections, and reads of an old state.

The plan is empty unless a test or a rehearsal gives one. Requests are counted, not time, so faults can be repeated.
"""

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

import orjson

from scylla_gha.config import did_you_mean
from scylla_gha.errors import ConfigError
from scylla_gha.hub.cell import Hub
from scylla_gha.hub.contract import contract
from scylla_gha.hub.git_http import git_operation
from scylla_gha.hub.graphql.execute import operation_name
from scylla_gha.hub.http_request import HubRequest
from scylla_gha.hub.rest import RestAnswer, find_route
from scylla_gha.hub.state import HubState
from scylla_gha.model.github_requests import GitHubFault

LOST: Final = RestAnswer(0)  # no answer: the connection is closed instead
_LIMIT: Final = {
    "documentation_url": "https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api"
                         "#about-secondary-rate-limits",
    "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
}  # fmt: skip
_GIT: Final = ("git-receive-pack", "git-upload-pack", "info/refs git-receive-pack", "info/refs git-upload-pack")
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


def refuse_impossible_faults(plan: Sequence[GitHubFault]) -> None:
    """Refuse faults of operations that no request can ask for; they would never be due.

    Raises:
        ConfigError: one line per fault.
    """
    lines = [f"faults.{number}: operation: {fault.operation!r} is no operation of the contract{_hint(fault.operation)}"
             for number, fault in enumerate(plan) if not _is_possible(fault.operation)]  # fmt: skip
    if lines:
        raise ConfigError("\n".join(lines))


def _hint(operation: str) -> str:
    known = contract()
    names = [*known.rest, *(f"mutation {name}" for name in known.mutations), *_GIT]
    return did_you_mean(operation, names) or "; docs/hub-contract.md lists them"


def _is_possible(operation: str) -> bool:
    known = contract()
    if any(fnmatchcase(name, operation) for name in (*known.rest, *_GIT)):
        return True
    kind, _, fields = operation.partition(" ")
    names = {"query": known.queries, "mutation": known.mutations}
    kinds = [name for name in names if fnmatchcase(name, kind)] if fields else []
    return any(all(_may_be(part.strip(), names[name]) for part in fields.split(",")) for name in kinds)


def _may_be(pattern: str, names: Iterable[str]) -> bool:
    """Return whether a pattern may be, or hold, one of some names: GraphQL requests may ask for several fields."""
    first, last = pattern.partition("*")[0], pattern.rpartition("*")[2]
    if "*" not in pattern:
        return pattern in names
    return any(name.startswith(first) for name in names) and any(name.endswith(last) for name in names)


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
