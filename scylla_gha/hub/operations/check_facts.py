"""Combined status of the checks of a commit."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from scylla_gha.hub.actions_records import CheckRecord
from scylla_gha.hub.cell import HubSession

StatusState = Literal["ERROR", "EXPECTED", "FAILURE", "PENDING", "SUCCESS"]
_STATES: Final[Mapping[str, StatusState]] = {
    "success": "SUCCESS",
    "neutral": "SUCCESS",
    "skipped": "SUCCESS",
    "error": "ERROR",
    "failure": "FAILURE",
    "pending": "PENDING",
    "expected": "EXPECTED",
}
_WORST_FIRST: Final[tuple[StatusState, ...]] = ("ERROR", "FAILURE", "EXPECTED", "PENDING", "SUCCESS")


def checks_of(session: HubSession, repository: int, sha: str) -> list[CheckRecord]:
    """Return the check runs and statuses of a commit: of each name, and of each workflow, the last one."""
    last: dict[tuple[object, ...], CheckRecord] = {}
    for check in session.state.where(CheckRecord, sha=sha, repository=repository):
        last[check.kind, check.name, check.run] = check
    return list(last.values())


def state_of_check(check: CheckRecord) -> StatusState:
    """Return the state that a check has in its commit's rollup."""
    if check.conclusion is None or (check.kind == "check_run" and check.status != "completed"):
        return "PENDING"
    return _STATES.get(check.conclusion.lower(), "FAILURE")


def rollup_state(checks: Iterable[CheckRecord]) -> StatusState | None:
    """Return the worst state of checks; None if there are none."""
    states = {state_of_check(check) for check in checks}
    return next((state for state in _WORST_FIRST if state in states), None)
