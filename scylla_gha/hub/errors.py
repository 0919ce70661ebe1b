"""Errors that the hub answers with, as GitHub does."""

from collections.abc import Mapping, Sequence
from typing import Any


class HubError(Exception):
    """Answer to a request that GitHub would refuse.

    Args:
        status: HTTP status of the REST answer.
        message: GitHub's message.
        errors: entries of a 422's `errors`, such as {"resource": "Label", "field": "name", "code": "already_exists"}.
        kind: type of the GraphQL error, such as NOT_FOUND, FORBIDDEN or UNPROCESSABLE.
    """

    def __init__(
        self, status: int, message: str, errors: Sequence[Mapping[str, Any] | str] = (), kind: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.kind = kind or _KINDS.get(status, "UNPROCESSABLE")


class ContractGapError(HubError):
    """Request for what GitHub has and the hub has not; it is counted as a gap of the trial."""

    def __init__(self, what: str) -> None:
        # Agents read this, so it names neither the toolkit nor its contract.
        super().__init__(501, f"{what} is not available", (), "NOT_AVAILABLE")
        self.what = what


_KINDS = {401: "UNAUTHENTICATED", 403: "FORBIDDEN", 404: "NOT_FOUND", 422: "UNPROCESSABLE"}


def not_found() -> HubError:
    """Return the answer for what does not exist, or may not be read."""
    return HubError(404, "Not Found")


def invalid(resource: str, field: str, code: str = "invalid", message: str = "") -> HubError:
    """Return a 422 about a field; `code` is one of GitHub's, or "custom" with a message of its own."""
    entry = {"resource": resource, "code": code}
    entry |= {name: text for name, text in (("field", field), ("message", message)) if text}
    return (
        HubError(422, message or "Validation Failed", (entry,))
        if code != "custom"
        else HubError(422, "Validation Failed", (entry,))
    )
